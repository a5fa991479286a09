"""Prints in the mirror of Triton's dialect, one op for each number of values."""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from typing import Any

from ...mlir import ext, ir
from .tt_arity import SEVERAL, add_arities
from .tt_types import TT

Operand = ext.Operand


class Print(TT.Operation, name="print"):
    """Prints ``prefix`` and a value, from each program.  ``hex``: as hexadecimal numbers; ``isSigned``: 1
    where the value is signed.
    """

    value: Operand[Any]
    prefix: ir.StringAttr
    hex: Any
    isSigned: Any


add_arities(Print, "``tt.print`` of {} values.", "value", arities=(0, *SEVERAL))
