"""An order of ``@main`` in which fewer bytes are alive at the worst moment.

Nodes after which no more bytes are alive than before run as soon as they can, all others in program order: so
a result is used before the next one is made.  The same rule applied from the last operation to the first
delays nodes that only allocate until their result is needed.  Each order is found in near-linear time, keeps
every dependence, and is judged by the peak that it would have.

What the caller does with arguments is unknown: a parameter stays, an activation that was saved for the
backward pass is freed after its last use.  So an order counts as better only where neither account has a
higher peak.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

from ...base.dataclass import dataclass
from .dependences import Dependences, Reason
from .lifetimes import Lifetime, LiveBytes
from .program_order import FLOATING, direct_dependences, root_bytes


class Peaks(NamedTuple):
    """Bytes alive at the worst moment, where the caller keeps all arguments and where it keeps none.

    Arguments count only in the second figure.
    """

    kept: int
    given: int


@dataclass(frozen=True)
class StorageUses:
    """What an order is made of: the nodes of ``@main`` that have a place of their own, all but the return,
    and the storage that they touch, by its root.

    nodes: in program order.  bytes: of each storage.  arguments: roots that the caller gives.  touched: roots
    that a node reads or writes, the return too.  users: the reverse, in program order.  before, after: direct
    dependences of a node, and those that depend on it.
    """

    nodes: tuple[int, ...]
    bytes: Mapping[int, int]
    arguments: frozenset[int]
    touched: Mapping[int, tuple[int, ...]]
    users: Mapping[int, Sequence[int]]
    before: Mapping[int, Sequence[int]]
    after: Mapping[int, Sequence[int]]

    @staticmethod
    def of(
        deps: Dependences,
        hints: Mapping[str, int],
        without: Reason | None = None,
        free: frozenset[int] = frozenset(),
    ) -> "StorageUses":
        """``without``, ``free``: as ``direct_dependences`` has them."""
        placed = [n.index for n in deps.nodes if n.kind not in FLOATING]
        nodes = tuple(n for n in placed if deps.nodes[n].kind != "func.return")
        bytes_ = root_bytes(deps, hints)
        touched: dict[int, tuple[int, ...]] = {}
        users: dict[int, list[int]] = {root: [] for root in bytes_}
        for n in placed:
            node = deps.nodes[n]
            roots = {deps.roots[v] for v in chain(node.operands, node.results)} & bytes_.keys()
            touched[n] = tuple(sorted(roots))
            for root in roots:
                users[root].append(n)
        inside = set(nodes)
        direct = direct_dependences(deps, without=without, free=free)
        before = {n: sorted(direct[n] & inside) for n in nodes}
        after = _reversed(before)
        arguments = frozenset(root for root in bytes_ if root < deps.arguments)
        return StorageUses(nodes, bytes_, arguments, touched, users, before, after)

    def joined(self, order: Sequence[int], head: Mapping[int, int], ordered: Sequence[int]) -> "StorageUses":
        """With nodes that run as one: ``head`` has, for each of these, the one that stands for all.

        order: of the nodes, in which those that run as one stand together.  ordered: heads, and nodes
        besides, that keep this order among themselves.
        """
        nodes = tuple(dict.fromkeys(head.get(n, n) for n in order))
        touched: dict[int, tuple[int, ...]] = {}
        for n, roots in self.touched.items():
            one = head.get(n, n)
            touched[one] = tuple(dict.fromkeys((*touched.get(one, ()), *roots)))
        users = {r: list(dict.fromkeys(head.get(n, n) for n in ns)) for r, ns in self.users.items()}
        needed: dict[int, set[int]] = {n: set() for n in nodes}
        for n, earlier in self.before.items():
            one = head.get(n, n)
            needed[one].update(head.get(b, b) for b in earlier)
            needed[one].discard(one)
        for first, second in pairwise(ordered):
            needed[second].add(first)
        before = {n: sorted(earlier) for n, earlier in needed.items()}
        return StorageUses(nodes, self.bytes, self.arguments, touched, users, before, _reversed(before))


def _reversed(before: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """For each node those that have it before them."""
    after: dict[int, list[int]] = {n: [] for n in before}
    for n, earlier in before.items():
        for b in earlier:
            after[b].append(n)
    return after


class PeakOrder:
    """Orders of the nodes of ``@main``, and their peaks of memory."""

    def __init__(self, uses: StorageUses) -> None:
        self.uses = uses
        self.program = list(uses.nodes)

    def peaks(self, order: Sequence[int]) -> Peaks:
        """The peaks of an order of all nodes."""
        own, arguments = self._lifetimes(order)
        return Peaks(
            kept=LiveBytes(len(order) + 1, own).peak, given=LiveBytes(len(order) + 1, own + arguments).peak
        )

    @cached_property
    def alive(self) -> tuple[list[int], list[int]]:
        """Bytes alive while each node of the program runs, and the return after them: where the caller keeps
        all arguments, which do not count, and where it keeps none.
        """
        own, arguments = self._lifetimes(self.program)
        end = len(self.program) + 1
        return LiveBytes(end, own).at, LiveBytes(end, own + arguments).at

    def _lifetimes(self, order: Sequence[int]) -> tuple[list[Lifetime], list[Lifetime]]:
        """Of storage that the program takes, and of arguments."""
        end = len(order)  # where the return stands, which uses what it hands out
        place = [end] * (max(self.program, default=-1) + 2)
        for i, n in enumerate(order):
            place[n] = i
        own: list[Lifetime] = []
        arguments: list[Lifetime] = []
        for root, users in self.uses.users.items():
            if users:
                places = [place[n] if n < len(place) else end for n in users]
                is_argument = root in self.uses.arguments  # there from the start
                life = Lifetime(0 if is_argument else min(places), max(places), self.uses.bytes[root])
                (arguments if is_argument else own).append(life)
        return own, arguments

    def best(self, peaks: Peaks) -> tuple[list[int], Peaks]:
        """The order with the least peaks of those that are found; the program's, whose are given, where none
        is better.
        """
        order = self.program
        for found in self._orders():
            if found == order:
                continue
            reached = self.peaks(found)
            if all(new <= old for new, old in zip(reached, peaks, strict=True)) and reached != peaks:
                order, peaks = found, reached
        return order, peaks

    def _orders(self) -> Iterator[list[int]]:
        for arguments_count in (False, True):
            every = frozenset(self.uses.bytes)
            counted = every if arguments_count else every - self.uses.arguments
            yield _Walk(self.uses, counted, backwards=False).order()
            yield _Walk(self.uses, counted, backwards=True).order()[::-1]


class _Walk:
    """One order.  Backwards, a storage is taken by its last user and given back by its first."""

    def __init__(self, uses: StorageUses, counted: frozenset[int], *, backwards: bool) -> None:
        before, after = uses.before, uses.after
        self.waiting = {n: len(b) for n, b in (after if backwards else before).items()}
        self.following = before if backwards else after
        self.rank = {n: -i if backwards else i for i, n in enumerate(uses.nodes)}
        self.bytes, self.users = uses.bytes, uses.users
        self.touched = {n: [r for r in uses.touched[n] if r in counted] for n in uses.nodes}
        self.left = {root: len(uses.users[root]) for root in counted}
        #: Storage that is alive; at one end of the program stand the arguments, at the other the return.
        self.alive = set[int]() if backwards else set(counted & uses.arguments)
        if backwards:
            for root in counted:
                returned = sum(n not in self.rank for n in self.users[root])
                self.left[root] -= returned
                if returned:
                    self.alive.add(root)
                if root in uses.arguments:
                    self.left[root] += 1  # its first use gives nothing back
        #: Bytes alive after a node less those before.  It never grows while other nodes run.
        self.net = {
            n: sum(self.bytes[r] * ((r not in self.alive) - (self.left[r] == 1)) for r in roots)
            for n, roots in self.touched.items()
        }
        self.growing: list[tuple[int, int]] = []
        self.shrinking: list[tuple[int, int]] = []
        self.done: set[int] = set()

    def order(self) -> list[int]:
        for n, count in self.waiting.items():
            if not count:
                self._ready(n)
        found: list[int] = []
        while self.shrinking or self.growing:
            _, n = heapq.heappop(self.shrinking or self.growing)
            if n not in self.done:
                found.append(n)
                self._run(n)
        return found

    def _ready(self, n: int) -> None:
        heapq.heappush(self.shrinking if self.net[n] <= 0 else self.growing, (self.rank[n], n))

    def _run(self, n: int) -> None:
        self.done.add(n)
        for root in self.touched[n]:
            if root not in self.alive:
                self.alive.add(root)
                self._relieve(root)
            self.left[root] -= 1
            if self.left[root] == 1:
                self._relieve(root)
        for follower in self.following[n]:
            self.waiting[follower] -= 1
            if not self.waiting[follower]:
                self._ready(follower)

    def _relieve(self, root: int) -> None:
        """Lowers what the other users of a storage add: it is alive already, or the last of them frees it."""
        for user in self.users[root]:
            if user in self.rank and user not in self.done:
                was = self.net[user]
                self.net[user] = was - self.bytes[root]
                if was > 0 >= self.net[user] and not self.waiting[user]:
                    heapq.heappush(self.shrinking, (self.rank[user], user))
