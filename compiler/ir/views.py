"""Values of ``@main`` followed through views: to what a view is of, and to what uses it.

Nothing here follows ties of kernels or aliases of extern ops, through which values share storage too:
``storage.py`` does.
"""

from collections.abc import Iterator

from ..mlir import ir
from .defining import defining_op
from .dialects import fuse
from .layout import TensorSpec


def root_of(value: ir.Value) -> ir.Value:
    """What a view is of, behind any chain of views; the value itself, if it is no view."""
    while (view := defining_op(value, fuse.View)) is not None:
        value = view.operands[0]
    return value


def users_of(value: ir.Value) -> Iterator[ir.Operation]:
    """The operations that use a value, or a view of it."""
    for use in value.uses:
        op = use.owner.operation
        if op.name == "fuse.view":
            yield from users_of(op.results[0])
        else:
            yield op


def is_reshape(view: ir.Operation) -> bool:
    """Whether a ``fuse.view`` has the elements of its operand in the same order, both row-major."""
    source, result = TensorSpec.of(view.operands[0].type), TensorSpec.of(view.results[0].type)
    return (
        source.is_row_major
        and result.is_row_major
        and source.numel == result.numel
        and source.offset == result.offset
    )


def made_alone(value: ir.Value) -> ir.Operation | None:
    """The operation that makes a value, behind views that are reshapes, if the value and each of these have
    one use; None otherwise, and for a block argument."""
    while not isinstance(value.owner, ir.Block) and len(list(value.uses)) == 1:
        op = value.owner.operation
        if op.name != "fuse.view":
            return op
        if not is_reshape(op):
            return None
        value = op.operands[0]
    return None
