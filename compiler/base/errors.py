"""Every exception that the compiler raises at a user, each a template: the class says what went wrong, its
fields the particulars.
"""

from typing import Any, ClassVar


class CompileError(Exception):
    """One sentence about one place.  Subclasses set ``template``; its fields are the keyword arguments, kept
    in ``fields``.
    """

    template: ClassVar[str] = "{message}"

    def __init__(self, *, location: Any = None, **fields: Any) -> None:
        self.location = location
        self.fields = fields
        sentence = self.template.format(**fields)
        super().__init__(f"{sentence} (at {location})" if location is not None else sentence)


class ImportGraphError(CompileError):
    """The captured FX graph cannot become a module.  The caller runs the whole graph eagerly, or gives up
    when strict.
    """


class UnsupportedOp(ImportGraphError):
    """Raised only when strict: otherwise the op runs as an extern call."""

    template = "{op} on {operands} is not generated: {reason}"


class UnsupportedDtype(ImportGraphError):
    """A tensor whose elements no MLIR type describes, quantised ones for instance."""

    template = "{name} has elements of {dtype}, which have no MLIR type"


class UnsupportedValue(ImportGraphError):
    """A node whose value is neither a tensor, a number, nor a list of them."""

    template = "{name} is a {kind}, which a module cannot hold"


class ProgramError(CompileError):
    """The user's program asks for what cannot be.  It is no failure of the compiler, and torch does not run
    the graph instead: it would do what must not be done, or say less about it.
    """


class BudgetExceeded(ProgramError):
    """Raised only when strict: compiling took more than ``compile_budget`` allows."""


class UserKernelRefused(CompileError):
    """Triton's front end refuses a user's kernel; ``where`` is the kernel's own line."""

    template = "Triton refuses the kernel '{kernel}' at {where}: {reason}"


class UserKernelGrid(ProgramError):
    """A user's kernel is launched on a grid of no integers; ``where`` is the kernel's own line."""

    template = (
        "the kernel '{kernel}' at {where} is launched on a grid with an extent of {extent}: expected integers"
    )


class UserKernelTuned(ProgramError):
    """A user's kernel is measured in several configurations where every run has to give the same bits."""

    template = (
        "the kernel '{kernel}' at {where} is tuned over {count} configurations, and deterministic algorithms "
        "are asked for: leave one configuration"
    )


class UserKernelAtomics(ProgramError):
    """A user's kernel has atomics whose outcome depends on their order, where every run has to give the same
    bits; ``where`` is the kernel's own line, ``at`` that of the atomic.
    """

    template = (
        "the kernel '{kernel}' at {where} {does}, at {at}, in an order that differs between runs, and "
        "deterministic algorithms are asked for: compute it without"
    )


class MeasurementRefused(ProgramError):
    """Something would be measured where every run has to give the same bits."""

    template = "{what} would be measured, and deterministic algorithms are asked for: {remedy}"


class TemplateError(ProgramError):
    """What a template answers makes no sense; ``where`` is the template's own line."""

    template = "the template of {op} at {where}: {reason}"


class PackageError(ProgramError):
    """A package that cannot be made, read or used as asked."""

    template = "{path}: {reason}"


class PackageDamaged(PackageError):
    """A part of a package that is not what was written."""

    template = "{path}: {part} is damaged: its bytes are not those that were written"


class PackageMismatch(PackageError):
    """A package that was made for something else: an architecture, a version, a driver."""

    template = "{path} was made for {made_for}, and this is {found}"


class PackageCall(ProgramError):
    """An argument of a call that the packaged program was not made for."""

    template = "the argument {name}: expected {expected}, got {found}"


class UnsupportedDevice(CompileError):
    """A device of torch's type "cuda" for which no kernel can be compiled."""

    template = (
        "no kernels are made for the device '{device}': {reason}; the option execute='interpreter' runs the "
        "program with torch's ops"
    )


class UnboundSymbol(ImportGraphError):
    """A size that no argument and no op of the graph gives."""

    template = "nothing in the graph gives the size {symbol} that {name} needs"


class UnsupportedSize(ImportGraphError):
    """A size expression outside the index algebra."""

    template = (
        "the size {expression} is not made of sums, products, floor divisions, remainders, minima and maxima"
    )


class MissingValue(ImportGraphError):
    """The graph was captured without fake tensors."""

    template = 'node {name} carries no meta["val"]: capture the graph with fake tensors'


class BuilderFailed(CompileError):
    """A builder of ours raised what it should not; ``__cause__`` is that."""

    template = "its builder failed, which is a bug of fuse-mlir, please report it: {error}"


class CompilerFailed(CompileError):
    """The import, a pass, the verifier or the runtime raised what it should not; ``__cause__`` is that."""

    template = "the compiler failed, which is a bug of fuse-mlir, please report it: {error}"


class ReadAfterMutation(ImportGraphError):
    """An FX graph that reads a view of an argument after writing to the argument."""

    template = "{name} reads a view of {argument} after {argument} was written"


class CallRefused(ImportGraphError):
    """Eager refuses a call for its dtypes, or for a number that a dtype cannot hold."""

    template = "eager refuses {name}: {reason}"


class FloatQuotient(ImportGraphError):
    """A captured graph has a whole quotient or a remainder of floats that vary between calls."""

    template = (
        "{name} is a whole quotient or a remainder of floats, which symbols round otherwise than Python"
    )


class WrittenView(ImportGraphError):
    """A captured graph writes through a view that neither slices nor ``as_strided`` of the memory give."""

    template = "{name} is written through a view that repeats, or takes windows of, memory with gaps"
