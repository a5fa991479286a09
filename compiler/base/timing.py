"""Where the wall time of a run or a compilation went, as a tree; printed in the form of mlir-opt's report.

Stages of a compilation are also told to ``WATCHERS`` as they begin and end: torch's trace
(``report/torch_trace.py``) and the line on a terminal (``report/progress.py``).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from time import perf_counter
from typing import Any, Literal, Protocol

from .dataclass import dataclass

_RULE = "===" + "-" * 73 + "==="

#: What a stage is: the work on one captured graph, that on one graph of AOTAutograd, a part of it, a pass,
#: the compilation of a kernel, a search that measures.
StageKind = Literal["captured", "graph", "part", "pass", "kernel", "search"]


class StageWatcher(Protocol):
    """Is told of stages, in the thread that they run in."""

    def began(self, kind: StageKind, name: str) -> None:
        """A stage began."""

    def ended(self, kind: StageKind, name: str) -> None:
        """It ended, also by an error."""

    def expected(self, kind: StageKind, count: int) -> None:
        """So many stages of a kind will run, besides those that were expected before."""


#: Who is told of stages.  Nobody, as a rule; a stage then costs nothing.
WATCHERS: list[StageWatcher] = []


@contextmanager
def stage(kind: StageKind, name: str | Callable[[], str]) -> Iterator[None]:
    """Tells the watchers that what runs inside is a stage.  ``name``: called where somebody watches."""
    watchers = [*WATCHERS]
    if not watchers:
        yield
        return
    text = name if isinstance(name, str) else name()
    for watcher in watchers:
        watcher.began(kind, text)
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.ended(kind, text)


def expect_stages(kind: StageKind, count: int) -> None:
    """Tells the watchers that so many stages of a kind will run."""
    for watcher in [*WATCHERS]:
        watcher.expected(kind, count)


@dataclass
class Timing:
    """Seconds by name, and what they consist of; names keep the order of their first use."""

    name: str
    seconds: float = 0.0
    parts: dict[str, "Timing"] = field(default_factory=dict)

    def part(self, name: str) -> "Timing":
        """The part of that name, made at need."""
        return self.parts.setdefault(name, Timing(name))

    def add(self, name: str, seconds: float) -> "Timing":
        """Adds to a part; returns it."""
        part = self.part(name)
        part.seconds += seconds
        return part

    def include(self, other: "Timing") -> None:
        """Adds the parts of another."""
        for part in other.parts.values():
            self.add(part.name, part.seconds).include(part)

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """Adds the time that the block, a stage, takes to a part."""
        start = perf_counter()
        try:
            with stage("part", name):
                yield
        finally:
            self.add(name, perf_counter() - start)

    def tree(self) -> dict[str, Any]:
        """The whole as nested dictionaries for JSON: {"seconds": .., name of a part: {..}, ..}."""
        return {"seconds": round(self.seconds, 4), **{n: part.tree() for n, part in self.parts.items()}}

    def report(self) -> str:
        """The whole, which is this node's seconds, and every part below it."""
        total = max(self.seconds, 1e-9)
        lines = [_RULE, "... Execution time report ...".center(len(_RULE)).rstrip(), _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += self._lines(total, 0)
        lines.append(f"{_share(total, total)}  Total")
        return "\n".join(lines) + "\n"

    def _lines(self, total: float, depth: int) -> Iterator[str]:
        for part in self.parts.values():
            yield f"{_share(part.seconds, total)}  {'  ' * depth}{part.name}"
            yield from part._lines(total, depth + 1)
        if depth == 0:
            rest = self.seconds - sum(part.seconds for part in self.parts.values())
            yield f"{_share(max(rest, 0.0), total)}  Rest"


def _share(seconds: float, total: float) -> str:
    return f"  {seconds:8.4f} ({100 * seconds / total:5.1f}%)"


@dataclass(frozen=True)
class PassTime:
    """Seconds that one pass and the verifier after it took; 0.0 where it did not run."""

    name: str
    run: float
    verify: float
