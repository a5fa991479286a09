"""The rule for products of a row that their programs compute (``recompute-rows``)."""

from ...cost.hardware import Hardware
from ...ir.sizes import ceil_power
from ...ir.tile import Axis, Tile
from ..kernel.shape import KernelShape, is_sum_of_products
from .choice import grid
from .row_rules import THREAD_BYTES, ReducedRow

#: Rows of weights of a program.
_ROWS = 4


def products_compute_their_row(row: ReducedRow, hardware: Hardware) -> Tile | None:
    """Four rows of weights a program, whole, in registers: 256 bytes of a thread.  All that waits for no
    reduction is loaded first.

    When: the kernel reduces a row that all its programs have in common, and sums products of what it makes of
    it and of weights, which registers hold.  Why: the row comes from the cache and is reduced while the
    weights are on their way.  A loop would ask for weights only then.
    """
    shape = row.shape
    if not _computes_its_row(shape) or not row.may_be_held:
        return None
    loads = [a for a in shape.kernel.loads if {*row.dims, *shape.parallel} <= shape.kernel.op_dims[a.op]]
    point = sum(map(shape.element_bytes, loads))
    most = hardware.max_warps * hardware.warp * THREAD_BYTES
    rows = _ROWS
    while rows > 1 and rows * row.width * point > most:
        rows //= 2
    warps = ceil_power(-(-rows * row.width * point // (hardware.warp * THREAD_BYTES)))
    axes = (*grid(shape.parallel, rows), Axis(row.dims, row.width, "resident"))
    return Tile(axes, min(warps, hardware.max_warps), ahead=True)


def _computes_its_row(shape: KernelShape) -> bool:
    kernel, parallel = shape.kernel, {*shape.parallel}
    if kernel.scans or not parallel:
        return False
    products = [op for op in kernel.reductions if kernel.op_dims[op] & parallel]
    own = [op for op in kernel.reductions if op not in products]
    waiting = shape.dependents(own)
    return bool(own and products) and all(
        is_sum_of_products(op) and op in waiting and parallel <= kernel.op_dims[op] for op in products
    )
