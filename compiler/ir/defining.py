"""The operation that defines a value.

The bindings wrap an op that a block, ``owner`` or a use gives as its class.  ``isinstance(op, fuse.Load)``
asks which it is, and takes a quarter of the time that comparing its name takes.  What ``.operation``,
``.parent``, ``walk`` and ``ir.Operation.create`` give is a plain ``ir.Operation``, which is of no class.
There ``op.name`` says it.  An op as its class has no ``block``: ``op.operation`` has.
"""

from collections.abc import Callable, Iterable

from ..mlir import arith, ir


def defining_op(value: ir.Value, *kinds: type[ir.OpView]) -> ir.OpView | None:
    """The op of one of these classes that defines ``value``; None where another does, or where it is an
    argument.
    """
    owner = value.owner
    return owner if isinstance(owner, kinds) else None


def is_true(value: ir.Value) -> bool:
    """Whether a condition is the constant ``true``."""
    op = defining_op(value, arith.ConstantOp)
    return op is not None and str(op.attributes["value"]) == "true"


def constant_number(value: ir.Value) -> float | None:
    """The constant that a scalar is, a float or a whole number; None for truth values and other values."""
    op = defining_op(value, arith.ConstantOp)
    found = None if op is None else op.attributes["value"]
    return found.value if isinstance(found, (ir.FloatAttr, ir.IntegerAttr)) else None


def backward_slice(
    values: Iterable[ir.Value], ends: Callable[[ir.OpView], object] = lambda op: False
) -> list[ir.OpView]:
    """The ops that values are computed of, each once and the nearest first: down to arguments, and to those
    for which ``ends`` is true, which are part of it.
    """
    found, pending = dict[ir.OpView, None](), [*values]
    while pending:
        op = pending.pop().owner
        if not isinstance(op, ir.Block) and op not in found:
            found[op] = None
            pending += () if ends(op) else op.operands
    return [*found]


def forward_slice(
    values: Iterable[ir.Value], ends: Callable[[ir.OpView], object] = lambda op: False
) -> list[ir.OpView]:
    """The ops that use values, and those that use what these compute, each once and the nearest first: up to
    those for which ``ends`` is true, which are part of it.
    """
    found, pending = dict[ir.OpView, None](), [*values]
    while pending:
        for op in [use.owner for use in pending.pop().uses]:
            if op not in found:
                found[op] = None
                pending += () if ends(op) else op.results
    return [*found]
