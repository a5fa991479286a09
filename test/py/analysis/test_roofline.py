"""The estimates of products beside times measured on an H200, and what they follow from."""

import pytest

from fuse_mlir.compiler.analysis.contraction.roofline import (
    STARTS,
    kernel_microseconds,
    library_microseconds,
)
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm, blocks_for, microseconds
from fuse_mlir.compiler.base.hardware import PRESETS

H200 = PRESETS["h200"]

#: (batch, rows, columns, summed) in bf16 -> microseconds of the library and of a kernel of tile code, medians
#: on an H200.
MEASURED = {
    (1, 1024, 4096, 14336): (149.2, 151.0),
    (128, 1024, 128, 64): (17.4, 18.8),
    (16, 512, 512, 512): (12.8, 12.4),
    (1, 256, 4096, 4096): (18.0, 19.5),
    (1, 4096, 4096, 4096): (175.0, 180.4),
    (1, 64, 4096, 4096): (14.4, 13.7),
    (1, 8192, 8192, 8192): (1385.3, 1475.7),
}


def moved(sizes: tuple[int, ...]) -> int:
    batch, rows, columns, summed = sizes
    return 2 * batch * (rows * summed + summed * columns + rows * columns)


def form(sizes: tuple[int, ...], element: str = "bf16") -> ProductForm:
    batch, rows, columns, summed = sizes
    return ProductForm(rows, columns, summed, batch, element)


@pytest.mark.parametrize("sizes", MEASURED, ids=str)
def test_estimates_are_near(sizes: tuple[int, ...]) -> None:
    """The library's within a tenth; the kernel's, whose model is there to rank tiles, within three tenths."""
    library, kernel = MEASURED[sizes]
    given = form(sizes), moved(sizes), H200
    assert library_microseconds(*given) + H200.launch == pytest.approx(library, rel=0.1)
    assert kernel_microseconds(*given) + H200.launch == pytest.approx(kernel, rel=0.3)


def compute(*sizes: int, element: str = "bf16") -> float:
    """Of the library without bytes, and without what it takes to start."""
    return library_microseconds(form(sizes, element), 0, H200) - STARTS


def test_a_block_that_is_cut_costs_as_much_as_a_whole_one() -> None:
    assert compute(1, 4096, 4096, 4096) == compute(1, 4096, 4000, 4096)
    assert compute(1, 4096, 4096, 4096) == compute(1, 4096, 4096, 4095)
    assert compute(1, 4096, 4096, 4096) < compute(1, 4096, 4096, 4097)


def test_multiprocessors_that_idle_in_the_last_wave_cost_as_much_as_others() -> None:
    """132 programs run at once."""
    assert compute(132, 128, 256, 1024) == compute(131, 128, 256, 1024) < compute(133, 128, 256, 1024)


def test_batches_and_elements() -> None:
    assert compute(1, 4096, 4096, 4096) == compute(16, 1024, 1024, 4096)
    assert compute(1, 4096, 4096, 4096, element="f8E4M3FN") == pytest.approx(compute(1, 4096, 4096, 4096) / 2)
    assert compute(0, 4096, 4096, 4096) == compute(1, 4096, 4096, 0) == 0
    assert kernel_microseconds(form((0, 4096, 4096, 4096)), 0, H200) == 0


@pytest.mark.parametrize(
    ("element", "exact", "width"), [("f64", True, 8), ("f32", True, 4), ("f32", False, 4)]
)
def test_multiplications_without_tensor_cores_take_a_slot_each(element: str, exact: bool, width: int) -> None:
    """A multiplication and the addition of its result are one instruction."""
    given = ProductForm(4096, 4096, 4096, 1, element, exact, width, width)
    issued = 4096**3 / H200.slots_per_second * 1e6
    assert (microseconds(given, blocks_for(given, H200), H200) > issued) == exact
