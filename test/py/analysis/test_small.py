"""Estimates of small products beside what was measured on an H200."""

import pytest

from fuse_mlir.bench.measured_products import SMALL
from fuse_mlir.compiler.analysis.contraction.plan import contraction_plan
from fuse_mlir.compiler.analysis.contraction.small import is_one_by_one, is_small
from fuse_mlir.compiler.analysis.contraction.surroundings import Moved
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.layout import ELEMENT_BYTES

#: Of them, those that the library keeps: it is faster, or so little slower that no estimate tells.
KEPT = {
    (1, 1000000, 16, 16, "f32", True),
    (1, 1000000, 16, 8, "f32", True),
    (1, 1000000, 3, 8, "f32"),
    (256, 1, 128, 4096, "bf16", True),
}


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_kernels_are_taken_where_they_win(case):
    batch, m, n, k, element, *turned = case
    moved = batch * (m * k + m * n) * ELEMENT_BYTES[element] + batch * k * n * ELEMENT_BYTES[element]
    plan = contraction_plan(ProductForm(m, n, k, batch, element, turned=bool(turned)), hardware_named("h200"))
    around = Moved(moved, moved, 1, moved)
    kernel, library = plan.kernel_microseconds(around), plan.library_microseconds(around)
    assert plan.small
    assert (kernel > plan.margin(around) * library) == (case in KEPT)
    measured_kernel, measured_library = SMALL[case]
    assert case in KEPT or measured_kernel < measured_library
    assert kernel > 0.65 * measured_kernel and library < 1.2 * measured_library  # cautious


@pytest.mark.parametrize("turned", [True, False])
def test_rows_that_are_summed_start_at_multiples_of_16_bytes(turned):
    """Rows of 51 elements do not; 51 rows of 128 elements do."""
    form = ProductForm(1, 128, 51, 16384, "bf16", turned=turned)
    moved = 2 * form.batch * (form.k + form.n + form.k * form.n)
    plan, around = contraction_plan(form, hardware_named("h200")), Moved(moved, moved, 1, moved)
    taken = plan.kernel_microseconds(around) <= plan.margin(around) * plan.library_microseconds(around)
    assert taken == turned


@pytest.mark.parametrize(
    ("form", "small", "single"),
    [
        (ProductForm(8, 8, 8, 64, "bf16"), True, True),
        (ProductForm(100, 8, 8, 64, "bf16"), False, False),  # blocks of rows for tensor cores
        (ProductForm(100, 4, 8, 64, "bf16"), True, True),
        (ProductForm(100, 8, 8, 1, "bf16"), True, False),
        (ProductForm(100, 8, 8, 1, "f32"), True, True),
        (ProductForm(100, 17, 8, 1, "f32"), False, False),
        (ProductForm(100, 8, 17, 1, "f32"), False, False),
        (ProductForm(100, 8, 4, 1, "f32"), False, False),  # pointwise without an estimate
        (ProductForm(100, 1, 8, 1, "f32"), False, False),
        (ProductForm(100, 1, 8, 2, "f32"), True, False),
        (ProductForm(100, 8, 8, 1, "f32", images=True), False, True),
        (ProductForm(16, 16, 16, 64, "bf16"), True, False),
        (ProductForm(16, 16, 16, 3, "bf16"), True, True),  # fewer than a program takes
        (ProductForm(16, 16, 16, 64, "f32"), True, True),
        (ProductForm(16, 16, 16, 64, "bf16", turned=True), True, False),
        (ProductForm(16, 16, 16, 64, "f32", turned=True), True, False),
        (ProductForm(16, 16, 16, 1, "f32", turned=True), True, True),  # no batch
        (ProductForm(16, 16, 12, 64, "f32", turned=True), True, True),
        (ProductForm(16, 32, 32, 64, "bf16"), True, False),
        (ProductForm(32, 32, 32, 64, "f32"), True, False),
        (ProductForm(32, 32, 32, 64, "f32", exact=False), False, False),  # on tensor cores, not measured
        (ProductForm(32, 32, 24, 64, "bf16"), False, False),
        (ProductForm(32, 32, 32, 1, "bf16"), False, False),
    ],
)
def test_which_products_are_small(form, small, single):
    assert (is_small(form), is_one_by_one(form)) == (small, single)
