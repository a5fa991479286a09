"""Dims as block numbers and lanes of a tile, and what the symbols of lowered expressions stand for."""

import itertools

import pytest

from fuse_mlir.compiler.analysis.tiling.neighbours import Run
from fuse_mlir.compiler.analysis.tiling.row_parts import RowParts
from fuse_mlir.compiler.analysis.tiling.row_start import RowStart
from fuse_mlir.compiler.codegen.indexing.arithmetic import IndexArithmetic
from fuse_mlir.compiler.codegen.indexing.symbols import BlockNumber, Lane, OfRowParts, OfRowStart
from fuse_mlir.compiler.codegen.indexing.tile_axes import RowPart, TileAxes
from fuse_mlir.compiler.index import Facts, parse
from fuse_mlir.compiler.ir.tile import Axis, Tile

#: 5 rows of 40 elements in 16 lanes, 3 blocks.
DIMS = {"d0": parse("5"), "d1": parse("40")}
ROWS = Tile((Axis(("d0",), 1, "grid"), Axis(("d1",), 16, "looped")))


#: Dims of ``DIMS`` as blocks and lanes.
NAMES = {"d0": BlockNumber(0).expr, "d1": Lane(1).expr}


def axes(tile=ROWS, **more):
    return TileAxes(tile, DIMS, Facts.of(extents=DIMS), **more)


def test_a_point_is_a_block_number_and_a_lane():
    placed = axes()
    e = placed.lowered(parse("d0*40 + d1"))
    assert e == BlockNumber(0).expr * 40 + BlockNumber(1).expr * 16 + Lane(1).expr
    assert {placed.symbols[name] for name in e.symbols()} == {BlockNumber(0), BlockNumber(1), Lane(1)}
    assert placed.vector_axes == [1] and placed.shape((0, 1)) == (16,) and placed.shape((0,)) == ()
    assert placed.block_count(1).constant == 3


def test_flattened_dims_are_digits_of_a_point():
    flat = axes(Tile((Axis(("d0", "d1"), 16, "grid"),)))
    for block, lane in itertools.product(range(13), range(16)):
        point = {BlockNumber(0).symbol: block, Lane(0).symbol: lane}
        if block * 16 + lane < 200:
            found = tuple(flat.lowered(parse(d)).evaluate(point) for d in DIMS)
            assert found == divmod(block * 16 + lane, 40)


def test_a_dim_or_size_is_no_symbol_of_a_tile():
    assert axes().symbols.keys().isdisjoint({"d0", "d1", "s0", "i0"})


def test_two_lanes_for_each_point():
    paired = axes(run=Run(1, 2))
    assert paired.lowered(parse("d1")) == BlockNumber(1).expr * 8 + Lane(1).expr.floordiv(2)
    assert paired.block_count(1).constant == 5


@pytest.mark.parametrize("phase", range(8))
def test_a_row_that_is_read_early_begins_behind_its_phase(phase):
    """The first ``phase`` lanes of its first block are points of no row, and one more block may be needed."""
    early = axes(start=RowStart(1, parse("d0*40"), 8, 200))
    first = {BlockNumber(1).symbol: 0, OfRowStart.PHASE.symbol: phase}
    found = [early.lowered(parse("d1")).evaluate({**first, Lane(1).symbol: lane}) for lane in range(16)]
    assert found == [lane - phase for lane in range(16)]
    assert early.block_count(1).constant == 3
    assert early.symbols["$p"] is OfRowStart.PHASE
    assert early.block_count(0).constant == 5 and early.position(0) == BlockNumber(0).expr


@pytest.mark.parametrize("ahead", range(8))
def test_two_parts_of_a_row_have_each_of_its_points_once(ahead):
    """Of 41 elements 32 are whole vectors; the other 9 stand in front of them and behind."""
    row = RowParts(0, parse("0"), 8, 32, 41)
    held = Tile((Axis(("d1",), 64, "resident"),))
    points = []
    for ends in (False, True):
        part = RowPart(row, ends)
        dims = {"d1": parse("41")}
        lowered = TileAxes(part.of(held), dims, Facts.of(extents=dims), part=part).lowered(parse("d1"))
        names = {OfRowParts.AHEAD.symbol: ahead}
        points += [lowered.evaluate({**names, Lane(0).symbol: lane}) for lane in range(part.points)]
    assert sorted(points) == list(range(41))


def test_where_the_first_whole_vector_may_be():
    part = RowPart(RowParts(1, parse("d0*41"), 8, 32, 41), ends=False)
    placed = TileAxes(part.of(ROWS), DIMS, Facts.of(extents=DIMS), part=part)
    assert placed.facts.interval(OfRowParts.FIRST.expr) == (0, 4 * 41 + 7)


@pytest.mark.parametrize(
    ("text", "fits"),
    {
        "i0*8 + d0": True,  # the sum is right modulo 2**32, and what is added fits
        "i0 mod 8": False,
        "d0*2147483648": False,
        "(d0*2147483648 + d1) floordiv 4294967295": False,  # what is divided does not
        "-d0*2147483648": False,
        "s0": False,
        "s0 mod 64": False,
    }.items(),
)
def test_what_fits_in_31_bits(text, fits):
    arithmetic = IndexArithmetic()
    arithmetic.facts = TileAxes(ROWS, DIMS, Facts.of(extents=DIMS)).facts
    assert arithmetic.fits(parse(text).subs(NAMES)) is fits
