"""Floats that are made of some bits of bytes or words, and what is subtracted from them, such as the zero
point of weights: PTX for several at once.  The difference of two small integers is exact.
"""

from dataclasses import replace

from ...ir.defining import defining_op
from ...ir.dialects import tt
from ...mlir import arith, ir
from .. import nvidia
from ..tile_bounds import bits_made, integer_bounds, splat_constant
from ..tile_builder import TileBuilder, bits_of, shape_of


def converted(builder: TileBuilder, value: ir.Value, signed: bool, element: ir.Type) -> ir.Value | None:
    """A tile of integers as floats of type ``element``; None where it takes a conversion.

    A difference of words becomes one of floats, so that a zero point is converted once for all weights that
    share it.
    """
    difference = defining_op(value, arith.SubIOp)
    if difference is None or str(tt.element_of(value.type)) != "i32":
        return builder.of_bits(value, signed, str(element))
    known = bits_of(difference.operands[0], signed, str(element))
    return None if known is None else _minus_tile(builder, *known, difference.operands[1])


def minus(builder: TileBuilder, value: ir.Value, less: ir.Value, sign: int) -> ir.Value | None:
    """``value - sign * less``, of a tile of f32 that is made of bits and an integer; None of others."""
    number = splat_constant(less) if shape_of(less) in ((), shape_of(value)) else None
    known = bits_made(value)
    if known is None or number is None or not number.is_integer():
        return None
    source, how = known
    changed = replace(how, less=sign * int(number))
    plain = how.less == 0 and how.element == "f32" and changed.exact
    return builder.of_packed(source, changed) if plain else None


def narrowed(builder: TileBuilder, value: ir.Value, element: ir.Type) -> ir.Value | None:
    """A tile of f32 that is made of bits, or of bits minus a tile of integers, in a type of 16 bits that has
    these numbers; None of others.
    """
    words = defining_op(value, arith.SIToFPOp)
    if words is not None and defining_op(words.operands[0], arith.SubIOp) is not None:
        return converted(builder, words.operands[0], True, element)
    difference = defining_op(value, arith.SubFOp)
    known = bits_made(value if difference is None else difference.operands[0])
    if known is None or known[1].element != "f32" or str(element) not in nvidia.TYPES_OF_BITS:
        return None
    source, how = known[0], replace(known[1], element=str(element))
    if not how.exact:
        return None
    if difference is None:
        return builder.of_packed(source, how)
    return _minus_tile(builder, source, how, difference.operands[1]) if how.less == 0 else None


def _minus_tile(
    builder: TileBuilder, source: ir.Value, how: nvidia.BitsText, less: ir.Value
) -> ir.Value | None:
    """Bits of ``source`` minus a tile of integers, or of floats that are integers; None where the type of
    ``how`` does not hold what that takes, or each byte of ``source`` has its own.  A word may have: it holds
    several numbers.
    """
    bounds, most = integer_bounds(less), how.most_less
    shared = defining_op(less, tt.Broadcast)
    own = shared is None and not isinstance(how, nvidia.WordsText)
    if bounds is None or own or max(-bounds[0], bounds[1]) > most or how.element == "f32":
        return None
    less = less if shared is None else shared.operands[0]
    if not isinstance(tt.element_of(less.type), ir.FloatType):
        less = builder.elementwise("arith.sitofp", [less], ir.F32Type.get())
    added = builder.elementwise("arith.subf", [builder.fill(-float(how.power), less), less])
    return builder.of_packed(
        source, replace(how, less=None), builder.cast("arith.truncf", added, how.element)
    )
