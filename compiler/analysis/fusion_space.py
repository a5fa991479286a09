"""One iteration space for several kernels: which of its points computes which point of each kernel.

``plan_group`` takes the kernels of a group in program order and goes through them backwards.  A kernel whose
results nothing in the group reads starts a *cluster*: an iteration space with that kernel's dims.  Any other
kernel is placed where its readers are: ``solve`` turns "stored here, read there" into its dims as expressions
over the cluster's.  Two cases:

*joined*   all reads give one mapping, and it is a bijection.  The kernel may reduce, assert, and keep stores
           that others read.  Dims that the mapping does not determine (those it reduces) become cluster dims
           of the same extent which its readers have and the mapping leaves free, preferring those that make
           loads coincide; else new ones.  Where the kernel's dims are the finer ones (it reduces a digit of
           what a reader flattened), the cluster is rewritten over the kernel's dims instead.
*inlined*  the mapping is no bijection (a slice, a pad, a shifted read), or reads differ: a pointwise kernel
           that nothing else needs is computed once for each different read.

The result is a ``Plan``: instances of kernels, each with its dims over the dims of one space.  The same
kernels give the same plan: ``fuse-vertical`` plans to decide and ``materialize-fusion`` plans again to build.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from .accesses import Form, Read, Summary, Write
from .index import Expr, Facts, Solution, const, is_bijection, simplify, solve, sym
from .index_expr import FloorDiv, Mod
from .index_facts import is_indirect

#: How many ways to pair up undetermined dims are tried before taking the best.
MAX_PAIRINGS = 24


@dataclass(frozen=True)
class Refusal:
    """Why kernels stay apart: a rule's kebab-case name, one sentence with the remedy, what was compared."""

    rule: str
    message: str
    numbers: tuple[tuple[str, Any], ...] = ()


class Refused(Exception):
    """Carries a Refusal out of planning."""

    def __init__(self, rule: str, message: str, **numbers: Any) -> None:
        super().__init__(message)
        self.refusal = Refusal(rule, message, tuple(numbers.items()))


@dataclass(frozen=True)
class Member:
    """A kernel call: values are numbers of ``Dependences``, one per argument and result.

    ``roots``: the storage of each argument.
    """

    node: int
    summary: Summary
    operands: tuple[int, ...]
    results: tuple[int, ...]
    roots: tuple[int, ...] = ()


@dataclass
class Instance:
    """One computation of a member.

    ``dims``: member dim -> expression over the space.  ``sources``: read -> the instance that makes it.
    ``guard``: the read (instance, position) whose guard says that the mapped point exists, for reads that may
    lie outside.
    """

    member: int
    cluster: int
    dims: dict[str, Expr]
    sources: dict[int, int] = field(default_factory=dict)
    guard: tuple[int, int] | None = None
    inlined: bool = False


@dataclass(frozen=True)
class Plan:
    """``extents`` of the space, and the instances, makers before their readers."""

    members: tuple[Member, ...]
    extents: dict[str, Expr]
    instances: tuple[Instance, ...]
    facts: Facts

    def image(self, instance: Instance, dims: Iterable[str]) -> frozenset[str]:
        """The dims of the space that the instance's ``dims`` stand for, those of extent 1 left out."""
        return image(instance.dims, dims, self.extents)

    def coords(self, instance: Instance, access: Read | Write) -> tuple[Expr, ...]:
        """An access's coordinates over the dims of the space."""
        return _placed(access.coords, _items(instance.dims), self.facts)

    def of(self, members: Sequence[Member]) -> "Plan":
        """The same plan of other kernels of the same forms; nothing mutable is shared."""
        instances = tuple(replace(i, dims=dict(i.dims), sources=dict(i.sources)) for i in self.instances)
        return Plan(tuple(members), dict(self.extents), instances, self.facts)

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
        """Dims that no reduction or scan crosses, those of extent 1 left out."""
        return frozenset(d for d, e in self.extents.items() if e.constant != 1) - self.crossed


def image(mapping: Mapping[str, Expr], dims: Iterable[str], extents: Mapping[str, Expr]) -> frozenset[str]:
    """The symbols of the mapped dims that are dims of the space with more than one point."""
    found: set[str] = set()
    for dim in dims:
        if dim in mapping:
            found |= mapping[dim].symbols()
    return frozenset(d for d in found if d in extents and extents[d].constant != 1)


def plan_group(
    members: Sequence[Member], escaping: frozenset[int], facts: Facts, hints: Mapping[str, int] | None = None
) -> Plan | Refusal:
    """The fused iteration space of ``members`` (in program order), or why there is none.

    escaping: values made by members that something outside the group uses, or whose storage must be written.
    facts:    bounds of the size symbols.  hints: likely values of them, for the cost of computing something
              twice.
    """
    numbers: dict[int, int] = {}
    calls = tuple(
        (
            m.summary.form,
            tuple([numbers.setdefault(v, len(numbers)) for v in m.operands]),
            tuple([numbers.setdefault(v, len(numbers)) for v in m.results]),
        )
        for m in members
    )
    kept = frozenset(numbers[v] for v in escaping if v in numbers)
    plan = _plan_form(calls, kept, facts, tuple((hints or {}).items()))
    if isinstance(plan, Plan):
        return plan.of(members)
    try:  # again, for a message with the names of these kernels
        return _Planner(tuple(members), escaping, facts, hints or {}).plan()
    except Refused as refused:
        return refused.refusal


@lru_cache(maxsize=1 << 10)
def _plan_form(
    calls: tuple[tuple[Form, tuple[int, ...], tuple[int, ...]], ...],
    escaping: frozenset[int],
    facts: Facts,
    hints: tuple[tuple[str, int], ...],
) -> Plan | None:
    """The plan of kernels known by their form, operands and results; None where there is none.

    A model repeats its layers, and passes plan a group more than once: the same calls have the same plan.
    """
    members = tuple(
        Member(i, form.summary(f"k{i}"), operands, results)
        for i, (form, operands, results) in enumerate(calls)
    )
    try:
        return _Planner(members, escaping, facts, dict(hints)).plan()
    except Refused:
        return None


@lru_cache(maxsize=1 << 14)
def _solve(
    stored: tuple[Expr, ...],
    read: tuple[Expr, ...],
    producer: tuple[tuple[str, Expr], ...],
    consumer: tuple[tuple[str, Expr], ...],
    facts: Facts,
) -> Solution | None:
    return solve(stored, read, dict(producer), dict(consumer), facts)


@lru_cache(maxsize=1 << 14)
def _bijective(
    mapping: tuple[tuple[str, Expr], ...],
    producer: tuple[tuple[str, Expr], ...],
    consumer: tuple[tuple[str, Expr], ...],
    facts: Facts,
) -> bool:
    return is_bijection(dict(mapping), dict(producer), dict(consumer), facts)


@lru_cache(maxsize=1 << 12)
def _within(facts: Facts, extents: tuple[tuple[str, Expr], ...]) -> Facts:
    return facts.with_extents(dict(extents))


@lru_cache(maxsize=1 << 15)
def _placed(coords: tuple[Expr, ...], dims: tuple[tuple[str, Expr], ...], facts: Facts) -> tuple[Expr, ...]:
    """Coordinates over a member's dims as coordinates over the space's."""
    mapping = dict(dims)
    return tuple(simplify(c.subs(mapping), facts) for c in coords)


def _items(table: Mapping[str, Expr]) -> tuple[tuple[str, Expr], ...]:
    return tuple(table.items())


def is_plain(mapping: Mapping[str, Expr]) -> bool:
    """Whether no expression divides: nothing was flattened."""
    return not any(isinstance(atom, (FloorDiv, Mod)) for e in mapping.values() for atom in e.atoms())


def evaluate(e: Expr, hints: Mapping[str, int], default: int = 64) -> int:
    """A size under the hints; symbols without one count as ``default``."""
    value = e.subs({name: hints.get(name, default) for name in sorted(e.symbols())}).constant
    assert value is not None
    return value


@dataclass(frozen=True)
class _Reader:
    instance: int
    position: int
    write: Write
    coords: tuple[Expr, ...]
    guarded: bool


class _Planner:
    def __init__(
        self, members: tuple[Member, ...], escaping: frozenset[int], facts: Facts, hints: Mapping[str, int]
    ) -> None:
        self.members = members
        self.escaping = escaping
        self.facts = facts
        self.hints = hints
        self.count = 0
        self.clusters: dict[int, dict[str, Expr]] = {}
        self.instances: list[Instance] = []
        self.maker: dict[int, tuple[int, Write]] = {}
        for i, member in enumerate(members):
            for write in member.summary.writes:
                self.maker[member.results[write.result]] = (i, write)

    def plan(self) -> Plan:
        for member in self.members:
            for tie in member.summary.ties:
                if member.operands[tie] in self.maker:
                    raise Refused(
                        "order",
                        "one kernel writes into the tensor that the other has just made: copy it first",
                    )
        for number in reversed(range(len(self.members))):
            self.place(number)
        first, *others = self.clusters
        while others:  # a cluster may share a tensor only with one that has joined by then
            joined = [other for other in others if self.relate(first, other)]
            if not joined:
                raise Refused(
                    "index-mismatch",
                    "no tensor that both read is read at points that correspond",
                    clusters=len(others) + 1,
                )
            others = [other for other in others if other not in joined]
        (extents,) = self.clusters.values()
        for instance in self.instances:  # a later rewrite of the space may have cut a dim that is crossed
            summary = self.members[instance.member].summary
            if not self.crosses_cleanly(summary, instance.dims, extents):
                what = f"{summary.name} reduces or scans over a dim of which the others need parts"
                raise Refused("reduction-dims", f"{what}: split that dim first")
        plan = Plan(
            self.members, extents, tuple(reversed(self.instances)), _within(self.facts, _items(extents))
        )
        return _renumbered(plan)

    # Placing one kernel.
    def place(self, number: int) -> None:
        member = self.members[number]
        readers = self.readers(number)
        if not readers:
            self.start(number)
            return
        for reader in readers:
            if not reader.write.is_plain:
                rule = "atomic" if reader.write.mode != "set" else "index-mismatch"
                what = "adds to" if reader.write.mode != "set" else "writes only parts of"
                raise Refused(
                    rule,
                    f"{member.summary.name} {what} the tensor that the other reads; readers need all of it",
                )
        cluster = self.connect(number, readers)
        extents = self.clusters[cluster]
        readers = self.readers(number)
        mappings: dict[tuple, list[tuple[_Reader, Solution]]] = {}
        for reader in readers:
            solution = self.invert(member, reader, extents)
            key = (_items(solution.mapping), None if solution.inside else (reader.instance, reader.position))
            mappings.setdefault(key, []).append((reader, solution))
        joined = self.combine(member, mappings, extents)
        if joined is not None:
            self.join(number, cluster, joined, readers)
            return
        self.inline(number, cluster, mappings)

    def readers(self, number: int) -> list[_Reader]:
        """Every read, by an instance placed already, of a result of a member."""
        found = []
        for index, instance in enumerate(self.instances):
            reader = self.members[instance.member]
            for position, read in enumerate(reader.summary.reads):
                made = self.maker.get(reader.operands[read.argument])
                if made is not None and made[0] == number:
                    coords = self.over(instance, read.coords)
                    guarded = read.guarded or instance.guard is not None
                    found.append(_Reader(index, position, made[1], coords, guarded))
        return found

    def over(self, instance: Instance, coords: Sequence[Expr]) -> tuple[Expr, ...]:
        facts = _within(self.facts, _items(self.clusters[instance.cluster]))
        return _placed(tuple(coords), _items(instance.dims), facts)

    def start(self, number: int) -> None:
        """A cluster of its own for a kernel that nothing reads."""
        summary = self.members[number].summary
        cluster = self.clusters[number] = {}
        dims = {d: self.dim(e, d in summary.crossed, cluster) for d, e in summary.dims.items()}
        self.instances.append(Instance(number, number, dims))

    def dim(self, extent: Expr, crossed: bool, cluster: dict[str, Expr]) -> Expr:
        """A new dim of a cluster; a dim of one point that nothing crosses is just 0."""
        if extent.constant == 1 and not crossed:
            return const(0)
        name = f"d{self.count}"
        self.count += 1
        cluster[name] = extent
        return sym(name)

    def invert(self, member: Member, reader: _Reader, extents: Mapping[str, Expr]) -> Solution:
        name = member.summary.name
        if any(is_indirect(s) for c in reader.coords for s in c.symbols()):
            raise Refused("index-mismatch", f"{name} is read at loaded indices; it has to be complete before")
        solution = _solve(
            reader.write.coords, reader.coords, _items(member.summary.dims), _items(extents), self.facts
        )
        if solution is None:
            stored, read = _show(reader.write.coords), _show(reader.coords)
            raise Refused(
                "index-mismatch",
                f"no point of {name} is known to store what is read: reorder or flatten its loops",
                stored=stored,
                read=read,
            )
        if solution.inside or reader.guarded:
            return solution
        if self.fills(member, reader.write):  # a load without a guard is inside its tensor
            return Solution(solution.mapping, inside=True)
        raise Refused(
            "index-mismatch",
            f"a read of {name} is not proven to be where it stores, and has no guard",
            read=_show(reader.coords),
        )

    def fills(self, member: Member, write: Write) -> bool:
        """Whether the store visits every element of its tensor, one dim for each dim of the tensor."""
        dims = member.summary.dims
        pairs = zip(write.coords, write.sizes, strict=True)
        return all(
            size.constant == 1 or any(c == sym(d) and self.facts.equal(e, size) for d, e in dims.items())
            for c, size in pairs
        )

    def combine(
        self,
        member: Member,
        mappings: Mapping[tuple, list[tuple[_Reader, Solution]]],
        extents: Mapping[str, Expr],
    ) -> dict[str, Expr] | None:
        """The one bijective mapping that all reads agree on, or None."""
        merged: dict[str, Expr] = {}
        for _, guard in mappings:
            if guard is not None:
                return None
        for items, _ in mappings:
            for dim, e in items:
                if merged.setdefault(dim, e) != e:
                    return None
        single = {d for d in member.summary.crossed if member.summary.dims[d].constant == 1}
        determined = {d: e for d, e in member.summary.dims.items() if d in merged and d not in single}
        if not _bijective(
            _items({d: merged[d] for d in determined}), _items(determined), _items(extents), self.facts
        ):
            return None
        return {d: merged[d] for d in determined}

    # Joined kernels.
    def join(self, number: int, cluster: int, mapping: dict[str, Expr], readers: list[_Reader]) -> None:
        summary = self.members[number].summary
        extents = self.clusters[cluster]
        dims = {d: const(0) for d, e in summary.dims.items() if e.constant == 1 and d not in summary.crossed}
        dims.update(mapping)
        legal = self.crosses_cleanly(summary, dims, extents)
        if not (legal and is_plain(mapping)):
            self.refine(number, cluster, dims, must=not legal)
            extents = self.clusters[cluster]
        loose = {d: e for d, e in summary.dims.items() if d not in dims}
        if loose:
            taken = image(dims, dims, extents)
            self.pair(number, cluster, dims, loose, [d for d in extents if d not in taken])
        index = len(self.instances)
        self.instances.append(Instance(number, cluster, {d: dims[d] for d in summary.dims}))
        for reader in readers:
            self.instances[reader.instance].sources[reader.position] = index

    def crosses_cleanly(
        self, summary: Summary, dims: Mapping[str, Expr], extents: Mapping[str, Expr]
    ) -> bool:
        """Whether each reduction would cross whole dims of the space."""
        for crossing in summary.crossings:
            crossed = image(dims, crossing.over, extents)
            if crossed & image(dims, crossing.dims - set(crossing.over), extents):
                return False
            if crossing.op == "fuse.scan" and not all(_is_symbol(dims.get(d)) for d in crossing.over):
                return False
        return True

    def refine(self, number: int, cluster: int, dims: dict[str, Expr], must: bool) -> None:
        """Rewrites the cluster over the member's finer dims; changes ``dims`` to name the new ones."""
        summary = self.members[number].summary
        extents = self.clusters[cluster]
        finer = {d: summary.dims[d] for d, e in dims.items() if not e.is_constant}
        coarse = {d: extents[d] for d in extents if d in image(dims, finer, extents)}
        found = _solve(
            tuple(dims[d] for d in finer),
            tuple(sym(d) for d in finer),
            _items(coarse),
            _items(finer),
            self.facts,
        )
        usable = found is not None and _bijective(
            _items(found.mapping), _items(coarse), _items(finer), self.facts
        )
        if not usable or found is None or not (must or is_plain(found.mapping)):
            if must:
                raise Refused(
                    "index-mismatch",
                    f"{summary.name} reduces over part of a dim that its reader has merged: split that dim",
                )
            return
        names = {d: self.dim(e, True, extents) for d, e in finer.items()}
        self.substitute(cluster, {d: e.subs(names) for d, e in found.mapping.items()})
        dims.update(names)

    def substitute(self, cluster: int, mapping: Mapping[str, Expr]) -> None:
        """Replaces dims of a cluster by expressions over its other dims."""
        extents = self.clusters[cluster]
        added = [n for n in extents if any(n in e.symbols() for e in mapping.values())]
        order: dict[str, None] = {}
        for d in extents:  # what replaces a dim takes its place
            if d in mapping:
                order.update((n, None) for n in added if n in mapping[d].symbols())
            elif d not in added:
                order[d] = None
        extents = self.clusters[cluster] = {
            d: extents[d] for d in (*order, *(n for n in added if n not in order))
        }
        facts = _within(self.facts, _items(extents))
        for instance in self.instances:
            if instance.cluster == cluster:
                instance.dims = {d: _settled(e.subs(mapping), facts) for d, e in instance.dims.items()}

    def pair(
        self, number: int, cluster: int, dims: dict[str, Expr], loose: Mapping[str, Expr], free: Sequence[str]
    ) -> None:
        """Finds cluster dims for the dims that no read determines; adds to ``dims``."""
        extents = self.clusters[cluster]
        best: dict[str, str] = {}
        score = -1
        for pairing in islice(_pairings(list(loose), loose, free, extents, self.facts), MAX_PAIRINGS):
            trial = {**dims, **{d: sym(n) for d, n in pairing.items()}}
            found = (len(pairing), self.coinciding(number, cluster, trial))
            value = found[0] * 1000 + found[1]
            if value > score:
                best, score = pairing, value
        dims.update((d, sym(n)) for d, n in best.items())
        left = [d for d in loose if d not in best]
        open_ = [n for n in free if n not in best.values()]
        for d in list(left):  # a dim that the cluster has in several pieces
            run = _run(open_, extents, loose[d], self.facts)
            if run:
                dims[d] = _mixed_radix(run, extents)
                left.remove(d)
                open_ = [n for n in open_ if n not in run]
        for n in open_:  # several dims that the cluster has as one
            run = _run(left, loose, extents[n], self.facts)
            if run:
                names = {d: self.dim(loose[d], True, extents) for d in run}
                self.substitute(cluster, {n: _mixed_radix(run, loose).subs(names)})
                extents = self.clusters[cluster]
                dims.update({d: e.subs({n: _mixed_radix(run, loose).subs(names)}) for d, e in dims.items()})
                dims.update(names)
                left = [d for d in left if d not in run]
        dims.update((d, self.dim(loose[d], True, extents)) for d in left)

    def coinciding(self, number: int, cluster: int, dims: Mapping[str, Expr]) -> int:
        """How many of the member's loads would be loads that the cluster has already."""
        known: set[tuple[int, tuple[Expr, ...]]] = set()
        for instance in self.instances:
            if instance.cluster == cluster:
                member = self.members[instance.member]
                for read in member.summary.reads:
                    known.add((member.operands[read.argument], self.over(instance, read.coords)))
        facts = _within(self.facts, _items(self.clusters[cluster]))
        member = self.members[number]
        return sum(
            (member.operands[r.argument], _placed(r.coords, _items(dims), facts)) in known
            for r in member.summary.reads
            if all(n in dims for c in r.coords for n in c.symbols() if n in member.summary.dims)
        )

    # Inlined kernels.
    def inline(
        self, number: int, cluster: int, mappings: Mapping[tuple, list[tuple[_Reader, Solution]]]
    ) -> None:
        member = self.members[number]
        name = member.summary.name
        reads = sorted({_show(r.coords) for found in mappings.values() for r, _ in found})
        if not member.summary.is_pointwise:
            raise Refused(
                "index-mismatch",
                f"{name} reduces, and its readers need it at other points than it computes",
                reads="; ".join(reads),
            )
        if member.summary.asserts:
            raise Refused(
                "index-mismatch",
                f"{name} asserts at each of its points, and its readers would not visit them once each",
                reads="; ".join(reads),
            )
        if not self.escaping.isdisjoint(member.results):
            raise Refused(
                "index-mismatch",
                f"{name} is needed whole by others, and these readers need it at other points",
                reads="; ".join(reads),
            )
        for (items, guard), found in mappings.items():
            mapping = dict(items)
            dims = {d: const(0) for d, e in member.summary.dims.items() if e.constant == 1}
            dims.update(mapping)
            if set(dims) != set(member.summary.dims):
                raise Refused(
                    "index-mismatch", f"a read does not determine every dim of {name}", reads="; ".join(reads)
                )
            index = len(self.instances)
            self.instances.append(
                Instance(
                    number, cluster, {d: dims[d] for d in member.summary.dims}, guard=guard, inlined=True
                )
            )
            for reader, _ in found:
                self.instances[reader.instance].sources[reader.position] = index

    # Clusters.
    def connect(self, number: int, readers: Sequence[_Reader]) -> int:
        """Makes the readers of a member share one cluster, by what they read of it."""
        first = self.instances[readers[0].instance].cluster
        for other in dict.fromkeys(self.instances[r.instance].cluster for r in readers):
            if other == first:
                continue
            pairs = (
                (a.coords, b.coords)
                for a in self.readers(number)
                for b in self.readers(number)
                if a.write.coords == b.write.coords
                and self.instances[a.instance].cluster == first
                and self.instances[b.instance].cluster == other
            )
            if not any(self.unite(first, other, a, b) for a, b in pairs):
                name = self.members[number].summary.name
                reads = "; ".join(sorted({_show(r.coords) for r in readers}))
                raise Refused(
                    "index-mismatch",
                    f"the readers of {name} visit it in ways that do not correspond",
                    reads=reads,
                )
        return first

    def relate(self, first: int, other: int) -> bool:
        """Makes two clusters one by a tensor that both read at corresponding points, if there is one."""
        return any(self.unite(first, other, a, b) for a, b in self.shared_reads(first, other))

    def shared_reads(self, first: int, other: int) -> list[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
        """Coordinates of both clusters' reads of each tensor from outside that both read."""
        theirs = self.outer_reads(other)
        return [(a, b) for a, value in self.outer_reads(first) for b, same in theirs if value == same]

    def outer_reads(self, cluster: int) -> list[tuple[tuple[Expr, ...], int]]:
        """Distinct (coordinates, value) of a cluster's reads from outside, those with most dims first."""
        found: dict[tuple[tuple[Expr, ...], int], None] = {}
        for instance in self.instances:
            if instance.cluster != cluster:
                continue
            member = self.members[instance.member]
            for read in member.summary.reads:
                value = member.operands[read.argument]
                if value not in self.maker and not read.indirect:
                    found[(self.over(instance, read.coords), value)] = None
        return sorted(found, key=lambda item: -len({s for c in item[0] for s in c.symbols()}))

    def unite(self, first: int, other: int, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
        """Expresses one cluster over the other such that coordinates ``a`` and ``b`` are the same point."""
        options: list[tuple[bool, bool, int, int, int, dict[str, Expr]]] = []
        for keep, gone, kept_coords, gone_coords in ((first, other, a, b), (other, first, b, a)):
            kept, lost = self.clusters[keep], self.clusters[gone]
            solution = _solve(gone_coords, kept_coords, _items(lost), _items(kept), self.facts)
            if solution is None or any(
                is_indirect(s) for e in solution.mapping.values() for s in e.symbols()
            ):
                continue
            determined = {d: e for d, e in lost.items() if d in solution.mapping and e.constant != 1}
            mapping = {d: solution.mapping[d] for d in determined}
            if not _bijective(_items(mapping), _items(determined), _items(kept), self.facts):
                continue
            clean = all(
                self.crosses_cleanly(
                    self.members[i.member].summary,
                    {d: e.subs(mapping) for d, e in i.dims.items()},
                    {**kept, **lost},
                )
                for i in self.instances
                if i.cluster == gone
            )
            options.append((not clean, not is_plain(mapping), len(options), keep, gone, mapping))
        if not options:
            return False
        unclean, _, _, keep, gone, mapping = min(options)
        if unclean:
            return False
        self.absorb(keep, gone, mapping)
        if keep != first:  # the name of the surviving cluster is the first one's
            self.clusters[first] = self.clusters.pop(keep)
            for instance in self.instances:
                if instance.cluster == keep:
                    instance.cluster = first
            self.clusters = {first: self.clusters.pop(first), **self.clusters}
        return True

    def absorb(self, keep: int, gone: int, mapping: dict[str, Expr]) -> None:
        kept, lost = self.clusters[keep], self.clusters.pop(gone)
        whole = dict(mapping)
        taken = image(whole, whole, kept)
        free = [d for d in kept if d not in taken]
        for d, e in lost.items():
            if d in whole:
                continue
            match = next((n for n in free if self.facts.equal(kept[n], e)), None)
            if match is None:
                kept[d] = e
                whole[d] = sym(d)
            else:
                free.remove(match)
                whole[d] = sym(match)
        facts = _within(self.facts, _items(kept))
        for instance in self.instances:
            if instance.cluster == gone:
                instance.cluster = keep
                instance.dims = {d: _settled(e.subs(whole), facts) for d, e in instance.dims.items()}


def _is_symbol(e: Expr | None) -> bool:
    return e is None or (len(e.symbols()) == 1 and e == sym(next(iter(e.symbols()))))


def _settled(e: Expr, facts: Facts) -> Expr:
    """Simplified, but a dim stays that dim, also when it has one point: a reduction may cross it."""
    return e if _is_symbol(e) else simplify(e, facts)


def _show(coords: Iterable[Expr]) -> str:
    return ", ".join(map(str, coords))


def _pairings(
    names: list[str],
    loose: Mapping[str, Expr],
    free: Sequence[str],
    extents: Mapping[str, Expr],
    facts: Facts,
) -> Iterator[dict[str, str]]:
    """Ways to give loose dims free dims of equal extent, those that keep the order first; some get none."""
    if not names:
        yield {}
        return
    head, *tail = names
    matches = [n for n in free if facts.equal(extents[n], loose[head])]
    for n in matches:
        for rest in _pairings(tail, loose, [f for f in free if f != n], extents, facts):
            yield {head: n, **rest}
    if not matches:
        yield from _pairings(tail, loose, free, extents, facts)


def _run(names: Sequence[str], extents: Mapping[str, Expr], extent: Expr, facts: Facts) -> list[str]:
    """Two or more neighbours among ``names`` whose extents multiply to ``extent``; [] if there are none."""
    for start in range(len(names)):
        total = extents[names[start]]
        for end in range(start + 1, len(names)):
            total = total * extents[names[end]]
            if facts.equal(total, extent):
                return list(names[start : end + 1])
    return []


def _mixed_radix(names: Sequence[str], extents: Mapping[str, Expr]) -> Expr:
    """The flat index of dims, the last one fastest."""
    flat = const(0)
    for name in names:
        flat = flat * extents[name] + sym(name)
    return flat


def _renumbered(plan: Plan) -> Plan:
    """The instances came consumers first: makes ``sources`` and ``guard`` name the new positions."""
    last = len(plan.instances) - 1
    for instance in plan.instances:
        instance.sources = {read: last - source for read, source in sorted(instance.sources.items())}
        if instance.guard is not None:
            instance.guard = (last - instance.guard[0], instance.guard[1])
    return plan
