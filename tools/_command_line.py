"""The command line of ``fuse-opt``: its options, and the flags that name passes."""

import argparse
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from ..compiler.base.options import DEFAULT_ROUNDING, Rounding
from ..compiler.cost.devices import hardware_named
from ..compiler.cost.hardware import Hardware
from ..passes.pass_base import Pass
from ..passes.pipeline_text import UPSTREAM_NAMES, UnknownPass, parse_pipeline
from ..passes.registry import PASSES
from ._exit import UsageError
from ._source import SEPARATOR
from ._version import Version


class _Once(argparse.Action):
    """Stores a value.  Giving the option twice is an error, as the two contradict each other."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        given: set[str] = namespace.__dict__.setdefault("given", set())
        if option_string is not None and self.dest in given:
            parser.error(f"{option_string} is given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def parser() -> argparse.ArgumentParser:
    """The parser of the options; all other arguments are left to ``passes_of``."""
    made = argparse.ArgumentParser(
        prog="fuse-opt",
        allow_abbrev=False,
        description="Reads a module, runs passes over it, prints it.",
        epilog="Any other --NAME or --NAME=OPTIONS runs the pass NAME, in order; --list-passes lists them.",
    )
    made.register("action", None, _Once)
    add = made.add_argument
    add("input", nargs="?", default="-", help="file of text or bytecode, or - for stdin (the default)")
    add(
        "-o",
        dest="output",
        default="-",
        metavar="FILE",
        help="where the result is written; - is stdout (the default)",
    )
    add("--version", action=Version)
    group = made.add_argument_group("passes").add_argument
    group(
        "--pass-pipeline",
        metavar="TEXT",
        help='the passes to run: "builtin.module(a,b{option=1},canonicalize)"',
    )
    group(
        "--default-pipeline",
        nargs="?",
        const="planned",
        metavar="LEVEL",
        help="run the compiler's own pipeline up to a level: graph, scheduled, tiled or planned (default)",
    )
    group(
        "--hardware",
        default="generic",
        metavar="NAME",
        help="the hardware model of the default pipeline: one of compiler/cost/gpus, also with settings: "
        "h100:sm_count=66",
    )
    group(
        "--rounding",
        default=DEFAULT_ROUNDING,
        choices=get_args(Rounding),
        help="how the default pipeline rounds 16-bit results between the ops of a kernel",
    )
    group("--run-reproducer", action="store_true", help="run the pipeline that a reproducer names")
    group("--list-passes", action="store_true", help="list the passes with their options, and stop")
    group("--show-dialects", action="store_true", help="list the project's dialects, and stop")
    group = made.add_argument_group("input").add_argument
    group(
        "--split-input-file",
        action="store_true",
        help=f"take the parts between `{SEPARATOR}` lines as separate inputs",
    )
    group("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    group = made.add_argument_group("checks").add_argument
    group(
        "--verify-each",
        default="on",
        choices=("on", "off", "numeric"),
        help="on: run the verifier after every pass; numeric: also execute the module before and after it",
    )
    group("--verify-roundtrip", action="store_true", help="check that the result reads back as it is printed")
    group(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=("all", "only-expected"),
        help="compare diagnostics with the expected-* comments of the input",
    )
    group = made.add_argument_group("output").add_argument
    group(
        "--emit-bytecode", action="store_true", help="write the result as MLIR bytecode, with its locations"
    )
    group("--mlir-print-debuginfo", action="store_true", help="print locations")
    group("--mlir-print-op-generic", action="store_true", help="print the generic form of every op")
    group(
        "--mlir-print-ir-before",
        action="append",
        default=[],
        metavar="PASS",
        help="print IR to stderr before PASS",
    )
    group(
        "--mlir-print-ir-after",
        action="append",
        default=[],
        metavar="PASS",
        help="print IR to stderr after PASS",
    )
    group("--mlir-print-ir-before-all", action="store_true", help="print IR to stderr before every pass")
    group("--mlir-print-ir-after-all", action="store_true", help="print IR to stderr after every pass")
    group("--mlir-print-ir-after-failure", action="store_true", help="print IR to stderr when a pass failed")
    group(
        "--dump-dir",
        metavar="DIR",
        help="write the input and the IR after every pass to numbered files in a new or empty folder",
    )
    group(
        "--reproducer",
        metavar="FILE",
        help="when a pass fails, write the module before it and the passes left to run",
    )
    group("--remarks", choices=("text", "yaml"), help="print to stderr what was decided, and why")
    group(
        "--sort",
        choices=("order", "cost"),
        default="order",
        help="of remarks; cost: only missed fusions, those first that would save most time by estimate",
    )
    group(
        "--report",
        metavar="FILE",
        help="write a page for a browser: launches, missed fusions, memory, time (docs/report.md)",
    )
    group("--fuse-print-dependences", action="store_true", help="print to stderr what must run before what")
    group(
        "--fuse-print-estimates",
        action="store_true",
        help="print to stderr the bytes, operations and least time of each call",
    )
    group(
        "--fuse-print-graph-regions",
        nargs="?",
        const="",
        metavar="STATIC",
        help="print to stderr what CUDA graphs would hold; STATIC: arguments whose address stays, as 0,2",
    )
    group(
        "--fuse-print-plan", action="store_true", help="print to stderr the launch plan of a planned module"
    )
    group(
        "--fuse-print-user-kernels",
        action="store_true",
        help="print to stderr what each function of tile code reads and writes, and where",
    )
    group("--timing", action="store_true", help="print to stderr where the time went")
    group("--debug", action="store_true", help="print the traceback of an exception inside a pass")
    return made


def passes_of(options: argparse.Namespace, flags: list[str]) -> list[Pass]:
    """The passes to run: from --pass-pipeline, from --default-pipeline, or else from flags that name
    passes.
    """
    given = [
        n
        for n in ("--pass-pipeline", "--default-pipeline")
        if getattr(options, n[2:].replace("-", "_")) is not None
    ]
    if len(given) + bool(flags) > 1:
        raise UsageError(
            f"'{given[0]}' and '{(given[1:] + flags)[0]}' cannot be used together: both say what to run"
        )
    if options.pass_pipeline is not None:
        return parse_pipeline(options.pass_pipeline)
    if options.default_pipeline is not None:
        return _default_passes(options.default_pipeline, options.hardware, options.rounding)
    return [p for flag in flags for p in _passes_of_flag(flag)]


def _passes_of_flag(flag: str) -> list[Pass]:
    if not flag.startswith("-"):
        raise UsageError(f"unexpected argument '{flag}'")
    name, equals, rest = flag.lstrip("-").partition("=")
    try:
        if flag.startswith("--"):
            return parse_pipeline(f"{name}{{{rest}}}" if equals else name)
    except UnknownPass:
        pass
    options = [option for action in parser()._actions for option in action.option_strings]
    known = [*options, *(f"--{p}" for p in (*PASSES, *UPSTREAM_NAMES))]
    close = difflib.get_close_matches(f"--{name}", known, 1)
    what = "option or pass" if not close else "option" if close[0] in options else "pass"
    raise UsageError(
        f"unknown {what} '{flag.partition('=')[0]}'" + (f"; did you mean '{close[0]}'?" if close else "")
    )


def hardware_of(name: str) -> Hardware:
    try:
        return hardware_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _default_passes(level: str, hardware: str, rounding: Rounding) -> list[Pass]:
    from ..passes.pipeline import (
        Settings,
        default_pipeline,
    )  # imported only where the default pipeline is used

    try:
        return default_pipeline(level, Settings(hardware, rounding=rounding))
    except ValueError as error:
        took_file = "; the file goes before --default-pipeline, or the level follows '='"
        raise UsageError(f"{error}{took_file if Path(level).suffix else ''}") from None
