"""The result of planning a fused kernel: instances of kernels over the dims of one space, or a refusal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ...base.dataclass import dataclass
from ...index import Expr, Facts, simplify
from ..kernel.accesses import Read, Summary, Write

#: The name of each rule, and what it refuses.  ``test/lit/passes/fusion-rules/<rule>.mlir`` shows both sides.
RULE_NAMES = {
    "extern": "a kernel with an op of torch's libraries: only generated kernels fuse (fuse-vertical only)",
    "device": "kernels on different devices",
    "size": "a kernel with too many accesses or scalar operations",
    "cycle": "groups between which a third operation must run, because of data, effects or tokens",
    "atomic": "reads of a tensor that the other group updates atomically: it is complete only in the end",
    "index-mismatch": "reads that no placement of the producer serves, or shared reads at different points",
    "products": "more than two products over the same dims that tensor cores compute, products without "
    "rows and columns in common, or two that read one matrix and fill the GPU each",
    "reduction-dims": "reductions over different dims, except row sums with column sums of one matrix, and "
    "products with what is reduced along their columns",
    "segments": "products of rows in different segments, or of rows that are other rows in the merged "
    "kernel, or that something is reduced along",
    "lost-parallelism": "a reduction that would run again at each point of a dim that it does not depend on",
    "too-long-row": "a reduction of few long rows with a kernel that needs its result at every point",
    "uneven": "a tensor to store that varies along only some of the parallel dims",
    "recompute": "operations that run again at more points and take longer than the saved traffic",
    "slower": "cheap operations that run again at so many points that the estimate of the merge is negative; "
    "and row and column sums in one walk, where two kernels are estimated to be faster",
    "order": "a storage that one kernel overwrites and another reads at other points, or later",
    "little-shared": "readers of a tensor that is small beside what each moves (fuse-horizontal only)",
    "measured": "groups that were measured to be faster apart, or of which a kernel spills or does not "
    'compile (a table of ``mode="max-autotune"``)',
    "memory": "readers of one tensor that raise peak memory when they run together (fuse-horizontal only)",
}


@dataclass(frozen=True)
class Refusal:
    """Why kernels stay apart: a name of ``RULE_NAMES``, one sentence with the remedy, the numbers
    compared.
    """

    rule: str
    message: str
    numbers: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        assert self.rule in RULE_NAMES, f"no rule is named {self.rule}"

    def about(self, names: Sequence[str]) -> "Refusal":
        """The same refusal, with ``names`` in the place of "{0}", "{1}", .. in its texts."""
        numbers = [(n, v.format(*names) if isinstance(v, str) else v) for n, v in self.numbers]
        return Refusal(self.rule, self.message.format(*names), tuple(numbers))


class FusionRefused(Exception):
    """Raised in planning; carries a Refusal."""

    def __init__(self, rule: str, message: str, **numbers: Any) -> None:
        super().__init__(message)
        self.refusal = Refusal(rule, message, tuple(numbers.items()))


@dataclass(frozen=True)
class Member:
    """A call of the kernel ``name``.  Values are numbers of ``Dependences``, one for each argument and
    result.

    ``roots``: the storage of each argument.
    """

    node: int
    name: str
    summary: Summary
    operands: tuple[int, ...]
    results: tuple[int, ...]
    roots: tuple[int, ...] = ()

    @cached_property
    def values(self) -> tuple[int, ...]:
        """The operands and the results."""
        return self.operands + self.results

    @cached_property
    def signature(self) -> tuple[Summary, int, int]:
        """The summary, and how many operands and results the call has."""
        return self.summary, len(self.operands), len(self.results)


@dataclass
class Instance:
    """One computation of a member.

    ``dims``: member dim -> expression over the space.  ``sources``: read -> the instance that computes it.
    ``guard``: for an instance whose mapped points may lie outside its extents, the read (instance, position)
    whose guard says where they are inside.  ``zeros``: expressions over the space that are 0
    wherever something needs the instance.
    """

    member: int
    cluster: int
    dims: dict[str, Expr]
    sources: dict[int, int] = field(default_factory=dict)
    guard: tuple[int, int] | None = None
    inlined: bool = False
    zeros: tuple[Expr, ...] = ()

    def move(self, mapping: Mapping[str, Expr], settle: Callable[[Expr], Expr]) -> None:
        """Rewrites the instance over other dims of the space."""
        self.dims = {d: settle(e.subs(mapping)) for d, e in self.dims.items()}
        self.zeros = tuple(settle(e.subs(mapping)) for e in self.zeros)


class LoadedIndex(NamedTuple):
    """Index number ``number`` of the read at ``position`` of an instance."""

    instance: int
    position: int
    number: int


@dataclass(frozen=True)
class FusionPlan:
    """The ``extents`` of the space, and the instances, producers before their readers.  ``loaded``: the
    indices that occur in dims of instances, by their names there.
    """

    members: tuple[Member, ...]
    extents: dict[str, Expr]
    instances: tuple[Instance, ...]
    facts: Facts
    loaded: dict[str, LoadedIndex]

    def image(self, instance: Instance, dims: Iterable[str], exact: bool = False) -> frozenset[str]:
        """The dims of the space that occur in the instance's ``dims``, without those of extent 1.  A loaded
        index stands for the dims of the load that takes it; ``exact``: for those of the index alone.
        """
        found = image(instance.dims, dims, self.extents)
        if self.loaded:
            for name in {
                s for d in dims if d in instance.dims for s in instance.dims[d].symbols()
            } & self.loaded.keys():
                index = self.loaded[name]
                reader = self.instances[index.instance]
                read = self.members[reader.member].summary.reads[index.position]
                found |= self.image(reader, read.indexed if exact else read.dims, exact)
        return found

    def looks_up(self, instance: Instance) -> bool:
        """Whether the instance computes points that loaded indices name."""
        return bool(self.loaded) and any(map(self.is_loaded, instance.dims.values()))

    def is_loaded(self, coord: Expr) -> bool:
        """Whether a loaded index occurs in a coordinate over the space."""
        return not self.loaded.keys().isdisjoint(coord.symbols())

    def coords(self, instance: Instance, access: Read | Write) -> tuple[Expr, ...]:
        """An access's coordinates over the dims of the space."""
        return placed(access.coords, items(instance.dims), self.facts)

    def meeting(self, index: int, position: int) -> tuple[Expr, ...] | None:
        """The coordinates of another read of the same tensor, if a read of an instance is there wherever its
        value is needed; None if it is at no other, or already there.
        """
        instance = self.instances[index]
        member = self.members[instance.member]
        read = member.summary.reads[position]
        if not (instance.zeros or read.zeros) or read.indirect:
            return None
        zeros = instance.zeros + placed(read.zeros, items(instance.dims), self.facts)
        coords = self.coords(instance, read)
        moved = placed(coords, (), self.facts.where(zeros))
        others = self.outer_reads.get(member.operands[read.argument], frozenset())
        return moved if moved != coords and moved in others else None

    @cached_property
    def outer_reads(self) -> Mapping[int, frozenset[tuple[Expr, ...]]]:
        """The coordinates at which each value from outside is read, without those at loaded indices."""
        found: dict[int, set[tuple[Expr, ...]]] = {}
        for instance in self.instances:
            member = self.members[instance.member]
            for position, read in enumerate(member.summary.reads):
                if position not in instance.sources and not read.indirect:
                    found.setdefault(member.operands[read.argument], set()).add(self.coords(instance, read))
        return {value: frozenset(coords) for value, coords in found.items()}

    def of(self, members: Sequence[Member]) -> "FusionPlan":
        """The same plan for other members of the same form.  Both share the instances, which are
        immutable.
        """
        plan = FusionPlan(tuple(members), self.extents, self.instances, self.facts, self.loaded)
        plan.__dict__.update(crossed=self.crossed, parallel=self.parallel, reached=self.reached)
        return plan

    @cached_property
    def reached(self) -> tuple[frozenset[str], ...]:
        """For each instance, the dims of the space, with more than one point, that it varies over."""
        return tuple([self.image(instance, instance.dims) for instance in self.instances])

    @cached_property
    def crossed(self) -> frozenset[str]:
        """Dims that some reduction or scan crosses."""
        found: set[str] = set()
        for instance in self.instances:
            for crossing in self.members[instance.member].summary.crossings:
                found |= self.image(instance, crossing.over)
        return frozenset(found)

    @cached_property
    def parallel(self) -> frozenset[str]:
        """Dims with more than one point that no reduction or scan crosses, and that number no segments."""
        several = frozenset(d for d, e in self.extents.items() if e.constant != 1)
        segments = [(i, self.members[i.member].summary.segments) for i in self.instances]
        numbers = [self.image(i, found[:1]) for i, found in segments if found is not None]
        return several.difference(self.crossed, *numbers)


def image(mapping: Mapping[str, Expr], dims: Iterable[str], extents: Mapping[str, Expr]) -> frozenset[str]:
    """The dims of the space, with more than one point, that occur in the mapped dims."""
    found: set[str] = set()
    for dim in dims:
        if dim in mapping:
            found |= mapping[dim].symbols()
    return frozenset(d for d in found if d in extents and extents[d].constant != 1)


def is_plain(mapping: Mapping[str, Expr]) -> bool:
    """Whether no expression contains a division, which flattening would leave."""
    return not any(e.has_divisions for e in mapping.values())


@lru_cache(maxsize=1 << 12)
def within(facts: Facts, extents: tuple[tuple[str, Expr], ...]) -> Facts:
    """``facts`` with the extents of the dims of a space."""
    return facts.with_extents(dict(extents))


@lru_cache(maxsize=1 << 15)
def placed(coords: tuple[Expr, ...], dims: tuple[tuple[str, Expr], ...], facts: Facts) -> tuple[Expr, ...]:
    """Rewrites coordinates over a member's dims to coordinates over the dims of the space."""
    mapping = dict(dims)
    return tuple(simplify(c.subs(mapping), facts) for c in coords)


def items(table: Mapping[str, Expr]) -> tuple[tuple[str, Expr], ...]:
    """A dictionary as a hashable key."""
    return tuple(table.items())
