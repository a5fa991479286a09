"""Estimates of products of rows in segments beside times measured on an H200."""

from dataclasses import replace

import pytest

from fuse_mlir.bench.measured_products import GATED, SEGMENTED
from fuse_mlir.compiler.analysis.contraction.plan import contraction_plan
from fuse_mlir.compiler.analysis.contraction.surroundings import Moved
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm, blocks_for
from fuse_mlir.compiler.cost.devices import hardware_named

H200 = hardware_named("h200")


def form(segments: int, rows: int, columns: int, summed: int) -> ProductForm:
    return ProductForm(rows, columns, summed, segments=segments)


def moved(segments: int, rows: int, columns: int, summed: int) -> Moved:
    found = 2 * (rows * summed + rows * columns + segments * columns * summed)
    return Moved(found, found, 1, found)


@pytest.mark.parametrize("sizes", SEGMENTED, ids=str)
def test_a_product_is_estimated_within_a_tenth(sizes: tuple[int, int, int, int]) -> None:
    plan, around = contraction_plan(form(*sizes), H200), moved(*sizes)
    for library, kernel in SEGMENTED[sizes]:
        assert plan.library_microseconds(around) == pytest.approx(library, rel=0.1)
        assert plan.kernel_microseconds(around) == pytest.approx(kernel, rel=0.1)


@pytest.mark.parametrize("sizes", SEGMENTED, ids=str)
def test_a_product_alone_is_the_librarys(sizes: tuple[int, int, int, int]) -> None:
    plan, around = contraction_plan(form(*sizes), H200), moved(*sizes)
    assert plan.kernel_microseconds(around) > plan.margin(around) * plan.library_microseconds(around)


@pytest.mark.parametrize("sizes", SEGMENTED, ids=str)
def test_blocks_are_those_that_were_fastest(sizes: tuple[int, int, int, int]) -> None:
    blocks = blocks_for(form(*sizes), H200)
    assert (blocks.m, blocks.n, blocks.k, blocks.num_warps) == (128, 256, 64, 8)


@pytest.mark.parametrize("sizes", GATED, ids=str)
def test_two_products_are_estimated_within_an_eighth(sizes: tuple[int, int, int, int, int]) -> None:
    tokens, *rest = sizes
    segments, rows, columns, summed = rest
    both = replace(form(*rest), sums=2, behind=12)
    found = 2 * (tokens * summed + rows * columns + 2 * segments * columns * summed)
    kernel = contraction_plan(both, H200).kernel_microseconds(Moved(found, found, 1, found))
    for _, measured in GATED[sizes]:
        assert kernel == pytest.approx(measured, rel=0.125)
