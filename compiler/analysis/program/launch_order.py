"""The order of ``@main`` while calls are gathered into common launches, and the bytes alive at each place.

A *slot* is the place of one launch, numbered by the node that stands there; slots run in that order.  A call
joins another slot in one of two ways.  It *rises* to an earlier one when everything that it depends on lies
before that slot.  Or the slot *sinks* to the call: all that is in it runs there, as long as nothing placed so
far depends on it.  Both keep every dependence, and the slots stay in one line, so no circle can arise.

The caller keeps the arguments of ``@main`` to the end, so nothing is freed by their last use, unless
``@main`` has the attribute ``fuse.given``.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from .dependences import Dependences
from .lifetimes import Lifetime, LiveBytes
from .program_order import FLOATING, direct_dependences, root_bytes, sequence


class LaunchOrder:
    """Places nodes in program order, each in a slot of its own or in an earlier launch's.

    ``effects``: nodes that are ordered among themselves besides what the dependences say (asserts in tile
    code).
    """

    def __init__(self, deps: Dependences, hints: Mapping[str, int], effects: Iterable[int] = ()) -> None:
        self.deps = deps
        self.before = direct_dependences(deps, effects)
        self.slot_of: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self._pinned: set[int] = set()  #: slots with users: they cannot sink any more
        self._bytes = root_bytes(deps, hints)
        self._first, self._last = _lifetimes(deps, self._bytes)
        self._touched = [
            sorted({deps.roots[v] for v in _values(deps, n)} & self._bytes.keys())
            for n in range(len(deps.nodes))
        ]
        lives = [Lifetime(max(0, self._first[r]), self._last[r], size) for r, size in self._bytes.items()]
        live = LiveBytes(len(deps.nodes), lives)
        self._live, self.peak = live.at, live.peak

    # --- placing ------------------------------------------------------------------------------------------
    def place(self, node: int) -> None:
        """Gives ``node`` a slot of its own at the end."""
        self._put(node, node)

    def why_not(self, node: int, slot: int, slack: int = 0) -> str | None:
        """Why ``node``, the next one, cannot join ``slot``: "dependence", "peak-memory"; None when it can.

        The bytes alive may exceed the peak of the order as it was by ``slack``.
        """
        if slot in self._slots_before(node):
            return "dependence"
        reasons = []
        for longer in (self._rise(node, slot), self._sink(node, slot)):
            if longer is None:
                continue
            if self._fits(longer, slack):
                return None
            reasons.append("peak-memory")
        return reasons[0] if reasons else "dependence"

    def join(self, node: int, slot: int, slack: int = 0) -> int:
        """Puts ``node`` into ``slot``, which it can join; gives the slot's number from now on."""
        longer = self._rise(node, slot)
        if longer is not None and self._fits(longer, slack):
            self._add(longer)
            for root in longer:
                self._first[root] = slot
            self._put(node, slot)
            return slot
        longer = self._sink(node, slot)
        assert longer is not None, "the slot cannot be joined"
        self._add(longer)
        for root in longer:
            self._last[root] = node
        members = self.members.pop(slot)
        self.members[node] = members
        for member in members:
            self.slot_of[member] = node
        self._put(node, node)
        return node

    def _put(self, node: int, slot: int) -> None:
        self._pinned |= self._slots_before(node)
        self.slot_of[node] = slot
        self.members.setdefault(slot, []).append(node)

    def _slots_before(self, node: int) -> set[int]:
        return {self.slot_of[b] for b in self.before[node]}

    def _rise(self, node: int, slot: int) -> dict[int, range] | None:
        """What lives longer when ``node`` rises to ``slot``; None where it cannot."""
        if any(before >= slot for before in self._slots_before(node)):
            return None
        return {r: range(slot, node) for r in self._touched[node] if self._first[r] == node}

    def _sink(self, node: int, slot: int) -> dict[int, range] | None:
        """What lives longer when ``slot`` sinks to ``node``; None where it cannot."""
        if slot in self._pinned:
            return None
        touched = {r for member in self.members[slot] for r in self._touched[member]}
        return {r: range(self._last[r] + 1, node + 1) for r in sorted(touched) if self._last[r] < node}

    # --- memory -------------------------------------------------------------------------------------------
    def _fits(self, longer: Mapping[int, range], slack: int) -> bool:
        """Whether the peak stays as it is, but for ``slack``, when storages also live at these places."""
        most = self.peak + slack
        return all(max(self._live[start:stop]) + extra <= most for start, stop, extra in self._added(longer))

    def _add(self, longer: Mapping[int, range]) -> None:
        for start, stop, extra in self._added(longer):
            for place in range(start, stop):
                self._live[place] += extra

    def _added(self, longer: Mapping[int, range]) -> Iterator[tuple[int, int, int]]:
        """Places, from a first one up to another, and the bytes that are added there.  All storages live
        longer to the same place.
        """
        added: dict[int, int] = {}
        for root, places in longer.items():
            added[places.start] = added.get(places.start, 0) + self._bytes[root]
        ends = {places.stop for places in longer.values()}
        extra = 0
        for start, stop in pairwise([*sorted(added), *ends]):
            extra += added[start]
            yield start, stop, extra

    # --- the result ---------------------------------------------------------------------------------------
    def sequence(self) -> list[int]:
        """All nodes in their new order: those without a place right before the first that needs them."""
        return sequence(self.deps, [m for slot in sorted(self.members) for m in self.members[slot]])


def _values(deps: Dependences, node: int) -> tuple[int, ...]:
    return (*deps.nodes[node].operands, *deps.nodes[node].results)


def _lifetimes(deps: Dependences, roots: Mapping[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """The first and the last node at which each storage is allocated: those that touch it, but for arguments.
    They are there from the start, and to the end unless ``@main`` is given them.
    """
    first = {root: -1 for root in roots if root < deps.arguments}
    last = dict.fromkeys(roots, -1)
    for node in deps.nodes:
        if node.kind in FLOATING:
            continue
        for value in _values(deps, node.index):
            root = deps.roots[value]
            if root in roots:
                first.setdefault(root, node.index)
                last[root] = node.index
    if "fuse.given" not in deps.main.attributes:
        last.update((root, len(deps.nodes) - 1) for root in roots if root < deps.arguments)
    for root in roots:
        first.setdefault(root, 0)
    return first, last
