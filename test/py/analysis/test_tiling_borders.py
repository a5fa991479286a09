"""What tiling rules of rows, columns, walks and points leave to others: kernels near the border of a rule,
and the rule that decides each.
"""

from dataclasses import replace

import pytest
from rule_cases import (
    CENTRED,
    CENTRED_ROWS,
    COLUMNS,
    FORWARD_OF_MANY,
    GROUPS,
    LOAD,
    MANY,
    MAXIMA,
    ROWS_AND_COLUMNS,
    SHARED_NUMBERS,
    SLICES,
    SUM,
    WEIGHED,
    chosen,
    components,
    dynamic,
    headed,
    matrix,
    of_its_row,
    one_by_one,
    pairs,
    pairs_of_batch,
    planes,
    product,
    small_and_both,
    text_of,
    weighed_rows,
    woven,
)
from tiling_cases import SOFTMAX, Case, tensor

#: Rule, kernel, tile on an H200.
KERNELS = {
    "many values beside a running sum": (
        "scan-looped",
        matrix(4096, 64, FORWARD_OF_MANY),
        "d0 looped 64, d1 grid 16; 4 warps, 1 stages",
    ),
    "a row of many elements a thread that is not searched": (
        "row-resident",
        matrix(4096, 16384, MAXIMA),
        "d0 grid 1, d1 resident 16384; 16 warps, 1 stages",
    ),
    "a row that all programs compute, of 16 bits": (
        "products-compute-their-row",
        of_its_row(4096, 4096, "bf16"),
        "d0 grid 4, d1 resident 4096; 4 warps, 1 stages",
    ),
    "a long row that all programs compute": (
        "products-compute-their-row",
        of_its_row(4096, 32768, "bf16"),
        "d0 grid 2, d1 resident 32768; 16 warps, 1 stages",
    ),
    "rows that one program computes each": (
        "row-resident",
        of_its_row(8192, 2048, own=True),
        "d0 grid 1, d1 resident 2048; 4 warps, 1 stages",
    ),
    "four rows share weights": (
        "products-share-a-row",
        product("a", "b", "c", "d"),
        "d0 grid 4, d1 looped 256; 2 warps, 3 stages",
    ),
    "products that are stored themselves": (
        "row-resident",
        Case(
            {"d0": "4096", "d1": "4096"},
            {"x": tensor(4096, 4096), "y": tensor(4096)},
            {"o": tensor(4096, 4096), "a": tensor(4096)},
            LOAD + "load y[d1] -> w\n%p = arith.mulf %v, %w : f32\nfold sum p[d1] -> m : f32\n"
            "store p -> o[d0, d1]\nstore m -> a[d0]",
        ),
        "d0 grid 1, d1 resident 4096; 8 warps, 1 stages",
    ),
    "twelve columns of a product": (
        "rows-share-reads",
        one_by_one(1000000, 12, 16),
        "d0 grid 64, d1 grid 16; 4 warps, 1 stages",
    ),
    "six columns of a product": ("flat", one_by_one(1000000, 6, 8), "d0*d1 grid 512; 4 warps, 1 stages"),
    "a sum of four products": ("flat", one_by_one(1000000, 8, 4), "d0*d1 grid 1024; 4 warps, 1 stages"),
    "few rows of eight columns": ("flat", one_by_one(100, 8, 8), "d0*d1 grid 128; 4 warps, 1 stages"),
    "pairs of too few rows for the chip": (
        "row-resident",
        pairs(2048, 4096),
        "d0 grid 1, d1 resident 4096; 8 warps, 1 stages",
    ),
    "pairs whose rows are short": (
        "short-rows",
        pairs(65536, 511),
        "d0 grid 2, d1 resident 512; 2 warps, 1 stages",
    ),
    "pairs that keep many values": (
        "row-looped",
        pairs(8192, 4096, MANY.replace("%v", "%s") + SUM.replace("y0 = arith.addf %m", "y0 = arith.addf %w")),
        "d0 grid 1, d1 looped 1024; 8 warps, 1 stages",
    ),
    "pairs of a batch": (
        "rows-share-operands",
        pairs_of_batch(32, 1024, 1024),
        "d0 grid 1, d1 grid 8, d2 looped 256; 4 warps, 1 stages",
    ),
    "pairs of a batch of few rows each": (
        "row-resident",
        pairs_of_batch(8192, 4, 1024),
        "d0*d1 grid 1, d2 resident 1024; 2 warps, 1 stages",
    ),
    "rows of six elements that share weights": (
        "short-rows",
        weighed_rows(262144, 6),
        "d0 grid 128, d1 resident 8; 2 warps, 1 stages",
    ),
    "rows of 256 elements that share weights": (
        "products-share-a-row",
        weighed_rows(262144, 256),
        "d0 grid 4, d1 looped 256; 2 warps, 3 stages",
    ),
    "columns of several heads side by side": (
        "column-looped",
        headed(512, 256, 48, 6),
        "d0 grid 1, d1 looped 16, d2*d3 grid 128; 8 warps, 1 stages",
    ),
    "columns of heads with gaps between them": (
        "column-resident",
        headed(512, 256, 48, 6, gap=2),
        "d0*d2 grid 1, d1 resident 256, d3 grid 8; 2 warps, 1 stages",
    ),
    "rows and columns of small matrices": (
        "several-reductions",
        small_and_both(200000, 16, 3),
        "d0 grid 16, d1 resident 16, d2 resident 4; 2 warps, 1 stages",
    ),
    "rows and columns of too few small matrices": (
        "several-reductions",
        small_and_both(2000, 16, 3),
        "d0 grid 1, d1 resident 16, d2 resident 4; 1 warps, 1 stages",
    ),
    "two images woven together": ("flat", woven(2), "d0*d1*d2 grid 2048; 4 warps, 1 stages"),
    "twelve images woven together": ("flat", woven(12), "d0*d1*d2 grid 256; 4 warps, 1 stages"),
    "eight rows share weights": (
        "products-share-a-row",
        product(*"abcdefgh"),
        "d0 grid 2, d1 looped 256; 2 warps, 3 stages",
    ),
    "a long row that is read once": (
        "row-looped",
        matrix(4096, 32000, MAXIMA, "bf16"),
        "d0 grid 1, d1 looped 2048; 8 warps, 1 stages",
    ),
    "a row of unknown length": (
        "row-looped",
        dynamic("d1", SOFTMAX),
        "d0 grid 1, d1 looped 512; 4 warps, 1 stages",
    ),
    "columns of unknown length": (
        "column-looped",
        dynamic("d0", COLUMNS),
        "d0 looped 64, d1 grid 32; 8 warps, 1 stages",
    ),
    "whole blocks of columns that share a number for each row": (
        "column-looped",
        Case(
            {"d0": "512", "d1": "131072"},
            {"x": tensor(512, 131072), "y": tensor(512)},
            {"b": tensor(131072)},
            SHARED_NUMBERS,
        ),
        "d0 looped 16, d1 grid 128; 4 warps, 1 stages",
    ),
    "whole blocks of columns that share nothing": (
        "column-looped",
        matrix(512, 131072, COLUMNS),
        "d0 looped 16, d1 grid 128; 8 warps, 1 stages",
    ),
    "narrow blocks of columns that share a number for each row": (
        "column-looped",
        Case(
            {"d0": "4096", "d1": "4096"},
            {"x": tensor(4096, 4096), "y": tensor(4096)},
            {"b": tensor(4096)},
            SHARED_NUMBERS,
        ),
        "d0 looped 64, d1 grid 32; 8 warps, 1 stages",
    ),
    "columns of which many values live": (
        "column-looped",
        matrix(
            64,
            4096 * 768,
            LOAD + MANY + "fold max z19[d0] -> m : f32\n" + SUM + "store y19 -> o[d0, d1]",
            "bf16",
        ),
        "d0 looped 4, d1 grid 128; 2 warps, 1 stages",
    ),
    "few columns of which many values live": (
        "column-resident",
        matrix(
            8,
            4096 * 768,
            LOAD + MANY + "fold max z19[d0] -> m : f32\n" + SUM + "store y19 -> o[d0, d1]",
            "bf16",
        ),
        "d0 resident 8, d1 grid 64; 2 warps, 1 stages",
    ),
    "rows that a loop would read again": (
        "column-resident",
        matrix(25, 4096 * 768, CENTRED),
        "d0 resident 32, d1 grid 64; 2 warps, 1 stages",
    ),
    "rows that a loop reads once": (
        "column-looped",
        matrix(25, 4096 * 768, COLUMNS),
        "d0 looped 16, d1 grid 128; 8 warps, 1 stages",
    ),
    "more rows than lines of memory hold": (
        "column-looped",
        matrix(65, 4096 * 768, CENTRED),
        "d0 looped 16, d1 grid 128; 8 warps, 1 stages",
    ),
    "planes of too few points": ("flat", planes(4096, 72), "d0*d1*d2 grid 1024; 4 warps, 1 stages"),
    "planes that are read anywhere": (
        "planes-share-points",
        planes(),
        "d0*d1 grid 1, d2 grid 2048; 16 warps, 1 stages",
    ),
    "planes that are read anywhere and have few points": (
        "rows-and-columns",
        planes(points=1024),
        "d0*d1 grid 1, d2 grid 1024; 4 warps, 1 stages",
    ),
    "planes that are read in order": (
        "rows-and-columns",
        planes(body=WEIGHED, count=4),
        "d0*d1 grid 1, d2 grid 1024; 4 warps, 1 stages",
    ),
    "planes of which there are too few": (
        "rows-and-columns",
        planes(images=2),
        "d0*d1 grid 1, d2 grid 512; 4 warps, 1 stages",
    ),
    "planes that share too little": (
        "rows-and-columns",
        planes(
            body="load x[d0, d1, d2] -> v\nload y[d0, d2] -> w\n%s = arith.mulf %v, %w : f32\n"
            "store s -> o[d0, d1, d2]"
        ),
        "d0*d1 grid 1, d2 grid 1024; 4 warps, 1 stages",
    ),
    "small matrices that would leave the chip empty": (
        "column-resident",
        components(points=512),
        "d0 grid 1, d1 resident 32, d2 grid 4; 1 warps, 1 stages",
    ),
    "rows of one component of vectors": (
        "short-rows",
        components("load x[d0, d1, 0] -> v\nfold sum v[d1] -> m : f32\nstore m -> a[d0]"),
        "d1 resident 32, d0 grid 32; 2 warps, 1 stages",
    ),
    "columns that fill no warp": (
        "column-resident",
        matrix(8, 64, COLUMNS),
        "d0 resident 8, d1 grid 32; 1 warps, 1 stages",
    ),
    "few columns": (
        "columns-in-threads",
        matrix(8, 65536, COLUMNS),
        "d0 resident 8, d1 grid 128; 1 warps, 1 stages",
    ),
    "rows of unknown number beside columns": (
        "several-reductions",
        dynamic("d0", ROWS_AND_COLUMNS),
        "d0 looped 4, d1 resident 1024; 8 warps, 3 stages",
    ),
    "rows of unknown length beside columns": (
        "several-reductions",
        dynamic("d1", ROWS_AND_COLUMNS),
        "d0 resident 4096, d1 looped 1; 8 warps, 3 stages",
    ),
    "slices of few rows": (
        "several-reductions",
        matrix(16, 768, ROWS_AND_COLUMNS),
        "d0 resident 16, d1 resident 1024; 16 warps, 1 stages",
    ),
    "shares of short rows: a warp takes sixteen at a time": (
        "warp-walks",
        replace(
            SLICES,
            dims={"d0": "1024", "d1": "512", "d2": "64"},
            inputs={"x": tensor(1024, 512, 64)},
            outputs={"o": tensor(1024, 512, 64), "b": tensor(1024, 64)},
        ),
        "d0 grid 1, d1 looped 16, d2 resident 64; 1 warps, 3 stages",
    ),
    "many short rows beside columns: more than a program holds": (
        "several-reductions",
        matrix(256, 64, ROWS_AND_COLUMNS),
        "d0 looped 64, d1 resident 64; 8 warps, 3 stages",
    ),
    "a long row whose points are counted, of whole blocks": (
        "long-row-read-again",
        matrix(4096, 32768, CENTRED_ROWS, "bf16"),
        "d0 grid 1, d1 looped 8192; 16 warps, 1 stages",
    ),
    "a long row whose points are counted, the last block cut": (
        "long-row-resident",
        matrix(4096, 20000, CENTRED_ROWS, "bf16"),
        "d0 grid 1, d1 resident 32768; 32 warps, 1 stages",
    ),
    "groups of a row: warps by the points that there are, not by the block": (
        "several-reductions",
        Case(
            {"d0": "8192", "d1": "56", "d2": "128"},
            {"x": tensor(8192, 56, 128, element="bf16")},
            {"o": tensor(8192, 56, 128, element="bf16")},
            GROUPS,
        ),
        "d0 grid 1, d1 resident 64, d2 resident 128; 4 warps, 1 stages",
    ),
    "rows of which shared memory holds no three": (
        "several-reductions",
        matrix(4096, 16384, ROWS_AND_COLUMNS, "f64"),
        "d0 looped 1, d1 resident 16384; 16 warps, 1 stages",
    ),
}


@pytest.mark.parametrize(("rule", "case", "tile"), KERNELS.values(), ids=KERNELS)
def test_a_rule_leaves_to_others_what_it_does_not_fit(rule, case, tile):
    choice = chosen(case)
    assert (choice.rule, text_of(choice.tile)) == (rule, tile)
