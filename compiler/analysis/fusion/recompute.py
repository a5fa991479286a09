"""The rule ``recompute``: what a merge computes at more points than before.

It counts how often each member of the merged kernel runs, and leaves the issue slots that this spends, and
the work of the whole kernel, for the estimate (``score.py``).
"""

from ...cost.slots import LOAD
from ...ir.contractions import PRODUCTS
from ...ir.kernel import natural
from .form import FusionTrial
from .plan import FusionPlan, Member, Refusal


def recompute(t: FusionTrial) -> Refusal | None:
    """What is computed at more points than before is cheap, or takes less time than the traffic that it
    saves.  What is computed at several coordinates for each point leaves a kernel of a limited size.
    """
    plan = t.planned
    copied = sum([_size(plan.members[instance.member]) for instance in plan.instances])
    if copied > t.limits.copied and len(plan.instances) > len(plan.members):
        return Refusal(
            "recompute",
            "the kernel would compute the same at too many coordinates: keep a result between",
            (("operations", copied), ("max_operations", t.limits.copied)),
        )
    parallel = plan.parallel
    visits: dict[int, int] = {}
    computed: dict[int, int] = {}  #: the same, with the dims of the tiles that a value is computed for again
    counts: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    blocks = any(c.op in PRODUCTS for m in plan.members for c in m.summary.crossings)

    def count(own: frozenset[str], over: frozenset[str]) -> int:
        if (own, over) not in counts:
            counts[own, over] = _visits(t, own, over, blocks)
        return counts[own, over]

    for number, (instance, reached) in enumerate(zip(plan.instances, plan.reached, strict=True)):
        member, row = instance.member, number in t.shared or _varies_by_rows(reached, parallel)
        once, every = count(reached, reached), count(reached, reached | parallel)
        # A part of a concatenation, behind its guard, is computed where it is read and nowhere else.  What is
        # inlined without a guard is computed again along the parallel dims that it lacks, unless it is one
        # number, or the same for a row.
        apart = instance.inlined and (row or not reached or instance.guard is not None)
        visits[member] = visits.get(member, 0) + (once if apart else every)
        computed[member] = computed.get(member, 0) + (once if row else every)
    looked_up = {i.member for i in plan.instances if plan.looks_up(i)}
    most = max((t.estimate(plan.members[m].summary.points) for m in looked_up), default=0)
    for number, now in sorted(visits.items()):
        summary = plan.members[number].summary
        before = t.estimate(summary.points)
        if number in looked_up and (now > most or _scattered(plan, number)):
            return Refusal(
                "recompute",
                f"{plan.members[number].name} is looked up: it would read more often, or in pieces",
                (("points_before", most), ("points_after", now)),
            )
        t.slots += max(0, now - before) * summary.weight
        if now <= before or (summary.weight <= t.limits.cheap and len(summary.reads) <= t.limits.loads):
            continue
        saved = 2 * t.form.bytes_of(plan.members[number].results)  # one write and one read
        if (now - before) * summary.weight <= saved * t.limits.slots_per_byte:
            continue
        numbers = (
            ("points_before", before),
            ("points_after", now),
            ("slots", summary.weight),
            ("saved_bytes", saved),
        )
        return Refusal(
            "recompute",
            f"{plan.members[number].name} is expensive and would be computed at more points: keep its result",
            numbers,
        )
    if t.slots:
        t.work = sum(n * plan.members[m].summary.work for m, n in computed.items()) + _loading(t)
    return None


def _size(member: Member) -> int:
    """Operations and loads of one copy of a kernel."""
    return member.summary.ops + len(member.summary.reads)


def _scattered(plan: FusionPlan, number: int) -> bool:
    """Whether a member that is looked up reads several tensors at elements that do not lie together.  Reads
    behind guards do not count: those of a concatenation exclude each other.
    """
    reads = [read for read in plan.members[number].summary.reads if not read.guarded]
    return len(reads) > 1 and any(
        read.coords and not plan.loaded.keys().isdisjoint(plan.coords(instance, read)[-1].symbols())
        for instance in plan.instances
        if instance.member == number
        for read in reads
    )


def _varies_by_rows(reached: frozenset[str], parallel: frozenset[str]) -> bool:
    """Whether a value lacks the innermost of the parallel dims and no other: a tile computes it once for a
    row (weights of edges in a sum over graphs: 189 us as one kernel, 337 as three).
    """
    missing = parallel - reached
    if not missing or not reached:
        return False
    return max(map(natural, reached)) < min(map(natural, missing))


def _visits(t: FusionTrial, own: frozenset[str], over: frozenset[str], blocks: bool) -> int:
    """How often a kernel that varies along the dims ``own`` is computed where the space has the dims
    ``over``.

    A program of a product (``blocks``) computes an operand once for its block of the dims that the operand
    lacks, and for all points of those that it holds.
    """
    plan = t.planned
    if not blocks or own == over:
        return t.points(over)
    rows = t.points(own & plan.parallel)
    few, block = t.limits.block
    times = -(-t.points(over - own - t.holds) // (few if rows <= few else block))
    return t.points(own) * times


def _loading(t: FusionTrial) -> int:
    """Issue slots of the loads of a fused kernel: each different load, at all points of its dims."""
    plan = t.planned
    found: dict[tuple[object, ...], int] = {}
    for number, instance in enumerate(plan.instances):
        member = plan.members[instance.member]
        for position, read in enumerate(member.summary.reads):
            if position in instance.sources:
                continue  # computed here
            at = (number, position) if read.indirect else plan.coords(instance, read)
            key = (member.operands[read.argument], at)
            if key not in found:
                found[key] = t.points(plan.image(instance, read.dims))
    return LOAD * sum(found.values())
