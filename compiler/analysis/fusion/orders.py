"""Whether reductions over rows and over columns of one matrix may share a kernel that reads it once.

Such a kernel walks down its share of the rows.  It reduces each row in registers, and each column's running
sum stays in registers too, until ``split-reductions`` and tiling write one partial sum for each share.  An
example is the backward pass of layer norm: dx needs sums along rows, the gradients of weight and bias need
sums along columns.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from ...index import Expr, const
from ...ir.layout import TensorSpec
from ..kernel.accesses import Read, Write, points
from ..kernel.rows_again import held_as_loaded
from .columns import products_of
from .form import PlacedForm, ValueType
from .plan import FusionPlan, Instance
from .walk import Walk

#: Registers of each element that a walk keeps until its row is reduced, where it is visited again in another
#: form than that in which it was loaded.
_VALUES_AGAIN = 4
#: The fewest columns that a program of several reductions reads side by side: a sector of memory in 16 bits.
_SIDE_BY_SIDE = 16
#: Elements of a row that threads hold are multiples of so many: a vector of each thread of 16 warps.
_ROUND = 4096


def walk_of(t: PlacedForm, one: frozenset[str], other: frozenset[str]) -> Walk | str:
    """The walk over all points in which the reductions over ``one`` and over ``other`` can both run; else why
    there is none.

    There is one if all of this holds.  The two together are all dims.  Memory is contiguous along one of them
    (the row), which is of a static number of points and fits in registers with the sums of its columns.
    Nothing that runs at every point depends on a column's sum, and no reduction along rows does.  What is
    reduced down the columns varies along rows: the sum of all row sums shares no read with these.
    """
    plan = t.plan
    if one & other or plan.parallel:
        return "they are not the rows and the columns of one matrix"
    if any(x.op == "fuse.scan" for m in plan.members for x in m.summary.crossings):
        return "one of them scans"
    row, column = (one, other) if _contiguous(t, one, one | other) else (other, one)
    if not _contiguous(t, row, one | other):
        return "memory is contiguous along neither"
    width, height = points(plan.extents, row).constant, t.points(column)
    sums = _sums(plan, row, column)
    if not sums:
        return "what is reduced down the rows is a result of each row"
    if width is None:
        return "the length of a row is not a constant"
    reads, shared = _reads(t, row, column)
    again = _visits_again(plan, row, column) and not held_as_loaded(reads, sums, shared)
    values = sums + (_VALUES_AGAIN if again else 1)
    most = min(t.limits.walked, t.limits.numbers // values // _ROUND * _ROUND)
    if width > most:
        return f"registers hold rows of at most {most} elements, not of {width}"
    walk = Walk(height, width, max((spec.element_bytes for spec in reads), default=1), 4 * sums * width)
    return walk if _ends_with(plan, column) else "a later op needs the finished column sums"


def _visits_again(plan: FusionPlan, row: frozenset[str], column: frozenset[str]) -> bool:
    """Whether something at each point needs what is reduced along its row."""
    after: set[int] = set()
    for number, instance in enumerate(plan.instances):  # producers come before their readers
        summary = plan.members[instance.member].summary
        waits = not after.isdisjoint(instance.sources.values())
        if waits and row | column <= plan.image(instance, instance.dims):
            return True
        if waits or any(plan.image(instance, x.over) & row for x in summary.crossings):
            after.add(number)
    return False


def _reads(t: PlacedForm, row: frozenset[str], column: frozenset[str]) -> tuple[list[TensorSpec], int]:
    """The tensors that are read at all points; and bytes of each column that are loaded for those that are
    read along the row only.
    """
    plan = t.plan
    whole: dict[tuple[int, tuple[Expr, ...]], ValueType] = {}
    shared: dict[tuple[int, tuple[Expr, ...]], ValueType] = {}
    for instance in plan.instances:
        member = plan.members[instance.member]
        for i, r in enumerate(member.summary.reads):
            dims = plan.image(instance, r.dims)
            if i not in instance.sources and dims & row:
                operand = member.operands[r.argument]
                found = whole if row | column <= dims else shared
                found[operand, plan.coords(instance, r)] = t.form.types[operand]
    return [value.spec for value in whole.values()], sum(value.loaded for value in shared.values())


def _sums(plan: FusionPlan, row: frozenset[str], column: frozenset[str]) -> int:
    """How many numbers the reductions make of each column.  All but a plain one make two."""
    return sum(
        1 + (x.op != "fuse.reduce")
        for i in plan.instances
        for x in plan.members[i.member].summary.crossings
        if plan.image(i, x.over) & column and row <= plan.image(i, x.dims)
    )


def read_for_columns(t: PlacedForm, number: int, missing: frozenset[str]) -> bool:
    """Whether an instance, a reduction that does not vary over the dims ``missing``, costs next to nothing
    beside what varies over them.

    So it is if memory is contiguous along ``missing``, as a program then has a block of columns and reduces
    once for all of them; and if all that is read for it is read at the same points for something that varies
    over ``missing`` (the mask of a masked mean, and the number of points that it keeps).
    """
    plan = t.plan
    own = {number}
    for other in range(number, -1, -1):  # producers come before their readers
        if other in own:
            own.update(plan.instances[other].sources.values())
    mine, theirs = set(), set()
    for other, (instance, reached) in enumerate(zip(plan.instances, plan.reached, strict=True)):
        member = plan.members[instance.member]
        for position, read in enumerate(member.summary.reads):
            if position in instance.sources:
                continue
            if read.indirect:
                return False
            at = (member.operands[read.argument], plan.coords(instance, read))
            if other in own:
                mine.add(at)
            if other not in own and not missing - reached:
                theirs.add(at)
    dims = frozenset(d for d, e in plan.extents.items() if e.constant != 1)
    return mine <= theirs and _contiguous(t, missing, dims)


def nested(t: PlacedForm, crossed: Iterable[frozenset[str]]) -> bool:
    """Whether reductions over ``crossed`` can run on one row in registers.  Each of these sets of dims must
    be a subset of the next larger one (groups of a row, then the row), and the largest must have few points,
    of a static number: where memory is contiguous along dims that stay, so few that a program holds those of
    several columns.  Products multiply tiles, not rows: what one sums is no part of what another one does.
    """
    plan = t.plan
    ordered = sorted(crossed, key=len)
    if any(not small < large for small, large in pairwise(ordered)):
        return False
    if any(x.op == "fuse.scan" for m in plan.members for x in m.summary.crossings):
        return False
    if len({product.over for product in products_of(plan)}) > 1:
        return False
    length = points(plan.extents, ordered[-1]).constant
    if length is None or length > t.limits.grouped_row:
        return False
    dims = frozenset(d for d, e in plan.extents.items() if e.constant != 1)
    columns = bool(plan.parallel & dims) and _contiguous(t, plan.parallel, dims)
    return not columns or length * _SIDE_BY_SIDE <= t.limits.grouped_row


def _contiguous(t: PlacedForm, row: frozenset[str], everything: frozenset[str]) -> bool:
    """Whether some access runs over all points, and each that does moves by one element along a dim of
    ``row``.
    """
    found = False
    for dims, e in _offsets(t):
        if everything <= dims:
            found = True
            if not any(e.coefficient(d) == const(1) for d in row):
                return False
    return found


def _offsets(t: PlacedForm) -> Iterator[tuple[frozenset[str], Expr]]:
    """The dims and the storage offset of each access that the fused kernel makes."""
    plan, kept = t.plan, t.form.escaping
    for instance in plan.instances:
        member = plan.members[instance.member]
        accesses: list[Read | Write] = [
            r for i, r in enumerate(member.summary.reads) if i not in instance.sources
        ]
        accesses += [w for w in member.summary.writes if member.results[w.result] in kept]
        for access in accesses:
            spec = t.form.types[member.operands[access.argument]].spec
            total = const(0)
            for coordinate, stride in zip(plan.coords(instance, access), spec.strides, strict=True):
                total = total + coordinate * stride
            yield plan.image(instance, access.dims), total


def _ends_with(plan: FusionPlan, column: frozenset[str]) -> bool:
    """Whether everything that depends on a column's sum runs and stores along columns only, so that no point
    is visited again, and reduces nothing along them.

    A share of the rows has a part of each column's sum.  The norm of all column sums needs whole sums, so a
    kernel that computes both could only share out the columns: each program would walk down all rows.
    """
    after: set[int] = set()
    for number, instance in enumerate(plan.instances):  # producers come before their readers
        summary = plan.members[instance.member].summary
        sums = any(plan.image(instance, x.over) & column for x in summary.crossings)
        waits = not after.isdisjoint(instance.sources.values())
        if waits and (plan.image(instance, instance.dims) & column or summary.crossings):
            return False
        if sums and _stores_along(plan, instance, column):
            return False
        if sums or waits:
            after.add(number)
    return True


def _stores_along(plan: FusionPlan, instance: Instance, column: frozenset[str]) -> bool:
    writes = plan.members[instance.member].summary.writes
    return any(plan.image(instance, write.dims) & column for write in writes)
