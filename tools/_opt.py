"""The command line of ``fuse-opt``: options in, exit code out."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import cast, get_args

from ..compiler.analysis.dependences_text import dependences_text
from ..compiler.analysis.estimate import estimates_text
from ..compiler.analysis.hardware import Hardware, hardware_named
from ..compiler.options import DEFAULT_ROUNDING, Rounding
from ..passes.manager import Observer
from ..passes.observers import DumpIR
from ..passes.pass_base import Pass
from ..passes.pipeline_text import PipelineError, parse_pipeline
from ..passes.registry import all_passes
from ._exit import FAILED, OK, USAGE, UsageError, say
from ._expectations import ExpectationError, expectations, unmet
from ._observers import PrintIR, Watcher, WriteReproducer
from ._reproducer import NotAReproducer, read_reproducer
from ._session import Outcome, PrintStyle, Session
from ._source import SEPARATOR, Source, read, split


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fuse-opt",
        allow_abbrev=False,
        description="Reads a module, runs passes over it, prints it.",
        epilog="Any other --NAME or --NAME=OPTIONS runs the pass NAME, in order; see --list-passes.",
    )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="file, or - for stdin (the default)")
    add("-o", dest="output", default="-", metavar="FILE", help="where the module goes; - is stdout")
    group = parser.add_argument_group("passes").add_argument
    group("--pass-pipeline", metavar="TEXT", help='"builtin.module(a,b{option=1},canonicalize)"')
    group(
        "--default-pipeline",
        nargs="?",
        const="planned",
        metavar="LEVEL",
        help="the compiler's own, up to a level",
    )
    group("--hardware", default="generic", metavar="NAME", help="hardware model of the default pipeline")
    group(
        "--rounding",
        default=DEFAULT_ROUNDING,
        choices=get_args(Rounding),
        help="of 16-bit results between the ops of a kernel, in the default pipeline",
    )
    group("--run-reproducer", action="store_true", help="run the pipeline that a reproducer names")
    group("--list-passes", action="store_true", help="list the passes with their options, and stop")
    group("--show-dialects", action="store_true", help="list the project's dialects, and stop")
    group = parser.add_argument_group("input").add_argument
    group(
        "--split-input-file",
        action="store_true",
        help=f"parts between `{SEPARATOR}` lines are separate inputs",
    )
    group("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    group = parser.add_argument_group("checks").add_argument
    group(
        "--verify-each",
        default="on",
        choices=("on", "off", "numeric"),
        help="what is checked after every pass",
    )
    group(
        "--verify-roundtrip", action="store_true", help="printing and parsing the result gives the same text"
    )
    group(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=("all", "only-expected"),
        help="compare what is said with the input's expected-* comments",
    )
    group = parser.add_argument_group("output").add_argument
    group("--mlir-print-debuginfo", action="store_true", help="print locations")
    group("--mlir-print-op-generic", action="store_true", help="print the generic form of every op")
    group("--mlir-print-ir-before", action="append", default=[], metavar="PASS", help="print IR to stderr")
    group("--mlir-print-ir-after", action="append", default=[], metavar="PASS", help="print IR to stderr")
    group("--mlir-print-ir-before-all", action="store_true", help="print IR to stderr before every pass")
    group("--mlir-print-ir-after-all", action="store_true", help="print IR to stderr after every pass")
    group("--mlir-print-ir-after-failure", action="store_true", help="print IR to stderr when a pass failed")
    group("--dump-dir", metavar="DIR", help="write the input and the IR after every pass to numbered files")
    group(
        "--reproducer",
        metavar="FILE",
        help="when a pass fails, write the module before it and the rest to run (FILE.running meanwhile)",
    )
    group("--remarks", choices=("text", "yaml"), help="print to stderr why things were done or not")
    group("--fuse-print-dependences", action="store_true", help="print to stderr what must run before what")
    group("--fuse-print-estimates", action="store_true", help="print to stderr what each call costs")
    group("--timing", action="store_true", help="print to stderr where the time went")
    group("--debug", action="store_true", help="print tracebacks of exceptions inside passes")
    return parser


def run(arguments: list[str]) -> int:
    """Runs the tool; the exit code is 0, 1 when the input or a pass failed, 2 for a bad command line."""
    options, flags = _parser().parse_known_args(arguments)
    start = perf_counter()
    if options.list_passes or options.show_dialects:
        from ._listing import list_passes, show_dialects

        sys.stdout.write(list_passes(all_passes()) if options.list_passes else show_dialects())
        return OK
    try:
        source = read(options.input)
        source, session = _session(options, flags, source)
    except (UsageError, PipelineError, NotAReproducer) as error:
        return say(f"fuse-opt: error: {error}", USAGE)
    except (OSError, UnicodeDecodeError) as error:
        return say(f"fuse-opt: error: cannot read '{options.input}': {error}", FAILED)
    parts = list(split(source)) if options.split_input_file else [source]
    outcomes = [session.run(part, number) for number, part in enumerate(parts)]
    if options.verify_diagnostics:
        good = _as_expected(source, outcomes, options.verify_diagnostics == "only-expected")
    else:
        good = [_reported(outcome) for outcome in outcomes]
    if options.remarks:
        for outcome in outcomes:
            if outcome.remarks.items:
                sys.stderr.write(outcome.remarks.render(options.remarks) + "\n")
    sys.stderr.write("".join(text for outcome in outcomes for text in outcome.analyses))
    outputs = [outcome.output for outcome in outcomes if outcome.output is not None]
    if outputs and (options.output == "-" or all(good)):  # a file, the input's too, stays as it is on failure
        try:
            _write(options.output, f"\n{SEPARATOR}\n\n".join(outputs))
        except OSError as error:
            return say(f"fuse-opt: error: cannot write '{options.output}': {error}", FAILED)
    if options.timing:
        session.timing.seconds = perf_counter() - start
        sys.stderr.write(session.timing.report())
    return OK if all(good) else FAILED


def _session(options: argparse.Namespace, flags: list[str], source: Source) -> tuple[Source, Session]:
    """The input, without what is not IR, and what to do with it."""
    hardware = _hardware(options.hardware)
    verify_each = options.verify_each != "off"
    if options.run_reproducer:
        if flags or options.pass_pipeline is not None or options.default_pipeline is not None:
            raise UsageError("--run-reproducer takes the passes from the input, not from the command line")
        reproducer = read_reproducer(source)
        source, verify_each = reproducer.source, verify_each and reproducer.verify_each
        passes = parse_pipeline(reproducer.pipeline)
    else:
        passes = _passes(options, flags)
    session = Session(
        passes,
        style=PrintStyle(options.mlir_print_debuginfo, options.mlir_print_op_generic),
        verify_each=verify_each,
        allow_unregistered=options.allow_unregistered_dialect,
        roundtrip=options.verify_roundtrip,
        debug=options.debug,
    )
    if not flags and options.pass_pipeline is None and not options.run_reproducer:
        session.level = options.default_pipeline
    if options.fuse_print_dependences:
        session.analyses.append(dependences_text)
    if options.fuse_print_estimates:
        session.analyses.append(partial(estimates_text, hardware=hardware))
    _watch(session, options)
    return source, session


def _passes(options: argparse.Namespace, flags: list[str]) -> list[Pass]:
    """From --pass-pipeline, from --default-pipeline, or else from the flags that name passes."""
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
    passes: list[Pass] = []
    for flag in flags:
        if not flag.startswith("--"):
            raise UsageError(f"unexpected argument '{flag}'")
        name, equals, rest = flag[2:].partition("=")
        passes += parse_pipeline(f"{name}{{{rest}}}" if equals else name)
    return passes


def _hardware(name: str) -> Hardware:
    try:
        return hardware_named(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _default_passes(level: str, hardware: str, rounding: Rounding) -> list[Pass]:
    from ..passes.pipeline import default_pipeline  # not read where other passes are named

    try:
        return default_pipeline(level, hardware, rounding=rounding)
    except ValueError as error:
        took_file = "; the file goes before --default-pipeline, or the level follows '='"
        raise UsageError(f"{error}{took_file if Path(level).suffix else ''}") from None


def _watch(session: Session, options: argparse.Namespace) -> None:
    """Gives the session the watchers and checks that the command line asks for."""
    names = {p.name for p in session.passes}
    for name in (*options.mlir_print_ir_before, *options.mlir_print_ir_after):
        if name not in names:
            raise UsageError(f"cannot print IR around '{name}': it is not among the passes to run")

    if options.reproducer:
        _check_reproducer(options)
    if options.dump_dir:
        try:
            Path(options.dump_dir).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write to folder '{options.dump_dir}': {error.strerror}") from None

    def watchers(number: int) -> list[Watcher]:
        made: list[Watcher] = []
        printing = PrintIR(
            session.style.text,
            sys.stderr.write,
            frozenset(options.mlir_print_ir_before),
            frozenset(options.mlir_print_ir_after),
            options.mlir_print_ir_before_all,
            options.mlir_print_ir_after_all,
            options.mlir_print_ir_after_failure,
        )
        made.append(printing)
        if options.reproducer and not any(w.kept for w in reproducers):
            reproducers.append(WriteReproducer(reproducer, session.passes, session.verify_each))
            made.append(reproducers[-1])
        return made

    reproducers: list[WriteReproducer] = []
    reproducer = Path(options.reproducer or "-").resolve()  # behind a link, which stays

    def checks(number: int) -> Sequence[Observer]:
        made: list[Observer] = []
        if options.dump_dir:
            folder = Path(options.dump_dir)
            made.append(DumpIR(folder / f"{number:02d}" if options.split_input_file else folder))
        if options.verify_each == "numeric":
            from ..compiler.runtime.checks.numeric_check import NumericVerifier

            made.append(cast(Observer, NumericVerifier()))
        return made

    session.watchers, session.checks = watchers, checks
    if options.verify_each == "numeric":
        from ..compiler.runtime.checks.outcomes import NumericMismatch
        from ..compiler.runtime.errors import RunError

        session.expected = (*session.expected, NumericMismatch, RunError)


def _check_reproducer(options: argparse.Namespace) -> None:
    """A reproducer goes to a file of its own."""
    path = Path(options.reproducer)
    if not path.parent.is_dir():
        raise UsageError(f"cannot write '{path}': there is no such folder")
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write '{path}': it is no file")
    for name, what in ((options.input, "input"), (options.output, "output")):
        if name != "-" and path.resolve() == Path(name).resolve():
            raise UsageError(f"cannot write the reproducer to '{options.reproducer}': it is the {what}")


def _reported(outcome: Outcome) -> bool:
    for diagnostic in outcome.diagnostics.items:
        if diagnostic.severity != "remark":
            print("\n".join(diagnostic.lines()), file=sys.stderr)
    return outcome.ok


def _as_expected(source: Source, outcomes: list[Outcome], only_expected: bool) -> list[bool]:
    """Compares the comments of the whole input with what all parts said.

    A file that expects no remark says nothing about remarks.
    """
    try:
        wanted = expectations(source.text)
    except ExpectationError as error:
        return [say(f"{source.name}:{error.line}:1: error: {error}", FAILED) == OK]
    said = [d for outcome in outcomes for d in outcome.diagnostics.items]
    if not any(e.severity == "remark" for e in wanted):
        said = [d for d in said if d.severity != "remark"]
    wrong = unmet(wanted, said, source.name, only_expected=only_expected)
    for diagnostic in wrong:
        print("\n".join(diagnostic.lines()), file=sys.stderr)
    return [not wrong]


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(path).write_text(text, encoding="utf-8")
