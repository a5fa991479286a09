"""``options={"compile_budget": {"seconds": 60, "graphs": 8, "peak_bytes": 2**30}}``: what compiling may take.

A budget belongs to the dictionary: all graphs that get the same one draw on it, those of one call of
``torch.compile`` for instance.  What can be kept is kept: a graph over the count, or after the seconds, is
run by torch, and searches end when the seconds do.  What breaks a budget is told in one sentence
(``BudgetExceeded`` with ``strict``) that names the decision and the line of the program.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from time import perf_counter
from typing import Any, ClassVar

from .dataclass import dataclass
from .errors import BudgetExceeded
from .launch import Launch, line_text
from .timing import Timing

log = logging.getLogger(__name__)

#: What a budget may limit, and by what.
LIMITS = {"seconds": "a number", "graphs": "an integer", "peak_bytes": "an integer"}


@dataclass
class CompileBudget:
    """seconds: of compiling, those of kernels among them; a program from the cache takes few.  graphs: how
    many Dynamo may give.  peak_bytes: how much device memory a graph may allocate at a time, by the memory
    plan.  None is no limit.
    """

    described: ClassVar[str] = "a dict of seconds, graphs and peak_bytes"

    seconds: float | None = None
    graphs: int | None = None
    peak_bytes: int | None = None
    strict: bool = False  #: raise ``BudgetExceeded`` where a budget is broken
    spent: float = 0.0  #: seconds
    given: int = 0  #: graphs
    costliest: tuple[float, str] = (0.0, "")  #: seconds of the part that took most, and its name
    last_break: str = ""  #: the line behind the graph that Dynamo gave last, where it broke
    _began: float | None = field(default=None, compare=False)  #: when what compiles now began
    _told: bool = False  #: that the seconds are spent

    def left(self) -> float:
        """Seconds."""
        running = 0.0 if self._began is None else perf_counter() - self._began
        return float("inf") if self.seconds is None else max(0.0, self.seconds - self.spent - running)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Counts the seconds of what runs inside, once where it is nested."""
        if self._began is not None:
            yield
            return
        self._began = perf_counter()
        try:
            yield
        finally:
            self.spent += perf_counter() - self._began
            self._began = None

    def over(self, where: str, why: str) -> str | None:
        """Why the next graph is not compiled, None where it is.  where: its place.  why: what made it a graph
        of its own.
        """
        self.given += 1
        if self.graphs is not None and self.given > self.graphs:
            count = f"{self.given} graph{'' if self.given == 1 else 's'}"
            return f"compile_budget: {count} and not {self.graphs}: the one at {where} {why}"
        if not self.left():
            spent = f"the {self.seconds:g} s were spent before the graph at {where}"
            return f"compile_budget: {spent}; {self._most()}"
        return None

    def compiled(self, name: str, timing: Timing, launches: Sequence[Launch]) -> None:
        """Notes what took most of the time of a graph."""
        lines = [line_text(line) for launch in launches for line in launch.lines]
        part = _longest(timing)
        where = f" of the {name} graph" + (f" at {lines[0]}" if lines else "")
        self.costliest = max(self.costliest, (part[0], f"{part[1]}{where}"))

    def check_seconds(self) -> None:
        """Tells, once, that more seconds were spent than there are."""
        if self.seconds is not None and self.spent > self.seconds and not self._told:
            self._told = True
            self.broken(f"compile_budget: {self.spent:.2f} s and not {self.seconds:g} s; {self._most()}")

    def broken(self, sentence: str) -> None:
        """Raises ``BudgetExceeded`` with ``strict``, else writes a warning."""
        if self.strict:
            raise BudgetExceeded(message=sentence)
        log.warning("%s", sentence)

    def _most(self) -> str:
        seconds, name = self.costliest
        return f"most took {name}, {seconds:.2f} s" if name else "no graph was compiled in them"


def _longest(timing: Timing) -> tuple[float, str]:
    """Seconds and path of the part that took most, inside the longest part of each level."""
    if not timing.parts:
        return timing.seconds, timing.name
    longest = max(timing.parts.values(), key=lambda part: part.seconds)
    seconds, name = _longest(longest)
    if seconds < longest.seconds / 2:  # many small ones
        seconds, name = longest.seconds, longest.name
    return seconds, name


#: By the identity of a dictionary: the dictionary, which keeps its identity, what it held, and its budget.
_BUDGETS: dict[int, tuple[Mapping[str, Any], dict[str, Any], CompileBudget]] = {}


def budget_of(limits: Mapping[str, Any], strict: bool) -> CompileBudget:
    """The budget of a dictionary, the same one each time.  Raises ValueError, with a sentence about the
    option, for what is no limit.
    """
    known = _BUDGETS.get(id(limits))
    if known is None or known[1] != limits:
        check_limits(limits)
        known = _BUDGETS[id(limits)] = limits, dict(limits), CompileBudget(**limits)
    known[2].strict = strict
    return known[2]


def check_limits(limits: Mapping[str, Any]) -> None:
    """Raises ValueError for a name or a number that is no limit."""
    for name, limit in limits.items():
        if name not in LIMITS:
            raise ValueError(f"has {name!r}: it limits {', '.join(LIMITS)}")
        number = isinstance(limit, int | float if name == "seconds" else int) and not isinstance(limit, bool)
        if not (number and limit >= 0):
            raise ValueError(f"has {name}={limit!r}: expected {LIMITS[name]} of at least 0")
