"""The command line of ``fuse-opt``: options in, exit code out."""

import argparse
import sys
from pathlib import Path

from ..passes.pass_base import Pass
from ..passes.pipeline_text import PipelineError, parse_pipeline
from ._expectations import ExpectationError, expectations, unmet
from ._session import Outcome, PrintStyle, Session
from ._source import Source, read, split


class UsageError(Exception):
    """A command line that makes no sense: one sentence."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fuse-opt", allow_abbrev=False, description=__doc__)
    add = parser.add_argument
    add("input", nargs="?", default="-", help="file, or - for stdin (the default)")
    add("-o", dest="output", default="-", metavar="FILE", help="where the module goes; - is stdout")
    add("--pass-pipeline", metavar="TEXT", help='"builtin.module(a,b{option=1},canonicalize)"')
    add(
        "--split-input-file",
        action="store_true",
        help="treat parts between `// -----` lines as separate inputs",
    )
    add(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=("all", "only-expected"),
        help="check expected-* comments",
    )
    add(
        "--verify-roundtrip",
        action="store_true",
        help="check that printing and parsing gives the same module",
    )
    add("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    add("--mlir-print-debuginfo", action="store_true", help="print locations")
    add("--mlir-print-op-generic", action="store_true", help="print the generic form of every op")
    add("--debug", action="store_true", help="print tracebacks of exceptions inside passes")
    return parser


def run(arguments: list[str]) -> int:
    """The tool's exit code: 0 when all went well, 1 when the input or a pass failed, 2 for a bad command line."""
    options, flags = _parser().parse_known_args(arguments)
    try:
        passes = _passes(options, flags)
        source = read(options.input)
    except (UsageError, PipelineError) as error:
        print(f"fuse-opt: error: {error}", file=sys.stderr)
        return 2
    except (OSError, UnicodeDecodeError) as error:
        print(f"fuse-opt: error: cannot read {options.input}: {error}", file=sys.stderr)
        return 1
    session = Session(
        passes,
        style=PrintStyle(options.mlir_print_debuginfo, options.mlir_print_op_generic),
        allow_unregistered=options.allow_unregistered_dialect,
        roundtrip=options.verify_roundtrip,
        debug=options.debug,
    )
    parts = list(split(source)) if options.split_input_file else [source]
    outcomes = [session.run(part) for part in parts]
    if options.verify_diagnostics:
        good = [_as_expected(p, o, options.verify_diagnostics) for p, o in zip(parts, outcomes, strict=True)]
    else:
        good = [_reported(outcome) for outcome in outcomes]
    outputs = [outcome.output for outcome in outcomes if outcome.output is not None]
    if outputs:
        _write(options.output, "// -----\n".join(outputs))
    return 0 if all(good) else 1


def _passes(options: argparse.Namespace, flags: list[str]) -> list[Pass]:
    if options.pass_pipeline is not None:
        if flags:
            raise UsageError(f"'{flags[0]}' cannot be used together with --pass-pipeline")
        return parse_pipeline(options.pass_pipeline)
    passes: list[Pass] = []
    for flag in flags:
        if not flag.startswith("--"):
            raise UsageError(f"unknown argument '{flag}'")
        name, equals, rest = flag[2:].partition("=")
        passes += parse_pipeline(f"{name}{{{rest}}}" if equals else name)
    return passes


def _reported(outcome: Outcome) -> bool:
    for diagnostic in outcome.diagnostics.items:
        if diagnostic.severity != "remark":
            print("\n".join(diagnostic.lines()), file=sys.stderr)
    return outcome.ok


def _as_expected(part: Source, outcome: Outcome, mode: str) -> bool:
    try:
        wanted = expectations(part.text)
    except ExpectationError as error:
        print(f"{part.name}:{error.line}:1: error: {error}", file=sys.stderr)
        return False
    wrong = unmet(wanted, outcome.diagnostics.items, part.name, only_expected=mode == "only-expected")
    for diagnostic in wrong:
        print("\n".join(diagnostic.lines()), file=sys.stderr)
    return not wrong


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(path).write_text(text, encoding="utf-8")
