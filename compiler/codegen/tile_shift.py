"""Reads 16-bit elements in whole vectors of 16 bytes, though they do not start at a multiple of 16 bytes.

Read one by one, 8 neighbours would take a thread 8 accesses, and each access of a warp would touch four cache
lines.  Instead a thread reads the two aligned vectors that its 8 elements overlap, as words of 4 bytes, and
shifts them: by four, two and one elements, according to the bits of the distance, which is the same for all
threads.
"""

import math
from itertools import pairwise

from ..ir.dialects import tt
from ..mlir import ir
from .folds.reduce import reshaped
from .tile_builder import TileBuilder, shape_of

#: Words of a vector, and elements of a word.
_WORDS, _HALVES = 4, 2


def shifted_words(
    builder: TileBuilder, address: ir.Value, distance: ir.Value, points: int, block: int
) -> ir.Value:
    """Reads ``block`` elements that start ``distance`` elements behind ``address``.  ``address`` is a
    multiple of 16 bytes, ``distance`` an i32 below 8.  Returns i32 words of two elements in memory order, of
    shape [vectors, 2, 2].  Elements from ``points`` (a multiple of 8) on are undefined.  The last element
    read is element ``points + 7`` behind ``address``.
    """
    behind = builder.elementwise("tt.addptr", [address, builder.constant(_WORDS * _HALVES, "i32")])
    words = _vectors(builder, address, points, block) + _vectors(builder, behind, points, block)
    for bit, left in ((4, 6), (2, 5)):
        far = builder.cmpi("ne", _bit(builder, distance, bit), builder.constant(0, "i32"))
        words = [builder.select(far, words[k + bit // _HALVES], words[k]) for k in range(left)]
    odd = builder.elementwise("arith.muli", [_bit(builder, distance, 1), builder.constant(16, "i32")])
    words = [_funnel(builder, low, high, odd) for low, high in pairwise(words)]
    return builder.join(*(builder.join(words[k], words[k + 2]) for k in (0, 1)))


def elements(builder: TileBuilder, words: ir.Value, element: ir.Type) -> ir.Value:
    """The words as elements of a 16-bit type."""
    upper = builder.elementwise("arith.shrui", [words, builder.fill(16, words)])
    both = builder.join(*(builder.cast("arith.trunci", half, "i16") for half in (words, upper)))
    return builder.cast("tt.bitcast", _flat(builder, both), element)


def widened(builder: TileBuilder, words: ir.Value) -> ir.Value:
    """The words of bfloat16 elements as f32, with one instruction for each element."""
    lower = builder.elementwise("arith.shli", [words, builder.fill(16, words)])
    upper = builder.elementwise("arith.andi", [words, builder.fill(-(1 << 16), words)])
    return builder.cast("tt.bitcast", _flat(builder, builder.join(lower, upper)), "f32")


def _flat(builder: TileBuilder, value: ir.Value) -> ir.Value:
    return reshaped(builder, value, (math.prod(shape_of(value)),))


def _vectors(builder: TileBuilder, address: ir.Value, points: int, block: int) -> list[ir.Value]:
    """The four words of each vector, as four tiles."""
    attributes = {"start": builder.attribute(0), "end": builder.attribute(block)}
    i32 = ir.IntegerType.get_signless(32)
    lanes = builder.create("tt.make_range", [tt.tile_type([block], i32)], [], attributes).results[0]
    address = builder.elementwise("tt.addptr", [builder.to(address, (block,)), lanes])
    mask = builder.cmpi("slt", lanes, builder.fill(points, lanes)) if points < block else None
    element = tt.pointee_of(address.type)
    found = builder.load(address, mask, builder.constant(0, element))
    halves = builder.split(reshaped(builder, builder.cast("tt.bitcast", found, "i16"), (block // 2, 2)))
    low, high = (builder.cast("arith.extui", half, i32) for half in halves)
    high = builder.elementwise("arith.shli", [high, builder.fill(16, high)])
    words = builder.elementwise("arith.ori", [low, high])
    even, odd = builder.split(reshaped(builder, words, (block // (_WORDS * _HALVES), 2, 2)))
    (first, third), (second, fourth) = builder.split(even), builder.split(odd)
    return [first, second, third, fourth]


def _bit(builder: TileBuilder, value: ir.Value, bit: int) -> ir.Value:
    """One bit of an integer, as 0 or 1."""
    value = builder.elementwise("arith.shrui", [value, builder.fill(bit.bit_length() - 1, value)])
    return builder.elementwise("arith.andi", [value, builder.fill(1, value)])


def _funnel(builder: TileBuilder, low: ir.Value, high: ir.Value, bits: ir.Value) -> ir.Value:
    """Joins two words to one of 64 bits, shifts it right by ``bits``, and returns the lower word."""
    wide = builder.cast("arith.extui", high, "i64")
    wide = builder.elementwise("arith.shli", [wide, builder.fill(32, wide)])
    wide = builder.elementwise("arith.ori", [wide, builder.cast("arith.extui", low, "i64")])
    moved = builder.elementwise("arith.shrui", [wide, builder.cast("arith.extui", bits, "i64")])
    return builder.cast("arith.trunci", moved, "i32")
