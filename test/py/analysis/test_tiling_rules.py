"""The table of tiling rules: a kernel for each rule of ``row_rules``, ``computed_row_rules``,
``column_rules``, ``walk_rules``, ``pointwise_rules``, ``product_rules`` and ``held_rules``, and what the
table promises.
"""

import inspect
from dataclasses import replace

import pytest
import torch
from rule_cases import (
    BIAS,
    CENTRED,
    COLUMN_MAXIMA,
    COLUMNS,
    COPY,
    COUNTED,
    FORWARD,
    HEADS,
    MANY_SUMS,
    MAXIMA,
    ROWS_AND_COLUMNS,
    SEARCH,
    SLICES,
    attention,
    chain,
    chosen,
    components,
    headed,
    matmul,
    matrix,
    of_its_row,
    one_by_one,
    one_by_one_of_batch,
    pairs,
    pairs_of_batch,
    planes,
    product,
    scans,
    small_and_both,
    taps,
    text_of,
    weighed,
    weighed_rows,
    widened,
)
from tiling_cases import NORM, SOFTMAX, Case, axis, compare, tensor, tile

from fuse_mlir.compiler.analysis.tiling.choice import NoTiling, TilingFamily, TilingRule
from fuse_mlir.compiler.analysis.tiling.rules import FAMILIES
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.tile import Tile
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling

#: Rule, a kernel that it decides on an H200, and the tile.
KERNELS = {
    "groups-in-turn": (
        widened(32),
        "d3 looped 1, d1 grid 32, d0 grid 8, d2 resident 128; 1 warps, 4 stages",
    ),
    "weights-in-slices": (
        widened(2),
        "d3 resident 2, d1 grid 32, d0 grid 8, d2 looped 128; 2 warps, 4 stages",
    ),
    "rows-in-turn": (
        chain(262144),
        "d0 grid 64, d1 resident 64, d3 resident 64, d2 resident 64; 4 warps, 2 stages",
    ),
    "weights-in-turn": (
        chain(262144, 256),
        "d0 grid 128, d1 resident 256, d3 resident 64, d2 resident 64; 8 warps, 1 stages",
    ),
    "columns-in-a-loop": (
        attention(4096, 4096),
        "d0 grid 64, d1 looped 64, d2 resident 64, d3 resident 64; 4 warps, 3 stages",
    ),
    "held-columns": (
        matmul(65536, 64, 128, COLUMN_MAXIMA),
        "d0 grid 128, d1 resident 64, d2 looped 64; 4 warps, 2 stages",
    ),
    "blocks-of-products": (
        matmul(4096, 4096, 4096),
        "d0 grid 128, d1 grid 256, d2 looped 64; 8 warps, 4 stages",
    ),
    "scalar": (
        Case({}, {"x": tensor()}, {"o": tensor()}, "load x[] -> v\nstore v -> o[]"),
        "; 1 warps, 1 stages",
    ),
    "flat": (matrix(4096, 1024, COPY), "d0*d1 grid 1024; 4 warps, 1 stages"),
    "planes-share-weights": (taps(), "d1 grid 1, d0*d2 grid 128; 4 warps, 1 stages"),
    "columns-step-over": (
        one_by_one_of_batch(262144, 8),
        "d0*d1*d2 grid 256; 4 warps, 1 stages",
    ),
    "rows-share-reads": (one_by_one(1000000, 8, 8), "d0 grid 64, d1 grid 8; 4 warps, 1 stages"),
    "rows-and-columns": (BIAS, "d0 grid 4, d1 grid 256; 4 warps, 1 stages"),
    "moved-pieces": (HEADS, "d0 grid 1, d2 grid 16, d1*d3 grid 128; 4 warps, 1 stages"),
    "transposed": (matrix(4096, 4096, COPY, strides="1,4096"), "d0 grid 64, d1 grid 64; 8 warps, 1 stages"),
    "warp-walks": (SLICES, "d0 grid 1, d1 looped 1, d2 resident 1024; 1 warps, 3 stages"),
    "wide-row-again": (
        matrix(4096, 12288, ROWS_AND_COLUMNS, "bf16"),
        "d0 looped 1, d1 resident 16384; 16 warps, 3 stages",
    ),
    "several-reductions": (
        matrix(4096, 4096, ROWS_AND_COLUMNS),
        "d0 looped 1, d1 resident 4096; 8 warps, 3 stages",
    ),
    "products-compute-their-row": (of_its_row(8192, 2048), "d0 grid 4, d1 resident 2048; 4 warps, 1 stages"),
    "products-share-a-row": (product("x"), "d0 grid 4, d1 looped 512; 2 warps, 3 stages"),
    "rows-share-operands": (pairs(8192, 4096), "d0 grid 8, d1 looped 256; 4 warps, 1 stages"),
    "crossed-rows": (
        matrix(65536, 256, SOFTMAX, "bf16", strides="1,65536"),
        "d0 grid 32, d1 resident 256; 2 warps, 1 stages",
    ),
    "short-rows": (matrix(65536, 128, SOFTMAX), "d0 grid 8, d1 resident 128; 2 warps, 1 stages"),
    "row-of-two-warps": (matrix(65536, 512, SOFTMAX), "d0 grid 1, d1 resident 512; 2 warps, 1 stages"),
    "long-row-read-again": (
        matrix(4096, 32000, SOFTMAX, "bf16"),
        "d0 grid 1, d1 looped 8192; 16 warps, 1 stages",
    ),
    "long-row-resident": (matrix(4096, 32000, SOFTMAX), "d0 grid 1, d1 resident 32768; 32 warps, 1 stages"),
    "searched-row": (matrix(4096, 8192, SEARCH, "bf16"), "d0 grid 1, d1 looped 1024; 4 warps, 1 stages"),
    "row-resident": (matrix(4096, 4096, SOFTMAX), "d0 grid 1, d1 resident 4096; 8 warps, 1 stages"),
    "scanned-row": (matrix(64, 65536, scans("d1")), "d0 grid 1, d1 resident 65536; 16 warps, 1 stages"),
    "few-rows-read-again": (matrix(512, 131072, SOFTMAX), "d0 grid 1, d1 looped 16384; 32 warps, 1 stages"),
    "unaligned-row-looped": (
        matrix(1024, 50257, MAXIMA, "bf16"),
        "d0 grid 1, d1 looped 2048; 8 warps, 1 stages",
    ),
    "counted-row-looped": (
        matrix(256, 197 * 1024, COUNTED, "bf16"),
        "d0 grid 1, d1 looped 1024; 4 warps, 1 stages",
    ),
    "row-looped": (matrix(1024, 131072, MAXIMA), "d0 grid 1, d1 looped 1024; 8 warps, 1 stages"),
    "columns-in-threads": (
        matrix(8, 4096 * 768, COLUMNS, "bf16"),
        "d0 resident 8, d1 grid 1024; 4 warps, 1 stages",
    ),
    "planes-share-points": (planes(count=4), "d0 grid 1, d2 grid 512, d1 grid 4; 4 warps, 1 stages"),
    "weighed-rows": (weighed(65536, 32, 32), "d0 grid 1, d1 resident 32, d2 grid 32; 1 warps, 1 stages"),
    "small-matrices": (
        components(),
        "d0 grid 4, d1 resident 32, d2 grid 4; 1 warps, 1 stages",
    ),
    "column-resident": (matrix(16, 4096, CENTRED), "d0 resident 16, d1 grid 32; 2 warps, 1 stages"),
    "scanned-column": (matrix(4096, 64, scans("d0")), "d1 grid 1, d0 resident 4096; 16 warps, 1 stages"),
    "scan-looped": (matrix(4096, 64, FORWARD), "d0 looped 128, d1 grid 16; 4 warps, 1 stages"),
    "many-sums": (matrix(512, 65536, MANY_SUMS), "d0 looped 1, d1 grid 128; 4 warps, 1 stages"),
    "columns-read-again": (
        matrix(4096, 4096, CENTRED, "bf16"),
        "d0 looped 512, d1 grid 32; 16 warps, 1 stages",
    ),
    "column-looped": (matrix(4096, 4096, COLUMNS), "d0 looped 64, d1 grid 32; 8 warps, 1 stages"),
}


@pytest.mark.parametrize("rule", KERNELS)
def test_a_rule_decides_its_kernel(rule):
    case, tile = KERNELS[rule]
    choice = chosen(case)
    assert (choice.rule, text_of(choice.tile)) == (rule, tile)


@pytest.mark.parametrize(
    ("case", "axes"),
    [
        (pairs_of_batch(3, 37, 600), ("d0 1 grid", "d1 8 grid", "d2 256 looped")),
        (weighed_rows(300, 6), ("d0 128 grid", "d1 8 resident")),
        (headed(2, 37, 5, 6), ("d0 1 grid", "d1 16 looped", "d2,d3 32 grid")),
        (headed(2, 9, 12, 24), ("d0 1 grid", "d1 16 resident", "d2,d3 128 grid")),
        (small_and_both(37, 16, 3), ("d0 16 grid", "d1 16 resident", "d2 4 resident")),
    ],
)
def test_blocks_of_several_rows_and_of_several_dims_give_the_same(case, axes):
    parts = [text.split() for text in axes]
    chosen_tile = tile(*(axis(dims, int(block), kind) for dims, block, kind in parts))
    shapes = [[int(n) for n in t.removeprefix("tensor<").split("x")[:-1]] for t in case.inputs.values()]
    compare(replace(case, tile=chosen_tile).text(), [torch.randn(s) for s in shapes], ApplyTiling())


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "rule", "tile"),
    [
        (300, 4096, "bf16", "columns-read-again", "d0 resident 512, d1 grid 32; 16 warps, 1 stages"),
        (4096, 2048, "bf16", "columns-read-again", "d0 looped 1024, d1 grid 32; 32 warps, 1 stages"),
        # For seven of eight multiprocessors, and for one less.
        (4096, 3680, "bf16", "columns-read-again", "d0 looped 512, d1 grid 32; 16 warps, 1 stages"),
        (4096, 3648, "bf16", "columns-read-again", "d0 looped 1024, d1 grid 32; 32 warps, 1 stages"),
        # Must not fire: for a quarter of the multiprocessors, more than one for each, more than in the cache.
        (4096, 1024, "bf16", "column-looped", "d0 looped 64, d1 grid 32; 8 warps, 1 stages"),
        (2048, 4256, "bf16", "column-looped", "d0 looped 64, d1 grid 32; 8 warps, 1 stages"),
        (4096, 4096, "f32", "column-looped", "d0 looped 64, d1 grid 32; 8 warps, 1 stages"),
    ],
)
def test_columns_are_read_again_by_a_program_of_each_multiprocessor(rows, columns, dtype, rule, tile):
    choice = chosen(matrix(rows, columns, CENTRED, dtype))
    assert (choice.rule, text_of(choice.tile)) == (rule, tile)


def test_columns_of_few_rows_by_a_hint_are_read_again_in_small_blocks():
    choice = chosen(replace(matrix("s0", 4096, CENTRED, "bf16"), sizes={"s0": 100}))
    assert text_of(choice.tile) == "d0 looped 128, d1 grid 32; 16 warps, 1 stages"


@pytest.mark.parametrize(
    ("rows", "axes"),
    [
        (300, ("d0 512 resident", "d1 32 grid")),
        (1100, ("d0 512 looped", "d1 32 grid")),
    ],
)
def test_columns_that_are_read_again_give_the_same(rows, axes):
    parts = [text.split() for text in axes]
    cut = tile(*(axis(dims, int(block), kind) for dims, block, kind in parts), num_warps=16)
    x = torch.randn(rows, 70, generator=torch.Generator().manual_seed(0))
    [centred] = compare(replace(matrix(rows, 70, CENTRED), tile=cut).text(), [x], ApplyTiling())
    assert torch.equal(centred, x - x.amax(0))


def test_of_two_classes_without_a_bound_one_can_be_looped_over():
    sizes = {"s0": 4096, "s1": 1024}
    with pytest.raises(NoTiling, match="only one axis can be looped over"):
        chosen(replace(matrix("s0", "s1", ROWS_AND_COLUMNS), sizes=sizes))


def test_what_cannot_be_held_has_no_tile():
    with pytest.raises(NoTiling, match="forward and reverse scans over"):
        chosen(matrix(4, 1 << 18, scans("d1")))


RULES = [rule for family in FAMILIES for rule in family.rules]


def test_every_rule_has_a_kernel():
    assert {rule.name for rule in RULES} == set(KERNELS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_when_it_applies_and_why(rule):
    told = inspect.getdoc(rule.tile)
    assert told and "When: " in told and "Why: " in told


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_last_rule_of_a_family_always_applies(family):
    """By its type: it gives a tile and not None."""
    assert [inspect.signature(rule.tile).return_annotation for rule in family.rules[-1:]] == [Tile]


def test_the_first_rule_that_gives_a_tile_decides():
    tiles = [Tile((), num_warps=warps) for warps in (1, 2)]
    rules = (
        TilingRule("silent", lambda subject, hardware: None),
        TilingRule("first", lambda subject, hardware: tiles[0]),
        TilingRule("second", lambda subject, hardware: tiles[1]),
    )
    family = TilingFamily("made up", lambda shape: True, lambda shape: shape, rules)
    choice = family.choice(None, hardware_named("generic"))
    assert (choice.tile, choice.rule) == (tiles[0], "first")


def test_norms_of_odd_rows_take_fewer_warps_for_vectors():
    """``row_resident`` asks ``row_parts``: 4 warps hold a row of 4097 as two tiles, 8 would not."""
    norm = NORM.replace("COUNT", "4097.0").replace("\nstore mean -> mu[d0]", "")
    assert chosen(matrix(4096, 4097, norm, "bf16")).tile.num_warps == 4
    assert chosen(matrix(4096, 4096, norm, "bf16")).tile.num_warps == 4
