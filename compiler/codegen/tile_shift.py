"""Elements of 16 bits that start anywhere behind a multiple of 16 bytes, read in whole vectors.

A thread that holds 8 neighbours of such elements would read each by itself, and the 32 threads of a warp four
lines at a time.  It reads the two vectors that its own one meets instead, words of 4 bytes, and shifts: by
four, two and one elements, as the bits of the distance say, which is the same for all threads.
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
    """``block`` elements from ``distance``, an i32 below 8, behind ``address``, which is a multiple of 16
    bytes: words of two in the order of memory, [vectors, 2, 2].  Nobody uses those from ``points``, a
    multiple of 8, on.  Of the memory behind ``address``, 8 elements more than ``points`` are read.
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
    """The elements, of a type of 16 bits."""
    upper = builder.elementwise("arith.shrui", [words, builder.fill(16, words)])
    both = builder.join(*(builder.cast("arith.trunci", half, "i16") for half in (words, upper)))
    return builder.cast("tt.bitcast", _flat(builder, both), element)


def widened(builder: TileBuilder, words: ir.Value) -> ir.Value:
    """The elements, numbers of bfloat16, as f32: an instruction for each."""
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
    """0 or 1."""
    value = builder.elementwise("arith.shrui", [value, builder.fill(bit.bit_length() - 1, value)])
    return builder.elementwise("arith.andi", [value, builder.fill(1, value)])


def _funnel(builder: TileBuilder, low: ir.Value, high: ir.Value, bits: ir.Value) -> ir.Value:
    """Two words as one of 64 bits, shifted right; its lower word."""
    wide = builder.cast("arith.extui", high, "i64")
    wide = builder.elementwise("arith.shli", [wide, builder.fill(32, wide)])
    wide = builder.elementwise("arith.ori", [wide, builder.cast("arith.extui", low, "i64")])
    moved = builder.elementwise("arith.shrui", [wide, builder.cast("arith.extui", bits, "i64")])
    return builder.cast("arith.trunci", moved, "i32")
