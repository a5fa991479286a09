"""Places each kernel of a group in one iteration space: which points of the space compute which of its
points.

``plan_group`` takes the kernels of a group in program order and goes through them backwards.  A kernel whose
results nothing in the group reads starts a *cluster*: an iteration space with that kernel's dims.  Any other
kernel is placed where its readers are: ``solve`` turns "stored here, read there" into its dims as expressions
over the cluster's.  Two cases:

*joined*   all reads give one mapping, and it is a bijection.  The kernel may reduce and assert, and its
stores
           may be read by others.  Dims that the mapping does not determine (those that the kernel reduces)
           are matched with dims of the same extent that its readers have and the mapping leaves free,
           preferably such that loads become the same; otherwise the cluster gets new dims.  Where the
           kernel's dims are the finer ones (it reduces a digit of a dim that a reader flattened), the cluster
           is rewritten over the kernel's dims.
*inlined*  the mapping is not a bijection (a slice, a pad, a shifted read, a look-up at loaded indices),
           or the reads give different mappings.  A pointwise kernel that nothing else needs is then computed
           once for each different read.

A read whose guard says that its point is that of another read counts as that read: where ``d0 mod 2`` is 0,
``(d0 floordiv 2)*2`` is ``d0``.

The result is a ``FusionPlan``: instances of kernels, whose dims are expressions over the dims of one space.
Planning is deterministic: ``fuse-vertical`` plans to decide, and ``materialize-fusion`` plans again to build.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...index import Expr, Facts, Solution, const, sym
from ...index.facts import is_indirect
from ..kernel.accesses import Summary, Write
from .plan import (
    FusionPlan,
    FusionRefused,
    Instance,
    LoadedIndex,
    Member,
    Refusal,
    image,
    is_plain,
    items,
    within,
)
from .readers import Reader, meeting, point_read, visited
from .space import Spaces, bijective, solved

#: Loaded indices in the dims of instances are called i1000, i1001, ..; those of one load i0, i1, ..
_FIRST_NAME = 1000
#: As many copies of members may a plan have: more than the rule ``recompute`` lets through.  Each read with a
#: guard of its own has a copy of its own: the steps of a padded stencil double them at each step back.
_MOST_COPIES = 1024


def plan_group(members: Sequence[Member], escaping: frozenset[int], facts: Facts) -> FusionPlan | Refusal:
    """The fused iteration space of ``members`` (in program order), or why there is none.

    escaping: values made by members that are used outside the group, or whose storage must be written.
    facts:    bounds of the size symbols.
    """
    numbers: dict[int, int] = {}
    calls = tuple(
        (
            m.summary,
            tuple([numbers.setdefault(v, len(numbers)) for v in m.operands]),
            tuple([numbers.setdefault(v, len(numbers)) for v in m.results]),
        )
        for m in members
    )
    plan = _plan(calls, frozenset(numbers[v] for v in escaping if v in numbers), facts)
    return plan.of(members) if isinstance(plan, FusionPlan) else plan.about([m.name for m in members])


@lru_cache(maxsize=1 << 12)
def _plan(
    calls: tuple[tuple[Summary, tuple[int, ...], tuple[int, ...]], ...],
    escaping: frozenset[int],
    facts: Facts,
) -> FusionPlan | Refusal:
    """The plan of kernels given by summary, operands and results; their names are "{0}", "{1}", ..

    Plans are cached, since a model repeats its layers and passes plan a group more than once.
    """
    members = tuple(Member(i, f"{{{i}}}", *call) for i, call in enumerate(calls))
    try:
        return _Planner(members, escaping, facts).plan()
    except FusionRefused as refused:
        return refused.refusal


class _Joined(NamedTuple):
    """Dims that a member is joined with; ``plain``: none of those that reads determine has a division."""

    dims: Mapping[str, Expr]
    plain: bool


@lru_cache(maxsize=1 << 14)
def _joined(
    mapping: tuple[tuple[str, Expr], ...],
    summary: Summary,
    extents: tuple[tuple[str, Expr], ...],
    facts: Facts,
) -> _Joined | None:
    """The dims of a member whose reads agree on ``mapping``, if that is a bijection."""
    merged, crossed = dict(mapping), summary.crossed
    determined = {d: e for d, e in summary.extents if d in merged and not (d in crossed and e.constant == 1)}
    reached = {d: merged[d] for d in determined}
    if not bijective(items(reached), items(determined), extents, facts):
        return None
    alone = {d: const(0) for d, e in summary.extents if e.constant == 1 and d not in crossed}
    return _Joined({**alone, **reached}, is_plain(reached))


class _Planner:
    def __init__(self, members: tuple[Member, ...], escaping: frozenset[int], facts: Facts) -> None:
        self.members = members
        self.escaping = escaping
        self.facts = facts
        self.spaces = Spaces(members, facts)
        self.loaded: dict[LoadedIndex, str] = {}

    def plan(self) -> FusionPlan:
        for member in self.members:
            for tie in member.summary.ties:
                if member.operands[tie] in self.spaces.maker:
                    raise FusionRefused(
                        "order",
                        "one kernel writes into the tensor that the other has just made: copy it first",
                    )
        for number in reversed(range(len(self.members))):
            self.place(number)
        first, *others = self.spaces.clusters
        while others:  # a cluster may share a tensor only with one that has joined by then
            joined = [other for other in others if self.spaces.relate(first, other)]
            if not joined:
                raise FusionRefused(
                    "index-mismatch",
                    "no tensor that both read is read at points that correspond",
                    clusters=len(others) + 1,
                )
            others = [other for other in others if other not in joined]
        (extents,) = self.spaces.clusters.values()
        for (
            instance
        ) in self.spaces.instances:  # rewriting the space may have cut a dim that an earlier member reduces
            summary = self.members[instance.member].summary
            if not self.spaces.crosses_cleanly(summary, instance.dims, extents):
                name = self.members[instance.member].name
                what = f"{name} reduces or scans over a dim that the others need in parts"
                raise FusionRefused("reduction-dims", f"{what}: split that dim first")
        instances = tuple(reversed(self.spaces.instances))
        loaded = {name: index for index, name in self.loaded.items()}
        plan = FusionPlan(self.members, extents, instances, within(self.facts, items(extents)), loaded)
        return _renumbered(plan)

    def place(self, number: int) -> None:
        member = self.members[number]
        if number not in self.spaces.reading:
            self.start(number)
            return
        for read in self.spaces.reading[number]:
            write = self.written(*read)
            if not write.is_plain:
                rule = "atomic" if write.mode != "set" else "index-mismatch"
                what = "adds to" if write.mode != "set" else "writes only parts of"
                raise FusionRefused(
                    rule,
                    f"{member.name} {what} the tensor that the other reads; readers need all of it",
                )
        cluster = self.connect(number)
        extents = self.spaces.clusters[cluster]
        readers = meeting(self.readers(number), member.summary, items(extents), self.facts)
        mappings: dict[tuple, list[tuple[Reader, Solution]]] = {}
        for reader in readers:
            solution = self.invert(member, reader)
            key = (items(solution.mapping), None if solution.inside else self.guard(reader))
            mappings.setdefault(key, []).append((reader, solution))
        joined = self.combine(member, mappings, extents)
        if joined is not None:
            self.join(number, cluster, joined, readers)
            return
        self.inline(number, cluster, mappings)

    def readers(self, number: int) -> list[Reader]:
        """Every read of a result of a member by an instance that is already placed."""
        found, summary = [], self.members[number].summary
        for index, position in self.spaces.reading[number]:
            instance, write = self.spaces.instances[index], self.written(index, position)
            read = self.members[instance.member].summary.reads[position]
            at = point_read(
                self.named(index, position),
                items(instance.dims),
                (summary, write.result),
                items(self.spaces.clusters[instance.cluster]),
                self.facts,
            )
            guarded = read.guarded or instance.guard is not None
            zeros = self.zeros(index, position) if read.zeros or instance.zeros else ()
            found.append(Reader(index, position, write, guarded, at, zeros))
        return found

    def zeros(self, index: int, position: int) -> tuple[Expr, ...]:
        """What is 0 wherever the value of a read is needed."""
        instance = self.spaces.instances[index]
        read = self.members[instance.member].summary.reads[position]
        return instance.zeros + self.spaces.over(instance, read.zeros)

    def zeros_of(self, number: int, readers: Sequence[Reader]) -> tuple[Expr, ...]:
        """What is 0 wherever one of the readers needs a member, over the cluster as it is now, which may have
        been refined since ``readers`` said it.  One that reduces, asserts or is stored is needed at all its
        points, and so is one that looks up: an index that is not needed may lie outside.
        """
        if not all(reader.zeros for reader in readers):
            return ()
        member = self.members[number]
        summary = member.summary
        everywhere = summary.crossings or summary.asserts or any(read.indirect for read in summary.reads)
        if everywhere or not self.escaping.isdisjoint(member.results):
            return ()
        first, *others = [self.zeros(reader.instance, reader.position) for reader in readers]
        return tuple(e for e in first if all(e in other for other in others))

    def guard(self, reader: Reader) -> tuple[int, int]:
        """The read whose guard holds where this one is: itself, or what a copy without guards of its own is
        behind.  So all that such a copy reads shares one guard, and is copied once.
        """
        instance = self.spaces.instances[reader.instance]
        own = self.members[instance.member].summary.reads[reader.position].guarded
        return (reader.instance, reader.position) if own or instance.guard is None else instance.guard

    def written(self, instance: int, position: int) -> Write:
        """The store of what an instance reads."""
        reader = self.members[self.spaces.instances[instance].member]
        _, write = self.spaces.maker[reader.operands[reader.summary.reads[position].argument]]
        return write

    def named(self, instance: int, position: int) -> tuple[Expr, ...]:
        """The coordinates of a read, whose loaded indices get names of their own in the group."""
        read = self.members[self.spaces.instances[instance].member].summary.reads[position]
        if not read.indirect:
            return read.coords
        names = {}
        for symbol in sorted({s for c in read.coords for s in c.symbols() if is_indirect(s)}):
            index = LoadedIndex(instance, position, int(symbol[1:]))
            names[symbol] = sym(self.loaded.setdefault(index, f"i{_FIRST_NAME + len(self.loaded)}"))
        return tuple(c.subs(names) for c in read.coords)

    def start(self, number: int) -> None:
        """Starts a cluster for a kernel that nothing in the group reads."""
        summary = self.members[number].summary
        cluster = self.spaces.clusters[number] = {}
        dims = {d: self.spaces.dim(e, d in summary.crossed, cluster) for d, e in summary.dims.items()}
        self.spaces.append(Instance(number, number, dims))

    def invert(self, member: Member, reader: Reader) -> Solution:
        name, (coords, looks_up, solution) = member.name, reader.at
        if looks_up and not (member.summary.is_pointwise and reader.guarded and not member.summary.asserts):
            raise FusionRefused(
                "index-mismatch",
                f"{name} is read at loaded indices: it must be complete before its reader runs",
            )
        if solution is None:
            stored, read = _show(reader.write.coords), _show(coords)
            raise FusionRefused(
                "index-mismatch",
                f"no point of {name} is known to store what is read: the coordinates of the read do not "
                "determine it",
                stored=stored,
                read=read,
            )
        if looks_up:  # the guard of a look-up says where its indices lie inside
            return Solution(solution.mapping, inside=False)
        if solution.inside or reader.guarded:
            return solution
        if self.fills(member, reader.write):  # a load without a guard is always inside its tensor
            return Solution(solution.mapping, inside=True)
        raise FusionRefused(
            "index-mismatch",
            f"a read of {name} is not proven to lie where {name} stores, and has no guard",
            read=_show(coords),
        )

    def fills(self, member: Member, write: Write) -> bool:
        """Whether the store writes every element of its tensor, with one dim for each dim of the tensor."""
        dims = member.summary.dims
        pairs = zip(write.coords, write.sizes, strict=True)
        return all(
            size.constant == 1 or any(c == sym(d) and self.facts.equal(e, size) for d, e in dims.items())
            for c, size in pairs
        )

    def combine(
        self,
        member: Member,
        mappings: Mapping[tuple, list[tuple[Reader, Solution]]],
        extents: Mapping[str, Expr],
    ) -> _Joined | None:
        """The one bijective mapping that all reads agree on, or None."""
        merged: dict[str, Expr] = {}
        for pairs, guard in mappings:
            if guard is not None or any(merged.setdefault(dim, e) != e for dim, e in pairs):
                return None
        return _joined(items(merged), member.summary, items(extents), self.facts)

    def join(self, number: int, cluster: int, joined: _Joined, readers: Sequence[Reader]) -> None:
        summary = self.members[number].summary
        extents = self.spaces.clusters[cluster]
        dims = dict(joined.dims)
        legal = self.spaces.crosses_cleanly(summary, dims, extents)
        if not (legal and joined.plain):
            self.refine(number, cluster, dims, must=not legal)
            extents = self.spaces.clusters[cluster]
        loose = {d: e for d, e in summary.dims.items() if d not in dims}
        if loose:
            taken = image(dims, dims, extents)
            self.spaces.pair(number, cluster, dims, loose, [d for d in extents if d not in taken])
        index = len(self.spaces.instances)
        zeros = self.zeros_of(number, readers)
        self.spaces.append(Instance(number, cluster, {d: dims[d] for d in summary.dims}, zeros=zeros))
        for reader in readers:
            self.spaces.instances[reader.instance].sources[reader.position] = index

    def refine(self, number: int, cluster: int, dims: dict[str, Expr], must: bool) -> None:
        """Rewrites the cluster over the member's dims where they are the finer ones, and updates ``dims`` to
        the new names.  Dims that share no dim of the cluster are rewritten independently, since a member may
        have one dim in two pieces and two others as one.
        """
        name, summary = self.members[number].name, self.members[number].summary
        for group in _sharing(dims, self.spaces.clusters[cluster]):
            extents = self.spaces.clusters[cluster]
            finer = {d: summary.dims[d] for d in group}
            coarse = {d: extents[d] for d in extents if d in image(dims, finer, extents)}
            found = solved(
                tuple(dims[d] for d in finer),
                tuple(sym(d) for d in finer),
                items(coarse),
                items(finer),
                self.facts,
            )
            usable = found is not None and bijective(
                items(found.mapping), items(coarse), items(finer), self.facts
            )
            if not usable or found is None or not (must or is_plain(found.mapping)):
                if must:
                    raise FusionRefused(
                        "index-mismatch",
                        f"{name} reduces over part of a dim that its reader has merged: split that dim",
                    )
                continue
            names = {d: self.spaces.dim(e, True, extents) for d, e in finer.items()}
            self.spaces.substitute(cluster, {d: e.subs(names) for d, e in found.mapping.items()})
            dims.update(names)

    def inline(
        self, number: int, cluster: int, mappings: Mapping[tuple, list[tuple[Reader, Solution]]]
    ) -> None:
        member = self.members[number]
        name = member.name
        reads = sorted({_show(r.at.coords) for found in mappings.values() for r, _ in found})
        if not member.summary.is_pointwise:
            raise FusionRefused(
                "index-mismatch",
                f"{name} reduces, and its readers need it at other points than it computes",
                reads="; ".join(reads),
            )
        if member.summary.asserts and not visited(
            member.summary, self.spaces.clusters[cluster], mappings, self.facts
        ):
            raise FusionRefused(
                "index-mismatch",
                f"{name} asserts at each of its points, and its readers do not visit each of them",
                reads="; ".join(reads),
            )
        if not self.escaping.isdisjoint(member.results):
            raise FusionRefused(
                "index-mismatch",
                f"{name} is stored for others too, and these readers need it at other points",
                reads="; ".join(reads),
            )
        for (pairs, guard), found in mappings.items():
            mapping = dict(pairs)
            dims = {d: const(0) for d, e in member.summary.dims.items() if e.constant == 1}
            dims.update(mapping)
            if set(dims) != set(member.summary.dims):
                raise FusionRefused(
                    "index-mismatch", f"a read does not determine every dim of {name}", reads="; ".join(reads)
                )
            index = len(self.spaces.instances)
            zeros = self.zeros_of(number, [reader for reader, _ in found])
            placing = {d: dims[d] for d in member.summary.dims}
            self.spaces.append(Instance(number, cluster, placing, guard=guard, inlined=True, zeros=zeros))
            for reader, _ in found:
                self.spaces.instances[reader.instance].sources[reader.position] = index
        if len(self.spaces.instances) > len(self.members) + _MOST_COPIES:
            raise FusionRefused(
                "recompute", f"{name} would be computed at too many coordinates: keep a result between"
            )

    def connect(self, number: int) -> int:
        """Unites the clusters of a member's readers by what they read of it; returns the cluster."""
        instances = [self.spaces.instances[index] for index, _ in self.spaces.reading[number]]
        first, *others = dict.fromkeys(instance.cluster for instance in instances)
        if not others:
            return first
        named = [self.named(*read) for read in self.spaces.reading[number]]
        stored = [self.written(*read).coords for read in self.spaces.reading[number]]
        before = list(map(self.spaces.over, instances, named))
        for other in others:
            coords = list(map(self.spaces.over, instances, named))
            reads = [(i.cluster, w, c) for i, w, c in zip(instances, stored, coords, strict=True)]
            pairs = (
                (a, b)
                for cluster, one, a in reads
                for with_, two, b in reads
                if one == two and cluster == first and with_ == other
            )
            if not any(self.spaces.unite(first, other, a, b) for a, b in pairs):
                name = self.members[number].name
                shown = "; ".join(sorted(set(map(_show, before))))
                raise FusionRefused(
                    "index-mismatch",
                    f"the readers of {name} read it at points that do not correspond",
                    reads=shown,
                )
        return first


def _sharing(dims: Mapping[str, Expr], extents: Mapping[str, Expr]) -> list[list[str]]:
    """The dims that map to the cluster's dims, in groups; different groups share no dim of the cluster."""
    groups: list[tuple[list[str], frozenset[str]]] = []
    for dim in dims:
        own, reached = [dim], image(dims, (dim,), extents)
        if not reached:
            continue
        for group in [g for g in groups if g[1] & reached]:
            groups.remove(group)
            own, reached = [*group[0], *own], reached | group[1]
        groups.append((own, reached))
    return [group for group, _ in groups]


def _show(coords: Iterable[Expr]) -> str:
    return ", ".join(map(str, coords))


def _renumbered(plan: FusionPlan) -> FusionPlan:
    """Reverses the numbering of the instances, which were placed readers first, in ``sources``, ``guard`` and
    ``loaded``.
    """
    last = len(plan.instances) - 1
    for name, index in plan.loaded.items():
        plan.loaded[name] = index._replace(instance=last - index.instance)
    for instance in plan.instances:
        instance.sources = {read: last - source for read, source in sorted(instance.sources.items())}
        if instance.guard is not None:
            instance.guard = (last - instance.guard[0], instance.guard[1])
    return plan
