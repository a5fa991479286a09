"""Estimates of small products beside what was measured on an H200."""

import pytest

from fuse_mlir.compiler.analysis.contraction.plan import contraction_plan
from fuse_mlir.compiler.analysis.contraction.small import is_one_by_one, is_small
from fuse_mlir.compiler.analysis.contraction.surroundings import Moved
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.layout import ELEMENT_BYTES

#: Batch, m, n, k, type, and whether the right factor or the matrix is turned; microseconds of the kernel and
#: of the library.  Cold L2 cache, medians.
MEASURED = {
    (262144, 1, 1, 64, "f32"): (33.5, 346.0),
    (262144, 1, 1, 64, "bf16"): (18.6, 311.1),
    (262144, 1, 1, 16, "bf16"): (7.9, 175.6),
    (262144, 1, 1, 8, "f32"): (7.7, 228.8),
    (8192, 1, 1, 1000, "f32"): (18.5, 52.8),
    (2048, 1, 1, 4096, "f32"): (18.8, 44.0),
    (262144, 5, 5, 5, "f32"): (24.0, 741.1),
    (262144, 8, 8, 8, "f32"): (48.3, 509.4),
    (262144, 8, 8, 8, "bf16"): (27.6, 838.0),
    (262144, 8, 8, 8, "f32", True): (63.9, 478.3),
    (262144, 8, 8, 8, "bf16", True): (53.5, 833.8),
    (262144, 12, 12, 12, "f32"): (139.2, 653.5),
    (262144, 8, 4, 16, "f32"): (90.8, 1084.7),
    (65536, 16, 16, 16, "f32"): (75.5, 170.0),
    (65536, 16, 16, 16, "bf16"): (42.4, 204.9),
    (65536, 16, 16, 16, "f16"): (42.1, 202.7),
    (65536, 16, 16, 16, "f32", True): (114.7, 156.9),
    (65536, 16, 16, 16, "bf16", True): (43.4, 205.2),
    (16384, 32, 32, 32, "f32"): (62.0, 74.7),
    (16384, 32, 32, 32, "bf16"): (24.6, 56.1),
    (4096, 16, 16, 16, "f32"): (8.6, 14.9),
    (4096, 8, 8, 8, "bf16"): (4.7, 18.1),
    (2048, 8, 8, 8, "f32"): (4.7, 8.7),
    (1, 1000000, 16, 16, "f32"): (55.6, 64.2),
    (1, 1000000, 16, 16, "f32", True): (176.8, 64.2),
    (1, 1000000, 16, 8, "f32", True): (64.6, 49.1),  # without the ReLU of 33.3 us with which it was measured
    (1, 1000000, 8, 8, "bf16"): (13.1, 44.8),
    (1, 1000000, 16, 16, "bf16"): (18.3, 36.0),
    (1, 20000, 8, 8, "f32"): (4.0, 14.5),
    (1, 1000000, 8, 8, "f32", True): (33.1, 48.1),
    (1, 1000000, 3, 8, "f32"): (41.7, 47.0),
    (1, 1000000, 4, 12, "f32"): (20.4, 60.6),
    (1, 1000000, 4, 12, "bf16"): (16.5, 91.1),
    (16384, 64, 1, 64, "f32"): (66.9, 295.3),
    (16384, 50, 1, 50, "f32"): (48.9, 91.5),
    (65536, 32, 1, 32, "f32"): (68.6, 160.5),
    (262144, 8, 1, 8, "f32"): (21.7, 230.9),
    (262144, 8, 1, 8, "bf16"): (12.6, 860.1),
    (262144, 16, 1, 16, "bf16"): (36.9, 797.4),
    (65536, 32, 1, 32, "bf16"): (35.8, 202.4),
    (64, 1000, 1, 1000, "f32"): (60.6, 79.7),
    (8192, 128, 1, 128, "f32"): (127.3, 286.0),
    (4096, 64, 1, 64, "bf16"): (11.4, 17.8),
    (16384, 64, 1, 64, "bf16"): (34.8, 55.1),
    (16384, 64, 1, 64, "f16"): (34.7, 55.1),
    (8192, 128, 1, 128, "bf16"): (64.8, 72.9),
    (2048, 256, 1, 256, "bf16"): (63.8, 66.7),
    (512, 2048, 1, 128, "bf16"): (65.0, 67.7),
    (1024, 1, 2048, 64, "bf16"): (66.0, 73.8),
    (512, 1, 2048, 128, "bf16"): (65.0, 67.9),
    (16384, 1, 64, 64, "bf16", True): (35.5, 55.4),
    (16384, 1, 64, 64, "f32", True): (66.6, 113.7),
    (65536, 1, 32, 32, "bf16", True): (35.7, 201.7),
    (262144, 1, 16, 16, "f32", True): (82.7, 393.9),
    (4096, 1, 128, 128, "bf16", True): (35.6, 39.6),
    (256, 1, 128, 4096, "bf16", True): (67.2, 65.4),
}
#: Of them, those that the library keeps: it is faster, or so little slower that no estimate tells.
KEPT = {
    (1, 1000000, 16, 16, "f32", True),
    (1, 1000000, 16, 8, "f32", True),
    (1, 1000000, 3, 8, "f32"),
    (256, 1, 128, 4096, "bf16", True),
}


@pytest.mark.parametrize("case", MEASURED, ids=str)
def test_kernels_are_taken_where_they_win(case):
    batch, m, n, k, element, *turned = case
    moved = batch * (m * k + m * n) * ELEMENT_BYTES[element] + batch * k * n * ELEMENT_BYTES[element]
    plan = contraction_plan(ProductForm(m, n, k, batch, element, turned=bool(turned)), hardware_named("h200"))
    around = Moved(moved, moved, 1, moved)
    kernel, library = plan.kernel_microseconds(around), plan.library_microseconds(around)
    assert plan.small
    assert (kernel > plan.margin(around) * library) == (case in KEPT)
    measured_kernel, measured_library = MEASURED[case]
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
        (ProductForm(16, 16, 16, 64, "bf16"), True, True),
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
