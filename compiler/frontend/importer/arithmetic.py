"""Scalar arithmetic with eager's semantics: typed values, and a method per operation that picks the MLIR op
by dtype.

A ``Scalar`` has one of the *compute* dtypes of ``dtypes.py`` (float32, float64, the integers, bool).
Methods take scalars and Python numbers; a number takes the dtype of the scalar beside it.  Where MLIR leaves
a case undefined (division by zero, shifts out of range, the smallest integer by -1) the method says what
happens, so that no kernel traps and no optimisation sees poison.
"""

import math as pymath
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from ...analysis.kernel.precision import IMPLICIT
from ...base.dataclass import dataclass
from ...mlir import ir
from .dtypes import BY_TORCH, largest_when_saturating
from .module_builder import ModuleBuilder

Comparison = Literal["eq", "ne", "lt", "le", "gt", "ge"]

#: Predicate numbers of arith.cmpf; NaN makes every comparison false but "ne".
_CMPF: dict[str, int] = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_CMPI_SIGNED: dict[str, int] = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_CMPI_UNSIGNED: dict[str, int] = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}
_UNORDERED = 14

#: (operation, kind of number) -> MLIR op.  A pair that is not here has no meaning in eager either.
_BINARY: dict[tuple[str, str], str] = {
    ("add", "float"): "arith.addf", ("add", "signed"): "arith.addi", ("add", "unsigned"): "arith.addi",
    ("add", "bool"): "arith.ori",
    ("sub", "float"): "arith.subf", ("sub", "signed"): "arith.subi", ("sub", "unsigned"): "arith.subi",
    ("mul", "float"): "arith.mulf", ("mul", "signed"): "arith.muli", ("mul", "unsigned"): "arith.muli",
    ("mul", "bool"): "arith.andi",
    ("maximum", "float"): "arith.maximumf", ("maximum", "signed"): "arith.maxsi",
    ("maximum", "unsigned"): "arith.maxui", ("maximum", "bool"): "arith.ori",
    ("minimum", "float"): "arith.minimumf", ("minimum", "signed"): "arith.minsi",
    ("minimum", "unsigned"): "arith.minui", ("minimum", "bool"): "arith.andi",
    ("fmax", "float"): "arith.maxnumf", ("fmin", "float"): "arith.minnumf",
    ("and", "signed"): "arith.andi", ("and", "unsigned"): "arith.andi", ("and", "bool"): "arith.andi",
    ("or", "signed"): "arith.ori", ("or", "unsigned"): "arith.ori", ("or", "bool"): "arith.ori",
    ("xor", "signed"): "arith.xori", ("xor", "unsigned"): "arith.xori", ("xor", "bool"): "arith.xori",
    ("div", "float"): "arith.divf", ("div", "signed"): "arith.divsi", ("div", "unsigned"): "arith.divui",
    ("rem", "float"): "arith.remf", ("rem", "signed"): "arith.remsi", ("rem", "unsigned"): "arith.remui",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scalar:
    """One SSA value of a kernel body, and the dtype that says how to read it."""

    value: ir.Value
    dtype: torch.dtype

    @property
    def kind(self) -> str:
        return BY_TORCH[self.dtype].kind

    @property
    def is_float(self) -> bool:
        return BY_TORCH[self.dtype].kind == "float"

    @property
    def bits(self) -> int:
        return BY_TORCH[self.dtype].bits


Operand = Scalar | int | float | bool


class Arithmetic:
    """Appends scalar ops at ``point``.  ``KernelBuilder`` adds loads, stores and dims."""

    def __init__(self, builder: ModuleBuilder, location: ir.Location) -> None:
        self.builder = builder
        self.location = location
        self.point: ir.InsertionPoint
        self._constants: dict[tuple[Any, ...], ir.Value] = {}
        self._emitted: dict[tuple[Any, ...], ir.Value] = {}

    # Ops and constants.
    def emit(
        self,
        op: str,
        type_: ir.Type,
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """The result of a pure op, made once for the same operands and attributes."""
        key = (op, type_, tuple(operands), tuple(attributes.values()) if attributes else ())
        value = self._emitted.get(key)
        if value is None:
            value = self._emitted[key] = ir.Operation.create(
                op,
                results=[type_],
                operands=operands,
                attributes=attributes or {},
                loc=self.location,
                ip=self.point,
            ).result
        return value

    def type_of(self, dtype: torch.dtype) -> ir.Type:
        """The type of a value of ``dtype``: signless."""
        return self.builder.element_type(BY_TORCH[dtype].value)

    def constant(self, number: int | float | bool, dtype: torch.dtype) -> Scalar:
        """``number`` as eager converts it to ``dtype``: integers wrap, floats round or saturate."""
        row = BY_TORCH[dtype]
        if row.kind == "float":
            number = float(number)
            largest = largest_when_saturating(dtype)
            if largest is not None and not pymath.isnan(number):
                number = max(-largest, min(number, largest))
            key: tuple[Any, ...] = (row.value, number, pymath.copysign(1.0, number))
        elif row.kind == "bool":
            number = int(number != 0)
            key = (row.value, number)
        else:
            number = int(number) & ((1 << row.bits) - 1)
            number -= (number >> (row.bits - 1)) << row.bits
            key = (row.value, number)
        value = self._constants.get(key)
        if value is None:
            type_ = self.builder.element_type(row.value)
            if row.kind == "float":
                attribute: ir.Attribute = ir.FloatAttr.get(type_, number, loc=self.location)
            else:
                attribute = ir.IntegerAttr.get(type_, number)
            value = self._constants[key] = self.emit("arith.constant", type_, [], {"value": attribute})
        return Scalar(value, dtype)

    def true(self) -> Scalar:
        return self.constant(True, torch.bool)

    def lift(self, x: Operand, dtype: torch.dtype) -> Scalar:
        """A scalar as it is, a number as a constant of ``dtype``."""
        return x if isinstance(x, Scalar) else self.constant(x, dtype)

    def pair(self, a: Operand, b: Operand) -> tuple[Scalar, Scalar]:
        """Both as scalars of one dtype."""
        dtype = a.dtype if isinstance(a, Scalar) else b.dtype  # type: ignore[union-attr]
        left, right = self.lift(a, dtype), self.lift(b, dtype)
        assert left.dtype == right.dtype, f"operands of {left.dtype} and {right.dtype}"
        return left, right

    def binary(self, operation: str, a: Operand, b: Operand) -> Scalar:
        """An operation of the table above, undefined cases and all."""
        left, right = self.pair(a, b)
        return Scalar(
            self.emit(_BINARY[operation, left.kind], left.value.type, [left.value, right.value]), left.dtype
        )

    def math(self, name: str, *operands: Operand) -> Scalar:
        """``math.<name>`` on floats."""
        first = next(x for x in operands if isinstance(x, Scalar))
        values = [self.lift(x, first.dtype).value for x in operands]
        return Scalar(self.emit(f"math.{name}", first.value.type, values), first.dtype)

    def libm(self, name: str, *operands: Operand) -> Scalar:
        """``fuse.libm``: a C function that the math dialect lacks, on floats."""
        first = next(x for x in operands if isinstance(x, Scalar))
        values = [self.lift(x, first.dtype).value for x in operands]
        return Scalar(
            self.emit("fuse.libm", first.value.type, values, {"fn": self.builder.string(name)}), first.dtype
        )

    # Arithmetic that MLIR defines everywhere.
    def add(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("mul", a, b)

    def maximum(self, a: Operand, b: Operand) -> Scalar:
        """The larger; NaN if either is."""
        return self.binary("maximum", a, b)

    def minimum(self, a: Operand, b: Operand) -> Scalar:
        """The smaller; NaN if either is."""
        return self.binary("minimum", a, b)

    def neg(self, x: Scalar) -> Scalar:
        if x.is_float:
            return Scalar(self.emit("arith.negf", x.value.type, [x.value]), x.dtype)
        return self.sub(0, x)

    def abs(self, x: Scalar) -> Scalar:
        if x.is_float:
            return self.math("absf", x)
        if x.kind != "signed":
            return x
        return self.select(self.compare("lt", x, 0), self.neg(x), x)  # the smallest integer stays itself

    # Comparisons and choices.
    def compare(self, how: Comparison, a: Operand, b: Operand) -> Scalar:
        """A bool; a NaN is different from everything and in no order."""
        left, right = self.pair(a, b)
        table = {"float": _CMPF, "signed": _CMPI_SIGNED}.get(left.kind, _CMPI_UNSIGNED)
        return self._compared("arith.cmpf" if left.is_float else "arith.cmpi", table[how], left, right)

    def is_nan(self, x: Scalar) -> Scalar:
        if not x.is_float:
            return self.constant(False, torch.bool)
        return self._compared("arith.cmpf", _UNORDERED, x, x)

    def is_inf(self, x: Scalar) -> Scalar:
        if not x.is_float:
            return self.constant(False, torch.bool)
        return self.compare("eq", self.abs(x), pymath.inf)

    def truth(self, x: Scalar) -> Scalar:
        """``x != 0``; NaN is true."""
        return x if x.kind == "bool" else self.compare("ne", x, 0)

    def select(self, condition: Scalar, a: Operand, b: Operand) -> Scalar:
        """``a`` where ``condition``, else ``b``."""
        left, right = self.pair(a, b)
        return Scalar(
            self.emit("arith.select", left.value.type, [condition.value, left.value, right.value]), left.dtype
        )

    def bit_and(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("and", a, b)

    def bit_or(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("or", a, b)

    def bit_xor(self, a: Operand, b: Operand) -> Scalar:
        return self.binary("xor", a, b)

    def bit_not(self, x: Scalar) -> Scalar:
        return self.bit_xor(x, True if x.kind == "bool" else -1)

    # Division.  An integer divided by zero gives -1 (all bits set, as the hardware does) and leaves itself
    # as remainder.
    def div(self, a: Operand, b: Operand) -> Scalar:
        """True division of floats."""
        return self.binary("div", a, b)

    def quotient(self, a: Operand, b: Operand) -> tuple[Scalar, Scalar]:
        """(quotient rounded to zero, remainder of the sign of ``a``) of two integers; never traps, the
        smallest by -1 wraps.
        """
        if not isinstance(b, Scalar) and b not in (0, -1):
            return self.binary("div", a, b), self.binary("rem", a, b)
        left, right = self.pair(a, b)
        zero = self.compare("eq", right, 0)
        odd = zero
        if left.kind == "signed":
            minus = self.compare("eq", right, -1)
            odd = self.bit_or(zero, minus)
        safe = self.select(odd, 1, right)
        plain, rest = self.binary("div", left, safe), self.binary("rem", left, safe)
        if left.kind == "signed":
            plain = self.select(minus, self.neg(left), plain)
        return self.select(zero, -1, plain), self.select(zero, left, rest)

    def trunc_div(self, a: Operand, b: Operand) -> Scalar:
        """The quotient rounded to zero."""
        left, right = self.pair(a, b)
        return self.math("trunc", self.div(left, right)) if left.is_float else self.quotient(left, b)[0]

    def floor_div(self, a: Operand, b: Operand) -> Scalar:
        """The quotient rounded down; for floats Python's algorithm, which is exact where a quotient rounds
        up to an integer.
        """
        left, right = self.pair(a, b)
        if left.is_float:
            return self._floor_div_float(left, right)
        whole, rest = self.quotient(left, b)
        if left.kind != "signed":
            return whole
        lower = self.bit_and(self.compare("ne", rest, 0), self._signs_differ(rest, right))
        lower = self.bit_and(lower, self.compare("ne", right, 0))
        return self.select(lower, self.sub(whole, 1), whole)

    def fmod(self, a: Operand, b: Operand) -> Scalar:
        """The remainder of the division rounded to zero: it has the sign of ``a``."""
        left, right = self.pair(a, b)
        return self.binary("rem", left, right) if left.is_float else self.quotient(left, b)[1]

    def remainder(self, a: Operand, b: Operand) -> Scalar:
        """The remainder of the division rounded down: it has the sign of ``b``."""
        left, right = self.pair(a, b)
        rest = self.fmod(left, b)
        if left.kind == "unsigned":
            return rest
        off = self.bit_and(self.compare("ne", rest, 0), self._signs_differ(rest, right))
        if not left.is_float:
            off = self.bit_and(off, self.compare("ne", right, 0))
        return self.select(off, self.add(rest, right), rest)

    # Shifts: by the width or more, or by a negative amount, everything is shifted out.
    def shift_left(self, a: Operand, b: Operand) -> Scalar:
        left, right = self.pair(a, b)
        inside = self.select(self._in_width(left, right), right, 0)
        shifted = Scalar(self.emit("arith.shli", left.value.type, [left.value, inside.value]), left.dtype)
        return self.select(self._in_width(left, right), shifted, 0)

    def shift_right(self, a: Operand, b: Operand) -> Scalar:
        """Arithmetic for signed integers: out of range leaves the sign."""
        left, right = self.pair(a, b)
        amount = self.select(self._in_width(left, right), right, left.bits - 1)
        op = "arith.shrsi" if left.kind == "signed" else "arith.shrui"
        shifted = Scalar(self.emit(op, left.value.type, [left.value, amount.value]), left.dtype)
        return shifted if left.kind == "signed" else self.select(self._in_width(left, right), shifted, 0)

    def power(self, base: Scalar, exponent: Operand) -> Scalar:
        """``base ** exponent``: C's pow for floats; for integers wrapping products, and 0, 1 or -1 for a
        negative exponent.
        """
        if base.is_float:
            return self.math("powf", base, exponent)
        if isinstance(exponent, int) and exponent >= 0:
            return self._power_of(base, exponent)
        base, power = self.pair(base, exponent)
        result, square, left = self.constant(1, base.dtype), base, power
        for bit in range(base.bits - (base.kind == "signed")):
            odd = self.compare("ne", self.bit_and(left, 1), 0)
            result = self.select(odd, self.mul(result, square), result)
            if bit + 1 < base.bits - (base.kind == "signed"):
                square, left = self.mul(square, square), self.shift_right(left, 1)
        if base.kind != "signed":
            return result
        even = self.compare("eq", self.bit_and(power, 1), 0)
        one = self.constant(1, base.dtype)
        inverse = self.cast(
            self.compare("eq", base, 1), base.dtype
        )  # 1 ** -n is 1, and other integers round to 0
        inverse = self.select(self.compare("eq", base, -1), self.select(even, one, -1), inverse)
        return self.select(self.compare("lt", power, 0), inverse, result)

    # Conversions.
    def cast(self, x: Scalar, dtype: torch.dtype, *, implicit: bool = False) -> Scalar:
        """As eager's ``to``: bool is ``!= 0``; floats round to zero to integers; float64 and integers reach
        16-bit floats by float32.  ``implicit``: no cast of the program's; a rounding to 16 bits says so.
        """
        if x.dtype == dtype:
            return x
        source, target = BY_TORCH[x.dtype], BY_TORCH[dtype]
        if target.kind == "bool":
            return self.truth(x)
        if target.kind == "float":
            return self._to_float(x, dtype, implicit)
        if source.kind == "float":
            return self._float_to_integer(x, dtype)
        if source.bits == target.bits:
            return Scalar(x.value, dtype)
        op = (
            "arith.trunci"
            if source.bits > target.bits
            else "arith.extsi"
            if source.kind == "signed"
            else "arith.extui"
        )
        return Scalar(self.emit(op, self.type_of(dtype), [x.value]), dtype)

    def widen(self, x: Scalar) -> Scalar:
        """To the compute dtype."""
        return self.cast(x, BY_TORCH[x.dtype].compute)

    def bitcast(self, x: Scalar, dtype: torch.dtype) -> Scalar:
        """The same bits as another dtype of that width."""
        if self.type_of(dtype) == x.value.type:
            return Scalar(x.value, dtype)
        return Scalar(self.emit("arith.bitcast", self.type_of(dtype), [x.value]), dtype)

    # Helpers.
    def _compared(self, op: str, predicate: int, a: Scalar, b: Scalar) -> Scalar:
        attributes = {"predicate": self.builder.int64(predicate)}
        return Scalar(self.emit(op, self.type_of(torch.bool), [a.value, b.value], attributes), torch.bool)

    def _signs_differ(self, a: Scalar, b: Scalar) -> Scalar:
        return self.bit_xor(self.compare("lt", a, 0), self.compare("lt", b, 0))

    def _in_width(self, value: Scalar, amount: Scalar) -> Scalar:
        """0 <= amount < width, by one unsigned comparison."""
        width = self.constant(value.bits, amount.dtype)
        return self._compared("arith.cmpi", _CMPI_UNSIGNED["lt"], amount, width)

    def _floor_div_float(self, a: Scalar, b: Scalar) -> Scalar:
        rest = self.binary("rem", a, b)
        whole = self.div(self.sub(a, rest), b)
        lower = self.bit_and(self.compare("ne", rest, 0), self._signs_differ(rest, b))
        whole = self.select(lower, self.sub(whole, 1), whole)
        floor = self.math("floor", whole)
        floor = self.select(self.compare("gt", self.sub(whole, floor), 0.5), self.add(floor, 1), floor)
        plain = self.div(a, b)
        result = self.select(
            self.compare("ne", whole, 0), floor, self.math("copysign", self.constant(0, a.dtype), plain)
        )
        return self.select(self.compare("eq", b, 0), plain, result)

    def _power_of(self, base: Scalar, exponent: int) -> Scalar:
        result: Scalar | None = None
        while exponent:
            if exponent & 1:
                result = base if result is None else self.mul(result, base)
            exponent >>= 1
            if exponent:
                base = self.mul(base, base)
        return self.constant(1, base.dtype) if result is None else result

    def _to_float(self, x: Scalar, dtype: torch.dtype, implicit: bool = False) -> Scalar:
        source, target = BY_TORCH[x.dtype], BY_TORCH[dtype]
        if source.kind != "float":
            at_once = target.bits >= 32 or (target.bits == 16 and source.bits <= 16)  # as f32 holds it
            middle = dtype if at_once else torch.float32
            op = "arith.sitofp" if source.kind == "signed" else "arith.uitofp"
            whole = Scalar(self.emit(op, self.type_of(middle), [x.value]), middle)
            return self._to_float(whole, dtype, implicit)
        if source.torch == target.torch:
            return x
        if source.bits < 32 and target.bits < 32:
            return self._to_float(self._to_float(x, torch.float32), dtype, implicit)
        if source.bits < target.bits:
            return Scalar(self.emit("arith.extf", self.type_of(dtype), [x.value]), dtype)
        if source.bits == 64 and target.bits < 32:
            return self._to_float(self._to_float(x, torch.float32), dtype, implicit)
        largest = largest_when_saturating(dtype)
        if largest is not None:
            x = self.minimum(self.maximum(x, -largest), largest)
        marks = {IMPLICIT: self.builder.unit} if implicit and target.bits == 16 else None
        return Scalar(self.emit("arith.truncf", self.type_of(dtype), [x.value], marks), dtype)

    def _float_to_integer(self, x: Scalar, dtype: torch.dtype) -> Scalar:
        """Small and unsigned types go through a wider signed one, so that -1.0 becomes the largest unsigned
        number as in eager.
        """
        target = BY_TORCH[dtype]
        x = self.widen(x)
        if dtype == torch.uint64:
            return Scalar(self.emit("arith.fptoui", self.type_of(dtype), [x.value]), dtype)
        middle = (
            dtype
            if target.kind == "signed" and target.bits >= 32
            else torch.int32
            if target.kind == "signed"
            else torch.int64
        )
        return self.cast(Scalar(self.emit("arith.fptosi", self.type_of(middle), [x.value]), middle), dtype)
