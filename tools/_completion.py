"""Completion of command lines in a shell, by argcomplete, which starts the tool to ask it.

``eval "$(register-python-argcomplete fuse-opt fuse-run)"`` in the shell's settings turns it on.
"""

import argparse
import os
from collections.abc import Sequence


def complete(parser: argparse.ArgumentParser, passes: Sequence[str] = ()) -> None:
    """Answers the shell and ends the process, where it is the shell that asks.  ``passes``: the names of
    which the command line takes ``--NAME``, and which options take that say so (``PASS``).
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete
    from argcomplete.completers import ChoicesCompleter, FilesCompleter

    from ..compiler.cost.devices import models
    from ..passes.pipeline import LEVELS

    values: dict[str, Sequence[str]] = {"PASS": passes, "LEVEL": LEVELS, "NAME": [*models()]}
    for action in parser._actions:
        if isinstance(action.metavar, str) and action.metavar in values:
            action.completer = ChoicesCompleter(  # type: ignore[attr-defined]
                dict.fromkeys(values[action.metavar], "")
            )
        elif action.dest in ("input", "file"):
            action.completer = FilesCompleter(("mlir", "mlirbc"))  # type: ignore[attr-defined]
    known = {option for action in parser._actions for option in action.option_strings}
    for name in passes:
        if f"--{name}" not in known:
            parser.add_argument(f"--{name}", nargs="?", help="run this pass")
    argcomplete.autocomplete(parser)
