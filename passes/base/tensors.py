"""Makes ``fuse.empty`` and ``fuse.view`` of sizes that are known while compiling.  Not a pass.

Both stand at the current insertion point and have the current location.
"""

from collections.abc import Iterable

from ...compiler.index import Expr
from ...compiler.mlir import ir
from .kernels import text_list


def static_empty(type_: ir.Type) -> ir.Value:
    """A fresh tensor of a type without symbols."""
    return ir.Operation.create("fuse.empty", [type_], [], {"syms": text_list(())}).results[0]


def static_view(value: ir.Value, type_: ir.Type, map_: Iterable[Expr]) -> ir.Value:
    """A view of ``value``.  ``map_``: the coordinates in ``value`` of the element at ``v0, v1, ..`` of the
    view, without symbols, as ``type_`` is."""
    attributes = {"map": text_list(map_), "syms": text_list(())}
    return ir.Operation.create("fuse.view", [type_], [value], attributes).results[0]
