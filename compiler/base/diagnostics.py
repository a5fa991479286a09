"""Diagnostics as plain Python: where, how bad, what; collected from a context instead of printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

from ..mlir import ir
from .dataclass import dataclass

#: Severities by the names of the bindings' enumeration.
SEVERITIES = {"ERROR": "error", "WARNING": "warning", "NOTE": "note", "REMARK": "remark"}


@dataclass(frozen=True)
class Position:
    """A place in a text: line and column from 1 (0 where unknown)."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def position_of(location: ir.Location | None) -> Position | None:
    """The first file position inside a location (through names, fusions and call sites);

    None where it has none.
    """
    if isinstance(location, ir.FileLineColLoc):
        return Position(location.filename, location.start_line, location.start_col)
    inner: list[Any] = []
    if isinstance(location, ir.NameLoc):
        inner = [location.child_loc]
    elif isinstance(location, ir.FusedLoc):
        inner = list(location.locations)
    elif isinstance(location, ir.CallSiteLoc):
        inner = [location.callee, location.caller]
    return next((p for p in map(position_of, inner) if p is not None), None)


def position_of_text(text: str, context: ir.Context) -> Position | None:
    """``position_of`` a location as MLIR prints it (``loc("m.py":3:1)``);

    None for text that is no location.
    """
    try:
        # As the location of a module: the bindings cannot parse one as an attribute.
        return position_of(ir.Module.parse(f"module {{}} {text}", context).operation.location)
    except (ValueError, ir.MLIRError):
        return None


@dataclass(frozen=True)
class Diagnostic:
    """One message.  ``severity``: error, warning, remark or note; notes belong to the message before them."""

    severity: str
    message: str
    position: Position | None = None
    notes: tuple["Diagnostic", ...] = ()

    def lines(self, file: str = "") -> Iterator[str]:
        """``file:line:col: error: message`` and the same for each note; a message without a place is about
        ``file``, if that is known.
        """
        where = f"{self.position or file}: " if self.position or file else ""
        yield f"{where}{self.severity}: {self.message}"
        for note in self.notes:
            yield from note.lines()

    def renamed(self, old: str, new: str) -> "Diagnostic":
        """The same message, with positions in the file ``old`` said to be in ``new``."""
        position = self.position
        if position is not None and position.file == old:
            position = replace(position, file=new)
        return replace(self, position=position, notes=tuple(n.renamed(old, new) for n in self.notes))


@dataclass
class Diagnostics:
    """What a context said, in order."""

    items: list[Diagnostic] = field(default_factory=list)

    def add(self, severity: str, message: str, location: ir.Location | Position | None = None) -> None:
        """Appends a message of the tool itself."""
        position = location if isinstance(location, Position) else position_of(location)
        self.items.append(Diagnostic(severity, message, position))

    def attach(self, note: str) -> None:
        """Appends a note to the last error."""
        for i in reversed(range(len(self.items))):
            if self.items[i].severity == "error":
                self.items[i] = replace(self.items[i], notes=(*self.items[i].notes, Diagnostic("note", note)))
                return

    @property
    def failed(self) -> bool:
        """Whether there was an error."""
        return any(d.severity == "error" for d in self.items)


def _read(diagnostic: Any) -> Diagnostic:
    severity = SEVERITIES[diagnostic.severity.name]
    return Diagnostic(
        severity,
        diagnostic.message.strip(),
        position_of(diagnostic.location),
        tuple(_read(n) for n in diagnostic.notes),
    )


@contextmanager
def collecting(context: ir.Context, into: Diagnostics | None = None) -> Iterator[Diagnostics]:
    """Diagnostics of ``context`` go to the object that this gives, and nowhere else, until the block ends."""
    collected = Diagnostics() if into is None else into

    def handler(diagnostic: Any) -> bool:
        collected.items.append(_read(diagnostic))
        return True

    attached = context.attach_diagnostic_handler(handler)
    try:
        yield collected
    finally:
        attached.detach()
