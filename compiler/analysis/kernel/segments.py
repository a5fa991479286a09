"""Rows that come in segments, such as the tokens of each expert: where these end is data.

The segment of a row is the number of ends that are at most the row.  A kernel says so by a sum over the ends:

    %before = arith.cmpi sle, %end, %row : i64
    %one = arith.extui %before : i1 to i64
    %segment = "fuse.reduce"(%one) {kind = "sum", over = ["d3"]} : (i64) -> i64

What is looked up there, such as a matrix of weights, differs from row to row.  A program whose rows are all
of one segment has one matrix, which tensor cores multiply.  Its rows then begin where the segment begins
(``segmented`` of ``fuse.tile``), and the kernel is read as though the segment were a number that all rows
share (``in_segments``).
"""

from ...base.dataclass import dataclass
from ...index import parse, sym
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import Kernel, over, string
from ...mlir import arith, ir

#: The most segments: a program compares all ends with its number at once.
MOST_SEGMENTS = 1024
#: Predicates of ``arith.cmpi``.
_SLE, _SGE = 3, 5


@dataclass(frozen=True)
class RowSegments:
    """``count``: the sum that is the segment of a row.  ``ends``: a value over ``number``, the dim that
    numbers the segments.  ``rows``: the dim of the rows.
    """

    count: ir.Operation
    ends: ir.Value
    number: str
    rows: str


def segments_of(kernel: Kernel) -> RowSegments | None:
    """The segments of the rows of a product; None where it has none, or several kinds of them."""
    if not kernel.products or len(kernel.reductions) == len(kernel.products):
        return None
    found = [s for op in kernel.reductions if (s := _segments(kernel, op)) is not None]
    return found[0] if len(found) == 1 else None


def in_segments(kernel: Kernel) -> Kernel:
    """The kernel as a program reads it whose rows are of one segment: the number of the segment has no dims,
    and is no reduction.  The kernel itself where its rows have no segments.
    """
    segments = segments_of(kernel)
    return kernel if segments is None else Kernel.of(kernel.func, frozenset({segments.count}))


def _segments(kernel: Kernel, op: ir.Operation) -> RowSegments | None:
    if not isinstance(op, fuse.Reduce) or string(op.attributes["kind"]) != "sum" or len(over(op)) != 1:
        return None
    [number] = over(op)
    wide = defining_op(op.operands[0], arith.ExtUIOp)
    compared = None if wide is None else defining_op(wide.operands[0], arith.CmpIOp)
    extent = kernel.dims[number].constant
    if compared is None or extent is None or not 1 <= extent <= MOST_SEGMENTS:
        return None
    predicate = ir.IntegerAttr(compared.attributes["predicate"]).value
    if predicate not in (_SLE, _SGE):
        return None
    end, row = list(compared.operands)[:: 1 if predicate == _SLE else -1]
    point = defining_op(row, fuse.Index)
    if point is None or len(point.operands) or kernel.value_dims.get(end) != {number}:
        return None
    rows = next((d for d in kernel.dims if parse(string(point.attributes["expr"])) == sym(d)), None)
    return None if rows in (None, number) else RowSegments(op, end, number, rows)
