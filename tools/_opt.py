"""The implementation of ``fuse-opt``: from its options to its exit code."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import cast

from ..compiler.analysis.cost.estimate import estimates_text
from ..compiler.analysis.program.overlap import overlap_text
from ..compiler.base.errors import CompileError
from ..compiler.base.options import OptionError
from ..compiler.mlir import ir
from ..compiler.report.dependences_text import dependences_text
from ..compiler.report.user_kernels_text import user_kernels_text
from ..passes.manager import Observer
from ..passes.observers import DumpIR
from ..passes.pass_base import Pass
from ..passes.pipeline_text import UPSTREAM_NAMES, PipelineError, parse_pipeline
from ..passes.registry import PASSES, PluginError, all_passes
from ._bytecode import DamagedBytecode, sealed_bytecode
from ._command_line import hardware_of, parser, passes_of
from ._completion import complete
from ._exit import FAILED, OK, USAGE, UsageError, ended, say, write_out
from ._expectations import ExpectationError, expectations, unmet
from ._observers import PrintIR, Watcher, WriteReproducer
from ._report import check_report, level_texts, write_report
from ._reproducer import NotAReproducer, read_reproducer
from ._session import PartOutcome, PrintStyle, Session
from ._source import SEPARATOR, Source, read, split


def run(arguments: list[str]) -> int:
    """Runs the tool; the exit code is 0, 1 when the input or a pass failed, 2 for a bad command line."""
    made = parser()
    complete(made, [*PASSES, *UPSTREAM_NAMES])
    options, flags = made.parse_known_args(arguments)
    return ended("fuse-opt", lambda: _run(options, flags), debug=options.debug)


def _run(options: argparse.Namespace, flags: list[str]) -> int:
    start = perf_counter()
    try:
        if options.list_passes or options.show_dialects:
            from ._listing import list_passes, show_dialects

            write_out(list_passes(all_passes()) if options.list_passes else show_dialects())
            return OK
        passes = [] if options.run_reproducer else passes_of(options, flags)
        source = read(options.input)
        source, session = _session(options, flags, passes, source)
    except (UsageError, PipelineError, PluginError, NotAReproducer) as error:
        return say(f"fuse-opt: error: {error}", USAGE)
    except (OSError, UnicodeDecodeError, DamagedBytecode) as error:
        return say(f"fuse-opt: error: cannot read '{options.input}': {error}", FAILED)
    parts = list(split(source)) if options.split_input_file else [source]
    outcomes = [session.run(part, number) for number, part in enumerate(parts)]
    if options.verify_diagnostics:
        good = _as_expected(source, outcomes, options.verify_diagnostics == "only-expected")
    else:
        good = [_reported(outcome, source.name) for outcome in outcomes]
    if options.remarks:
        for outcome in outcomes:
            by_cost = options.sort == "cost"
            told = outcome.remarks.worst() if by_cost else outcome.remarks
            if told.items:
                sys.stderr.write(told.render(options.remarks, costs=by_cost) + "\n")
    sys.stderr.write("".join(text for outcome in outcomes for text in outcome.analyses))
    outputs = [outcome.output for outcome in outcomes if outcome.output is not None]
    if outputs and (options.output == "-" or all(good)):  # on failure, an output file is left as it is
        try:
            _write(options, outputs)
        except OSError as error:
            return say(f"fuse-opt: error: cannot write '{options.output}': {error}", FAILED)
    if options.report and all(good):
        try:
            write_report(options, source.name, outcomes, session.levels)
        except OptionError as error:
            return say(f"fuse-opt: error: {error}", FAILED)
    if options.timing:
        session.timing.seconds = perf_counter() - start
        sys.stderr.write(session.timing.report())
    return OK if all(good) else FAILED


def _session(
    options: argparse.Namespace, flags: list[str], passes: list[Pass], source: Source
) -> tuple[Source, Session]:
    """The input, without the resource of a reproducer, and the session that will process it."""
    hardware = hardware_of(options.hardware)
    verify_each = options.verify_each != "off"
    if options.emit_bytecode and options.split_input_file:
        raise UsageError(
            "'--emit-bytecode' and '--split-input-file' cannot be used together: a file of "
            "bytecode holds one module"
        )
    if options.run_reproducer:
        if flags or options.pass_pipeline is not None or options.default_pipeline is not None:
            raise UsageError("--run-reproducer takes the passes from the input, not from the command line")
        reproducer = read_reproducer(source)
        source, verify_each = reproducer.source, verify_each and reproducer.verify_each
        passes = parse_pipeline(reproducer.pipeline)
    session = Session(
        passes,
        style=PrintStyle(
            options.mlir_print_debuginfo or options.emit_bytecode, options.mlir_print_op_generic
        ),
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
        session.analyses.append(partial(overlap_text, hardware=hardware))
    if options.fuse_print_graph_regions is not None:
        session.analyses.append(partial(_regions, static=_numbers(options.fuse_print_graph_regions)))
    if options.fuse_print_plan:
        session.analyses.append(_plan)
    if options.fuse_print_user_kernels:
        session.analyses.append(user_kernels_text)
    _watch(session, options)
    return source, session


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",") if number]
    except ValueError:
        raise UsageError(f"--fuse-print-graph-regions takes numbers of arguments, got '{text}'") from None


def _regions(module: ir.Module, static: list[int]) -> str:
    """What CUDA graphs hold.  A custom op that the command has not registered is taken for one that no
    recording holds.
    """
    from ..compiler.analysis.program.graph_regions import graph_regions_text
    from ..compiler.runtime.errors import RunError  # torch is loaded, which knows what its ops do
    from ..compiler.runtime.torch_names import op_tags

    def tags(name: str) -> frozenset[str] | None:
        try:
            return op_tags(name)
        except RunError:
            return None

    return graph_regions_text(module, static, tags)


def _plan(module: ir.Module) -> str:
    """The launch plan.  Raises ``CompileError`` for a module that is not planned."""
    from ..compiler.runtime.errors import RunError  # torch is loaded, whose ops a plan calls
    from ..compiler.runtime.plans.make_plan import make_plan
    from ..compiler.runtime.plans.plan_text import plan_text

    try:
        return plan_text(make_plan(module))
    except (NotImplementedError, RunError) as error:
        raise CompileError(message=str(error)) from error


def _watch(session: Session, options: argparse.Namespace) -> None:
    """Gives the session the watchers and checks that the command line asks for."""
    names = {p.name for p in session.passes}
    for name in (*options.mlir_print_ir_before, *options.mlir_print_ir_after):
        if name not in names:
            raise UsageError(f"cannot print IR around '{name}': it is not among the passes to run")

    if options.reproducer:
        _check_reproducer(options)
    if options.report:
        check_report(options)
    if options.dump_dir:
        _make_empty(options.dump_dir)

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
    reproducer = Path(options.reproducer or "-").resolve()  # a link stays; the file behind it is written

    def checks(number: int) -> Sequence[Observer]:
        made: list[Observer] = []
        if options.dump_dir:
            folder = Path(options.dump_dir)
            made.append(DumpIR(folder / f"{number:02d}" if options.split_input_file else folder))
        if options.report:
            session.levels[number] = level_texts(options, len(session.passes))
            made.append(session.levels[number])
        if options.verify_each == "numeric":
            from ..compiler.runtime.checks.numeric_check import NumericVerifier

            made.append(cast(Observer, NumericVerifier()))
        return made

    session.watchers, session.checks = watchers, checks
    if options.verify_each == "numeric":
        from ..compiler.runtime.checks.outcomes import NumericMismatch
        from ..compiler.runtime.errors import RunError

        session.expected = (*session.expected, NumericMismatch, RunError)


def _make_empty(folder: str) -> None:
    """Creates the folder of the dumps.  It must be empty, so that no dumps of another run are overwritten."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        kept = next(Path(folder).iterdir(), None)
    except OSError as error:
        raise UsageError(f"cannot write to folder '{folder}': {error.strerror}") from None
    if kept is not None:
        raise UsageError(f"cannot write to folder '{folder}': it is not empty")


def _check_reproducer(options: argparse.Namespace) -> None:
    """Checks that a reproducer does not overwrite another file of the command line."""
    path = Path(options.reproducer)
    if not path.parent.is_dir():
        raise UsageError(f"cannot write '{path}': there is no such folder")
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write '{path}': it is not a regular file")
    for name, what in ((options.input, "input"), (options.output, "output")):
        if name != "-" and path.resolve() == Path(name).resolve():
            raise UsageError(f"cannot write the reproducer to '{options.reproducer}': it is the {what}")


def _reported(outcome: PartOutcome, file: str) -> bool:
    for diagnostic in outcome.diagnostics.items:
        if diagnostic.severity != "remark":
            print("\n".join(diagnostic.lines(file)), file=sys.stderr)
    return outcome.ok


def _as_expected(source: Source, outcomes: list[PartOutcome], only_expected: bool) -> list[bool]:
    """Compares the comments of the whole input with the diagnostics of all its parts.

    If a file expects no remark, its remarks are not checked.
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


def _write(options: argparse.Namespace, outputs: list[str]) -> None:
    """Writes the results to a file or to stdout, as text or as bytecode, of which there is one then."""
    text = f"\n{SEPARATOR}\n\n".join(outputs)
    unregistered = options.allow_unregistered_dialect
    data = sealed_bytecode(text, allow_unregistered=unregistered) if options.emit_bytecode else text
    if options.output == "-":
        write_out(data)
    else:
        Path(options.output).write_bytes(data.encode() if isinstance(data, str) else data)
