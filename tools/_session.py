"""Processes one part of an input, from text to text: parse, verify, run the passes, print."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from ..compiler.base.dataclass import dataclass
from ..compiler.base.diagnostics import Diagnostic, Diagnostics, Position, collecting, position_of_text
from ..compiler.base.errors import CompileError
from ..compiler.base.remarks import Remark, Remarks
from ..compiler.base.timing import Timing
from ..compiler.ir.context import make_context
from ..compiler.mlir import ir
from ..compiler.verifier.verifier import VerificationError, Verifier, verify_level
from ..passes.manager import Observer, PassManager
from ..passes.pass_base import Pass, PassError
from ._exit import kind_and_text
from ._observers import Progress, Watcher
from ._source import ParseError, Source, check, parse, start_of

if TYPE_CHECKING:  # a report alone needs it
    from ..compiler.report.page.levels import LevelTexts


@dataclass(frozen=True)
class PrintStyle:
    """How IR is printed."""

    debug_info: bool = False
    generic: bool = False

    def text(self, module: ir.Module) -> str:
        """The module's text, ending in a newline."""
        text = module.operation.get_asm(enable_debug_info=self.debug_info, print_generic_op_form=self.generic)
        return text if text.endswith("\n") else text + "\n"


@dataclass
class PartOutcome:
    """The result for one part of the input.  ``output`` is None where nothing is to be printed."""

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    remarks: Remarks = field(default_factory=Remarks)
    output: str | None = None
    ok: bool = False
    analyses: list[str] = field(default_factory=list)  #: output of the requested analyses of the result
    module: ir.Module | None = None  #: the result, where there is one
    timing: Timing = field(default_factory=lambda: Timing("part"))


@dataclass
class Session:
    """What is done with every part of an input.

    ``watchers`` makes the watchers of one part (its number from 0), ``checks`` observers that may raise.
    ``expected``: exceptions whose text says everything; any other is reported as a bug of the pass.
    """

    passes: list[Pass]
    level: str | None = None  #: the level that the module must have in the end
    style: PrintStyle = field(default_factory=PrintStyle)
    verify_each: bool = True
    allow_unregistered: bool = False
    roundtrip: bool = False
    debug: bool = False
    watchers: Callable[[int], list[Watcher]] = lambda number: []
    checks: Callable[[int], Sequence[Observer]] = lambda number: []
    expected: tuple[type[Exception], ...] = (PassError, CompileError)
    analyses: list[Callable[[ir.Module], str]] = field(default_factory=list)
    timing: Timing = field(default_factory=lambda: Timing("root"))
    levels: dict[int, "LevelTexts"] = field(default_factory=dict)  #: of each part, where a report is written

    def run(self, source: Source, number: int = 0) -> PartOutcome:
        """Processes one part.  Errors in the input or a pass are not raised, but stored in the outcome."""
        outcome = PartOutcome()
        start = perf_counter()
        try:
            self._process(source, number, outcome)
        finally:
            outcome.timing.seconds = perf_counter() - start
            self.timing.include(outcome.timing)
        return outcome

    def _process(self, source: Source, number: int, outcome: PartOutcome) -> None:
        with outcome.timing.measured("Context"):
            context = make_context()
        context.allow_unregistered_dialects = self.allow_unregistered
        try:
            with outcome.timing.measured("Parser"):
                module = parse(source, context, outcome.diagnostics)
        except ParseError as error:
            _ensure_error(outcome, str(error), start_of(source))
            return
        except Exception as error:  # the parser runs the rules of single ops, which may raise
            self._bug("the parser", error, start_of(source), outcome)
            return
        with collecting(context, outcome.diagnostics):
            verifier = self._verified(module, source, outcome)
            outcome.ok = verifier is not None and self._run_passes(module, number, outcome, verifier)
            if outcome.ok and self.roundtrip:
                outcome.ok = self._round_trips(module, outcome)
        for remark in outcome.remarks.items:
            outcome.diagnostics.items.append(remark_diagnostic(remark, context))
        if outcome.ok:
            outcome.ok = self._analysed(module, outcome)
        if outcome.ok:
            with outcome.timing.measured("Output"):
                outcome.output = self.style.text(module)
            outcome.module = module

    def _verified(self, module: ir.Module, source: Source, outcome: PartOutcome) -> Verifier | None:
        try:
            with outcome.timing.measured("Verifier"):
                return check(module, source, outcome.diagnostics)
        except (VerificationError, ir.MLIRError) as error:
            _ensure_error(outcome, str(error), module.operation.location)
            return None
        except Exception as error:
            self._bug("the verifier", error, module.operation.location, outcome)
            return None

    def _analysed(self, module: ir.Module, outcome: PartOutcome) -> bool:
        for analyse in self.analyses:
            try:
                outcome.analyses.append(analyse(module))
            except self.expected as error:
                outcome.diagnostics.add("error", str(error), _place(error, module))
                return False
            except Exception as error:
                self._bug("an analysis", error, module.operation.location, outcome)
                return False
        return True

    def _run_passes(self, module: ir.Module, number: int, outcome: PartOutcome, verifier: Verifier) -> bool:
        progress = Progress()
        watchers = [progress, *self.watchers(number)]
        manager = PassManager(self.passes, self.verify_each, [*watchers, *self.checks(number)])
        try:
            manager.run(module, outcome.remarks, verifier)
            if self.level is not None:
                verify_level(module, self.level)
        except Exception as error:
            self._failed(error, progress.running, module, outcome)
            for watcher in watchers:
                if progress.running is not None:
                    watcher.failed(progress.running, module)
            return False
        finally:
            for time in manager.times:
                outcome.timing.add(time.name, time.run + time.verify).add("verify", time.verify)
        for watcher in watchers:
            watcher.finished()
        return True

    def _failed(
        self, error: Exception, running: Pass | None, module: ir.Module, outcome: PartOutcome
    ) -> None:
        name = running.name if running is not None else "none"
        if isinstance(error, (VerificationError, ir.MLIRError)):
            _ensure_error(outcome, f"pass '{name}' failed: {error}", module.operation.location)
            outcome.diagnostics.attach(f"after pass '{name}'")
            return
        location = _place(error, module)
        if isinstance(error, OSError):  # writing a dump, a reproducer or a table failed
            outcome.diagnostics.add("error", f"pass '{name}': {error}", location)
            return
        if isinstance(error, self.expected):
            outcome.diagnostics.add("error", str(error), location)
            return
        self._bug(f"pass '{name}'", error, location, outcome)

    def _bug(
        self, what: str, error: Exception, place: ir.Location | Position | None, outcome: PartOutcome
    ) -> None:
        """Reports an unexpected exception in one sentence, at the best known place."""
        outcome.diagnostics.add("error", f"{what} raised {kind_and_text(error)}", place)
        if self.debug:
            traceback.print_exception(error)

    def _round_trips(self, module: ir.Module, outcome: PartOutcome) -> bool:
        """Whether text -> module -> text gives the same bytes, in the custom and in the generic form."""
        for generic in (False, True):
            style = PrintStyle(debug_info=True, generic=generic)
            text = style.text(module)
            try:
                again = style.text(ir.Module.parse(text, module.context))
            except ir.MLIRError:
                again = None
            if again != text:
                form = "generic" if generic else "custom"
                what = "cannot be parsed" if again is None else "does not print as it was read"
                message = f"the module's {form} form {what}"
                outcome.diagnostics.add("error", message, module.operation.location)
                return False
        return True


def _place(error: Exception, module: ir.Module) -> ir.Location | Position | None:
    """The place of an error: the location in the exception, or the text of one; else the module's."""
    place = getattr(error, "location", None)
    if isinstance(place, ir.Location):
        return place
    position = position_of_text(place, module.context) if isinstance(place, str) else None
    return position or module.operation.location


def _ensure_error(outcome: PartOutcome, message: str, place: ir.Location | Position) -> None:
    """Adds an error for an exception that emitted no diagnostic."""
    if not outcome.diagnostics.failed:
        outcome.diagnostics.add("error", message, place)


def remark_diagnostic(remark: Remark, context: ir.Context) -> Diagnostic:
    """A remark as a diagnostic, at the first of its locations that lies in a file."""
    places = (position_of_text(text, context) for text in remark.locations)
    position = next((p for p in places if p is not None), None)
    return Diagnostic("remark", Remarks([replace(remark, locations=())]).render("text"), position)
