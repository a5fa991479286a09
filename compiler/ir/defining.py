"""The operation that defines a value."""

from ..mlir import ir


def defining_op(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation ``name`` that defines ``value``; None where another does, or where it is an argument."""
    owner = value.owner
    return owner.operation if not isinstance(owner, ir.Block) and owner.operation.name == name else None


def is_true(value: ir.Value) -> bool:
    """Whether a condition is the constant ``true``."""
    op = defining_op(value, "arith.constant")
    return op is not None and str(op.attributes["value"]) == "true"
