"""``python -m fuse_mlir.cache``: shows what the cache contains, lists its entries, or deletes them; ``prove``
shows that nothing is missing from its keys (``_prove.py``).

The folder is the one that a compilation would use.  Files in it that are not entries are left alone.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from ..compiler.base.options import OptionError, Options
from ..compiler.runtime.cache.cache_contents import SUFFIXES, Entry, adopt, entries, prune
from ..compiler.runtime.cache.owned_files import Untrusted, open_folder
from ..compiler.runtime.cache.places import cache_directory
from ._exit import FAILED, OK, USAGE, say

_WHAT = {
    ".captured": "what graphs without gradients became",
    ".facts": "what users' kernels read and write",
    ".fusion": "measured pairs of kernels",
    ".kernel": "kernels",
    ".program": "programs",
    ".tile": "measured tiles and configurations",
    ".trained": "what training steps became",
    ".tmp": "files that are being written",
}
assert set(_WHAT) == {*SUFFIXES, ".tmp"}


def main(arguments: list[str] | None = None) -> int:
    """Runs the tool.  The exit code is 0 when it did what was asked, 1 where the folder cannot be used, 2 for
    a bad command line.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["prove"]:
        from ._prove import main as prove  # which loads torch

        return prove(given[1:])
    options = (parser := _parser()).parse_args(given)
    if options.do == "prove":
        parser.error("prove comes first, and a script behind it: prove [--all] SCRIPT [ARGUMENTS]")
    try:
        directory = Path(options.cache_dir) if options.cache_dir else cache_directory(Options.of({}))
    except OptionError as error:
        return _error(str(error), USAGE)
    try:
        _run(directory, options.do)
        sys.stdout.flush()  # here, where an error is caught
    except FileNotFoundError:
        print(f"{directory} does not exist: nothing was stored yet")
    except BrokenPipeError:  # the reader has closed the pipe: `list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Untrusted as problem:
        return _error(f"{directory} {problem}", FAILED)
    except OSError as error:
        return _error(f"{directory}: {error.strerror}", FAILED)
    return OK


def _run(directory: Path, do: str) -> None:
    """Raises OSError and Untrusted."""
    with open_folder(directory) as root:
        if do == "clear":
            problem = adopt(root)
            if problem is not None:
                raise Untrusted(f"is no folder of the cache: {problem}")
            deleted = prune(root, -1)
            print(f"{directory}: deleted {len(deleted)} files, {_size(deleted)}")
            return
        found = sorted(entries(root), key=lambda entry: (entry.used, entry.name), reverse=True)
        if do == "list":
            for entry in found:
                used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.used))
                print(f"{used} {entry.bytes:12} {entry.folder}/{entry.name}")
            return
        print(f"{directory}: {len(found)} files, {_size(found)}")
        for suffix, what in _WHAT.items():
            of_suffix = [entry for entry in found if entry.suffix == suffix]
            if of_suffix:
                print(f"{len(of_suffix):8} {suffix:10} {_size(of_suffix):>10}  {what}")


def _size(found: Iterable[Entry]) -> str:
    """A number of bytes in the largest unit of which there is at least one."""
    total = float(sum(entry.bytes for entry in found))
    for unit in ("B", "KiB", "MiB"):
        if total < 1024:
            return f"{total:.3g} {unit}" if total < 1000 else f"{total:.0f} {unit}"
        total /= 1024
    return f"{total:.2f} GiB"


def _error(text: str, code: int) -> int:
    return say(f"fuse_mlir.cache: error: {text}", code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m fuse_mlir.cache",
        description="What the cache of compiled programs holds.",
    )
    parser.add_argument(
        "do",
        nargs="?",
        choices=("size", "list", "clear", "prove"),
        default="size",
        help="size (the default): how much of each kind; list: each entry with its last use, the latest "
        "first; clear: delete all entries and nothing else; prove SCRIPT: change each input of the keys of "
        "a script's graphs, each of which has to be a miss",
    )
    parser.add_argument(
        "--cache-dir", metavar="DIR", help="another folder than the one that is used by default"
    )
    return parser
