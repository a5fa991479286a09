"""Rules for kernels that reduce over different dims: each class of dims is an axis, and one of them may be
walked along by a loop while the others are held.
"""

import math

from ...cost.hardware import Hardware
from ...ir.dialects import fuse
from ...ir.kernel import over
from ...ir.sizes import ceil_power, floor_power
from ...ir.tile import Axis, Tile
from ..kernel.rows_again import held_as_loaded
from ..kernel.shape import KernelShape
from .choice import LARGE_REGISTERS, NoTiling, elements_per_program, grid
from .row_rules import ROW_ELEMENTS, WARP_BYTES, both_ways, row_warps

#: A program that walks over rows and reduces each has few loads in flight beside a barrier in every step:
#: the next rows are loaded meanwhile, in three stages, by two programs of 8 warps for each multiprocessor.
_WALK_STAGES, _WALK_WARPS = 3, 8
#: Elements that a warp takes in each step where rows are at most so short: 32 of a thread.
_STEP, _SHORT = 1024, 256
#: Most rows that a program holds together with the sums of their columns, where they have more elements than
#: a step; more are walked through.
_HELD_ROWS, _HELD = 16, 4096
#: Rows with more elements, if they are visited again, are held in 16 bits, by so many warps.
_WIDE, _WIDE_WARPS = 8192, 16


def warp_walks(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """Each program is a warp that walks over rows of its own, several at a time where they are short.

    When: a warp holds a row and the sums down the columns, and there are programs for every multiprocessor.
    Why: no warp waits for another, and each thread has whole vectors in flight.
    """
    walked = shape.walked
    if walked is None or shape.points(shape.parallel) < hardware.sm_count:
        return None
    [held] = [dims for dims in shape.reduced_classes if dims != walked]
    row = Axis(held, ceil_power(shape.bound(held) or 1), "resident")
    rows = _STEP // row.block if row.block <= _SHORT else 1
    while rows > 1 and rows * row.block // hardware.warp * shape.live_values > LARGE_REGISTERS:
        rows //= 2
    stages = _walk_stages(shape, rows * row.block, hardware)
    return Tile((*grid(shape.parallel, 1), Axis(walked, rows, "looped"), row), 1, stages)


def wide_row_again(shape: KernelShape, hardware: Hardware) -> Tile | None:
    """A program of 16 warps walks over rows, and holds each in the 16 bits in which it was loaded.

    When: a walk visits rows of more than 8192 elements of bfloat16 again once they are reduced (the gradient
    of a norm), and registers hold them so (``held_as_loaded``).  Why: what is computed of a row would take
    twice the registers beside the sums of its columns, and spill.
    """
    classes, main = shape.reduced_classes, shape.main_access
    along = main and shape.contiguous_dim(main)
    if len(classes) != 2 or any(set(over(op)) not in map(set, classes) for op in shape.kernel.reductions):
        return None
    rows, held = sorted(classes, key=lambda dims: along in dims)
    bound = shape.bound(held)
    if along not in held or bound is None or not _WIDE < bound <= ROW_ELEMENTS // 2:
        return None
    along_row = [a for a in shape.kernel.loads if not shape.kernel.op_dims[a.op].isdisjoint(held)]
    loads = [a for a in along_row if set(shape.reduced) <= shape.kernel.op_dims[a.op]]
    shared = [a for a in along_row if a not in loads]
    read, sums = [shape.kernel.spec(a.argument) for a in loads], _sums(shape, rows, held)
    if not shape.visits_again(rows) or not held_as_loaded(read, sums, sum(map(shape.element_bytes, shared))):
        return None
    row = Axis(held, ceil_power(bound), "resident")
    axes = (*grid(shape.parallel, 1), Axis(rows, 1, "looped"), row)
    # What all rows share is loaded before each reduction of a row, and once behind the last one.
    times = 1 + sum(set(over(op)) <= set(held) for op in shape.kernel.reductions)
    step = row.block * sum(map(shape.element_bytes, (*loads, *shared * times)))
    stages = next(n for n in range(_WALK_STAGES, 0, -1) if (n - 1) * step < hardware.shared_bytes)
    return Tile(axes, _WIDE_WARPS, stages, again=True)


def _sums(shape: KernelShape, rows: tuple[str, ...], held: tuple[str, ...]) -> int:
    """How many numbers the reductions over ``rows`` make of each column.  All but a plain one make two."""
    found = [op for op in shape.kernel.reductions if not set(over(op)).isdisjoint(rows)]
    along = [op for op in found if set(held) <= shape.kernel.op_dims[op]]
    return sum(1 + (not isinstance(op, fuse.Reduce)) for op in along)


def several_reductions(shape: KernelShape, hardware: Hardware) -> Tile:
    """All classes are held, or one is looped over and the others are held.  Where few elements are held, a
    program takes several points of the other dims, as of short rows.

    When: in all other cases.  Why: a tile has one axis for each class, and one loop.  Raises ``NoTiling``
    where two classes have no static bound, where what is held is too large, and where a loop would have to
    scan forward and in reverse.
    """
    classes = shape.reduced_classes
    looped = _looped_class(shape)
    if looped is not None and both_ways(shape):
        raise NoTiling(
            "forward and reverse scans must hold the whole axis, "
            f"and {[list(c) for c in classes]} do not fit together"
        )
    blocks = [ceil_power(shape.bound(dims) or 1) for dims in classes]
    held = math.prod(block for i, block in enumerate(blocks) if i != looped)
    if held > 2 * ROW_ELEMENTS:
        raise NoTiling(f"reductions over {[list(c) for c in classes]} would hold {held} elements at once")
    axes = [Axis(dims, block, "resident") for dims, block in zip(classes, blocks, strict=True)]
    if looped is not None:
        walked = classes[looped]
        block = max(1, min(_HELD // held, ceil_power(max(1, shape.points(walked)))))
        axes[looped] = Axis(walked, block, "looped")
    elements = math.prod(axis.block for axis in axes)
    # at most 8 warps while a thread holds few elements: one program loads while the other's warps meet
    warps = max(min(_WALK_WARPS, floor_power(elements // 512)), floor_power(elements // 1024), 1)
    warps = min(warps, hardware.max_warps)
    while warps < _WIDE_WARPS and elements // (warps * hardware.warp) * shape.slots > hardware.thread_slots:
        warps *= 2
    if looped is not None:
        return Tile((*grid(shape.parallel, 1), *axes), warps, _walk_stages(shape, elements, hardware))
    if shape.parallel:
        warps = row_warps(math.prod(shape.bound(dims) or 1 for dims in classes), shape, hardware)
    points = elements_per_program(shape, hardware) // elements
    if points > 1 and shape.points(shape.parallel) >= points * hardware.full_grid:
        warps = max(1, min(4, points * elements * shape.widest // WARP_BYTES))
        return Tile((*grid(shape.parallel, points), *axes), warps)
    return Tile((*grid(shape.parallel, 1), *axes), warps)


def _looped_class(shape: KernelShape) -> int | None:
    """The number of the class that a loop walks along; None where all are held.  It is the one without a
    static bound; else, if they do not fit together, the largest along which memory is not contiguous and
    whose loop lets the others fit, so that rows are read as wholes.  Of rows and columns that are reduced
    apart from each other, more than a few rows do not fit together with them.
    """
    classes = shape.reduced_classes
    bounds = [shape.bound(c) for c in classes]
    unbounded = [i for i, b in enumerate(bounds) if b is None]
    if len(unbounded) > 1:
        raise NoTiling(
            f"reductions over {[list(classes[i]) for i in unbounded]} have no static bound, "
            "and only one axis can be looped over"
        )
    if unbounded:
        return unbounded[0]
    total = math.prod(ceil_power(b or 0) for b in bounds)
    along = shape.contiguous_dim(shape.main_access) if shape.main_access is not None else None
    if total <= _HELD or (total <= ROW_ELEMENTS // 2 and not _many_rows(shape, along)):
        return None
    fits = {
        i: along not in c and total // ceil_power(bounds[i] or 1) <= ROW_ELEMENTS // 2
        for i, c in enumerate(classes)
    }
    return max(range(len(classes)), key=lambda i: (fits[i], bounds[i] or 0))


def _many_rows(shape: KernelShape, along: str | None) -> bool:
    """Whether rows, along which memory is contiguous, and columns are reduced, each by reductions of their
    own, and there are more than ``_HELD_ROWS``.
    """
    if any(
        sum(set(dims) <= set(over(op)) for dims in shape.reduced_classes) > 1
        for op in shape.kernel.reductions
    ):
        return False
    rows = [dims for dims in shape.reduced_classes if along not in dims]
    return max(map(shape.points, rows), default=0) > _HELD_ROWS


def _walk_stages(shape: KernelShape, elements: int, hardware: Hardware) -> int:
    """Stages of a loop: all but one hold a block of every load at all reduced points in shared memory.  Two
    would load what the next step waits for: where three do not fit, one.  A program alone on its
    multiprocessor is better than two without them.
    """
    loads = [a for a in shape.kernel.loads if set(shape.reduced) <= shape.kernel.op_dims[a.op]]
    step = elements * sum(shape.element_bytes(a) for a in loads)
    buffers = (_WALK_STAGES - 1) * step + step // 2  # a row of results passes through shared memory too
    return _WALK_STAGES if buffers < hardware.shared_bytes else 1
