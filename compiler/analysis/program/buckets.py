"""Buckets: collectives of ``@main`` that can start as one call, and which of them should.

A collective takes the latency of its links, however few bytes it moves.  Several of one operation, group and
element type that start as one call take it once.  Torch's ops for this, ``all_reduce_coalesced`` and its
like, take lists of tensors, so nothing is copied.

A bucket starts once everything that its members read is there, and their waits follow it.  So no member may
depend on the wait for another, by whatever way.  Starts lose their order among themselves; each keeps its
order with all else that has an effect.

A wait for one member waits for the whole bucket.  So what a member reads is kept long enough by its own wait,
as before.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.transfers import Transfer
from ...cost.work import Work
from ...ir.kernel import extern_arguments
from ...ir.layout import TensorSpec
from ...ir.views import users_of
from ...mlir import ir
from ..cost.collectives import COALESCED
from ..cost.estimate import estimates
from .collective_order import Flights
from .dependences import Dependences, Node, extern_name
from .overlap import OverlapOrder, seconds_of
from .peak_order import StorageUses


@dataclass(frozen=True)
class Kind:
    """What the members of a bucket have in common.  op: of torch.  arguments: as ``fuse.args`` has them,
    behind the tensor; the last is the group.
    """

    op: str
    arguments: tuple[ir.Attribute, ...]
    element: str
    device: str | None

    @property
    def group(self) -> str:
        """The name of the process group."""
        return str(self.arguments[-1])

    @staticmethod
    def of(node: Node) -> "Kind | None":
        """None where a node is no collective that a bucket may hold: one of the functional forms of
        ``COALESCED`` that reads one contiguous tensor and takes no token.
        """
        if node.callee is None or len(node.operands) != 1 or len(node.results) != 1:
            return None
        name, attributes = extern_name(node.callee), node.callee.attributes
        arguments, named = extern_arguments(attributes)
        if name not in COALESCED or named:
            return None
        spec = TensorSpec.of(node.op.operands[0].type)
        if not spec.is_contiguous:
            return None
        tail = tuple(arguments[1:])
        return Kind(name, tail, spec.element, spec.device) if tail else None


class Buckets:
    """The collectives of ``@main`` that buckets may hold, and the order that buckets ask for."""

    def __init__(self, module: ir.Module, deps: Dependences, hardware: Hardware) -> None:
        self.module, self.deps, self.hardware = module, deps, hardware
        self.flights = Flights.of(deps)
        waited = {start for start in self.flights.start_of.values() if start is not None}
        waits = {deps.nodes[w].op for w in self.flights.start_of}
        kinds: dict[int, Kind] = {}
        for n in self.flights.starts:
            kind = Kind.of(deps.nodes[n]) if n in waited else None
            if kind is not None and _is_only_waited_for(deps.nodes[n].op.results[0], waits):
                kinds[n] = kind
        #: Of each start that a bucket may hold.
        self.kinds: Mapping[int, Kind] = kinds

    @cached_property
    def _uses(self) -> StorageUses:
        """Without an order of starts among themselves."""
        return StorageUses.of(self.deps, {}, without="wait", free=frozenset(self.flights.starts))

    @cached_property
    def _seconds(self) -> dict[int, float]:
        return seconds_of(self.module, self.deps, self.hardware)

    @cached_property
    def _moved(self) -> dict[int, Transfer]:
        """What each start of a known kind moves."""
        counted = estimates(self.module)
        moved = {n: counted[self.deps.nodes[n].op].transfer for n in self.kinds}
        return {n: transfer for n, transfer in moved.items() if transfer is not None}

    def _whole(self, bucket: Sequence[int]) -> Transfer:
        """What a bucket moves.  Sizes count as their hints."""
        moved = [self._moved[n] for n in bucket]
        return replace(moved[0], bytes=sum(transfer.bytes for transfer in moved))

    def chosen(self, share: int, given: Sequence[Sequence[int]] = ()) -> list[list[int]]:
        """Buckets besides the ``given`` ones: starts in program order, as long as what a start costs takes
        more than ``share`` percent of a bucket's time.
        """
        taken = {n for bucket in given for n in bucket}
        open_: dict[Kind, list[int]] = {}
        found: list[list[int]] = []
        for n, kind in self.kinds.items():
            if n in taken:
                continue
            bucket = open_.get(kind)
            if bucket is None or not self._joins([*given, *found], bucket, n):
                bucket = open_[kind] = []
                found.append(bucket)
            bucket.append(n)
            whole = self._whole(bucket)
            fixed = self._microseconds(Work(transfer=replace(whole, bytes=0), starts=1))
            if 100 * fixed <= share * self._microseconds(Work(transfer=whole, starts=1)):
                del open_[kind]
        return [bucket for bucket in found if len(bucket) > 1]

    def overlap(self, buckets: Sequence[Sequence[int]]) -> OverlapOrder | None:
        """The orders around collectives where buckets start as one, of which the first member stands for
        all; None where a member has to follow another.
        """
        order = self.order(buckets)
        if order is None:
            return None
        head = {n: bucket[0] for bucket in buckets for n in bucket}
        seconds = dict(self._seconds)
        for bucket in buckets:
            seconds[bucket[0]] = self._microseconds(Work(transfer=self._whole(bucket))) * 1e-6
        first = set(self.flights.starts) - {n for n, one in head.items() if n != one}
        starts = tuple(n for n in order if n in first)
        start_of = {w: s if s is None else head.get(s, s) for w, s in self.flights.start_of.items()}
        return OverlapOrder(self._uses.joined(order, head, starts), Flights(starts, start_of), seconds)

    def saved(self, bucket: Sequence[int]) -> float:
        """Seconds of the host that a bucket saves."""
        return self._microseconds(Work(starts=len(bucket) - 1)) * 1e-6

    def _microseconds(self, work: Work) -> float:
        return microseconds(work, self.hardware, self.hardware.rates.collectives.ring)

    def _joins(self, buckets: Sequence[Sequence[int]], bucket: Sequence[int], n: int) -> bool:
        """Whether a bucket may hold ``n`` too, beside the other buckets."""
        return not (self._reaches(buckets, bucket, [n]) or self._reaches(buckets, [n], bucket))

    def _reaches(self, buckets: Sequence[Sequence[int]], early: Sequence[int], late: Sequence[int]) -> bool:
        """Whether one of the nodes ``late`` has to follow one of ``early``, where buckets start as one."""
        members = {n: bucket for bucket in buckets for n in bucket}
        seen: set[int] = set()
        stack = list(late)
        while stack:
            for n in self._uses.before[stack.pop()]:
                if n in early:
                    return True
                if n not in seen:
                    together = members.get(n, (n,))
                    seen.update(together)
                    stack += together
        return False

    def order(self, buckets: Sequence[Sequence[int]]) -> list[int] | None:
        """The nodes with a place, but the return: as in the program, except that the members of a bucket
        stand together, as soon as all can; None where a member has to follow another.
        """
        members = {bucket[0]: bucket for bucket in buckets}
        head = {n: bucket[0] for bucket in buckets for n in bucket}
        placed = self._uses.nodes
        waiting = {head.get(n, n): 0 for n in placed}
        following: dict[int, set[int]] = {n: set() for n in waiting}
        for n in placed:
            for b in self._uses.before[n]:
                following[head.get(b, b)].add(head.get(n, n))
        for later in following.values():
            for n in later:
                waiting[n] += 1
        ready = [n for n, count in waiting.items() if not count]
        heapq.heapify(ready)
        found: list[int] = []
        while ready:
            n = heapq.heappop(ready)
            found += members.get(n, (n,))
            for later_node in following[n]:
                waiting[later_node] -= 1
                if not waiting[later_node]:
                    heapq.heappush(ready, later_node)
        return found if len(found) == len(placed) else None


def _is_only_waited_for(value: ir.Value, waits: set[ir.Operation]) -> bool:
    """Whether nothing but waits, tokens and views takes the result of a collective."""
    return all(user.name == "fuse.after" or user in waits for user in users_of(value))


def written(deps: Dependences) -> dict[int, list[int]]:
    """The calls of ``@main`` that the attribute ``fuse.bucket`` puts into one bucket, by its number."""
    found: dict[int, list[int]] = {}
    for node in deps.nodes:
        if "fuse.bucket" in node.op.attributes:
            number = ir.IntegerAttr(node.op.attributes["fuse.bucket"]).value
            found.setdefault(number, []).append(node.index)
    return found


def name_of(kind: Kind) -> str:
    """The op of a kind, without namespace and overload."""
    return kind.op.split(".")[1]
