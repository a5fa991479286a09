"""What joins a cascade whose blocks hold whole chunks: decays between the places of a chunk, which are scans,
and a product of its rows with the state in front of it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from attention_forms import decayed
from chunk_forms import (
    along_columns,
    along_rows,
    backwards,
    beside_states,
    of_other_rows,
    of_rows_alone,
    of_what_is_made,
    turned,
    with_states,
)
from compiling import Compiled, check
from cubins import usage
from derived_cascades import FORCED, assert_derived
from draws import drawn
from tiled_cubins import compiled as cubin_of
from tiling_cases import Case, tensor
from torch import Tensor


def chunks(rows: int, columns: int, decays: int) -> list[Tensor]:
    a = -(torch.rand(6, decays, generator=torch.Generator().manual_seed(4)) * 0.49 + 0.01)
    return [drawn(6, rows, 32), drawn(6, columns, 32, of=1), a, drawn(6, columns, 48, of=3)]


def tilings(compiled: Compiled) -> list[str]:
    [graph] = compiled.graphs
    return [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"]


@pytest.mark.parametrize("sizes", [(64, 64, 128, 64), (40, 50, 24, 33)], ids=str)
def test_chunks_that_a_block_holds_are_one_kernel_and_right(sizes: tuple[int, int, int, int]) -> None:
    """Scores of chunks times decays, as state spaces have them: a batch of matrices no wider than a block."""
    rows, columns, summed, made = sizes
    args = [
        drawn(6, rows, summed),
        drawn(6, columns, summed, of=1),
        drawn(6, rows, columns, of=2),
        drawn(6, columns, made, of=3),
    ]
    assert_derived(check(decayed, *args, **FORCED))


@pytest.mark.parametrize(
    ("function", "rows", "columns"),
    [
        (along_rows, 64, 64),
        (along_rows, 33, 33),
        (turned, 64, 64),
        (turned, 40, 40),
        (along_columns, 64, 48),
        (along_columns, 100, 64),
        (backwards, 64, 100),
        (backwards, 20, 64),
    ],
)
def test_a_scan_of_what_a_block_holds_is_in_its_kernel(
    function: Callable[..., Tensor], rows: int, columns: int
) -> None:
    decays = columns if function is along_columns else rows
    compiled = check(function, *chunks(rows, columns, decays), **FORCED)
    assert tilings(compiled) == ["columns-in-a-loop"]


@pytest.mark.parametrize(
    ("function", "rows", "columns"),
    [(along_rows, 70, 70), (along_columns, 32, 65), (backwards, 65, 32), (of_rows_alone, 40, 100)],
)
def test_a_scan_of_more_than_a_block_or_of_rows_alone_is_stored(
    function: Callable[..., Tensor], rows: int, columns: int
) -> None:
    """Triton fails to compile a scan of a column of a block."""
    decays = columns if function is along_columns else rows
    compiled = check(function, *chunks(rows, columns, decays), **FORCED)
    assert len(tilings(compiled)) == 2


def kernels_with_products(compiled: Compiled) -> list[str]:
    return [rule for rule in tilings(compiled) if rule in ("columns-in-a-loop", "blocks-of-products")]


@pytest.mark.parametrize(
    ("function", "rows", "columns"),
    [
        (with_states, 64, 64),
        (with_states, 40, 40),
        (beside_states, 100, 48),
        (of_other_rows, 40, 40),
    ],
)
def test_a_product_beside_the_others_of_a_chunk_is_in_their_kernel(
    function: Callable[..., Tensor], rows: int, columns: int
) -> None:
    args = [*chunks(rows, columns, rows), drawn(6, 48, 32, of=5)]
    compiled = check(function, *args, **FORCED)
    assert kernels_with_products(compiled) == ["columns-in-a-loop"]


@pytest.mark.parametrize(
    ("function", "rows", "columns"),
    [(beside_states, 70, 70), (beside_states, 40, 65), (of_what_is_made, 64, 64)],
)
def test_a_product_beside_columns_in_a_loop_is_a_kernel(
    function: Callable[..., Tensor], rows: int, columns: int
) -> None:
    """Of more columns than a block holds, or that sums what the first product does not sum."""
    args = [*chunks(rows, columns, rows), drawn(6, 48, 48 if function is of_what_is_made else 32, of=5)]
    compiled = check(function, *args, **FORCED)
    assert sorted(kernels_with_products(compiled)) == ["blocks-of-products", "columns-in-a-loop"]


class Cascade(Case):
    """A kernel that ``derive-cascades`` made."""

    def text(self) -> str:
        return super().text().replace("fuse.kernel,", "fuse.kernel, fuse.looped,")


#: The state space of chunks: decays between places, and the states in front of each chunk.
STATES = Cascade(
    {"d0": "3072", "d1": "64", "d2": "64", "d3": "128", "d4": "64"},
    {
        "a": tensor(3072, 64),
        "c": tensor(3072, 64, 128, element="bf16"),
        "b": tensor(3072, 64, 128, element="bf16"),
        "x": tensor(3072, 64, 64, element="bf16"),
        "s": tensor(3072, 64, 128, element="bf16"),
        "w": tensor(3072, 64),
    },
    {"o": tensor(3072, 64, 64, element="bf16")},
    """load a[d0, d1] -> av
%ahead = "fuse.index"() {expr = "d2 - d1"} : () -> i64
%i0 = arith.constant 0 : i64
%past = arith.cmpi slt, %ahead, %i0 : i64
%av0 = arith.select %past, %av, %zero : f32
%sums = "fuse.scan"(%av0) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
%lowest = arith.constant 0xFF800000 : f32
%later = arith.cmpi sgt, %ahead, %i0 : i64
%sums0 = arith.select %later, %lowest, %sums : f32
%decay = math.exp %sums0 : f32
load c[d0, d1, d3] -> cv
load b[d0, d2, d3] -> bv
%scores = "fuse.dot"(%cv, %bv) {over = ["d3"]} : (bf16, bf16) -> f32
%p = arith.mulf %scores, %decay : f32
%h = arith.truncf %p : f32 to bf16
load x[d0, d2, d4] -> xv
%inside = "fuse.dot"(%h, %xv) {over = ["d2"]} : (bf16, bf16) -> f32
load s[d0, d4, d3] -> sv
%across = "fuse.dot"(%cv, %sv) {over = ["d3"]} : (bf16, bf16) -> f32
load w[d0, d1] -> wv
%scaled = arith.mulf %across, %wv : f32
%y = arith.addf %inside, %scaled : f32
%r = arith.truncf %y : f32 to bf16
store r -> o[d0, d1, d4]""",
)


def test_the_kernel_of_a_state_space_spills_nothing_and_loads_first(tmp_path: Path) -> None:
    """Three programs fit into a multiprocessor, and each asks for all its factors before it waits."""
    pytest.importorskip("triton")
    cubin = cubin_of(STATES)
    used = usage(cubin, tmp_path)
    assert used.spilled == 0
    assert used.registers <= 168
    assert cubin.shared <= 64 * 1024
    products = cubin.ptx.index("wgmma.mma_async")
    assert cubin.ptx.count("wgmma.mma_async") == 8 + 8 + 4
    assert cubin.ptx.rindex("ld.global.v4.b32") < products < cubin.ptx.index("shfl.sync.up")
