"""What the tools share that run a user's script: ``minify``, ``bisect`` and ``cache prove``."""

import argparse
import contextlib
import itertools
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


def parser(tool: str, what: str) -> argparse.ArgumentParser:
    """``[--out FOLDER] script.py [arguments]``."""
    made = argparse.ArgumentParser(f"python -m fuse_mlir.{tool}", description=what)
    made.add_argument(
        "--out",
        metavar="FOLDER",
        help=f"what is found is written there; it must be new (default: fuse_{tool}, fuse_{tool}.1, ..)",
    )
    made.add_argument("script", help="a Python script that compiles with this backend")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return made


def taken_folder(out: str | None) -> str | None:
    """What is wrong with the folder that ``--out`` names."""
    taken = out is not None and os.path.lexists(out)
    return f"--out names '{out}', which exists: name a new folder" if taken else None


def make_folder(tool: str, out: str | None) -> Path:
    """Makes the folder that ``--out`` names, or the first of ``fuse_bisect``, ``fuse_bisect.1``, .. that is
    not there.  Raises FileExistsError for one that ``--out`` names and that was made meanwhile.
    """
    if out is not None:
        Path(out).mkdir(parents=True)
        return Path(out)
    for number in itertools.count():
        folder = Path(f"fuse_{tool}.{number}" if number else f"fuse_{tool}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError("unreachable")


class ScriptError(Exception):
    """The script ended by an error of its own."""


def run_script(script: str, arguments: Sequence[str]) -> None:
    """Runs a script as Python would, inside ``imports_of``.  Raises ``ScriptError``."""
    if not Path(script).exists():
        raise ScriptError(f"there is no file '{script}'")
    with replaced(sys, "argv", [script, *arguments]):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as stopped:
            if stopped.code not in (None, 0):
                raise ScriptError(f"{script} ended with exit code {stopped.code}") from None
        except Exception as error:
            lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == script]
            place = f"{script}:{lines[-1]}" if lines else script  # a syntax error names its line itself
            raise ScriptError(f"{place} raised {type(error).__name__}: {error}") from error


def imports_of(script: str) -> contextlib.AbstractContextManager[None]:
    """Inside, modules and passes beside the script are found, as where Python runs it."""
    return replaced(sys, "path", [str(Path(script).resolve().parent), *sys.path])


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Inside, ``owner`` has another attribute of that name."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
