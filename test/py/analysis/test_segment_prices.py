"""Estimates of products of rows in segments beside times measured on an H200."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.bench.measured_products import BYTE_SEGMENTED, GATED, SEGMENTED
from fuse_mlir.compiler.analysis.contraction.plan import contraction_plan
from fuse_mlir.compiler.analysis.contraction.product import Product
from fuse_mlir.compiler.analysis.contraction.segment_pairs import pair_costs
from fuse_mlir.compiler.analysis.contraction.surroundings import Moved, Surroundings
from fuse_mlir.compiler.analysis.contraction.tiles import ProductForm, blocks_for
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.storage import callee_name, functions_of

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


@pytest.mark.parametrize("sizes", BYTE_SEGMENTED, ids=str)
def test_floats_of_8_bits_are_multiplied_by_the_faster_one(
    sizes: tuple[int, int, int, int, bool],
) -> None:
    *rest, fast = sizes
    segments, rows, columns, summed = rest
    of_bytes = replace(form(*rest), element="f8E4M3FN", fast_accum=fast, left_bytes=1, right_bytes=1)
    found = rows * summed + 2 * rows * columns + segments * columns * summed
    plan, around = contraction_plan(of_bytes, H200), Moved(found, found, 1, found)
    for library, kernel in BYTE_SEGMENTED[sizes]:
        assert plan.library_microseconds(around) == pytest.approx(library, rel=0.18)
        assert plan.kernel_microseconds(around) == pytest.approx(kernel, rel=0.1)
        pays = plan.kernel_microseconds(around) <= plan.margin(around) * plan.library_microseconds(around)
        assert pays == (kernel < library)


def test_exact_sums_of_many_experts_take_turns_on_a_multiprocessor() -> None:
    """Blocks of 64 x 128 in 4 warps: 145 us, where 128 x 128 in 8 took 163 to 171 (H200)."""
    of_bytes = replace(form(64, 32768, 768, 2048), element="f8E4M3FN", left_bytes=1, right_bytes=1)
    blocks = blocks_for(of_bytes, H200)
    assert (blocks.m, blocks.n, blocks.k, blocks.num_warps) == (64, 128, 128, 4)


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


def pair_prices(stored: tuple[int, ...]) -> list[tuple[float, float]]:
    """Microseconds of the kernel and of the calls of two products with a gate, by product; which of their
    results the graph returns as well.
    """

    def gated(x: Tensor, rows: Tensor, w1: Tensor, w3: Tensor, offs: Tensor) -> tuple[Tensor, ...]:
        taken = x[rows]
        made = [torch._grouped_mm(taken, w, offs=offs) for w in (w1, w3)]
        return F.silu(made[0]) * made[1], *[made[n] for n in stored]

    tokens, segments, rows, columns, summed = sizes = 4096, 64, 32768, 768, 2048
    assert sizes in GATED
    with FakeTensorMode():
        x, *weights = (
            torch.empty(n, dtype=torch.bfloat16)
            for n in ((tokens, summed), *2 * [(segments, summed, columns)])
        )
        given = x, torch.empty(rows, dtype=torch.int64), *weights, torch.empty(segments, dtype=torch.int32)
        graph = make_fx(gated, decomposition_table=decomposition_table())(*given)
    module = import_graph(graph, context=make_context(), device="cpu").module
    with module.context:
        functions, products = functions_of(module), []
        for op in functions["main"].regions[0].blocks[0].operations:
            callee = functions[callee_name(op)] if op.name == "func.call" else None
            if callee is not None and "fuse.extern" in callee.attributes:
                products.append(Product.of(op.operation, callee))
        assert len(products) == 2
        found = pair_costs([p for p in products if p], Surroundings(functions, {}), H200)
    return [(cost.kernel, cost.library) for cost in found.values()]


def test_two_products_with_a_gate_are_priced_together() -> None:
    prices = pair_prices(())
    assert len(prices) == 2
    library, kernel = GATED[4096, 64, 32768, 768, 2048][0]
    for prices_of_one in prices:
        assert prices_of_one == pytest.approx((kernel, library), rel=0.125)


@pytest.mark.parametrize("stored", [(0,), (1,), (0, 1)], ids=str)
def test_results_that_are_stored_as_well_are_no_pair(stored: tuple[int, ...]) -> None:
    """As the backward pass reads them."""
    assert not pair_prices(stored)
