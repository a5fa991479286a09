"""Which loads are along overlapping windows, and blocks and prices of products with such a factor."""

from dataclasses import replace

import pytest
from tiling_cases import Case, lowered, tensor

from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm, blocks_for, microseconds
from fuse_mlir.compiler.analysis.kernel.windows import read_along_windows
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.kernel import Kernel

H200 = hardware_named("h200")
STEM = ProductForm(32, 12544, 27, 32, windows="right")


@pytest.mark.parametrize(
    ("coordinate", "found"),
    [
        ("d1 + d2", True),
        ("d1*2 + d2", True),
        ("d1*2 + d2*2 + 5", True),  # dilated, and not from the edge
        ("d1*3 + d2", False),  # beside each other
        ("d1*4 + d2", False),  # with gaps
        ("d2*4 + d1", True),  # each place reads every fourth number, and so does the fifth one
        ("d2", False),
        ("d0*8 + d2", False),  # another dim, such as that of a batch
        ("(d1 floordiv 4)*2 + d2", True),
        ("(d1 + d2) mod 8", False),  # of no known form
    ],
)
@pytest.mark.parametrize("other", ["d1*8 + d2", "d1"])
def test_loads_along_windows(coordinate, other, found):
    """Of two dims: another coordinate joins places and steps, too."""
    load = '"fuse.load"(%x, %true, %zero) {at = [AT]} : (tensor<64x64xf32>, i1, f32) -> f32'
    body = (
        f"%v = {load}\n".replace("AT", f'"{coordinate}", "{other}"')
        + "fold sum v[d2] -> s : f32\nstore s -> o[d0, d1]"
    )
    case = Case({"d0": "2", "d1": "8", "d2": "3"}, {"x": tensor(64, 64)}, {"o": tensor(2, 8)}, body)
    module = lowered(case.text())
    [function] = [f for f in module.body.operations if "fuse.kernel" in f.operation.attributes]
    assert read_along_windows(Kernel.of(function.operation), ("d1",), ("d2",)) == (found and other != "d1")


def test_places_come_first_and_steps_differ_from_the_columns():
    blocks = blocks_for(STEM, H200)
    assert (blocks.n, blocks.m, blocks.k, blocks.swap, blocks.written_out) == (128, 32, 16, True, True)
    wide = blocks_for(replace(STEM, m=64, k=147), H200)
    assert (wide.m, wide.k, wide.written_out) == (64, 32, True)
    left = blocks_for(STEM.transposed, H200)
    assert (left.m, left.n, left.swap) == (128, 32, False)
    short = blocks_for(replace(STEM, m=64), H200)
    assert (short.k, short.written_out) == (32, False)  # one step, which is no loop


@pytest.mark.parametrize("other", [{"k": 512}, {"element": "f32"}, {"sums": 2}, {"windows": ""}])
def test_other_products_have_other_blocks(other):
    assert not blocks_for(replace(STEM, **other), H200).written_out


def test_what_spills_has_other_blocks():
    assert not blocks_for(STEM, H200, spills=1).written_out


def test_windows_are_priced_by_instructions_not_by_bytes():
    """They are read from caches: in the same blocks, as many stored numbers take longer."""
    form, blocks = STEM.transposed, blocks_for(STEM.transposed, H200)
    assert microseconds(form, blocks, H200) < microseconds(replace(form, windows=""), blocks, H200)
