"""``--version`` of the tools."""

import argparse
from typing import Any

from .. import __version__
from ..compiler.base.versions import bindings


class Version(argparse.Action):
    """Prints the tool with its version, and the bindings whose MLIR it runs, and stops."""

    def __init__(self, option_strings: list[str], dest: str, **_: Any) -> None:
        what = "print the version of the tool and of its MLIR, and stop"
        super().__init__(option_strings, dest, nargs=0, help=what)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"{parser.prog} of fuse-mlir {__version__}, with the MLIR of {bindings()}")
        parser.exit()
