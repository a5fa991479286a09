"""What a plan expects of the tensors that torch ops give."""

from ...base.dataclass import dataclass
from ...base.launch import line_text
from .externs import Extern
from .steps import CallExtern, TensorType


@dataclass(frozen=True)
class Promised:
    """A result of a torch op.  where: the lines of the call.  shares: it has the storage of an operand."""

    element: str
    where: str
    shares: bool


def promised(step: CallExtern, extern: Extern) -> dict[str, Promised]:
    """Of the tensors that a call of ``extern`` gives, by variable."""
    where, shares = ", ".join(map(line_text, step.origin.lines)), {number for number, _ in extern.aliases}
    return {
        value.name: Promised(value.type.element, where, number in shares)
        for number, value in enumerate(step.results)
        if isinstance(value.type, TensorType)
    }
