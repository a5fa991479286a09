"""The gain of a merge: an estimate of the time saved.  The fusing passes try the best pair first, and
make no merge whose estimate is negative.

Bytes are saved that one group wrote and the other read, or that both read.  A launch is saved.  Operations
that run at more points than before cost time: the rule ``recompute`` counts them, and the rule ``slower``
compares whole kernels; ``walk.py`` estimates row and column sums in one kernel.
Rules cover what the estimates do not see: programs that would idle (``lost-parallelism``, ``too-long-row``)
and registers (``size``).

What a refused merge costs (``Losses``) is what remarks say.  ``GroupGraph.saved_bytes``, by which pairs are
chosen, takes each tensor whole.  A kernel may read a part of it: in a loss at most those elements count that
are loaded, or that both load.
"""

from math import prod
from typing import NamedTuple

from ...base.dataclass import dataclass
from ...base.remarks import Loss
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import LAUNCH, Work
from ..kernel.accesses import Read, Summary, points
from .graph import GroupGraph

#: Kernels are short that take less than so many launches.
_SHORT_LAUNCHES = 4


@dataclass(frozen=True)
class Gain:
    """``saved_bytes`` of device memory, ``launches`` saved, and issue ``slots`` that are spent for it."""

    saved_bytes: int = 0
    launches: int = 0
    slots: int = 0

    def __add__(self, other: "Gain") -> "Gain":
        return Gain(
            self.saved_bytes + other.saved_bytes, self.launches + other.launches, self.slots + other.slots
        )

    def microseconds(self, hardware: Hardware) -> float:
        """Time saved; negative where the operations cost more."""
        saved = Work(self.saved_bytes, slots=-self.slots, launches=self.launches)
        return microseconds(saved, hardware, hardware.rates.streaming.fused)


def pays(together: float, apart: float, hardware: Hardware) -> bool:
    """Whether one kernel takes no longer than two, which take ``apart`` microseconds in all.

    The second launch counts only beside short kernels: the launch of a kernel goes on behind a longer one,
    and several small kernels may share one (``combine-launches``).
    """
    if together <= apart:
        return True
    launch = microseconds(LAUNCH, hardware, hardware.rates.streaming.fused)
    return apart < _SHORT_LAUNCHES * launch and together <= apart + launch


class _Part(NamedTuple):
    """Of a tensor at most so many elements, between the least and the greatest coordinate of each dim."""

    elements: int
    box: tuple[tuple[int, int], ...]


class Losses:
    """Of the pairs of a graph.  What a kernel loads is looked at once."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self._loads: dict[tuple[Summary, int], _Part] = {}

    def bytes(self, a: int, b: int) -> int:
        """What two groups move and one would not."""
        graph = self.graph
        one, other = graph.contents(a), graph.contents(b)
        saved = sum(self._bytes(value, a, b) for value in one.read & other.read)
        for maker, user, group in ((one, other, b), (other, one, a)):
            passed = maker.made & user.used
            saved += sum(self._bytes(value, group) for value in passed & user.read)
            saved += sum(map(graph.bytes_of, graph.passed_on(maker, passed, a, b)))
        return saved

    def _bytes(self, value: int, *groups: int) -> int:
        """Bytes of the elements of a tensor that each of the groups may load."""
        parts = [self._part(value, group) for group in groups]
        least = min([part.elements for part in parts])
        if least and parts[0].box != parts[-1].box:  # of a tensor that a kernel takes it may load nothing
            ends = zip(*[part.box for part in parts], strict=True)
            least = min(least, prod([max(0, min(b, d) - max(a, c) + 1) for (a, b), (c, d) in ends]))
        return least * self.graph.types[value].spec.element_bytes

    def _part(self, value: int, group: int) -> _Part:
        """What a group loads of a tensor."""
        graph = self.graph
        found = dict[object, _Part]()
        for node in graph.members[group]:
            summary, operands = graph.summaries[node], graph.deps.nodes[node].operands
            for number, read in enumerate(summary.reads):
                if operands[read.argument] == value:
                    at = (node, number) if read.indirect else read.coords
                    found[at] = self._load(summary, number, value)
        if len(found) == 1:
            return next(iter(found.values()))
        boxes = zip(*(part.box for part in found.values()), strict=True)
        box = tuple((min(low for low, _ in dim), max(high for _, high in dim)) for dim in boxes)
        return _Part(sum(part.elements for part in found.values()), box)

    def _load(self, summary: Summary, number: int, value: int) -> _Part:
        known = self._loads.get((summary, number))
        if known is None:
            read = summary.reads[number]
            known = self._loads[summary, number] = self._loaded(summary, read, value)
        return known

    def _loaded(self, summary: Summary, read: Read, value: int) -> _Part:
        sizes = self.graph.sizes
        whole = [sizes.estimate(size) for size in self.graph.types[value].spec.sizes]
        facts, box = sizes.facts.with_extents(summary.dims), list[tuple[int, int]]()
        for coordinate, size in zip(read.coords, whole, strict=True):
            low, high = (None, None) if read.indirect else (facts.lower(coordinate), facts.upper(coordinate))
            first = 0 if low is None else max(0, sizes.estimate(low))
            box.append((first, size - 1 if high is None else min(size - 1, sizes.estimate(high))))
        most = prod(max(0, high - low + 1) for low, high in box)
        return _Part(min(most, sizes.estimate(points(summary.dims, read.dims))), tuple(box))


def loss_of(saved: int, hardware: Hardware, launches: int = 1) -> Loss:
    """What a refusal costs that keeps so many bytes of traffic, and so many launches."""
    return Loss(saved, round(Gain(saved, launches).microseconds(hardware), 2))
