"""Names, sizes and layouts as the Python text of a launch plan."""

import math
import re
from collections.abc import Iterable, Sequence

from ...index import Expr
from .steps import Operand, TensorType

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def identifier(name: str) -> str:
    """A symbol as part of a Python name; a dot, after the name of a sub-graph, becomes two underscores."""
    return name if _IDENTIFIER.fullmatch(name) else re.sub(r"\W", "_", name.replace(".", "__"))


def dtype_name(element: str) -> str:
    """The variable of a dtype, by the spelling of an element type."""
    return f"dtype_{identifier(element)}"


def python_text(e: Expr) -> str:
    """An index expression as Python source."""
    return str(e).replace("floordiv", "//").replace(" mod ", " % ")


def operand_text(operand: Operand) -> str:
    """A variable, or a number that is known."""
    if isinstance(operand, float) and not math.isfinite(operand):
        return f"float('{operand}')"
    return str(operand)


def tuple_text(parts: Sequence[Expr]) -> str:
    """Index expressions as a tuple."""
    return tuple_of_texts(map(python_text, parts))


def tuple_of_texts(texts: Iterable[str]) -> str:
    """Python expressions as a tuple."""
    parts = list(texts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def layout_text(type_: TensorType) -> str:
    """Sizes and strides, as two arguments of a call."""
    return f"{tuple_text(type_.sizes)}, {tuple_text(type_.strides)}"


def empty_text(type_: TensorType) -> str:
    """A call that takes memory of torch."""
    where = "cpu" if type_.device.startswith("cpu") else "cuda"
    return f"empty_{where}({layout_text(type_)}, {dtype_name(type_.element)})"
