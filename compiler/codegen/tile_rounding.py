"""Roundings that change nothing, left out.

The graph says that a ReLU of bfloat16 is bfloat16; the largest of a window of such numbers is taken in
float32.  Rounding to 16 bits and widening again costs as much as eight sums, for each element, and gives the
number that was there: the largest, the smallest, the negated and the chosen of numbers of a narrow type is
one of them.
"""

import math
import struct
from collections.abc import Mapping

from ..mlir import ir
from .tile_builder import TileBuilder

#: Results that are an operand, but for its sign.
_CHOOSE = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.negf", "math.absf")


class Rounding:
    """What the widened values of one kernel were before they were rounded.

    values: the tile of each scalar value that was emitted.
    """

    def __init__(self, builder: TileBuilder, values: Mapping[ir.Value, ir.Value]) -> None:
        self.builder, self.values = builder, values
        self._exact: dict[tuple[ir.Value, ir.Type], bool] = {}

    def undone(self, op: ir.Operation) -> ir.Value | None:
        """The tile of an ``arith.extf`` whose operand was rounded, if at all, without a change; None where it
        was not rounded, or changed.
        """
        return self._wide(op.operands[0], op.results[0].type)

    def _wide(self, value: ir.Value, wide: ir.Type) -> ir.Value | None:
        if isinstance(value.owner, ir.Block):
            return None
        op = value.owner.operation
        if op.name == "arith.truncf":
            source = op.operands[0]
            exact = source.type == wide and self.is_exact(source, value.type)
            return self.values[source] if exact else None
        if op.name != "arith.select":
            return None
        sides = [self._wide(side, wide) for side in list(op.operands)[1:]]
        if all(tile is None for tile in sides):
            return None
        condition = self.values.get(op.operands[0], op.operands[0])
        filled = [
            self.builder.cast("arith.extf", self.values.get(narrow, narrow), str(wide))
            if tile is None
            else tile
            for tile, narrow in zip(sides, list(op.operands)[1:], strict=True)
        ]
        return self.builder.select(condition, *filled)

    def is_exact(self, value: ir.Value, narrow: ir.Type) -> bool:
        """Whether each element of a float value is a number of a narrower type, an infinity or NaN."""
        key = value, narrow
        if key not in self._exact:
            self._exact[key] = self._is_exact(value, narrow)
        return self._exact[key]

    def _is_exact(self, value: ir.Value, narrow: ir.Type) -> bool:
        if isinstance(value.owner, ir.Block):
            return False
        op = value.owner.operation
        if op.name == "arith.extf":
            return op.operands[0].type == narrow
        if op.name == "arith.constant":
            return _holds(str(narrow), ir.FloatAttr(op.attributes["value"]).value)
        operands = list(op.operands)
        if op.name == "arith.select":
            operands = operands[1:]
        elif op.name not in _CHOOSE:
            return False
        return all(self.is_exact(operand, narrow) for operand in operands)


def _holds(narrow: str, number: float) -> bool:
    """Whether a 16-bit type has a number."""
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
