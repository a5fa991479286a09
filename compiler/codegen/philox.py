"""``fuse.rand`` on tiles: Philox 4x32-10 (Salmon et al. 2011) in 32-bit arithmetic, then a float.

Key: the seed's low and high word.  Counter words: counter low, counter high, offset low, offset high.
Uniform takes word ``counter % 4`` of the call with counter ``counter / 4``, so that four neighbours share one
call.  Normal is the transform of Box and Muller (1958) of the first two words of the counter's own call.
"""

import math
from collections.abc import Sequence

from ..ir.dialects import tt
from ..mlir import ir
from .tile_builder import TileBuilder, shape_of

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_INCREMENTS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
#: Multiplying by it maps 0 .. 2**31 - 1 to [0, 1).  It is the largest float whose products stay below 1.
_SCALE = 4.6566127342e-10
_SMALLEST = 1.0e-7


def _signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word


def _words(builder: TileBuilder, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The low and high 32 bits of an i64."""
    high = builder.elementwise("arith.shrui", [value, builder.fill(32, value)])
    return builder.cast("arith.trunci", value, "i32"), builder.cast("arith.trunci", high, "i32")


def philox(builder: TileBuilder, seed: ir.Value, offset: ir.Value, counter: ir.Value) -> list[ir.Value]:
    """The four i32 output words for i64 operands."""
    key = list(_words(builder, seed))
    c = [*_words(builder, counter), *_words(builder, offset)]
    c = builder.alike(*c)
    for round_number in range(_ROUNDS):
        products = []
        for word, multiplier in ((c[0], _MULTIPLIERS[0]), (c[2], _MULTIPLIERS[1])):
            factor = builder.fill(_signed(multiplier), word)
            products.append(
                (
                    builder.elementwise("tt.mulhiui", [factor, word]),
                    builder.elementwise("arith.muli", [factor, word]),
                )
            )
        (high0, low0), (high1, low1) = products
        c = [_xor(builder, high1, c[1], key[0]), low1, _xor(builder, high0, c[3], key[1]), low0]
        if round_number < _ROUNDS - 1:
            key = [
                builder.elementwise("arith.addi", [k, builder.fill(_signed(step), k)])
                for k, step in zip(key, _INCREMENTS, strict=True)
            ]
    return c


def _xor(builder: TileBuilder, a: ir.Value, b: ir.Value, key: ir.Value) -> ir.Value:
    return builder.elementwise("arith.xori", [builder.elementwise("arith.xori", [a, b]), key])


def _uniform(builder: TileBuilder, word: ir.Value) -> ir.Value:
    """A float in [0, 1).  Negative words are mapped to nonnegative ones by ``-word - 1``."""
    negative = builder.cmpi("slt", word, builder.fill(0, word))
    folded = builder.elementwise("arith.subi", [builder.fill(-1, word), word])
    number = builder.cast("arith.sitofp", builder.select(negative, folded, word), "f32")
    return builder.elementwise("arith.mulf", [number, builder.fill(_SCALE, number)])


def uniform_of_fours(builder: TileBuilder, seed: ir.Value, offset: ir.Value, fours: ir.Value) -> ir.Value:
    """Uniform numbers, four neighbours along the last axis for each lane of ``fours`` (counter / 4)."""
    words = philox(builder, seed, offset, fours)
    evens, odds = builder.join(words[0], words[2]), builder.join(words[1], words[3])
    all_four = builder.join(evens, odds)  # [.., 2, 2]: word 2 * i + j at [.., i, j]
    shape = (*shape_of(fours)[:-1], 4 * shape_of(fours)[-1])
    word = builder.create("tt.reshape", [tt.tile_type(shape, tt.element_of(all_four.type))], [all_four])
    return _uniform(builder, word.results[0])


def _word_of(builder: TileBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    """The word that gives the uniform number of any counter."""
    seed, offset, counter = operands
    words = philox(
        builder, seed, offset, builder.elementwise("arith.shrui", [counter, builder.fill(2, counter)])
    )
    place = builder.elementwise("arith.andi", [counter, builder.fill(3, counter)])
    word = words[3]
    for number in (2, 1, 0):
        word = builder.select(builder.cmpi("eq", place, builder.fill(number, place)), words[number], word)
    return word


def rand(builder: TileBuilder, operands: Sequence[ir.Value], dist: str) -> ir.Value:
    """f32 numbers; ``dist`` is ``uniform`` (in [0, 1)) or ``normal``.  Raises ValueError for another."""
    if dist == "uniform":
        return _uniform(builder, _word_of(builder, operands))
    if dist != "normal":
        raise ValueError(f"expected a distribution of uniform, normal, got '{dist}'")
    words = philox(builder, *operands)
    first = _uniform(builder, words[0])
    first = builder.elementwise("arith.maxnumf", [first, builder.fill(_SMALLEST, first)])
    angle = _uniform(builder, words[1])
    angle = builder.elementwise("arith.mulf", [angle, builder.fill(2.0 * math.pi, angle)])
    log = builder.elementwise("math.log", [first])
    radius = builder.elementwise(
        "tt.precise_sqrt", [builder.elementwise("arith.mulf", [log, builder.fill(-2.0, log)])]
    )
    return builder.elementwise("arith.mulf", [radius, builder.elementwise("math.cos", [angle])])
