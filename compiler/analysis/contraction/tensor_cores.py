"""Which ``fuse.dot``s are products of tiles, and which are multiplied and summed instead."""

from dataclasses import dataclass

from ...ir.contractions import ACCUMULATORS
from ...ir.kernel import over
from ...mlir import ir
from ..kernel.shape import KernelShape

#: Up to so many rows, or columns, bytes bound a product, and multiplying and adding keeps up with them.
FEW = 4
#: Element types that ``fuse.dot`` multiplies and ``tt.dot`` does not.
_SUMMED = ("i16", "i32", "i64")


@dataclass(frozen=True)
class Summed:
    """Why a product is multiplied and summed: the name of a condition, and a sentence."""

    rule: str
    message: str


def reason_to_sum(shape: KernelShape, op: ir.Operation) -> Summed | None:
    """Why a ``fuse.dot`` is no product of tiles; None where it is one."""
    dims = shape.kernel.value_dims
    left, right = (dims.get(v, frozenset()) - {*over(op)} for v in op.operands)
    rows, columns = (shape.points(tuple(side)) for side in (left - right, right - left))
    if min(rows, columns) <= FEW:
        return Summed("few-rows", f"{rows} rows and {columns} columns: at most {FEW} of one of them")
    first, second, made = (str(v.type) for v in (*op.operands, *op.results))
    if first != second or first in _SUMMED or ACCUMULATORS.get(first) != made:
        return Summed("types", f"tensor cores do not sum products of {first} and {second} in {made}")
    return None
