"""Tiles of small products: which kernels the rules for them take, and which they leave to others."""

from dataclasses import replace

import pytest
from rule_cases import chosen, one_by_one, one_by_one_of_batch, text_of, weighed
from tiling_cases import tensor


def told(case):
    """The rule, the axes, and the warps."""
    choice = chosen(case)
    return choice.rule, text_of(choice.tile).replace(" warps, 1 stages", "")


def of_unknown_length(batch=16384, columns=64):
    """Matrices whose rows nobody knows the number of."""
    return replace(weighed(batch, "s0", columns, "bf16"), sizes={"s0": 2048})


def many_values(count):
    """Squares and so on of each element, which live at once."""
    case = weighed(16384, 64, 64)
    powers = "".join(f"%z{n} = arith.mulf %{f'z{n - 1}' if n else 'w'}, %w : f32\n" for n in range(count))
    sums = "".join(f"%y{n} = arith.addf %{f'y{n - 1}' if n else 'p'}, %z{n} : f32\n" for n in range(count))
    return replace(case, body=case.body.replace("fold sum p", f"{powers}{sums}fold sum y{count - 1}"))


def again():
    """The rows are read a second time, with their sum."""
    more = "load y[d0, d1, d2] -> z\n%q = arith.mulf %z, %s : f32\nstore q -> a[d0, d1, d2]\n"
    case = weighed(65536, 32, 32, more=more)
    return replace(case, outputs=case.outputs | {"a": tensor(65536, 32, 32)})


@pytest.mark.parametrize(
    ("case", "tile"),
    {
        "a matrix of 64 rows of 128 bytes": (
            weighed(16384, 64, 64, "bf16"),
            "d0 grid 1, d1 looped 32, d2 grid 64; 1",
        ),
        "four matrices of 1 KB": (weighed(65536, 16, 16), "d0 grid 4, d1 resident 16, d2 grid 16; 1"),
        "rows of which one block has a part": (
            weighed(2048, 256, 256, "bf16"),
            "d0 grid 1, d1 looped 16, d2 grid 128; 1",
        ),
        "columns that fill no block": (weighed(8192, 64, 96), "d0 grid 1, d1 looped 8, d2 grid 128; 1"),
        "rows of unknown number": (of_unknown_length(), "d0 grid 1, d1 looped 32, d2 grid 64; 1"),
        "few rows, unless they fill a row of warps": (
            weighed(16384, 5, 64),
            "d0 grid 2, d1 resident 8, d2 grid 64; 1",
        ),
        "as many values as registers hold": (many_values(2), "d0 grid 1, d1 looped 16, d2 grid 64; 1"),
        "two matrices": (weighed(2, 64, 1 << 18), "d0 grid 1, d1 looped 8, d2 grid 128; 1"),
        "as many programs as there have to be": (
            weighed(3960, 64, 64),
            "d0 grid 1, d1 looped 16, d2 grid 64; 1",
        ),
    }.values(),
    ids=str,
)
def test_a_warp_weighs_the_rows_of_matrices(case, tile):
    assert told(case) == ("weighed-rows", tile)


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        (weighed(3959, 64, 64), "column-looped"),  # too few programs
        (weighed(256, 4096, 128, "bf16"), "column-looped"),
        (weighed(8447, 16, 16), "small-matrices"),  # four matrices each
        (weighed(65536, 32, 8), "small-matrices"),  # rows of 32 bytes
        (weighed(65536, 32, 17), "column-resident"),  # rows that start at any multiple of 4 bytes
        (weighed(65536, 4, 256), "columns-in-threads"),
        (many_values(3), "column-looped"),
    ],
    ids=str,
)
def test_a_warp_does_not_weigh_other_rows(case, rule):
    assert told(case)[0] == rule


def test_columns_that_share_no_number_are_summed_by_more_warps():
    case = weighed(16384, 64, 64)
    assert told(replace(case, body=case.body.replace("x[d0, d1]", "x[d0, d2]")))[0] == "column-looped"


def test_one_matrix_has_no_others_beside_it():
    case = weighed(1, 512, 1 << 20)
    assert told(case)[0] == "column-looped"


def test_rows_that_are_read_again_are_held():
    assert told(again())[0] == "column-resident"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (one_by_one_of_batch(262144, 8, "bf16"), ("columns-step-over", "d0*d1*d2 grid 512; 4")),
        (one_by_one_of_batch(262144, 8, "f64"), ("columns-step-over", "d0*d1*d2 grid 128; 4")),
        (one_by_one_of_batch(262144, 8, turned=False), ("rows-share-reads", "d0*d1 grid 64, d2 grid 8; 4")),
        (one_by_one_of_batch(65536, 12), ("rows-share-reads", "d0*d1 grid 32, d2 grid 16; 4")),
        (one_by_one_of_batch(1, 8), ("flat", "d0*d1*d2 grid 128; 4")),  # too few rows
        (one_by_one_of_batch(65536, 4), ("flat", "d0*d1*d2 grid 1024; 4")),  # four loads of either factor
    ],
    ids=str,
)
def test_columns_of_a_batch_that_step_over_elements(case, expected):
    assert told(case) == expected


def test_weights_that_lie_along_the_sum_are_read_for_all_rows():
    case = one_by_one(1000000, 8, 8)
    turned = replace(case, inputs=case.inputs | {"y": tensor(8, 8, strides="1,8")})
    assert told(turned) == ("rows-share-reads", "d0 grid 64, d1 grid 8; 4")


def test_a_thread_reads_weights_for_two_rows():
    """Of 16 columns of 4 bytes; matrices of a batch do not share what is read."""
    assert told(one_by_one(1000000, 16, 16))[1] == "d0 grid 64, d1 grid 16; 4"
    assert told(one_by_one_of_batch(65536, 16, turned=False))[1] == "d0*d1 grid 32, d2 grid 16; 4"
