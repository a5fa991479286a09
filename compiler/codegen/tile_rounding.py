"""Leaves out roundings that change nothing, and emits the others in pairs.

An example of the first: the graph says that a ReLU of bfloat16 gives bfloat16, and the maximum of a window of
such numbers is taken in float32.  Rounding to 16 bits and widening again costs as much as eight additions for
each element, and gives the number that was there before: a maximum, a minimum, a negation or a selection of
numbers of a narrow type is itself a number of that type.

A rounding is also left out where only a maximum, a minimum or a selection stands between it and another
rounding to the same type.  The larger of two numbers is the same before and after rounding, if the other one
already has the narrow type.

A value that is rounded to bfloat16 and then used in float32 is rounded in pairs: one conversion of two
numbers, which is as fast as an addition, instead of two conversions at a quarter of that speed.  A value that
is read as bfloat16 is widened in pairs, which takes two instructions instead of three.
"""

import math
import struct
from collections.abc import Callable

from ..ir.defining import defining_op
from ..ir.dialects import fuse
from ..mlir import arith, ir
from ..mlir import math as mlir_math
from .tile_builder import TileBuilder, bits_of, shape_of

#: Types in which a number that is too large becomes an infinity, so that rounding keeps the order of all
#: numbers.
_NARROW = ("bf16", "f16")
#: Ops that the compiler can do on pairs of 16-bit numbers.
_ARITHMETIC = (arith.MulFOp, arith.AddFOp, arith.SubFOp)
#: Ops whose result is one of their operands, except for its sign.
_CHOOSE = (
    arith.MaximumFOp,
    arith.MinimumFOp,
    arith.MaxNumFOp,
    arith.MinNumFOp,
    arith.NegFOp,
    mlir_math.AbsFOp,
)
#: Ops through which a number of a narrow type stays one, whether it is held in a narrow or a wide type.
_STAY_NARROW = (*_CHOOSE, arith.SelectOp, arith.TruncFOp, arith.ExtFOp)


class Rounding:
    """For the values of one kernel: which of their roundings can be left out or done in pairs.

    tile: gives the tile that was emitted for a scalar value; it varies from loop to loop.
    """

    def __init__(self, builder: TileBuilder, tile: Callable[[ir.Value], ir.Value]) -> None:
        self.builder, self.tile = builder, tile
        self._exact: dict[tuple[ir.Value, ir.Type], bool] = {}

    def undone(self, op: ir.Operation) -> ir.Value | None:
        """The tile of an ``arith.extf`` without the rounding before it, if leaving that out changes no
        result; else None.
        """
        narrow, wide = op.operands[0], op.results[0].type
        made = defining_op(narrow, arith.SIToFPOp, arith.UIToFPOp)
        if made is not None and str(wide) == "f32":
            source, signed = self.tile(made.operands[0]), isinstance(made, arith.SIToFPOp)
            byte, kind = str(made.operands[0].type) == "i8", str(narrow.type)
            if byte and signed and kind == "bf16" and self._packed_next(op.results[0], narrow.type):
                return None  # Triton converts these in pairs
            held = byte or bits_of(source, signed, kind) is not None
            integers = self.builder.of_bits(source, signed) if held else None
            if integers is not None:
                return integers
        rounding = defining_op(narrow, arith.TruncFOp)
        if rounding is None or rounding.operands[0].type != wide or str(narrow.type) not in _NARROW:
            return self._wide(narrow, wide)
        if self._rounded_again(op.results[0], narrow.type):
            return self.tile(rounding.operands[0])
        return self._wide(narrow, wide)

    def in_pairs(self, op: ir.Operation) -> ir.Value | None:
        """The tile of an ``arith.extf`` from bfloat16 to f32, as PTX on pairs of elements.  Its operand was
        loaded, or rounded and used by such ops only.  None where the compiler packs pairs by itself: where a
        sum or product of 16-bit numbers is rounded, it does the arithmetic on pairs.
        """
        if (str(op.operands[0].type), str(op.results[0].type)) != ("bf16", "f32"):
            return None
        if defining_op(op.operands[0], fuse.Load) is not None:
            value = self.tile(op.operands[0])
            if not shape_of(value) or self._packed_next(op.results[0], op.operands[0].type):
                return None
            return self.builder.widened(value)
        rounding = defining_op(op.operands[0], arith.TruncFOp)
        if rounding is None or str(rounding.operands[0].type) != "f32":
            return None
        if not all(isinstance(use.owner, arith.ExtFOp) for use in rounding.results[0].uses):
            return None
        if self._packed(rounding, op.operands[0].type) or any(
            _is_rounded(use.owner) for use in op.results[0].uses
        ):
            return None
        value = self.tile(rounding.operands[0])
        return self.builder.rounded(value) if shape_of(value) else None

    def _packed(self, rounding: ir.Operation, narrow: ir.Type) -> bool:
        """Whether a rounded value is not a sum or product, or is one of numbers of the narrow type.  A
        product of matrices is a sum in f32.
        """
        source = rounding.operands[0]
        if defining_op(source, fuse.Dot, fuse.OnlineDot) is not None:
            return False
        if defining_op(source, arith.MulFOp, arith.AddFOp, arith.SubFOp) is None:
            return True
        return all(self.is_exact(operand, narrow) for operand in source.owner.operands)

    def _packed_next(self, value: ir.Value, narrow: ir.Type) -> bool:
        """Whether a value, perhaps after a selection, is an operand of a sum or product that is rounded and
        whose operands are all numbers of ``narrow``.
        """

        def packs(user: ir.Operation) -> bool:
            if isinstance(user, _STAY_NARROW):
                return self._packed_next(user.results[0], narrow)
            return _is_rounded(user) and all(self.is_exact(operand, narrow) for operand in user.operands)

        return any(packs(use.owner) for use in value.uses)

    def _rounded_again(self, value: ir.Value, narrow: ir.Type) -> bool:
        """Whether every use of a value ends in a rounding to ``narrow``, with at most selections in between
        whose other operands are numbers of this type.
        """
        uses = list(value.uses)
        return bool(uses) and all(self._keeps(use.owner, value, narrow) for use in uses)

    def _keeps(self, user: ir.Operation, value: ir.Value, narrow: ir.Type) -> bool:
        if isinstance(user, arith.TruncFOp):
            return user.results[0].type == narrow
        others = [operand for operand in user.operands if operand != value]
        chosen = isinstance(user, _CHOOSE) and all(self.is_exact(other, narrow) for other in others)
        return chosen and self._rounded_again(user.results[0], narrow)

    def _wide(self, value: ir.Value, wide: ir.Type) -> ir.Value | None:
        op = value.owner
        if isinstance(op, ir.Block):
            return None
        if isinstance(op, arith.TruncFOp):
            source = op.operands[0]
            exact = source.type == wide and self.is_exact(source, value.type)
            return self.tile(source) if exact else None
        if not isinstance(op, arith.SelectOp):
            return None
        sides = [self._wide(side, wide) for side in list(op.operands)[1:]]
        if all(tile is None for tile in sides):
            return None
        condition = self.tile(op.operands[0])
        filled = [
            self.builder.cast("arith.extf", self.tile(narrow), str(wide)) if tile is None else tile
            for tile, narrow in zip(sides, list(op.operands)[1:], strict=True)
        ]
        return self.builder.select(condition, *filled)

    def is_exact(self, value: ir.Value, narrow: ir.Type) -> bool:
        """Whether each element of a float value can be represented in a narrower type, infinities and NaN
        too.
        """
        key = value, narrow
        if key not in self._exact:
            self._exact[key] = self._is_exact(value, narrow)
        return self._exact[key]

    def _is_exact(self, value: ir.Value, narrow: ir.Type) -> bool:
        op = value.owner
        if isinstance(op, ir.Block):
            return False
        if isinstance(op, arith.ExtFOp):
            return op.operands[0].type == narrow
        if isinstance(op, arith.ConstantOp):
            return _holds(str(narrow), ir.FloatAttr(op.attributes["value"]).value)
        operands = list(op.operands)
        if isinstance(op, arith.SelectOp):
            operands = operands[1:]
        elif not isinstance(op, _CHOOSE):
            return False
        return all(self.is_exact(operand, narrow) for operand in operands)


def _is_rounded(op: ir.Operation) -> bool:
    """Whether an op is a sum or product that is rounded next."""
    return isinstance(op, _ARITHMETIC) and any(
        isinstance(use.owner, arith.TruncFOp) for use in op.results[0].uses
    )


def _holds(narrow: str, number: float) -> bool:
    """Whether a 16-bit type can represent a number."""
    if not math.isfinite(number):
        return True
    if narrow == "bf16":
        try:
            return (
                struct.pack("<d", number) == struct.pack("<d", _float32(number))
                and not _bits(number) & 0xFFFF
            )
        except OverflowError:
            return False
    try:
        return narrow == "f16" and struct.unpack("<e", struct.pack("<e", number))[0] == number
    except OverflowError:
        return False


def _float32(number: float) -> float:
    return struct.unpack("<f", struct.pack("<f", number))[0]


def _bits(number: float) -> int:
    return struct.unpack("<I", struct.pack("<f", number))[0]
