"""Sizes as numbers for decisions: a symbolic size counts as its hint.  Hints never affect correctness."""

from collections.abc import Mapping

from ..index import Expr
from ..mlir import ir
from .kernel import argument_attributes, string
from .layout import TensorSpec

#: The estimate of a size without a hint.
UNKNOWN = 1024


def hints_of(func: ir.Operation) -> dict[str, int]:
    """Size symbol -> its estimate: ``fuse.hint``; without one, UNKNOWN but at most ``fuse.max``.  It is at
    least ``fuse.min``.
    """
    hints: dict[str, int] = {}
    for named in argument_attributes(func):
        if "fuse.sym" not in named:
            continue
        number = {
            k: ir.IntegerAttr(named[k]).value for k in ("fuse.hint", "fuse.min", "fuse.max") if k in named
        }
        guess = min(UNKNOWN, number.get("fuse.max", UNKNOWN))
        hints[string(named["fuse.sym"])] = number.get("fuse.hint", max(guess, number.get("fuse.min", 0)))
    return hints


def estimate(e: Expr, hints: Mapping[str, int]) -> int:
    """The value of an expression over sizes with every size at its hint."""
    if e.constant is not None:
        return e.constant
    names = {n: hints.get(n, UNKNOWN) for n in e.symbols()}
    return int(e.evaluate(names))


def stored_bytes(spec: TensorSpec, hints: Mapping[str, int]) -> int:
    """Bytes of the elements of a tensor, with every size at its hint.  Elements that a stride of 0 repeats
    count once.
    """
    elements = 1
    for size, stride in zip(spec.sizes, spec.strides, strict=True):
        if stride.constant != 0:
            elements *= estimate(size, hints)
    return elements * spec.element_bytes


def ceil_power(n: int) -> int:
    """The least power of two that is at least n and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def floor_power(n: int) -> int:
    """The greatest power of two that is at most n; 1 for n below 1."""
    return 1 << max(0, n.bit_length() - 1)
