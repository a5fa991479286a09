"""The tutorials do what they say: their files are written, their commands run, and print what is shown."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import fences, first_missing, written_file
from repository import ROOT

#: One page changes the clone, so it comes last.
CHANGES_THE_CLONE = "first-pass"
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"), key=lambda page: page.stem == CHANGES_THE_CLONE)
INPUTS = ROOT / "test" / "lit" / "Inputs"

#: Each command is a process that is forked from this one, which has imported what takes longest; not the
#: pipeline, as a page changes it.
SERVER = """
import socket, sys
import networkx, torch._dynamo, torch._functorch.aot_autograd, torch.export
import fuse_mlir.compiler.frontend.importer, fuse_mlir.compiler.rewrites.stages
import fuse_mlir.passes.tiling.apply_tiling, fuse_mlir.passes.fusion.fuse_vertical
import tool_server
tool_server.IMPORTED = {}
tool_server.serve(socket.socket(fileno=int(sys.argv[1])))
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that a reader may change: a copy of what the tutorials write into, links to the rest."""
    folder = tmp_path / "clone"
    (folder / "build" / "path").mkdir(parents=True)
    (folder / "build" / "path" / "fuse_mlir").symlink_to("../..")
    for each in ("__init__.py", "compiler", "examples", "integrations", "logs", "tools", "pyproject.toml"):
        (folder / each).symlink_to(ROOT / each)
    for each in ("passes", "test/lit/Inputs"):
        shutil.copytree(ROOT / each, folder / each)
    for each in ("run", "test/lit/lit.cfg.py"):
        shutil.copy(ROOT / each, folder / each)
    (folder / "test" / "lit" / "passes").mkdir()
    return folder


@pytest.fixture
def shell(clone: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell whose ``python``, ``fuse-opt`` and ``fuse-run`` are those of the clone."""
    bin_ = clone.parent / "bin"
    bin_.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(clone.parent / "s"))
    listener.listen()
    client = f"exec {sys.executable} -I -S {INPUTS}/tool_client.py {clone.parent}/s"
    commands = {
        "fuse-opt": f'{client} fuse_mlir.tools.fuse_opt "$@"',
        "fuse-run": f'{client} fuse_mlir.tools.fuse_run "$@"',
        "python": f'script=$(basename "$1" .py); shift; {client} "$script" "$@"',
    }
    for name, command in commands.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{command}\n")
        (bin_ / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "PYTHONPATH": f"{clone}/build:{clone}/build/path",
        "FUSE_PYTHON": sys.executable,
        "OMP_NUM_THREADS": "1",
    }
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(listener.fileno())],
        stdin=subprocess.PIPE,
        env={**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{INPUTS}"},
        pass_fds=[listener.fileno()],
    )
    yield environment
    server.communicate()
    listener.close()


def run_page(text: str, folder: Path, shell: dict[str, str]) -> list[str]:
    """What is not as a page says, in order: commands that fail, output that is shown and was not printed."""
    wrong, printed = [], ""
    for language, block in fences(text):
        file = written_file(block)
        if file is not None:
            (folder / file[0]).write_text(file[1], encoding="utf-8")
        elif language == "diff":
            patch(folder, block)
        elif language == "sh":
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=folder, env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            printed = done.stdout.replace(f"{folder}/", "")
            if done.returncode:
                wrong.append(f"exit status {done.returncode} of:\n{block}{printed}")
        else:
            missing = first_missing(block, printed)
            if missing is not None:
                wrong.append(f"shown, but not printed: {missing}\nprinted:\n{printed}")
    return wrong


def patch(folder: Path, diff: str) -> None:
    """Changes a file as a reader would by hand: without regard to the numbers of lines."""
    head, *hunks = re.split(r"^@@.*\n", diff, flags=re.M)
    file = folder / re.search(r"^\+\+\+ (.*)$", head, re.M)[1]
    text = file.read_text(encoding="utf-8")
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] != "+")
        assert text.count(old) == 1, f"{file.name} has not once:\n{old}"
        text = text.replace(old, "".join(line[1:] for line in lines if line[0] != "-"))
    file.write_text(text, encoding="utf-8")


def test_what_is_not_as_a_page_says_is_found(tmp_path: Path) -> None:
    page = "```sh\necho a; false\n```\n```text\na\n```\n```text\nb\n```\n```python\n# c.py\npass\n```\n"
    assert run_page(page, tmp_path, dict(os.environ)) == [
        "exit status 1 of:\necho a; false\na\n",
        "shown, but not printed: b\nprinted:\na\n",
    ]
    assert (tmp_path / "c.py").read_text() == "pass\n"


def test_the_tutorials_do_what_they_say(clone: Path, shell: dict[str, str]) -> None:
    """All in one test, as all need the same server."""
    for page in PAGES:
        folder = clone if page.stem == CHANGES_THE_CLONE else clone / "build"
        wrong = run_page(page.read_text(encoding="utf-8"), folder, shell)
        assert not wrong, "\n".join([page.name, *wrong])
