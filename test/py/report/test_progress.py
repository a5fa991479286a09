"""The line on a terminal while a compilation takes long, on a terminal of its own (a pty)."""

import re

import pytest
from terminal import on_terminal

from fuse_mlir.compiler.base import timing
from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.report import progress, watching

#: A program of stages, without torch: the time that they take is not waited for.
PROGRAM = """
import rich.console, rich.live, rich.text, sys, time  # rich here, so that no import delays the line
from fuse_mlir.compiler.base.timing import WATCHERS, expect_stages, stage
from fuse_mlir.compiler.base.triton_text import captured_stderr
from fuse_mlir.compiler.report import progress
progress.AFTER = float(sys.argv[1])
if progress.wanted():
    WATCHERS[:] = [progress.ProgressReport()]
with stage("captured", "compile"), stage("graph", "forward"):
    expect_stages("pass", 2)
    with stage("pass", "fuse-vertical"):
        pass
    expect_stages("kernel", 3)
    with stage("kernel", "fused_add"):
        pass
    with stage("pass", "choose-tiling"):
        time.sleep(float(sys.argv[2]))
        with captured_stderr() as taken:
            time.sleep(float(sys.argv[2]))  # the line is drawn four times in a second
            assert taken() == "", "it goes past what captures stderr"
for _ in range(2):
    with stage("kernel", "fused_add"):
        pass
with stage("part", "wait for Triton"):
    time.sleep(0.01)
print("the program goes on")
"""


def shown(after: float, takes: float, program: str = PROGRAM, **environment: str) -> str:
    """What a terminal gets of a program.  ``PROGRAM`` takes about twice the seconds ``takes``."""
    return on_terminal(["-c", program, str(after), str(takes)], **environment)


def test_a_terminal_gets_a_line_that_goes_away_and_a_summary() -> None:
    line, _, left = shown(0.05, 0.4).rpartition("\x1b[2K")  # which takes a line away
    assert "fuse-mlir: graph 1 (forward), pass 2 of 2: choose-tiling, 1 of 3 kernels, " in line
    end = r"fuse-mlir: compiled 1 graph and 3 kernels in \d\.\d s: choose-tiling \d\.\d s, "
    assert re.fullmatch(f"{end}.* the program goes on", " ".join(left.split())), left


#: A search between two passes, which compiles kernels to time them.
SEARCH = PROGRAM.replace(
    """    with stage("pass", "choose-tiling"):
""",
    """    with stage("pass", "choose-tiling"):
        pass
    with stage("search", "measuring tiles"):
""",
)


def test_a_search_is_named_while_it_measures_and_in_the_summary() -> None:
    line, _, left = shown(0.05, 0.4, SEARCH).rpartition("\x1b[2K")
    assert "fuse-mlir: graph 1 (forward), measuring tiles, 1 of 3 kernels, " in line
    assert re.search(r"compiled 1 graph and 3 kernels in \d\.\d s: measuring tiles \d\.\d s, ", left)


@pytest.mark.parametrize(
    ("after", "environment"),
    [
        pytest.param(60.0, {}, id="short"),
        pytest.param(0.05, {"RANK": "1"}, id="other-rank"),
        pytest.param(0.05, {"PYTEST_VERSION": "9"}, id="pytest"),
    ],
)
def test_nobody_looks(after: float, environment: dict[str, str]) -> None:
    assert shown(after, 0.1, **environment).split() == ["the", "program", "goes", "on"]


def test_an_option_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "wanted", lambda: True)
    before = [*timing.WATCHERS]
    for on in (True, False):
        watching.watch_stages(Options.of({"progress": on}))
        assert any(isinstance(watcher, progress.ProgressReport) for watcher in timing.WATCHERS) is on
    timing.WATCHERS[:] = before


def test_a_log_gets_nothing(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_VERSION", raising=False)
    assert not progress.wanted()
