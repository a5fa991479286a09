"""What vertical and horizontal fusion share: try pairs of groups in order of score, remember refusals, report
them.

Not a pass.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from math import inf
from typing import NamedTuple

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.measured import Measurements, PairKeys, read_measurements
from ...compiler.analysis.fusion.plan import Refusal
from ...compiler.analysis.fusion.rules import Candidate, judge, walk_of_group
from ...compiler.analysis.fusion.score import Gain, Losses, loss_of, pays
from ...compiler.analysis.fusion.walk import Walk
from ...compiler.analysis.program.dependences import Node
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Loss, Remarks
from ...compiler.cost.clock import microseconds
from ...compiler.cost.hardware import Hardware
from ...compiler.cost.work import Work
from ...compiler.mlir import ir
from ..analysis_manager import AnalysisManager
from ..base.tables import read_table
from ..pass_base import PassError

Pair = tuple[int, int]
#: The pairs of groups that might merge, of which one is among those given; each with the first group first.
Candidates = Callable[[GroupGraph, Iterable[int]], Iterable[Pair]]
#: An additional rule: None, or why the pair must stay apart.
Extra = Callable[[Candidate], Refusal | None]


class Merge(NamedTuple):
    """Two groups that became one: their nodes at that time, and what it saved."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    gain: Gain


@dataclass
class Fuser:
    """Merges the best pair of groups, again and again.

    ``refused`` are the pairs that were judged, by their names and numbers of members: a group only grows.
    """

    pass_name: str
    graph: GroupGraph
    limits: Limits
    hardware: Hardware
    extra: Extra | None = None
    merging: Callable[[int, int], None] | None = None  #: told of each merge before it is made
    measured: Measurements = field(default_factory=dict)  #: of pairs, by their keys
    refused: dict[tuple[int, int, int, int], Refusal] = field(default_factory=dict)
    merges: list[Merge] = field(default_factory=list)  #: in the order in which they were made
    _microseconds: dict[int, float] = field(default_factory=dict)  #: by bytes, with a launch
    _work: dict[int, int] = field(default_factory=dict)  #: issue slots of groups that compute points again
    _again: dict[int, int] = field(default_factory=dict)  #: how many of them are spent again

    def run(self, candidates: Candidates) -> None:
        """To a fixed point.  The best pair goes first: time saved, then nearness, then program order.

        A merge changes what its neighbours save: a pair gets a better place when it saves more than it did.
        """
        contents, members = self.graph.contents, self.graph.members
        queued: dict[Pair, float] = {}  #: what the best place of a pair says
        waiting: list[tuple[float, int, int, int]] = []

        def put(pair: Pair) -> None:
            entry = self.score(*pair)
            if entry[0] < queued.get(pair, inf):
                queued[pair] = entry[0]
                heapq.heappush(waiting, entry)

        for pair in candidates(self.graph, self._groups()):
            if pair not in queued:
                put(pair)
        while waiting:
            score, _, first, second = heapq.heappop(waiting)
            if queued.get((first, second)) == score:
                del queued[first, second]
            if first not in members or second not in members:
                continue  # merged away; pairs with the group that took its nodes were added then
            gone = contents(second)
            if not self.attempt(first, second):
                continue
            for pair in candidates(self.graph, (first,)):  # the group that took both has this name
                other = pair[pair[0] == first]
                if pair not in queued or contents(other).meets(gone):
                    put(pair)

    def join(self, nodes: Sequence[int]) -> None:
        """Makes one group of nodes, each alone in its group, in program order.  ``long_chains`` found them:
        they compute no point again, and nothing has to run between them.
        """
        group = nodes[0]
        for node in nodes[1:]:
            gain = Gain(self.graph.saved_bytes(group, node), launches=1)
            self.merges.append(Merge(self.graph.members[group], (node,), gain))
            group = self.graph.merge(group, node)

    def _groups(self) -> set[int]:
        """The groups of kernels."""
        return {self.graph.group_of[node] for node in self.graph.summaries}

    def score(self, a: int, b: int) -> tuple[float, int, int, int]:
        """The least goes first; the pair, the first group first, ends it."""
        distance = self.graph.members[b][-1] - self.graph.members[a][0]
        return (-self._saved_microseconds(self.graph.saved_bytes(a, b)), distance, a, b)

    def _saved_microseconds(self, saved: int) -> float:
        """What a merge saves that moves so many bytes less."""
        known = self._microseconds.get(saved)
        if known is None:
            known = self._microseconds[saved] = Gain(saved, launches=1).microseconds(self.hardware)
        return known

    def _key(self, a: int, b: int) -> tuple[int, int, int, int]:
        members = self.graph.members
        return a, len(members[a]), b, len(members[b])

    def attempt(self, a: int, b: int) -> bool:
        """Merges two groups if the rules allow it."""
        key = self._key(a, b)
        if key in self.refused:
            return False
        candidate = Candidate(self.graph, a, b, self.limits)
        refusal, slots, work, walk = judge(candidate)
        if refusal is None and self.extra is not None:
            refusal = self.extra(candidate)
        if refusal is None and work:
            refusal = self._slower(a, b, work)
        if refusal is None and walk is not None:
            refusal = self._slower_walk(a, b, walk)
        if refusal is None and self.measured:
            found = self.measured.get(self._pair_keys(self.graph.members[a], self.graph.members[b]))
            refusal = None if found is None else found.refusal
        if refusal is None:
            if self.merging is not None:
                self.merging(a, b)
            again = slots - self._again.pop(a, 0) - self._again.pop(b, 0)
            gain, members = Gain(self.graph.saved_bytes(a, b), 1, again), self.graph.members
            self.merges.append(Merge(members[a], members[b], gain))
            self._work.pop(b, None)
            merged = self.graph.merge(a, b)
            if work:
                self._work[merged], self._again[merged] = work, slots
            return True
        self.refused[key] = refusal
        return False

    @cached_property
    def _pair_keys(self) -> PairKeys:
        return PairKeys(self.graph)

    def _slower(self, a: int, b: int, work: int) -> Refusal | None:
        """The rule ``slower``: a merge whose estimate is negative.  One kernel that spends ``work`` issue
        slots, some of them again, is estimated beside two, which store and load what is between them.
        """
        graph, apart = self.graph, 0.0
        for group in (a, b):
            alone = self._work.get(group) or graph.work(group)
            apart += self._microseconds_of(graph.moved_bytes(group, group), alone)
        together = self._microseconds_of(graph.moved_bytes(a, b), work)
        if pays(together, apart, self.hardware):
            return None
        message = "what would run again takes longer than the merge saves: keep it apart"
        return Refusal("slower", message, _figures(together, apart))

    def _microseconds_of(self, moved: int, slots: int) -> float:
        return microseconds(Work(moved, slots=slots), self.hardware, self.hardware.rates.streaming.fused)

    def _slower_walk(self, a: int, b: int, walk: Walk) -> Refusal | None:
        """The rule ``slower`` for two groups that would sum rows and columns in one walk."""
        walks = [walk_of_group(self.graph, group, self.limits) for group in (a, b)]
        together, apart = self._estimates(a, b, walk, walks)
        if walk.pays(together, apart, any(walks), self.hardware):
            return None
        message = (
            "one walk over rows, with parts of the sums of columns, is not clearly faster: keep them apart"
        )
        return Refusal("slower", message, _figures(together, apart))

    def _estimates(self, a: int, b: int, walk: Walk, walks: Sequence[Walk | None]) -> tuple[float, float]:
        """Microseconds of one kernel that walks, and of two groups.  walks: those of the groups, if any.

        Apart, what one makes for the other alone may be stored, or computed again of what the first one
        reads: the cheaper of the two counts.
        """
        graph, hardware = self.graph, self.hardware
        moved = [graph.moved_bytes(group, group) for group in (a, b)]
        passed = sum(map(graph.bytes_of, graph.shared(a, b)))
        one, other = graph.contents(a), graph.contents(b)
        again = sum(map(graph.bytes_of, (one.read | other.read) - one.made - other.made))
        saved = max(0, 2 * passed - again)
        together = walk.microseconds(graph.moved_bytes(a, b), hardware)
        return together, walk.apart(moved, walks, saved, hardware)

    def report(self, candidates: Candidates, remarks: Remarks) -> None:
        """One remark for each pair of groups that is apart at the end, and one for each group that merged.

        The remark of a pair names two calls: the last of the first group and the first of the second.  What
        the rule compared may be about other members of the groups.
        """
        nodes, losses = self.graph.deps.nodes, Losses(self.graph)
        for a, b in sorted(set(candidates(self.graph, self._groups()))):
            refusal = self.refused.get(self._key(a, b))
            if refusal is not None:
                last, first = self.graph.members[a][-1], self.graph.members[b][0]
                loss = self._loss(losses.bytes(a, b), refusal)
                self.missed((nodes[last], nodes[first]), refusal, remarks, loss)
        total: dict[int, Gain] = {}
        for merge in self.merges:
            group = self.graph.group_of[merge.first[0]]
            total[group] = total.get(group, Gain()) + merge.gain
        for group, gain in sorted(total.items()):
            fused = [nodes[m] for m in self.graph.members[group]]
            names = tuple(n.name for n in fused)
            remarks.add(
                self.pass_name,
                "passed",
                "fused",
                f"{len(names)} kernels become one",
                ops=names,
                locations=tuple(n.location for n in fused),
                saved_bytes=gain.saved_bytes,
                saved_launches=gain.launches,
                recomputed_slots=gain.slots,
                saved_us=round(gain.microseconds(self.hardware), 2),
            )

    def _loss(self, saved: int, refusal: Refusal) -> Loss:
        """What two groups that stay apart would save: as the rule found, where it compared their times."""
        compared = dict(refusal.numbers)
        if "us_apart" in compared:
            return Loss(saved, round(max(0.0, compared["us_apart"] - compared["us_together"]), 2))
        return loss_of(saved, self.hardware)

    def missed(self, pair: tuple[Node, Node], refusal: Refusal, remarks: Remarks, loss: Loss) -> None:
        """The remark of two calls that stay apart."""
        names, locations = tuple(n.name for n in pair), tuple(n.location for n in pair)
        message = f"{pair[0].name} and {pair[1].name} stay apart: {refusal.message}"
        numbers = dict(refusal.numbers)
        remarks.refused(
            self.pass_name, refusal.rule, message, loss, ops=names, locations=locations, **numbers
        )


def _figures(together: float, apart: float) -> tuple[tuple[str, float], ...]:
    """What an estimate of one kernel compared with two, in microseconds."""
    return (
        ("saved_us", round(apart - together, 2)),
        ("us_together", round(together, 2)),
        ("us_apart", round(apart, 2)),
    )


def groups_of(analyses: AnalysisManager) -> GroupGraph:
    """The groups that the ``fuse.group`` of the calls say.  Raises PassError without a ``@main``."""
    try:
        return analyses.get(GroupGraph)
    except ValueError as error:
        raise PassError(str(error), analyses.module.operation.location) from error


def measurements_of(name: str, path: str, module: ir.Module) -> Measurements:
    """The table that the option ``fusions`` of the pass ``name`` names; empty where it names none.  Raises
    PassError for what is no table.
    """
    if not path:
        return {}
    try:
        return read_measurements(read_table(name, path, module))
    except ValueError as error:
        raise PassError(f"{name}: {path} is no table: {error}", module.operation.location) from None
