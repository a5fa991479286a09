"""Sizes, layouts and allocations as the Python text of a launch plan."""

from collections.abc import Iterable, Sequence

from ...index import Expr
from ...ir.layout import TensorSpec
from .bound_plan import dtype_name


def python_text(e: Expr) -> str:
    """An index expression as Python source."""
    return str(e).replace("floordiv", "//").replace(" mod ", " % ")


def tuple_text(parts: Sequence[Expr]) -> str:
    """Index expressions as a tuple."""
    return tuple_of_texts(map(python_text, parts))


def tuple_of_texts(texts: Iterable[str]) -> str:
    """Python expressions as a tuple."""
    parts = list(texts)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def layout_text(spec: TensorSpec) -> str:
    """Sizes and strides, as two arguments of a call."""
    return f"{tuple_text(spec.sizes)}, {tuple_text(spec.strides)}"


def empty_text(spec: TensorSpec, device: str) -> str:
    """A call that takes memory of torch, on the tensor's device or else on ``device``."""
    where = "cpu" if (spec.device or device).startswith("cpu") else "cuda"
    return f"empty_{where}({layout_text(spec)}, {dtype_name(spec.element)})"
