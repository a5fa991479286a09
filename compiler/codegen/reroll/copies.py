"""Copies of one body that stand one behind the other, and what differs between them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from ...base.dataclass import dataclass
from ...mlir import ir
from .order import Ordered, Source, integer

#: Most loads or stores of one kind in a body, and most runs that are looked at closely.
_MOST_ALIKE, _MOST_RUNS = 16, 3


@dataclass(frozen=True)
class Earlier:
    """What an operand is: a result of the op ``back`` places before."""

    back: int
    result: int


@dataclass(frozen=True)
class Stepped:
    """An integer that grows by ``step`` from copy to copy; ``start``: that of the copy at place 0."""

    start: int
    step: int
    type: ir.Type


#: What an operand is in each copy: what stands before, a number that grows, or what is the same in all.
Operand: TypeAlias = Earlier | Stepped | Source
#: A place in a copy (from 0), the number of a result, and how many copies before.
Carried = tuple[int, int, int]


@dataclass(frozen=True)
class Copies:
    """Places ``start`` up to ``stop`` of an order, ``period`` ops to a copy.

    anchor:   a place from which on ``Stepped`` counts copies.
    operands: of each op of a copy, by its place in the order modulo ``period``.
    """

    start: int
    stop: int
    period: int
    anchor: int
    operands: list[tuple[Operand, ...]]

    @property
    def count(self) -> int:
        """How many copies."""
        return (self.stop - self.start) // self.period

    def of(self, place: int) -> tuple[Operand, ...]:
        """What the operands of the op at a place of the order are."""
        return self.operands[place % self.period]

    def number(self, operand: Stepped, place: int) -> int:
        """What a number that grows is for the op at a place of the order."""
        return operand.start + operand.step * ((place - self.anchor) // self.period)

    def back(self, place: int, before: Earlier) -> tuple[int, int]:
        """The place in a copy of what stands before a place of the order, and how many copies before."""
        copy, at = divmod(place - before.back - self.start, self.period)
        return at, (place - self.start) // self.period - copy

    def carried(self) -> list[Carried]:
        """What copies take of those before."""
        found = dict[Carried, None]()
        for place in range(self.start, self.start + self.period):
            for operand in self.of(place):
                if isinstance(operand, Earlier):
                    at, distance = self.back(place, operand)
                    found.update({(at, operand.result, d): None for d in range(1, distance + 1)})
        return list(found)

    def taken_behind(self, ordered: Ordered) -> set[Carried]:
        """The same of what ops behind the last copy take."""
        found = set[Carried]()
        for source in (s for of in ordered.sources[self.stop :] for s in of if isinstance(s, tuple)):
            if self.start <= source[0] < self.stop:
                copy, at = divmod(source[0] - self.start, self.period)
                found.add((at, source[1], self.count - copy))
        return found


def copies_of(ordered: Ordered, least: int) -> Copies | str | None:
    """The longest run of equal copies that each take something of the one before, of at least ``least`` ops;
    None where no body stands three times.  A string says what keeps copies from being a loop.
    """
    runs = [_run(ordered, middle, period) for middle, period in _periods(ordered)]
    long = [run for run in runs if run is not None and run.stop - run.start >= least]
    refused: str | None = None
    for run in sorted(long, key=lambda run: run.start - run.stop)[:_MOST_RUNS]:
        found = _cut(ordered, run)
        if isinstance(found, Copies) and found.stop - found.start >= least:
            return found
        if isinstance(found, str):
            refused = found
    return refused


def _periods(ordered: Ordered) -> list[tuple[int, int]]:
    """Where a run of copies may lie: a place in its middle and a period, the most likely first."""
    keys = ordered.kinds
    counts = Counter(key for n, key in enumerate(keys) if ordered.is_access(n))
    if not counts:
        return []
    key, count = max(counts.items(), key=lambda item: item[1])
    if count < 3:
        return []
    places = [n for n, k in enumerate(keys) if k == key]
    middle = (count - 1) // 2
    found = list[tuple[int, int, int]]()
    for alike in range(1, min(_MOST_ALIKE, count - middle - 1) + 1):
        period = places[middle + alike] - places[middle]
        first, last = _equal(keys, places[middle], period)
        found.append((first - last, period, places[middle]))
    return [(place, period) for _, period, place in sorted(found)]


def _equal(keys: Sequence[int], middle: int, period: int) -> tuple[int, int]:
    """The places around ``middle`` whose ops do what those ``period`` places behind them do."""
    first = last = middle
    while first > 0 and keys[first - 1] == keys[first - 1 + period]:
        first -= 1
    while last + period < len(keys) and keys[last] == keys[last + period]:
        last += 1
    return first, last


def _run(ordered: Ordered, middle: int, period: int) -> Copies | None:
    """The copies around a place that are equal in their operands, too."""
    first, last = _equal(ordered.kinds, middle, period)
    stop = last + period
    if stop - first < 3 * period:
        return None
    middle = first + (stop - first - 2 * period) // 2
    template = list[tuple[Operand, ...]]([()] * period)
    for place in range(middle, middle + period):
        pairs = zip(
            ordered.sources[place], ordered.sources[place + period], ordered.ops[place].operands, strict=True
        )
        operands = [_operand(place, period, middle, a, b, v.type) for a, b, v in pairs]
        if any(o is None for o in operands):
            return None
        template[place % period] = tuple(o for o in operands if o is not None)

    def same(place: int) -> bool:
        number = (place - middle) // period
        found = zip(ordered.sources[place], template[place % period], strict=True)
        return all(_matches(source, operand, place, number) for source, operand in found)

    low = high = middle
    while low > first and same(low - 1):
        low -= 1
    while high < stop and same(high):
        high += 1
    made = [s[0] for of in template for s in of if isinstance(s, tuple)]
    low = max([low, *(n + 1 for n in made)])
    return Copies(low, high, period, middle, template) if high - low >= 3 * period else None


def _cut(ordered: Ordered, run: Copies) -> Copies | str | None:
    """The copies of a run, cut where they take the fewest values of the ones before.  None where they take
    none; a string where what is behind them takes values of many.
    """
    reach = dict[tuple[int, int], int]()  # of each value, how far behind it the last op lies that takes it
    for place in range(run.start, run.start + run.period):
        for operand in run.of(place):
            if isinstance(operand, Earlier):
                key = (place - operand.back) % run.period, operand.result
                reach[key] = max(operand.back, reach.get(key, 0))

    def taken(start: int) -> int:
        alive = (
            _below(start - at, run.period) - _below(start - at - far, run.period)
            for (at, _), far in reach.items()
        )
        return sum(alive)

    starts = range(run.start, min(run.start + run.period, run.stop - 3 * run.period + 1))
    start = min(starts, key=lambda n: (taken(n), not ordered.is_store(n - 1)))
    copies = replace(run, start=start, stop=run.stop - (run.stop - start) % run.period)
    carried = set(copies.carried())
    if not carried:
        return None
    for _ in range(1 + max(distance for _, _, distance in carried)):
        if copies.count >= 3 and all(t[2] == 1 or t in carried for t in copies.taken_behind(ordered)):
            return copies
        copies = replace(copies, stop=copies.stop - copies.period)
    return "ops behind its steps take values of many of them"


def _below(number: int, period: int) -> int:
    """How many multiples of ``period`` are below a number, but for a constant."""
    return -(-number // period)


def _operand(place: int, period: int, middle: int, a: Source, b: Source, type_: ir.Type) -> Operand | None:
    """What an operand is that is ``a`` at a place and ``b`` one copy behind; None where they go apart."""
    if isinstance(a, tuple):
        if not isinstance(b, tuple):
            return None
        if a == b:
            return a
        return Earlier(place - a[0], a[1]) if b == (a[0] + period, a[1]) else None
    if a == b:
        return a
    first, second = integer(a), integer(b)
    return None if first is None or second is None else Stepped(first, second - first, type_)


def _matches(source: Source, operand: Operand, place: int, number: int) -> bool:
    """Whether a source is what an operand says, ``number`` copies behind the one that it was read from."""
    if isinstance(operand, Earlier):
        return source == (place - operand.back, operand.result)
    if isinstance(operand, Stepped):
        return integer(source) == operand.start + number * operand.step
    return source == operand
