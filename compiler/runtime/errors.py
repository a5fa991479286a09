"""What can go wrong while a module runs.  Each error is one sentence and the location of the op it is
about."""

import re
from typing import TYPE_CHECKING

from ..base.errors import ProgramError

if TYPE_CHECKING:  # errors are raised where MLIR is not loaded, too
    from ..mlir import ir


#: File and line, and names, inside a location as MLIR prints it.
_PLACE, _NAME = re.compile(r'"([^"]+)":(\d+):\d+'), re.compile(r'"([^"]+)"')


class RunError(RuntimeError):
    """A module cannot be executed, or its execution went wrong: a RuntimeError, as what eager raises there.
    ``location`` is MLIR's text (``loc(...)``) or None."""

    def __init__(self, message: str, location: "ir.Location | str | None" = None) -> None:
        self.message = message
        self.location = None if location is None else str(location)
        where = "" if self.location is None else place_text(self.location)
        super().__init__(f"{message} at {where}" if where else message)


def place_text(location: str) -> str:
    """``m.py:12, n.py:3``: the lines inside a location as MLIR prints it; the names where it has no line."""
    lines = [f"{file}:{line}" if line != "0" else file for file, line in _PLACE.findall(location)]
    return ", ".join(dict.fromkeys(lines or _NAME.findall(location)))


class UnknownAssembly(RunError, ProgramError):
    """The interpreter does not run the inline assembly of a user's kernel: an error of what runs the module,
    and of the program where that is compiled for the interpreter.
    """

    def __init__(self, text: str, reason: str, location: "ir.Location | str | None" = None) -> None:
        self.fields = {"text": text, "reason": reason}
        super().__init__(f"the interpreter does not run the inline assembly '{text}': {reason}", location)


class OutOfBounds(RunError):
    """An unguarded access left its tensor."""


class UseAfterFree(RunError):
    """A value is used after its storage was freed, reused or overwritten."""


class RaceError(RunError):
    """Two points or programs of one launch write the same element differently, or one reads what another
    writes."""


class DeviceAssertError(RunError):
    """An assertion of the user's program (or a check that stands for one) is false."""


class IndexAssertError(DeviceAssertError, IndexError):
    """An index is out of range.  Eager raises an IndexError for some ops (``x[i]``, ``embedding``) and a
    RuntimeError for others (``gather``, ``scatter``): this is both.
    """


class MemoryPlanError(RunError):
    """Storage was not taken or given back as the memory plan says."""


class PlanError(ValueError):
    """A plan that cannot be read or must not run.  ``place``: where in its text ("plan.txt:12:5"), or in
    which step of which function.
    """

    def __init__(self, message: str, place: str) -> None:
        self.message, self.place = message, place
        super().__init__(f"{place}: {message}")
