"""Which columns of products a program holds at once, and which blocks of rows it gets."""

from dataclasses import replace

import pytest

from fuse_mlir.compiler.analysis.contraction.held import (
    Columns,
    HeldForm,
    Resident,
    aligned_columns,
    held_blocks,
    peak_columns,
)
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm
from fuse_mlir.compiler.cost.devices import hardware_named

H200 = hardware_named("h200")
EXTENTS = dict.fromkeys("abcde", 64)


@pytest.mark.parametrize(
    ("products", "columns"),
    [
        ([("a", None)], 64),
        ([("a", None), ("b", "a")], 128),
        ([("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")], 128),
        ([("a", None), ("a", None), ("b", "a")], 128),  # a gate
        ([("a", None), ("b", "a"), ("c", "a"), ("d", "c")], 192),  # b is kept to the end
        ([("a", None), ("b", None), ("c", "a"), ("d", "b")], 192),  # c is kept to the end
    ],
    ids=["one", "two", "five in a row", "gate", "read twice", "two at first"],
)
def test_columns_are_held_up_to_the_last_product_that_sums_them(products, columns):
    assert peak_columns([Columns(*product) for product in products], EXTENTS) == columns


def chain(weights, rows=1 << 18, columns=128, row=128, result=128):
    """Of a chain of products with 64 columns; weights, row, result: bytes."""
    form = ProductForm(rows, 64, 64, sums=2)
    return HeldForm(form, columns, columns, 64, (rows, 64), resident=Resident(weights, row, result, 64))


def test_programs_go_through_blocks_where_shared_memory_holds_the_weights():
    assert held_blocks(chain(16 << 10), H200).programs == 4 * H200.sm_count
    assert held_blocks(chain(256 << 10), H200).programs == 0
    assert held_blocks(replace(chain(16 << 10), resident=None), H200).programs == 0


def test_blocks_with_which_more_warps_are_at_work_come_first():
    """Four programs of 64 rows and 4 warps for each multiprocessor; where the weights leave room for two, two
    of 128 rows and 8 warps.
    """
    few, many = (held_blocks(chain(weights), H200) for weights in (16 << 10, 58 << 10))
    assert (few.free[0], few.num_warps, few.programs) == (64, 4, 4 * H200.sm_count)
    assert (many.free[0], many.num_warps, many.programs) == (128, 8, 2 * H200.sm_count)


def test_few_warps_are_at_work_only_where_much_would_be_loaded_again():
    assert held_blocks(chain(200 << 10), H200).programs == H200.sm_count
    assert held_blocks(chain(40 << 10, row=512), H200).programs == 0


def test_each_program_has_a_block_of_its_own_where_there_are_few():
    assert held_blocks(chain(16 << 10, rows=64 * H200.sm_count), H200).programs == 0


def wide_chain(rows=1 << 18, widest=256, largest=128 << 10, kept=8 << 10):
    """Of a chain of products with 256 columns; largest, kept: bytes of weights."""
    resident = Resident(1 << 20, 128, 128, 64, largest, kept)
    return HeldForm(ProductForm(rows, 256, 64, sums=2), 512, 512, widest, (rows, 4), resident=resident)


def test_programs_copy_weights_that_shared_memory_does_not_hold():
    blocks = held_blocks(wide_chain(), H200)
    assert (blocks.copied, blocks.free, blocks.num_warps, blocks.programs) == (True, (128, 16), 8, 132)
    assert held_blocks(wide_chain(), H200, spills=3) == blocks, "smaller blocks copy all weights more often"


@pytest.mark.parametrize(
    "form",
    [
        wide_chain(rows=66 * 128 - 128),
        wide_chain(widest=128),
        wide_chain(largest=0),
        wide_chain(kept=100 << 10),
        replace(wide_chain(), aligned_peak=1024, peak=512),
        replace(wide_chain(), resident=None),
    ],
    ids=["few rows", "few columns", "no descriptors", "much is kept", "too much is held", "a batch"],
)
def test_programs_copy_no_weights_of_other_chains(form):
    assert not held_blocks(form, H200).copied
    assert held_blocks(wide_chain(rows=66 * 128), H200).copied
    assert not held_blocks(wide_chain(), replace(H200, descriptors=False)).copied


def test_without_tensor_cores_each_program_has_a_block_of_its_own():
    form = chain(16 << 10)
    exact = replace(form, product=replace(form.product, element="f32", exact=True))
    assert held_blocks(exact, H200).programs == 0


def test_a_tile_that_takes_too_much_gives_way_to_another():
    found = [held_blocks(chain(58 << 10), H200, spills) for spills in range(4)]
    assert len({*found}) == 4 and found[-1].programs == 0


@pytest.mark.parametrize(
    ("extents", "element", "least"),
    [
        ([64, 64, 24], "bf16", 64),
        ([33, 16], "bf16", 64),
        ([32, 32, 4], "bf16", 16),
        ([None, 16], "bf16", 64),
        ([64, 16], "f8E4M3FN", 32),
        ([128, 16], "f8E4M3FN", 128),
        ([32, 8], "f32", 32),
    ],
)
def test_tiles_that_take_the_same_place_have_rows_of_one_width(extents, element, least):
    assert aligned_columns(extents, element) == least


@pytest.mark.parametrize(("element", "rows"), [("bf16", 128), ("f32", 16)])
def test_a_thread_without_tensor_cores_holds_fewer_sums(element, rows):
    """Its factors are in registers, too: held for 128 rows, they would spill."""
    form = HeldForm(ProductForm(8192, 256, 64, element=element), 256, 256, 256, (8192,))
    blocks = held_blocks(form, H200)
    assert blocks is not None and blocks.free == (rows,)


def test_held_columns_that_are_read_wide_have_one_stage():
    """Two blocks of 512 columns of float32 do not fit in shared memory, and such a kernel has been formed."""
    narrow, wide = (
        held_blocks(HeldForm(product, 512, 512, 512, (8192,)), H200)
        for product in (ProductForm(8192, 512, 256, right_bytes=n) for n in (2, 4))
    )
    assert narrow is not None and wide is not None
    assert (narrow.num_stages, wide.num_stages) == (3, 1)
