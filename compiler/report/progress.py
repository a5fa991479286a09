"""One line on the terminal while a compilation takes long, and one at its end that says what took the time.

    graph 2 (backward), pass 14 of 31: choose-tiling, 12 of 40 kernels, 9 s
    fuse-mlir compiled 2 graphs and 40 kernels in 31.2 s: kernels 20.1 s, tracing 5.2 s, choose-tiling 3.1 s

The first is shown after ``AFTER`` seconds, by rich, and taken away again.  Both go to stderr, past what
captures its descriptor, and only where that is a terminal.
"""

import os
import sys
import threading
from collections import Counter, defaultdict
from time import perf_counter
from typing import TYPE_CHECKING

from ..base.timing import StageKind
from ..base.triton_text import real_stderr

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

#: Seconds that a compilation takes before anything is shown.
AFTER = 2.0
#: What the lines call stages that have other names inside.
_NAMES = {"wait for Triton": "kernels", "wait for products": "kernels"}
#: How many of the stages that took most time the last line names.
_MOST = 3


def wanted() -> bool:
    """Whether somebody looks: not at a log, not in pytest, not at processes of a job other than the first."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return "PYTEST_VERSION" not in os.environ and os.environ.get("RANK", "0") == "0"


class ProgressReport:
    """Watches stages.  Those of kernels, which other threads compile, are counted; all others make a
    compilation, from the first that begins to the last that ends.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: dict[int, list[_Open]] = {}  # by thread
        self._line: _Line | None = None
        self._started = 0.0  # when the compilation began
        self._seconds = 0.0  # of those before it whose kernels were not all compiled
        self._spent: defaultdict[str, float] = defaultdict(float)  # seconds by stage, without those inside
        self._done: Counter[StageKind] = Counter()
        self._expected: Counter[StageKind] = Counter()

    def began(self, kind: StageKind, name: str) -> None:
        if kind == "kernel":
            return
        with self._lock:
            if not self._open:
                self._started = perf_counter()
                self._line = _Line(self._started - self._seconds)
            if kind == "graph":
                self._done["pass"] = self._expected["pass"] = 0
            self._open.setdefault(threading.get_ident(), []).append(_Open(kind, name))
            self._tell()

    def ended(self, kind: StageKind, name: str) -> None:
        with self._lock:
            self._done[kind] += 1
            stack = self._open.get(threading.get_ident()) if kind != "kernel" else None
            if stack:  # else it began before anybody watched
                stage = stack.pop()
                seconds = perf_counter() - stage.start
                self._spent[stage.label] += seconds - stage.inside
                if stack:
                    stack[-1].inside += seconds
                else:
                    del self._open[threading.get_ident()]
                    if not self._open:
                        self._close()
            self._tell()

    def expected(self, kind: StageKind, count: int) -> None:
        with self._lock:
            self._expected[kind] += count
            self._tell()

    def _close(self) -> None:
        """The last stage has ended.  Where kernels are still compiled, the wait for them is the end."""
        if self._line is not None:
            self._line.close()
            self._line = None
        self._seconds += perf_counter() - self._started
        if self._done["kernel"] < self._expected["kernel"]:
            return
        if self._seconds >= AFTER:
            with real_stderr() as file:
                file.write(self._summary() + "\n")
        self._seconds = 0.0
        for kept in (self._spent, self._done, self._expected):
            kept.clear()

    def _tell(self) -> None:
        """Says on the line what is going on."""
        if self._line is None:
            return
        running = [stage for stack in self._open.values() for stage in stack]
        parts = []
        graph = next((stage for stage in reversed(running) if stage.kind == "graph"), None)
        if graph is not None:
            parts.append(f"graph {self._done['graph'] + 1} ({graph.name})")
        parts += [self._innermost(stage) for stage in running[-1:]]
        if self._expected["kernel"]:
            parts.append(f"{self._done['kernel']} of {self._expected['kernel']} kernels")
        self._line.text = ", ".join(parts)

    def _innermost(self, stage: "_Open") -> str:
        if stage.kind != "pass":
            return stage.label
        return f"pass {self._done['pass'] + 1} of {self._expected['pass']}: {stage.name}"

    def _summary(self) -> str:
        """What took the time."""
        most = sorted(self._spent.items(), key=lambda item: item[1], reverse=True)[:_MOST]
        took = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in most)
        graphs, kernels = (_counted(self._done[kind], kind) for kind in ("graph", "kernel"))
        return f"fuse-mlir: compiled {graphs} and {kernels} in {self._seconds:.1f} s: {took}"


class _Open:
    """A stage that runs.  inside: seconds of the stages in it."""

    def __init__(self, kind: StageKind, name: str) -> None:
        self.kind, self.name, self.start, self.inside = kind, name, perf_counter(), 0.0

    @property
    def label(self) -> str:
        """What the lines call it."""
        if self.kind in ("captured", "graph"):  # what is done there outside of any stage inside
            return "tracing" if self.kind == "captured" else "rewrites"
        return _NAMES.get(self.name, self.name)


class _Line:
    """The line of one compilation, which rich draws from some time on, in a thread of its own.

    start: of what the line says the seconds.  text: what it says besides.
    """

    def __init__(self, start: float) -> None:
        self.start, self.text = start, ""
        self._lock, self._closed = threading.Lock(), False
        self._live: Live | None = None
        self._timer = threading.Timer(AFTER, self._show)
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        """Takes the line away."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
        if self._live is not None:
            self._live.stop()
            self._live.console.file.close()

    def _show(self) -> None:
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:  # an installation without it has no line
            return
        with self._lock:
            if self._closed:
                return
            self._live = Live(
                get_renderable=self._drawn,
                console=Console(file=real_stderr()),
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _drawn(self) -> "Text":
        from rich.text import Text

        seconds = perf_counter() - self.start
        return Text(f"fuse-mlir: {self.text}, {seconds:.0f} s", overflow="ellipsis", no_wrap=True)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
