"""What two groups of kernels would become: all that the rules whose verdicts are cached may ask.

The kernels are placed once.  All else is computed when a rule asks for it, and nothing depends on which rules
have run.
"""

from functools import cached_property
from typing import NamedTuple

from ...base.dataclass import dataclass
from ...cost.slots import LOAD
from ...ir.contractions import PRODUCTS
from ...ir.kernel import natural
from .columns import held_by_products
from .form import PlacedForm
from .orders import nested, read_for_columns, walk_of
from .plan import Refusal
from .walk import Walk


class Order(NamedTuple):
    """How reductions run beside each other.

    walk:  how the kernel walks down the columns and reduces rows on its way; None if it does not.
    holds: dims of which each program holds all points, the columns of products.
    """

    walk: Walk | None = None
    holds: frozenset[str] = frozenset()


class Repeated(NamedTuple):
    """A reduction that does not vary over the parallel dims ``missing``.  ``once``: whether a program
    computes it once for its columns (``read_for_columns``), or for the rows of weights that it multiplies a
    row by, instead of at each point of these dims.
    """

    instance: int
    missing: frozenset[str]
    once: bool


class Visits(NamedTuple):
    """How often a member runs apart, and in the merged kernel; ``tiles``: with the dims of the tiles that a
    value is computed for again.
    """

    before: int
    now: int
    tiles: int


@dataclass(frozen=True)
class Merged(PlacedForm):
    """The kernel that two groups would become."""

    @cached_property
    def order(self) -> Order | Refusal:
        """All reductions and scans cross the same dims, with three exceptions:

        - they cross nested dims of a row that is held in registers;
        - they are row sums and column sums of one matrix, which is read once, in a walk;
        - they are the sums of products, and reductions along the products' columns, other products among
          them.  A program holds these columns.
        """
        plan = self.plan
        found: dict[frozenset[str], str] = {}
        for instance in plan.instances:
            member = plan.members[instance.member]
            for crossing in member.summary.crossings:
                crossed = plan.image(instance, crossing.over)
                if crossed:
                    found.setdefault(crossed, member.name)
        if len(found) < 2 or nested(self, found):
            return Order()
        walk = walk_of(self, *found) if len(found) == 2 else "they cross more than two sets of dims"
        if isinstance(walk, Walk):
            return Order(walk=walk)
        holds = held_by_products(self, found)
        if holds:
            return Order(holds=holds)
        text = "; ".join(f"{name} over {', '.join(sorted(dims))}" for dims, name in found.items())
        return Refusal(
            "reduction-dims",
            "they reduce over different dims: one would have to keep the other's values for all points",
            (("over", text), ("no_walk", walk)),
        )

    @property
    def walk(self) -> Walk | None:
        return self.order.walk if isinstance(self.order, Order) else None

    @property
    def holds(self) -> frozenset[str]:
        return self.order.holds if isinstance(self.order, Order) else frozenset()

    @cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        """The reductions that do not vary over all parallel dims, but for those that a program holds: of a
        chain of products, each program holds the columns of the later ones.
        """
        plan, found = self.plan, list[Repeated]()
        for number, instance in enumerate(plan.instances):
            for crossing in plan.members[instance.member].summary.crossings:
                missing = plan.parallel - plan.image(instance, crossing.dims) - self.holds
                if missing and plan.image(instance, crossing.over):
                    once = number in self.multiplied or read_for_columns(self, number, missing)
                    found.append(Repeated(number, missing, once))
        return tuple(found)

    @cached_property
    def multiplied(self) -> frozenset[int]:
        """The instances that compute a row which products multiply, in each program of these, where the
        limits let them.
        """
        plan = self.plan
        read = {
            source
            for instance in plan.instances
            if any(c.op in PRODUCTS for c in plan.members[instance.member].summary.crossings)
            for source in instance.sources.values()
        }
        return frozenset(n for n in read if self.limits.row_again and plan.reached[n] <= plan.crossed)

    @cached_property
    def visits(self) -> dict[int, Visits]:
        """By the number of each member, how often it runs."""
        plan, parallel = self.plan, self.plan.parallel
        shared = {each.instance for each in self.repeated if each.once}
        counts = {
            (own, over): self._count(own, over) for own in {*plan.reached} for over in (own, own | parallel)
        }
        now: dict[int, int] = {}
        tiles: dict[int, int] = {}
        for number, (instance, reached) in enumerate(zip(plan.instances, plan.reached, strict=True)):
            member, row = instance.member, number in shared or _varies_by_rows(reached, parallel)
            once, every = counts[reached, reached], counts[reached, reached | parallel]
            # A part of a concatenation, behind its guard, is computed where it is read and nowhere else.
            # What is inlined without a guard is computed again along the parallel dims that it lacks, unless
            # it is one number, or the same for a row.
            apart = instance.inlined and (row or not reached or instance.guard is not None)
            apart = apart or number in self.multiplied  # a price of its own: ``recompute-rows``
            now[member] = now.get(member, 0) + (once if apart else every)
            tiles[member] = tiles.get(member, 0) + (once if row else every)
        before = {m: self.estimate(plan.members[m].summary.points) for m in now}
        return {m: Visits(before[m], now[m], tiles[m]) for m in now}

    def _count(self, own: frozenset[str], over: frozenset[str]) -> int:
        """How often a kernel that varies along the dims ``own`` is computed where the space has the dims
        ``over``.

        A program of a product computes an operand once for its block of the dims that the operand lacks, and
        for all points of those that it holds.
        """
        if not self._multiplies or own == over:
            return self.points(over)
        rows = self.points(own & self.plan.parallel)
        few, block = self.limits.block
        times = -(-self.points(over - own - self.holds) // (few if rows <= few else block))
        return self.points(own) * times

    @cached_property
    def _multiplies(self) -> bool:
        return any(c.op in PRODUCTS for m in self.plan.members for c in m.summary.crossings)

    @property
    def slots(self) -> int:
        """Issue slots that are spent again."""
        members = self.plan.members
        return sum(max(0, v.now - v.before) * members[m].summary.weight for m, v in self.visits.items())

    @property
    def work(self) -> int:
        """Issue slots of the whole kernel, loads included."""
        members = self.plan.members
        return sum(v.tiles * members[m].summary.work for m, v in self.visits.items()) + self._loading()

    def _loading(self) -> int:
        """Issue slots of the loads of a fused kernel: each different load, at all points of its dims."""
        plan = self.plan
        found: dict[tuple[object, ...], int] = {}
        for number, instance in enumerate(plan.instances):
            member = plan.members[instance.member]
            for position, read in enumerate(member.summary.reads):
                if position in instance.sources:
                    continue  # computed here
                at = (number, position) if read.indirect else plan.coords(instance, read)
                key = (member.operands[read.argument], at)
                if key not in found:
                    found[key] = self.points(plan.image(instance, read.dims))
        return LOAD * sum(found.values())


def _varies_by_rows(reached: frozenset[str], parallel: frozenset[str]) -> bool:
    """Whether a value lacks the innermost of the parallel dims and no other: a tile computes it once for a
    row (weights of edges in a sum over graphs: 189 us as one kernel, 337 as three).
    """
    missing = parallel - reached
    if not missing or not reached:
        return False
    return max(map(natural, reached)) < min(map(natural, missing))
