"""The order of ``@main`` while calls are gathered into common launches, and the bytes alive at each place.

A *slot* is the place of one launch, numbered by the node that stands there; slots run in that order.  A call
joins another slot in one of two ways.  It *rises* to an earlier one when everything that it depends on lies
before that slot.  Or the slot *sinks* to the call: all that is in it runs there, as long as nothing placed so
far depends on it.  Both keep every dependence, and the slots stay in one line, so no circle can arise.

The caller keeps the arguments of ``@main`` to the end, so nothing is freed by their last use, unless
``@main`` has the attribute ``fuse.given``.
"""

from collections.abc import Iterable, Mapping

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
        moves = (
            (self._rise(node, slot), range(slot, node)),
            (self._sink(node, slot), range(slot + 1, node + 1)),
        )
        for extra, places in moves:
            if extra is None:
                continue
            if self._fits(extra, places, slack):
                return None
            reasons.append("peak-memory")
        return reasons[0] if reasons else "dependence"

    def join(self, node: int, slot: int, slack: int = 0) -> int:
        """Puts ``node`` into ``slot``, which it can join; gives the slot's number from now on."""
        extra = self._rise(node, slot)
        if extra is not None and self._fits(extra, range(slot, node), slack):
            self._add(extra, range(slot, node))
            for root in self._born(node):
                self._first[root] = slot
            self._put(node, slot)
            return slot
        extra = self._sink(node, slot)
        assert extra is not None, "the slot cannot be joined"
        self._add(extra, range(slot + 1, node + 1))
        for root in self._dying(slot):
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

    def _rise(self, node: int, slot: int) -> int | None:
        """Bytes that live longer when ``node`` rises to ``slot``; None where it cannot."""
        if any(before >= slot for before in self._slots_before(node)):
            return None
        return sum(self._bytes[r] for r in self._born(node))

    def _sink(self, node: int, slot: int) -> int | None:
        """Bytes that live longer when ``slot`` sinks to ``node``; None where it cannot."""
        return None if slot in self._pinned else sum(self._bytes[r] for r in self._dying(slot))

    # --- memory -------------------------------------------------------------------------------------------
    def _born(self, node: int) -> list[int]:
        return [r for r in self._touched[node] if self._first[r] == node]

    def _dying(self, slot: int) -> list[int]:
        return sorted({r for m in self.members[slot] for r in self._touched[m] if self._last[r] == slot})

    def _fits(self, extra: int, places: range, slack: int) -> bool:
        """Whether so many bytes more at all ``places`` leave the peak as it is, but for ``slack``."""
        return extra == 0 or max(self._live[places.start : places.stop]) + extra <= self.peak + slack

    def _add(self, extra: int, places: range) -> None:
        if extra:
            for place in places:
                self._live[place] += extra

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
