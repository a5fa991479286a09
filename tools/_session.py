"""One part of an input from text to text: parse, verify, run the passes, print."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from ..compiler.analysis.remarks import Remark, Remarks
from ..compiler.context import make_context
from ..compiler.diagnostics import Diagnostic, Diagnostics, collecting, position_of_text
from ..compiler.dialects.verifier import VerificationError, verify
from ..compiler.mlir import ir
from ..passes.manager import Observer, PassManager
from ..passes.pass_base import Pass, PassError
from ._source import ParseError, Source, parse


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
class Outcome:
    """What became of one part of the input.  ``output`` is None where nothing is to be printed."""

    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    remarks: Remarks = field(default_factory=Remarks)
    output: str | None = None
    ok: bool = False


@dataclass
class Session:
    """What is done to every part of an input."""

    passes: list[Pass]
    style: PrintStyle = field(default_factory=PrintStyle)
    verify_each: bool = True
    allow_unregistered: bool = False
    roundtrip: bool = False
    debug: bool = False
    observers: Callable[[Source], list[Observer]] = lambda source: []

    def run(self, source: Source) -> Outcome:
        """Never raises for what is wrong with the input or a pass: the outcome says so."""
        outcome = Outcome()
        context = make_context()
        context.allow_unregistered_dialects = self.allow_unregistered
        try:
            module = parse(source, context, outcome.diagnostics)
        except ParseError as error:
            if not outcome.diagnostics.failed:
                outcome.diagnostics.add("error", str(error))
            return outcome
        with collecting(context, outcome.diagnostics):
            outcome.ok = self._verified(module, outcome) and self._run_passes(module, source, outcome)
            if outcome.ok and self.roundtrip:
                outcome.ok = self._round_trips(module, outcome)
        for remark in outcome.remarks.items:
            outcome.diagnostics.items += remark_diagnostics(remark, context)
        if outcome.ok:
            outcome.output = self.style.text(module)
        return outcome

    def _verified(self, module: ir.Module, outcome: Outcome) -> bool:
        try:
            with module.context, ir.Location.unknown(module.context):
                verify(module)
        except (VerificationError, ir.MLIRError) as error:
            _ensure_error(outcome, str(error), module)
            return False
        return True

    def _run_passes(self, module: ir.Module, source: Source, outcome: Outcome) -> bool:
        manager = PassManager(self.passes, self.verify_each, [*self.observers(source), where := _Where()])
        try:
            manager.run(module, outcome.remarks)
        except PassError as error:
            location = error.location if error.location is not None else module.operation.location
            outcome.diagnostics.add("error", str(error), location)
        except (VerificationError, ir.MLIRError) as error:
            _ensure_error(outcome, f"{error} (after pass '{where.name}')", module)
        except Exception as error:
            name, place = type(error).__name__, getattr(error, "location", None)
            location = place if isinstance(place, ir.Location) else module.operation.location
            outcome.diagnostics.add("error", f"pass '{where.name}' raised {name}: {error}", location)
            if self.debug:
                traceback.print_exc()
        else:
            return True
        return False

    def _round_trips(self, module: ir.Module, outcome: Outcome) -> bool:
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
                outcome.diagnostics.add(
                    "error", f"the module's {form} form {what}", module.operation.location
                )
                return False
        return True


class _Where(Observer):
    """Remembers which pass is running."""

    name = ""

    def before_pass(self, number: int, p: Pass, module: ir.Module) -> None:
        self.name = p.name


def _ensure_error(outcome: Outcome, message: str, module: ir.Module) -> None:
    """An exception that left no diagnostic becomes one."""
    if not outcome.diagnostics.failed:
        outcome.diagnostics.add("error", message, module.operation.location)


def remark_diagnostics(remark: Remark, context: ir.Context) -> list[Diagnostic]:
    """A remark as a diagnostic at its first location, with a note at each other one."""
    places = [position_of_text(text, context) for text in remark.locations] or [None]
    message = f"{remark.message} [{remark.kind}: {remark.pass_name}, {remark.rule}]"
    return [Diagnostic("remark", message, places[0])]
