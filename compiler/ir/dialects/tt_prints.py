"""Prints in the mirror of Triton's dialect, one op for each number of values."""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from typing import Any

from ...mlir import ext, ir
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


class Print0(TT.Operation, name="print_0"):
    """``tt.print`` of ``prefix`` alone."""

    prefix: ir.StringAttr
    hex: Any
    isSigned: Any


class Print2(TT.Operation, name="print_2"):
    """``tt.print`` of two values."""

    value0: Operand[Any]
    value1: Operand[Any]
    prefix: ir.StringAttr
    hex: Any
    isSigned: Any


class Print3(TT.Operation, name="print_3"):
    """``tt.print`` of three values."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    prefix: ir.StringAttr
    hex: Any
    isSigned: Any


class Print4(TT.Operation, name="print_4"):
    """``tt.print`` of four values."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]
    prefix: ir.StringAttr
    hex: Any
    isSigned: Any


class Print5(TT.Operation, name="print_5"):
    """``tt.print`` of five values."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]
    value3: Operand[Any]
    value4: Operand[Any]
    prefix: ir.StringAttr
    hex: Any
    isSigned: Any
