"""The processes in which lit tests run tools end as interpreters of their own would."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from repository import ROOT

INPUTS = ROOT / "test" / "lit" / "Inputs"

#: A module that shows where it runs, and ends as its argument says.
TOOL = """
import os, signal, subprocess, sys
print(sys.argv[1:], os.getcwd(), dict(os.environ), sys.stdin.read())
print(subprocess.run([sys.executable, "-c", "exit(7)"]).returncode)
print("complaint é", file=sys.stderr)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "raises":
    raise ValueError("wrong")
sys.exit({"text": "said at the end", "nothing": None, "3": 3}.get(sys.argv[1]))
"""

#: More than a socket takes at once.
SAID = {"SAID": "x" * 100_000, "LC_ALL": "C.UTF-8"}

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Has a server run the tool."""
    (tmp_path / "a_tool.py").write_text(TOOL)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    server = subprocess.Popen(
        [sys.executable, INPUTS / "tool_server.py", str(listener.fileno())],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        pass_fds=[listener.fileno()],
    )

    def run_it(end: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-I", "-S", INPUTS / "tool_client.py", tmp_path / "s", "a_tool", end],
            input="given",
            cwd=tmp_path,
            env=SAID,
            capture_output=True,
            text=True,
        )

    yield run_it
    server.communicate()
    assert server.returncode == 0
    listener.close()


def test_a_tool_ends_as_in_an_interpreter_of_its_own(run: Run, tmp_path: Path) -> None:
    codes = {}
    for end in ("nothing", "3", "text", "raises", "killed"):
        done = run(end)
        codes[end] = done.returncode
        if end != "killed":  # what it printed was still in its buffer
            assert done.stdout == f"{[end]} {tmp_path} {SAID} given\n7\n"
        assert done.stderr.startswith("complaint é\n")
        assert ("said at the end" in done.stderr) == (end == "text")
        assert ("ValueError: wrong" in done.stderr) == (end == "raises")
    assert codes == {"nothing": 0, "3": 3, "text": 1, "raises": 1, "killed": 134}
