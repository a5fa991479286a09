"""The rule ``recompute``: what a merge computes at more points than before."""

from ...cost.hardware import SECTOR
from ..kernel.accesses import Read
from .merged import Merged
from .plan import Instance, Member, Refusal


def recompute(merged: Merged) -> Refusal | None:
    """What is computed at more points than before is cheap, or takes less time than the traffic that it
    saves.  What is computed at several coordinates for each point leaves a kernel of a limited size.

    Where programs go through the columns of a product, a factor along them is computed in front of the
    kernel, unless it is made from fewer bytes: computed factors are not copied while others are multiplied.

    What is looked up does not read more often than before, or in pieces.  What reads nothing may be, and what
    reads one tensor that lies as its result and has no more bytes: it is looked up in place of the result.
    """
    plan, limits = merged.plan, merged.limits
    copied = sum([_size(plan.members[instance.member]) for instance in plan.instances])
    if copied > limits.copied and len(plan.instances) > len(plan.members):
        return Refusal(
            "recompute",
            "the kernel would compute the same at too many coordinates: keep a result between",
            (("operations", copied), ("max_operations", limits.copied)),
        )
    looked_up = {i.member for i in plan.instances if plan.looks_up(i)}
    most = max((merged.estimate(plan.members[m].summary.points) for m in looked_up), default=0)
    for number, visits in sorted(merged.visits.items()):
        member, now = plan.members[number], visits.now
        summary = member.summary
        oftener = number in looked_up and bool(summary.reads) and now > most
        instead = oftener and _may_be_looked_up_instead(merged, member)
        if (oftener and not instead) or (number in looked_up and _scattered(merged, number)):
            return Refusal(
                "recompute",
                f"{member.name} is looked up: it would read more often, or in pieces",
                (("points_before", most), ("points_after", now)),
            )
        if now >= 2 * visits.before and _is_factor_of_blocks(merged, number):
            return Refusal(
                "recompute",
                f"{member.name} computes a factor that every block of rows goes through: it would be "
                "computed for each of them, and nothing multiplied meanwhile",
                (("points_before", visits.before), ("points_after", now)),
            )
        cheap = summary.weight <= limits.cheap and len(summary.reads) <= limits.loads and not instead
        if now <= visits.before or cheap:
            continue
        saved = 2 * merged.form.bytes_of(member.results)  # one write and one read
        if (now - visits.before) * summary.weight <= saved * limits.slots_per_byte:
            continue
        numbers = (
            ("points_before", visits.before),
            ("points_after", now),
            ("slots", summary.weight),
            ("saved_bytes", saved),
        )
        return Refusal(
            "recompute",
            f"{member.name} is expensive and would be computed at more points: keep its result",
            numbers,
        )
    return None


def _size(member: Member) -> int:
    """Operations and loads of one copy of a kernel."""
    return member.summary.ops + len(member.summary.reads)


def _is_factor_of_blocks(merged: Merged, number: int) -> bool:
    """Whether a member computes a matrix along the columns that the programs of a kernel go through, of no
    fewer bytes than it has.
    """
    plan = merged.plan
    member = plan.members[number]
    looped = any(c.looped for each in plan.members for c in each.summary.crossings)
    if not looped or not member.summary.ops or member.summary.crossings:
        return False
    reached = [plan.reached[n] for n, instance in enumerate(plan.instances) if instance.member == number]
    held = {d for dims in reached for d in dims & merged.holds if merged.points(frozenset({d})) > 1}
    read = [member.operands[access.argument] for access in member.summary.reads]
    return len(held) > 1 and merged.form.bytes_of(read) >= merged.form.bytes_of(member.results)


def _may_be_looked_up_instead(merged: Merged, member: Member) -> bool:
    """Whether a member reads one tensor, at the elements that it writes, and no byte more than it writes."""
    summary = member.summary
    if len(summary.reads) != 1 or len(summary.writes) != 1:
        return False
    (read,), (write,) = summary.reads, summary.writes
    if read.indirect or read.guarded or write.guarded or read.coords != write.coords:
        return False
    source, result = (merged.form.bytes_of([member.operands[a.argument]]) for a in (read, write))
    return source <= result


def _scattered(merged: Merged, number: int) -> bool:
    """Whether a member that is looked up reads several tensors at loaded coordinates, one of them at elements
    that do not lie together.  Reads behind guards do not count: those of a concatenation exclude each other.
    Nor do reads at no loaded coordinate, as of a number for each row: they stay as they were.  Nor does a
    number for each row that another read takes whole, if the row has 32 bytes or more: those of a number.
    """
    plan, member = merged.plan, merged.plan.members[number]
    reads = [read for read in member.summary.reads if not read.guarded]
    for instance in plan.instances if len(reads) > 1 else ():
        if instance.member != number:
            continue
        places = [(read, plan.coords(instance, read)) for read in reads]
        loaded = [(read, place) for read, place in places if any(map(plan.is_loaded, place))]
        numbers = [read for read, place in loaded if place and plan.is_loaded(place[-1])]
        rows = [read for read, place in loaded if read not in numbers]
        if len(loaded) > 1 and any(not _of_rows(merged, instance, read, rows) for read in numbers):
            return True
    return False


def _of_rows(merged: Merged, instance: Instance, number: Read, rows: list[Read]) -> bool:
    """Whether a read takes one number for each row, of at least 32 bytes, of one of ``rows``."""
    plan, member = merged.plan, merged.plan.members[instance.member]
    mine = plan.image(instance, number.dims, exact=True)
    for row in rows:
        along = plan.image(instance, row.dims, exact=True)
        size = merged.form.types[member.operands[row.argument]].spec.element_bytes
        if mine < along and merged.points(along - mine) * size >= SECTOR:
            return True
    return False
