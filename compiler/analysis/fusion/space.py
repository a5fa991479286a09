"""Uniting iteration spaces: several *clusters* of named dims, and the kernels placed in them, become one.

Two clusters unite over a tensor that both read: the dims of one are expressed by the dims of the other.  Dims
that no read determines are paired with dims of the same extent that the cluster already has, preferably such
that loads become the same.  Where one side has a dim in several pieces, the other side's dim is cut likewise.
The dims that a product sums are paired with nothing but the dims that other products sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from math import prod
from typing import NamedTuple

from ...index import Expr, Facts, Solution, const, is_bijection, simplify, solve, sym
from ...index.facts import is_indirect
from ...ir.contractions import PRODUCTS
from ..kernel.accesses import Summary, Write
from .plan import Instance, Member, image, is_plain, items, placed, within

#: How many ways of pairing undetermined dims are tried before the best is taken.
MAX_PAIRINGS = 24


@lru_cache(maxsize=1 << 14)
def solved(
    stored: tuple[Expr, ...],
    read: tuple[Expr, ...],
    producer: tuple[tuple[str, Expr], ...],
    consumer: tuple[tuple[str, Expr], ...],
    facts: Facts,
) -> Solution | None:
    return solve(stored, read, dict(producer), dict(consumer), facts)


@lru_cache(maxsize=1 << 14)
def bijective(
    mapping: tuple[tuple[str, Expr], ...],
    producer: tuple[tuple[str, Expr], ...],
    consumer: tuple[tuple[str, Expr], ...],
    facts: Facts,
) -> bool:
    return is_bijection(dict(mapping), dict(producer), dict(consumer), facts)


class PairingScore(NamedTuple):
    """How good a pairing of dims is; the more important field comes first."""

    paired: int  #: dims that have a partner
    coinciding: int  #: loads that equal loads of the cluster


class Spaces:
    """Clusters under construction.  ``maker[value]``: the member that makes a value, and its store."""

    def __init__(self, members: Sequence[Member], facts: Facts) -> None:
        self.members = members
        self.facts = facts
        self.count = 0
        self.clusters: dict[int, dict[str, Expr]] = {}
        self.instances: list[Instance] = []
        self.reading: dict[int, list[tuple[int, int]]] = {}  #: member -> (instance, read) of its results
        self.maker: dict[int, tuple[int, Write]] = {}
        for i, member in enumerate(members):
            for write in member.summary.writes:
                self.maker[member.results[write.result]] = (i, write)

    def append(self, instance: Instance) -> None:
        """Adds an instance.  Readers come before their producers."""
        member = self.members[instance.member]
        for position, read in enumerate(member.summary.reads):
            made = self.maker.get(member.operands[read.argument])
            if made is not None:
                self.reading.setdefault(made[0], []).append((len(self.instances), position))
        self.instances.append(instance)

    def over(self, instance: Instance, coords: Sequence[Expr]) -> tuple[Expr, ...]:
        facts = within(self.facts, items(self.clusters[instance.cluster]))
        return placed(tuple(coords), items(instance.dims), facts)

    def dim(self, extent: Expr, crossed: bool, cluster: dict[str, Expr]) -> Expr:
        """A new dim of a cluster; the constant 0 for a dim of one point that nothing crosses."""
        if extent.constant == 1 and not crossed:
            return const(0)
        name = f"d{self.count}"
        self.count += 1
        cluster[name] = extent
        return sym(name)

    def crosses_cleanly(
        self, summary: Summary, dims: Mapping[str, Expr], extents: Mapping[str, Expr]
    ) -> bool:
        """Whether each reduction of a member would cross whole dims of the space, and each point once: over
        rows that are ``d0 floordiv 4``, each row would count four times.
        """
        for crossing in summary.crossings:
            crossed = image(dims, crossing.over, extents)
            if crossed & image(dims, crossing.dims - set(crossing.over), extents):
                return False
            points = prod((summary.dims[d] for d in crossing.over if d in dims), start=const(1))
            if not self.facts.equal(prod((extents[d] for d in crossed), start=const(1)), points):
                return False
            if crossing.op == "fuse.scan" and not all(_is_symbol(dims.get(d)) for d in crossing.over):
                return False
        return True

    def substitute(self, cluster: int, mapping: Mapping[str, Expr]) -> None:
        """Replaces dims of a cluster by expressions over its other dims."""
        extents = self.clusters[cluster]
        added = [n for n in extents if any(n in e.symbols() for e in mapping.values())]
        order: dict[str, None] = {}
        for d in extents:  # new dims take the place of the one that they replace
            if d in mapping:
                order.update((n, None) for n in added if n in mapping[d].symbols())
            elif d not in added:
                order[d] = None
        extents = self.clusters[cluster] = {
            d: extents[d] for d in (*order, *(n for n in added if n not in order))
        }
        facts = within(self.facts, items(extents))
        for instance in self.instances:
            if instance.cluster == cluster:
                instance.move(mapping, lambda e: _settled(e, facts))

    def pair(
        self, number: int, cluster: int, dims: dict[str, Expr], loose: Mapping[str, Expr], free: Sequence[str]
    ) -> None:
        """Finds cluster dims for the dims of a member that no read determines; adds them to ``dims``.

        number: the member.  loose: those dims and their extents.  free: dims of the cluster that the member
        does not use yet.  Whole dims are paired first, then dims that one of the two has in several pieces.
        The remaining dims become new dims of the cluster.  What a product sums comes first for a reduction:
        of two dims of one extent, a softmax is along that one.
        """
        crossings = self.members[number].summary.crossings
        if crossings:
            summed, products = self.summed_by_products(cluster), any(c.op in PRODUCTS for c in crossings)
            free = sorted((n for n in free if n in summed or not products), key=lambda n: n not in summed)
        loose = self.pair_segments(number, cluster, dims, loose)
        best = self.best_pairing(number, cluster, dims, loose, free)
        dims.update((d, sym(n)) for d, n in best.items())
        left = [d for d in loose if d not in best]
        open_ = [n for n in free if n not in best.values()]
        left, open_ = self.join_pieces(cluster, dims, loose, left, open_)
        left = self.cut_into_pieces(cluster, dims, loose, left, open_)
        extents = self.clusters[cluster]
        dims.update((d, self.dim(loose[d], True, extents)) for d in left)

    def pair_segments(
        self, number: int, cluster: int, dims: dict[str, Expr], loose: Mapping[str, Expr]
    ) -> Mapping[str, Expr]:
        """Finds the dim of the cluster for the one that numbers the segments of a member's rows, if ``loose``
        has that: that of another member whose rows are in segments, or a new one.  The other loose dims.
        """
        found = self.members[number].summary.segments
        if found is None or found[0] not in loose:
            return loose
        extents, extent = self.clusters[cluster], loose[found[0]]
        others = [
            instance.dims[other[0]]
            for instance in self.instances
            if instance.cluster == cluster and (other := self.members[instance.member].summary.segments)
        ]
        same = [e for e in others if extents.get(str(e)) == extent]
        dims[found[0]] = same[0] if same else self.dim(extent, True, extents)
        return {d: e for d, e in loose.items() if d != found[0]}

    def summed_by_products(self, cluster: int) -> frozenset[str]:
        """The dims that products of a cluster sum, without those that are rows or columns of another."""
        summed, kept, extents = frozenset[str](), frozenset[str](), self.clusters[cluster]
        for instance in self.instances:
            for crossing in self.members[instance.member].summary.crossings:
                if instance.cluster == cluster and crossing.op in PRODUCTS:
                    over = image(instance.dims, crossing.over, extents)
                    summed |= over
                    kept |= image(instance.dims, crossing.dims, extents) - over
        return summed - kept

    @cached_property
    def same(self) -> dict[int, int]:
        """Of each value that a member computes just as an earlier member does: the value of that one."""
        first: dict[tuple[Summary, tuple[int, ...]], Member] = {}
        found: dict[int, int] = {}
        for member in self.members:
            summary = member.summary
            read = tuple(found.get(v, v) for n, v in enumerate(member.operands) if n not in summary.ties)
            known = first.setdefault((summary, read), member)
            if known is not member:
                found.update(zip(member.results, known.results, strict=True))
        return found

    def best_pairing(
        self,
        number: int,
        cluster: int,
        dims: Mapping[str, Expr],
        loose: Mapping[str, Expr],
        free: Sequence[str],
    ) -> dict[str, str]:
        """Member dim -> cluster dim of the same extent.  Of all pairings, one with the most pairs; of these,
        the first with the most loads that coincide.  None where the best pairing only looks right: the member
        would read its tensors across the rows of the cluster's (sums of two differences of an image: 512 rows
        of 511, and 511 rows of 512).
        """

        def score(pairing: dict[str, str]) -> PairingScore:
            trial = {**dims, **{d: sym(n) for d, n in pairing.items()}}
            return PairingScore(len(pairing), self.coinciding(number, cluster, trial))

        pairings = _pairings(list(loose), loose, free, self.clusters[cluster], self.facts)
        tried = list(islice(pairings, MAX_PAIRINGS))
        best = tried[0] if len(tried) == 1 else max(tried, key=score)  # a score reads the whole cluster
        placing = {**dims, **{d: sym(n) for d, n in best.items()}}
        if len(best) > 1 and self.turned(number, cluster, placing):
            return {}
        return best

    def join_pieces(
        self,
        cluster: int,
        dims: dict[str, Expr],
        loose: Mapping[str, Expr],
        left: Sequence[str],
        open_: Sequence[str],
    ) -> tuple[list[str], list[str]]:
        """Expresses a member's dim by several of the cluster's, whose extents multiply to its own.

        Adds to ``dims``.  Returns the dims of the member and of the cluster that are still unpaired.
        """
        extents = self.clusters[cluster]
        joined: set[str] = set()
        for d in left:
            run = _run(open_, extents, loose[d], self.facts)
            if run:
                dims[d] = _mixed_radix(run, extents)
                joined.add(d)
                open_ = [n for n in open_ if n not in run]
        return [d for d in left if d not in joined], list(open_)

    def cut_into_pieces(
        self,
        cluster: int,
        dims: dict[str, Expr],
        loose: Mapping[str, Expr],
        left: Sequence[str],
        open_: Sequence[str],
    ) -> list[str]:
        """Replaces a dim of the cluster by new ones for several dims of the member, whose extents multiply to
        its own.

        Adds to ``dims``.  Returns the dims of the member that are still unpaired.
        """
        for n in open_:
            extents = self.clusters[cluster]
            run = _run(left, loose, extents[n], self.facts)
            if run:
                names = {d: self.dim(loose[d], True, extents) for d in run}
                flat = _mixed_radix(run, loose).subs(names)
                self.substitute(cluster, {n: flat})
                dims.update({d: e.subs({n: flat}) for d, e in dims.items()})
                dims.update(names)
                left = [d for d in left if d not in run]
        return list(left)

    def coinciding(self, number: int, cluster: int, dims: Mapping[str, Expr]) -> int:
        """How many of the member's loads would equal loads that the cluster already has.  Values that equal
        members compute (copies, one for each reader) count as one.
        """
        known: set[tuple[int, tuple[Expr, ...]]] = set()
        same = self.same
        for instance in self.instances:
            if instance.cluster == cluster:
                member = self.members[instance.member]
                for read in member.summary.reads:
                    if not read.indirect:
                        value = member.operands[read.argument]
                        known.add((same.get(value, value), self.over(instance, read.coords)))
        facts = within(self.facts, items(self.clusters[cluster]))
        member = self.members[number]
        return sum(
            (same.get(v := member.operands[r.argument], v), placed(r.coords, items(dims), facts)) in known
            for r in member.summary.reads
            if all(n in dims for c in r.coords for n in c.symbols() if n in member.summary.dims)
        )

    def turned(self, number: int, cluster: int, dims: Mapping[str, Expr]) -> bool:
        """Whether a member would step along other dims in the last dims of its tensors than the cluster's
        members do in theirs, judged by the reads over the most dims of each.
        """
        member = self.members[number]
        placing = Instance(number, cluster, {d: dims.get(d, const(0)) for d in member.summary.dims})
        own = self.inner_dims(placing)
        theirs = {d for i in self.instances if i.cluster == cluster for d in self.inner_dims(i)}
        return bool(own and theirs) and own.isdisjoint(theirs)

    def inner_dims(self, instance: Instance) -> frozenset[str]:
        """The dims of the space that the last coordinates of an instance's widest reads step along."""
        reads = [r for r in self.members[instance.member].summary.reads if r.coords and not r.indirect]
        most = max((len(r.dims) for r in reads), default=0)
        last = [r.coords[-1:] for r in reads if len(r.dims) == most]
        return frozenset(s for coords in last for e in self.over(instance, coords) for s in e.symbols())

    def relate(self, first: int, other: int) -> bool:
        """Unites two clusters by a tensor that both read at corresponding points; False if there is none."""
        return any(self.unite(first, other, a, b) for a, b in self.shared_reads(first, other))

    def shared_reads(self, first: int, other: int) -> list[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
        """For each tensor from outside that both clusters read, the coordinates of both reads."""
        theirs = self.outer_reads(other)
        return [(a, b) for a, value in self.outer_reads(first) for b, same in theirs if value == same]

    def outer_reads(self, cluster: int) -> list[tuple[tuple[Expr, ...], int]]:
        """Different (coordinates, value) of a cluster's reads from outside; those with most dims come
        first.
        """
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
        """Expresses one cluster by the other, such that coordinates ``a`` and ``b`` are the same point."""
        options: list[tuple[bool, bool, int, int, int, dict[str, Expr]]] = []
        for keep, gone, kept_coords, gone_coords in ((first, other, a, b), (other, first, b, a)):
            kept, lost = self.clusters[keep], self.clusters[gone]
            solution = solved(gone_coords, kept_coords, items(lost), items(kept), self.facts)
            if solution is None or any(
                is_indirect(s) for e in solution.mapping.values() for s in e.symbols()
            ):
                continue
            determined = {d: e for d, e in lost.items() if d in solution.mapping and e.constant != 1}
            mapping = {d: solution.mapping[d] for d in determined}
            if not bijective(items(mapping), items(determined), items(kept), self.facts):
                continue
            clean = all(
                self.crosses_cleanly(
                    self.members[i.member].summary,
                    {d: e.subs(mapping) for d, e in i.dims.items()},
                    {**kept, **lost},
                )
                for i in self.instances
                if i.cluster == gone and self.members[i.member].summary.crossings
            )
            options.append((not clean, not is_plain(mapping), len(options), keep, gone, mapping))
        if not options:
            return False
        unclean, _, _, keep, gone, mapping = min(options)
        if unclean:
            return False
        self.absorb(keep, gone, mapping)
        if keep != first:  # the united cluster has the name of the first one
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
        facts = within(self.facts, items(kept))
        for instance in self.instances:
            if instance.cluster == gone:
                instance.cluster = keep
                instance.move(whole, lambda e: _settled(e, facts))


def _is_symbol(e: Expr | None) -> bool:
    return e is None or (len(e.symbols()) == 1 and e == sym(next(iter(e.symbols()))))


def _settled(e: Expr, facts: Facts) -> Expr:
    """``e`` simplified.  A dim of one point stays a dim, as a reduction may cross it."""
    return e if _is_symbol(e) else simplify(e, facts)


def _pairings(
    names: list[str],
    loose: Mapping[str, Expr],
    free: Sequence[str],
    extents: Mapping[str, Expr],
    facts: Facts,
) -> Iterator[dict[str, str]]:
    """Ways to pair loose dims with free dims of equal extent; some stay unpaired.  Pairings that keep the
    order of the dims come first.
    """
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
    """The flat index of dims; the last one varies fastest."""
    flat = const(0)
    for name in names:
        flat = flat * extents[name] + sym(name)
    return flat
