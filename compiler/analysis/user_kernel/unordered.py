"""Atomics of a user's kernel whose outcome depends on the order in which programs and threads run.

The order of a sum of floats decides its rounding.  Of values that are swapped the last one stays.  What an
atomic has read depends on which came before it.  Anything else is the same in every order: sums of integers,
the bits of ``and``, ``or`` and ``xor``, and what is the least or the greatest.
"""

import re

from ...ir.dialects.tt import ATOMIC
from ...ir.dialects.tt_descriptors import DESCRIPTOR_REDUCE
from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from .effects import operations
from .op_kinds import FOREIGN

_ATOMIC_TEXT = re.compile(r"\b(?:atom|red|multimem\.red)\.")


def unordered_atomic(func: ir.Operation) -> tuple[str, ir.Operation] | None:
    """What the first such op of a kernel does, as "adds floats atomically", and the op; None without one."""
    for op in operations(func):
        what = _unordered(op)
        if what is not None:
            return what, op
    return None


def _unordered(op: ir.Operation) -> str | None:
    if op.name == "tt.atomic_cas":
        return "compares and swaps atomically"
    if op.name == "tt.atomic_rmw":
        kind = ir.IntegerAttr(op.attributes["atomic_rmw_op"]).value
        if kind == ATOMIC["fadd"]:
            return "adds floats atomically"
        if kind == ATOMIC["xchg"]:
            return "swaps values atomically"
        return "uses what an atomic has read" if next(iter(op.results[0].uses), None) is not None else None
    if op.name == "tt.descriptor_reduce":
        kind = ir.IntegerAttr(op.attributes["kind"]).value
        if kind in (DESCRIPTOR_REDUCE["inc"], DESCRIPTOR_REDUCE["dec"]):
            return "counts atomically up to a limit"
        if kind == DESCRIPTOR_REDUCE["add"] and not isinstance(
            element_of(op.operands[1].type), ir.IntegerType
        ):
            return "adds floats atomically"
    if op.name in FOREIGN and "asm_string" in op.attributes:
        text = ir.StringAttr(op.attributes["asm_string"]).value
        return "updates memory atomically in inline assembly" if _ATOMIC_TEXT.search(text) else None
    return None
