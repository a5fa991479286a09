"""Whether a kernel's reductions are worth cutting into slices, along which dim, and into how many.  Plain
numbers; changes nothing.
"""

import math
from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...cost.slots import LOAD, slots
from ...index import Expr, const
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import Access, over
from ...ir.layout import ELEMENT_BYTES
from ...ir.reductions import REDUCTION_OPS
from ...ir.sizes import floor_power
from ...mlir import ir
from ..contraction.tiles import blocks_of_whole_rows
from ..kernel.shape import KernelShape
from ..kernel.shares import FEWEST, equal_shares, walk_shares
from .choice import NoTiling
from .column_rules import ReducedColumns, columns_read_again, stays_in_cache
from .few_row_rules import programs_of_groups
from .product_rules import Products
from .row_rules import reduces_rows
from .rules import choose

#: A slice is at least this long, so that its reads pay for its start.  Of columns, whose rows a program walks
#: through, it may be shorter until there is a part, 1 / _MANY, of the programs aimed at.  Only so many slices
#: are made so: one block combines those of its columns.
_SLICE_BYTES, _SHORT_BYTES, _AT_ONCE = 16 * 1024, 4 * 1024, 32
#: Programs for each multiprocessor that a split aims at: several short ones where slices are all there is,
#: two where groups of rows are reduced, too; more where slices also store what they compute at each point, as
#: each of them has few loads in flight then.
_MANY, _FEW, _STORING = 8, 2, 24
#: A slice of products sums at least so many: the first loads and the results take as long as some of them.
_PRODUCT_POINTS = 512
#: A slice of the columns of a cascade has at least so many, and reads so many times the bytes of sums, which
#: slices write and a kernel reads.  On an H200, one query of 32 heads that share 8, 1024 keys of 64 in
#: bfloat16: both kernels take 3.6 us in slices of 64, 4.6 of 128, 5.6 of 256.
_COLUMNS, _TIMES_SUMS = 64, 4
#: Programs for each multiprocessor that a split of a cascade aims at: where its factors are loaded, and where
#: they are computed of what is loaded, or lie where a table says, which a program waits for.  On an H200, one
#: query of 32 heads that share 8: 32768 keys of 128 in bfloat16 take 49 us with two and 53 with four, 16
#: sequences of 8192 keys in bytes, with scales, 244 with one and 125 with four, in pages of bfloat16 275 with
#: one.
_LOADED, _WAITING = 2, 4
#: Rows that are enough to be shared by all programs, when rows and columns are reduced together.
_ENOUGH = 256


@dataclass(frozen=True)
class Slicing:
    """``dim`` is cut into ``count`` slices of ``length`` points; ``exact`` when they cover it without a rest.
    ``reductions`` are split.
    """

    dim: str
    count: int
    length: Expr
    exact: bool
    over: tuple[str, ...]
    reductions: tuple[ir.Operation, ...]
    programs: int


@dataclass(frozen=True)
class NotSliced:
    """Why a kernel that has few programs is not split."""

    rule: str
    message: str


def plan_slices(shape: KernelShape, hardware: Hardware) -> Slicing | NotSliced | None:
    """How to split a kernel's reductions; a reason not to; or None where there is nothing to split."""
    kernel = shape.kernel
    if not kernel.reductions or kernel.uniform:
        return None
    products = bool(kernel.products)
    cascade = _cascade(shape)
    programs = max(1, _programs_of_products(shape, hardware) if products else _programs(shape))
    if programs >= (hardware.sm_count if products else hardware.full_grid):
        return None
    crossed = _candidate(shape)
    if crossed is None:
        return None
    groups = products and programs_of_groups(shape) is not None
    if products and len(shape.reduced_classes) > 1 and cascade is None and not groups:
        return NotSliced("overlap", "what is computed of its products is reduced in the same program")
    if programs * 2 >= hardware.full_grid and _reads_again_from_cache(shape, crossed, hardware):
        return None
    if _reads_columns_again(shape, hardware):
        return None
    if {d for op in kernel.scans for d in over(op)} & set(crossed):
        return NotSliced("scan", f"a scan crosses {list(crossed)} too")
    points, walks = shape.points(crossed), _walks(shape, crossed)
    if cascade is not None:
        least = max(_COLUMNS, _TIMES_SUMS * cascade.sum_bytes // max(1, cascade.column_bytes))
        aim = _WAITING if cascade.waits else _LOADED
        wanted = min(aim * hardware.sm_count // programs, points // least)
    elif products:
        summed = shape.points(tuple(shape.reduced)) * len(kernel.products) if groups else points
        wanted = min(hardware.sm_count // programs, summed // _PRODUCT_POINTS)
    elif walks:
        wanted = _walk_shares(shape, crossed, programs, hardware) // programs
    else:
        aim = _programs_of_a_multiprocessor(shape, crossed) * hardware.sm_count
        bytes_ = points * _bytes_per_point(shape, crossed)
        slots_ = points * _slots_per_point(shape, crossed)
        wanted = min(aim // programs, max(bytes_ // _SLICE_BYTES, slots_ // hardware.slice_slots))
        if wanted >= FEWEST and _may_be_short(shape):
            wanted = max(wanted, min(aim // _MANY // programs, bytes_ // _SHORT_BYTES, _AT_ONCE))
    if wanted < FEWEST:
        return NotSliced("short", f"the reduction over {list(crossed)} has {points} points, too few to share")
    ordered = shape.order if cascade is None else cascade.columns
    dim = _dim(shape, [d for d in ordered if d in crossed], wanted)
    if any(dim in over(op) and set(over(op)) != set(crossed) for op in kernel.reductions):
        return NotSliced("overlap", f"another reduction crosses {dim} together with other dims")
    reductions = tuple(
        op for op in kernel.reductions if set(over(op)) == set(crossed) and not _depends(shape, op, crossed)
    )
    if any(isinstance(op, fuse.Welford) and len(op.operands) > 1 for op in reductions):
        return NotSliced("weights", "the sums of the weights of slices would have to be stored beside them")
    extent = kernel.dims[dim]
    whole, count = extent.constant, min(wanted, shape.size(dim))
    if whole is not None:
        if _worth_points(shape, crossed, dim, wanted):
            count = whole
        equal = equal_shares(whole, count)
        if equal is not None:
            return Slicing(dim, equal, const(whole // equal), True, crossed, reductions, programs)
    if any(REDUCTION_OPS[op.name].equal_slices for op in reductions):
        return NotSliced("uneven", f"the extent {extent} of {dim} has no divisor near {count}")
    if walks and whole is not None:
        length = -(-whole // count)
        return Slicing(dim, -(-whole // length), const(length), False, crossed, reductions, programs)
    count = floor_power(count)
    return Slicing(dim, count, (extent + (count - 1)).floordiv(count), False, crossed, reductions, programs)


@dataclass(frozen=True)
class _Cascade:
    """A kernel that goes through columns, which a softmax weighs: their dims, the outermost first, so that a
    slice has columns in a row.  Bytes of all that is read for one column, and of the sums of one slice,
    written and read.  ``waits``: whether factors are computed of what is loaded, or lie where a table says.
    """

    columns: tuple[str, ...]
    column_bytes: int
    sum_bytes: int
    waits: bool


def _cascade(shape: KernelShape) -> _Cascade | None:
    """None of a kernel whose one reduction along columns is no ``fuse.online_dot``."""
    kernel = shape.kernel
    found = [op for op in kernel.products if isinstance(op, fuse.OnlineDot)]
    if len(found) != 1 or len(kernel.reductions) != len(kernel.products):
        return None
    columns = over(found[0])
    read = [(a, kernel.op_dims[a.op]) for a in kernel.loads if {*columns} <= kernel.op_dims[a.op]]
    outer = (shape.points(tuple(dims - {*columns})) * shape.element_bytes(a) for a, dims in read)
    sums = sum(shape.points(tuple(kernel.value_dims[v])) for v in found[0].results)
    factors = {v for op in kernel.products for v in op.operands} - {found[0].operands[0]}
    loads = [defining_op(v, fuse.Load) for v in factors]
    waits = any(load is None for load in loads) or any(a.indices for a in kernel.loads if a.op in loads)
    return _Cascade(columns, sum(outer), 2 * ELEMENT_BYTES["f32"] * sums, waits)


def _walks(shape: KernelShape, crossed: tuple[str, ...]) -> bool:
    """Whether rows that lie together in memory and columns over ``crossed`` are reduced, and nothing else."""
    main = shape.main_access
    classes = [set(dims) for dims in shape.reduced_classes]
    return (
        len(classes) == 2
        and set(crossed) in classes
        and main is not None
        and shape.contiguous_dim(main) in shape.reduced
        and shape.contiguous_dim(main) not in crossed
        and all(set(over(op)) in classes for op in shape.kernel.reductions)
    )


def _walk_shares(shape: KernelShape, crossed: tuple[str, ...], programs: int, hardware: Hardware) -> int:
    """Into how many shares the rows of a kernel that walks are cut, those of all its programs together."""
    return walk_shares(
        shape.points(crossed) * programs,
        shape.points(tuple(d for d in shape.reduced if d not in crossed)),
        max((shape.element_bytes(a) for a in shape.kernel.loads if _is_full(shape, a)), default=1),
        one_warp=shape.walked is not None and set(shape.walked) == set(crossed),
        hardware=hardware,
    )


def _is_full(shape: KernelShape, access: Access) -> bool:
    """Whether an access runs over all reduced dims."""
    return set(shape.reduced) <= shape.kernel.op_dims[access.op]


def _worth_points(shape: KernelShape, crossed: tuple[str, ...], dim: str, wanted: int) -> bool:
    """Whether slices of one point each, less than twice as many as wanted, are better.

    Something that varies along ``dim`` alone of the crossed dims is then computed once a program.  In a slice
    of several points it is computed again at each of the other dims' points.
    """
    few = shape.size(dim) < 2 * wanted
    others = set(crossed) - {dim}
    long = shape.points(tuple(others)) * _bytes_per_point(shape, crossed) >= _SLICE_BYTES
    return (
        few
        and long
        and any(
            dim in shape.kernel.op_dims[a.op] and not shape.kernel.op_dims[a.op] & others
            for a in shape.kernel.loads
        )
    )


def _reads_again_from_cache(shape: KernelShape, crossed: tuple[str, ...], hardware: Hardware) -> bool:
    """Whether rows that lie together are visited again after their reduction, and all of them stay in the
    cache until then: a program a row, of which each multiprocessor has one, needs no kernel to combine slices
    and none for the second visit.
    """
    main = shape.main_access
    if not shape.rereads or main is None or shape.contiguous_dim(main) not in crossed:
        return False
    return stays_in_cache(shape, crossed, hardware)


def _reads_columns_again(shape: KernelShape, hardware: Hardware) -> bool:
    """Whether one program a multiprocessor reads columns twice, as ``columns_read_again`` says."""
    if len(shape.reduced_classes) != 1 or shape.kernel.products or reduces_rows(shape) or not shape.parallel:
        return False
    return columns_read_again(ReducedColumns.of(shape), hardware) is not None


def _programs_of_a_multiprocessor(shape: KernelShape, crossed: tuple[str, ...]) -> int:
    if len(shape.reduced_classes) == 1:
        return _STORING if _stores_at_points(shape, crossed) else _MANY
    return _FEW


def _may_be_short(shape: KernelShape) -> bool:
    """Whether programs walk through the rows of columns, and slices of them need not be equally long."""
    main = shape.main_access
    return (
        main is not None
        and shape.contiguous_dim(main) in shape.parallel
        and not any(REDUCTION_OPS[op.name].equal_slices for op in shape.kernel.reductions)
    )


def _programs(shape: KernelShape) -> int:
    """Programs of the kernel as it is: points of the parallel dims, in blocks of 32 along the contiguous one
    where columns are reduced.
    """
    points = shape.points(shape.parallel)
    main = max(shape.accesses, key=lambda a: shape.points(tuple(shape.kernel.op_dims[a.op])), default=None)
    along = shape.contiguous_dim(main) if main is not None else None
    if along in shape.parallel:
        return points // shape.size(along) * -(-shape.size(along) // 32)
    return points


def _programs_of_products(shape: KernelShape, hardware: Hardware) -> int:
    """Programs of a kernel with products, by hints; as many as the GPU takes where no tile fits it."""
    try:
        axes = choose(shape, hardware).tile.axes
        whole = _programs_of_whole_rows(shape, hardware)
    except NoTiling:
        return hardware.full_grid
    programs = math.prod(-(-shape.points(axis.dims) // axis.block) for axis in axes if axis.kind == "grid")
    return min(programs, whole or programs)


def _programs_of_whole_rows(shape: KernelShape, hardware: Hardware) -> int | None:
    """Of a product of 17 to 64 rows with weights that are made of fewer bytes: programs of blocks that have
    all of the rows, and read weights once.  None of other kernels.
    """
    groups = programs_of_groups(shape)
    if groups is not None:
        return groups
    form = Products(shape).form
    blocks = blocks_of_whole_rows(form, hardware) if form.batch == 1 else None
    return None if blocks is None else -(-max(form.m, form.n) // max(blocks.m, blocks.n))


def _candidate(shape: KernelShape) -> tuple[str, ...] | None:
    """The crossed dims of the reductions to split: of those that feed no reduction over other dims, the ones
    with the most points; but rows that lie together in memory stay whole where there are enough of them, and
    where their points are visited again: a slice of a row could not do that.
    """
    groups: dict[tuple[str, ...], list[ir.Operation]] = {}
    for op in shape.kernel.reductions:
        groups.setdefault(tuple(sorted(over(op))), []).append(op)
    last = [dims for dims, ops in groups.items() if not any(_feeds(shape, op, set(dims)) for op in ops)]
    main = shape.main_access
    along = shape.contiguous_dim(main) if main is not None else None

    def preference(dims: tuple[str, ...]) -> tuple[bool, int, tuple[str, ...]]:
        points = shape.points(dims)
        shared = along not in dims and (points >= _ENOUGH or shape.visits_again(dims))
        return shared, points, dims

    return max(last or list(groups), key=preference, default=None)


def _feeds(shape: KernelShape, op: ir.Operation, dims: set[str]) -> bool:
    """Whether a reduction over other dims depends on ``op``."""
    after = shape.dependents([op])
    return any(r in after and set(over(r)) != dims for r in shape.kernel.reductions)


def _depends(shape: KernelShape, op: ir.Operation, crossed: tuple[str, ...]) -> bool:
    """Whether ``op`` depends on a reduction over ``crossed``."""
    same = [r for r in shape.kernel.reductions if set(over(r)) == set(crossed)]
    return op in shape.dependents(same)


def _stores_at_points(shape: KernelShape, crossed: tuple[str, ...]) -> bool:
    """Whether something is stored at each point of the crossed dims that needs no reduction over them."""
    roots = [op for op in shape.kernel.reductions if set(over(op)) == set(crossed)]
    after = shape.dependents(roots)
    return any(set(crossed) <= shape.kernel.op_dims[a.op] and a.op not in after for a in shape.kernel.stores)


def _bytes_per_point(shape: KernelShape, crossed: tuple[str, ...]) -> int:
    """Bytes read for each point of the crossed dims by one program, at least 1."""
    best = 1
    for access in shape.kernel.loads:
        dims = shape.kernel.op_dims[access.op]
        if set(crossed) <= dims:
            held = shape.points(tuple(sorted(dims & shape.kernel.reduced - set(crossed))))
            columns = 32 if shape.contiguous_dim(access) in shape.parallel else 1
            best = max(best, shape.element_bytes(access) * held * columns)
    return best


def _slots_per_point(shape: KernelShape, crossed: tuple[str, ...]) -> int:
    """Issue slots that a program spends on each point of the crossed dims."""
    dims = shape.kernel.op_dims
    return sum(
        LOAD if isinstance(op, fuse.Load) else slots(op.name) for op in dims if set(crossed) <= dims[op]
    )


def _dim(shape: KernelShape, ordered: Sequence[str], wanted: int) -> str:
    """The outermost of some dims that has enough points, else the largest."""
    return next((d for d in ordered if shape.size(d) >= wanted), max(ordered, key=shape.size))
