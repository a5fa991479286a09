"""The rules of fusion: each is a function that returns None if two groups of kernels may merge, else a
refusal.

They run in order, the cheap ones first.

``plan.RULE_NAMES`` says what each name refuses.  Names that are raised elsewhere: ``index-mismatch``,
``atomic``, and in some cases ``order`` and ``reduction-dims``, in ``placement.py``, which plans;
``little-shared`` and ``memory`` in ``passes/fusion/fuse_horizontal.py``; ``extern`` in
``passes/fusion/fuse_vertical.py``; ``slower`` and ``measured`` in ``passes/fusion/fusing.py``.

The first rules read groups in their graph (``OF_GROUPS``).  The others read what both would become
(``OF_MERGED``; ``merged.py``), which depends on the form of both groups alone, and their verdict is cached by
it (see ``form.py``).  Their texts call the kernels "{0}", "{1}", ..
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from ...base.dataclass import dataclass
from ...ir.contractions import PRODUCTS
from ..contraction.tensor_cores import FEW
from .columns import have_block, products_of
from .contents import Contents
from .form import FusionForm, Limits, Verdict
from .graph import GroupGraph
from .merged import Merged
from .placement import plan_group
from .plan import Refusal
from .recompute import recompute
from .walk import Walk

#: Products over the same dims that tensor cores compute in one kernel.
_MOST_PRODUCTS = 2


@dataclass(frozen=True)
class Candidate:
    """Two groups that might merge."""

    graph: GroupGraph
    first: int
    second: int
    limits: Limits

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted(self.graph.members[self.first] + self.graph.members[self.second]))

    @cached_property
    def escaping(self) -> frozenset[int]:
        """Values that members make and that are used outside of the two groups."""
        return self.graph.escaping(self.first, self.second)

    @property
    def form(self) -> FusionForm:
        """All that the cached rules may read of the candidate."""
        return _form(self.graph, self.nodes, self.escaping, self.limits)


def _form(graph: GroupGraph, nodes: Iterable[int], escaping: frozenset[int], limits: Limits) -> FusionForm:
    """The form of kernels, of whose results ``escaping`` are used elsewhere."""
    members = [graph.member(n) for n in nodes]
    values = [v for m in members for v in m.values]
    numbers = _numbered(values)
    storages = list(map(graph.deps.roots.__getitem__, numbers))
    return FusionForm(
        limits,
        graph.sizes,
        tuple([m.signature for m in members]),
        tuple(map(numbers.__getitem__, values)),
        tuple(map(_numbered(storages).__getitem__, storages)),
        tuple(map(graph.types.__getitem__, numbers)),
        frozenset([numbers[v] for v in escaping]),
    )


def _numbered(values: Iterable[int]) -> dict[int, int]:
    """Each different one of ``values``, with its number in the order of first occurrence."""
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def device(c: Candidate) -> Refusal | None:
    """All members run on one device."""
    found = sorted(c.graph.contents(c.first).devices | c.graph.contents(c.second).devices)
    if len(found) < 2:
        return None
    return Refusal(
        "device",
        "they run on different devices: move the tensors of one",
        (("devices", ", ".join(d or "default" for d in found)),),
    )


def size(c: Candidate) -> Refusal | None:
    """The fused kernel stays within the limits on accesses (loads from outside, stores), tensors and scalar
    operations.
    """
    one, other = c.graph.contents(c.first), c.graph.contents(c.second)
    made = one.made | other.made
    loads = [value for value, _ in one.loads | other.loads if value not in made]
    return _too_large(loads, len(c.escaping), one.ops + other.ops, c.limits)


def _too_large(loads: Sequence[int], stores: int, ops: int, limits: Limits) -> Refusal | None:
    """The rule ``size`` of a kernel.  loads: the value of each of its loads from outside."""
    accesses, tensors = len(loads) + stores, len(set(loads)) + stores
    if (
        accesses <= limits.accesses
        and tensors <= limits.tensors
        and stores <= limits.stores
        and ops <= limits.ops
    ):
        return None
    found = (
        ("accesses", accesses, limits.accesses),
        ("tensors", tensors, limits.tensors),
        ("stores", stores, limits.stores),
        ("ops", ops, limits.ops),
    )
    exceeded = [f"max-{what}={most}" for what, number, most in found if number > most]
    numbers = tuple(
        figure
        for what, number, most in found
        # not `ops`: that names the locations of a remark
        for figure in (("scalar_ops" if what == "ops" else what, number), (f"max_{what}", most))
    )
    return Refusal("size", f"the fused kernel would exceed {' and '.join(exceeded)}", numbers)


def cycle(c: Candidate) -> Refusal | None:
    """No third operation has to run after one group and before the other."""
    between = c.graph.between(c.first, c.second)
    if between is None:
        return None
    node = c.graph.deps.nodes[between]
    return Refusal(
        "cycle",
        f"{node.name} has to run between them: fuse it too, or remove what it waits for",
        (("between", node.name),),
    )


def reduction_dims(m: Merged) -> Refusal | None:
    """There is an order in which all reductions run, see ``Merged.order``."""
    return m.order if isinstance(m.order, Refusal) else None


def products(m: Merged) -> Refusal | None:
    """At most two products that tensor cores compute share a sum: their operands share the kernel's shared
    memory and their sums its registers (24 products of one matrix in a kernel: 4053 us, apart 228).
    """
    plan = m.plan
    crossings = [
        (instance, x)
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
        if x.op in PRODUCTS
    ]
    if len(crossings) <= _MOST_PRODUCTS:
        return None
    sums: Counter[frozenset[str]] = Counter()
    for instance, x in crossings:
        summed = plan.image(instance, x.over)
        free = plan.image(instance, x.dims) - summed
        sums[summed] += sum(m.estimate(plan.extents[d]) > FEW for d in free) > 1
    wide = max(sums.values())
    if wide <= _MOST_PRODUCTS:
        return None
    numbers = (("products", wide), ("max_products", _MOST_PRODUCTS))
    return Refusal(
        "products", "so many products over the same dims in a kernel would leave each a small tile", numbers
    )


def common_block(m: Merged) -> Refusal | None:
    """A program computes a block of rows and columns that all products of tiles have.  ``q[b, i] * k[b, j]``
    is a product for each ``b``, ``q[b, i] * r[i, j]`` one for each ``i``: neither are rows of both.  Where
    something is reduced along columns, ``held_by_products`` asks the same.
    """
    tiles = [p for p in products_of(m.plan) if all(m.points(side) > FEW for side in p.sides)]
    if m.holds or len(tiles) < 2 or have_block(tiles):
        return None
    return Refusal("products", "the products share no row dim and column dim")


def segments(m: Merged) -> Refusal | None:
    """All products of rows in segments have the same rows and the same ends, and nothing is reduced along the
    rows: a program has rows of one segment.
    """
    plan, found = m.plan, set[tuple[object, ...]]()
    for instance in plan.instances:
        member = plan.members[instance.member]
        if member.summary.segments is None:
            continue
        number, rows = member.summary.segments
        ends = frozenset(
            (position in instance.sources, instance.sources.get(position, member.operands[read.argument]))
            for position, read in enumerate(member.summary.reads)
            if number in read.dims
        )
        placed, numbers = instance.dims[rows], instance.dims[number]
        found.add((placed, numbers, ends))
        plain = all(str(e) in plan.extents and str(e) not in plan.crossed for e in (placed, numbers))
        if len(found) > 1 or not plain:
            message = f"the rows of {member.name} would not be those of one segment in a program"
            return Refusal("segments", message, (("rows", str(placed)),))
    return None


def lost_parallelism(m: Merged) -> Refusal | None:
    """Each reduction varies over every dim that nothing reduces: it would be computed again along one over
    which it does not vary.

    Exceptions: a sum of what each program of some columns reads anyway (``read_for_columns``), once for its
    columns; and a product of a chain, where each program holds the columns of the later ones.
    """
    for number, missing, once in m.repeated:
        if not once:
            repeats = m.points(missing)
            name = m.plan.members[m.plan.instances[number].member].name
            numbers = (("dims", ", ".join(sorted(missing))), ("repeats", repeats))
            return Refusal(
                "lost-parallelism",
                f"the reduction of {name} would run again at each point of other dims: keep it apart",
                numbers,
            )
    return None


def too_long_row(m: Merged) -> Refusal | None:
    """Refuses if few, long rows would be read again after their reduction: one program would do it for each
    row.
    """
    plan = m.plan
    if m.walk is not None or m.holds:
        return None  # each row is short, and many programs share the columns or the rows
    crossed = plan.crossed
    length = m.points(crossed)
    rows = m.points(plan.parallel)
    if length <= m.limits.row or rows >= m.limits.rows or _read_from_cache(m, rows):
        return None
    reduced: set[int] = set()
    for number, instance in enumerate(plan.instances):  # producers come before their readers
        summary = plan.members[instance.member].summary
        after = not reduced.isdisjoint(instance.sources.values())
        if after and plan.reached[number] & crossed:
            numbers = (
                ("row", length),
                ("max_row", m.limits.row),
                ("rows", rows),
                ("min_rows", m.limits.rows),
            )
            name = plan.members[instance.member].name
            message = f"{name} visits few long rows again after they are reduced: split the reduction"
            return Refusal("too-long-row", message, numbers)
        if after or summary.crossings:
            reduced.add(number)
    return None


def _read_from_cache(m: Merged, rows: int) -> bool:
    """Whether each multiprocessor has a row, and the second read of a row finds it in the cache.

    One kernel then costs less than the three kernels into which the reduction would be split (group norm of
    256 groups of 40960 elements: 18.5 us in one kernel, 22.8 us in three).
    """
    members = m.plan.members
    read = {each.operands[r.argument] for each in members for r in each.summary.reads}
    read -= {result for each in members for result in each.results}
    return rows * 2 >= m.limits.rows and m.form.bytes_of(read) <= m.limits.cached


def uneven(m: Merged) -> Refusal | None:
    """What is stored is stored at every parallel point: no element is stored by several programs.  A kernel
    that goes through columns may store numbers of its rows beside them: one program makes a whole row.
    """
    plan = m.plan
    escaping = m.form.escaping
    for instance in plan.instances:
        member = plan.members[instance.member]
        for write in member.summary.writes:
            if member.results[write.result] not in escaping:
                continue
            missing = plan.parallel - plan.image(instance, write.dims)
            if any(c.looped for c in member.summary.crossings):
                stored = frozenset[str]().union(*(w.dims for w in member.summary.writes))
                missing -= plan.image(instance, stored)
            if missing:
                numbers = (("dims", ", ".join(sorted(missing))),)
                message = f"{member.name} would store along fewer dims than the others: keep it apart"
                return Refusal("uneven", message, numbers)
    return None


def overwritten(m: Merged) -> Refusal | None:
    """If a member overwrites a storage, other members read it only at the point that is overwritten, before
    it is overwritten.

    Coordinates over dims say which point that is.  Loaded indices do not: two points may load equal indices,
    so that one of them overwrites what the other has not read yet.
    """
    plan = m.plan
    made = {r for member in plan.members for r in member.results}
    writers: dict[int, int] = {}
    for number, member in enumerate(plan.members):
        for tie in member.summary.ties:
            if writers.setdefault(member.roots[tie], number) != number:
                return Refusal(
                    "order",
                    "two kernels write into one storage: the later one has to see the earlier one's result",
                )
    if not any(
        member.roots[read.argument] in writers and member.operands[read.argument] not in made
        for member in plan.members
        for read in member.summary.reads
    ):
        return None
    # (destination, coordinates) by storage root; None for coordinates if another point may write there too.
    stores: dict[int, tuple[int, tuple | None]] = {}
    for instance in plan.instances:
        member = plan.members[instance.member]
        for write in member.summary.writes:
            covers = plan.parallel <= plan.image(instance, write.dims)
            alone = covers and write.mode == "set" and not write.indirect
            stores[member.roots[write.argument]] = (
                member.operands[write.argument],
                plan.coords(instance, write) if alone else None,
            )
    for instance in plan.instances:
        member = plan.members[instance.member]
        for read in member.summary.reads:
            value = member.operands[read.argument]
            if value in made or member.roots[read.argument] not in stores:
                continue
            destination, at = stores[member.roots[read.argument]]
            if value != destination or plan.coords(instance, read) != at:
                return Refusal(
                    "order",
                    f"{member.name} reads a storage elsewhere than where another kernel overwrites it",
                )
    return None


#: The rules that read two groups in their graph, in this order; then those that read what both would become.
OF_GROUPS: tuple[Callable[[Candidate], Refusal | None], ...] = (device, size, cycle)
OF_MERGED: tuple[Callable[[Merged], Refusal | None], ...] = (
    products,
    reduction_dims,
    segments,
    common_block,
    lost_parallelism,
    too_long_row,
    uneven,
    recompute,
    overwritten,
)


def judge(candidate: Candidate) -> Verdict:
    """Whether two groups may merge; else the first refusal."""
    for rule in OF_GROUPS:
        refusal = rule(candidate)
        if refusal is not None:
            return Verdict(refusal)
    graph = candidate.graph
    verdict = _verdict(graph, candidate.form)
    if verdict.refusal is None:
        return verdict
    names = [graph.member(n).name for n in candidate.nodes]
    return verdict._replace(refusal=verdict.refusal.about(names))


def judge_nodes(graph: GroupGraph, nodes: Sequence[int], limits: Limits) -> Refusal | None:
    """Why several nodes, each alone in its group, may not become one kernel; None where they may.  Whether
    something has to run between them is not asked.
    """
    group_of = list(graph.group_of)
    for node in nodes:
        group_of[node] = nodes[0]
    contents = Contents.of([graph.contents(graph.group_of[n]) for n in nodes], group_of, nodes[0])
    refusal = _too_large([v for v, _ in contents.loads], len(contents.kept), contents.ops, limits)
    if refusal is not None:
        return refusal
    return _verdict(graph, _form(graph, nodes, frozenset(contents.kept), limits)).refusal


def walk_of_group(graph: GroupGraph, group: int, limits: Limits) -> Walk | None:
    """The walk of a group that has merged; None for one that does not sum rows and columns in a walk."""
    nodes = graph.members[group]
    if len(nodes) == 1:
        return None
    return _verdict(graph, _form(graph, nodes, graph.escaping(group, group), limits)).walk


def _verdict(graph: GroupGraph, form: FusionForm) -> Verdict:
    """The verdict of ``OF_MERGED``, which is remembered."""
    verdict = graph.verdicts.get(form)
    if verdict is None:
        verdict = graph.verdicts[form] = judge_form(form)
    return verdict


def judge_form(form: FusionForm) -> Verdict:
    """The verdict of ``OF_MERGED``.  It holds for every pair of groups that has this form."""
    plan = plan_group(form.members, form.escaping, form.sizes.facts)
    if isinstance(plan, Refusal):
        return Verdict(plan)
    merged = Merged(form, plan)
    for rule in OF_MERGED:
        refusal = rule(merged)
        if refusal is not None:
            return Verdict(refusal)
    slots = merged.slots
    return Verdict(None, slots, merged.work if slots else 0, merged.walk)


__all__ = ["OF_GROUPS", "OF_MERGED", "Candidate", "judge", "judge_form", "judge_nodes", "walk_of_group"]
