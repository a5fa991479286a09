"""Chains of products in one kernel, through tile code on the CPU: as near to float64 as eager is."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from compiling import check
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.contraction import held
from fuse_mlir.compiler.cost import devices


def softmax_chain(x: Tensor, w: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(x @ w, -1) @ v


def layers(x: Tensor, *weights: Tensor) -> Tensor:
    for w in weights[:-1]:
        x = torch.relu(x @ w)
    return x @ weights[-1]


def gated(x: Tensor, gate: Tensor, up: Tensor, down: Tensor, residual: Tensor) -> Tensor:
    return (F.silu(x @ gate) * (x @ up)) @ down + residual


def columns_first(y: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return y @ torch.relu(x @ w)


CHAINS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, int], ...]]] = {
    "softmax between": (softmax_chain, ((200, 32), (32, 48), (48, 16))),
    "equal widths": (softmax_chain, ((200, 32), (32, 32), (32, 32))),
    "layers": (layers, ((200, 32), (32, 32), (32, 32), (32, 24), (24, 8))),
    "few columns at the end": (layers, ((200, 64), (64, 64), (64, 3))),
    "two products, a gate and a third": (gated, ((130, 32), (32, 64), (32, 64), (64, 32), (130, 32))),
    "the second one from the left": (columns_first, ((40, 24), (24, 16), (16, 130))),
}


def drawn(*sizes: tuple[int, int]) -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [(torch.randn(*s, generator=draw) * s[-1] ** -0.25).to(torch.bfloat16) for s in sizes]


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_one_kernel_and_right(name: str) -> None:
    function, sizes = CHAINS[name]
    args = drawn(*sizes)
    compiled = check(function, *args, products="generated", interpret_level="tiled")
    assert [graph.launches_after for graph in compiled.graphs] == [1]
    [tiling] = [r.rule for r in compiled.graphs[0].remarks.items if r.pass_name == "choose-tiling"]
    assert tiling == "held-columns"


def summed_batch(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return torch.bmm(x.view(3, 64, 32), w.view(3, 32, 48)).sum((0, 1))


def summed_scaled_batch(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return torch.bmm(x.view(3, 64, 32) * scale, w.view(3, 32, 48)).sum((0, 1))


def summed_groups(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return (x @ w[:32]).view(48, 4, 48).sum((1, 2))


@pytest.mark.parametrize(
    "function", [summed_batch, summed_scaled_batch, summed_groups], ids=lambda f: f.__name__
)
def test_what_is_summed_along_more_than_rows_or_columns_is_another_kernel(
    function: Callable[..., Tensor],
) -> None:
    """A program holds all rows or all columns of one matrix of a batch, whatever its factors are made of."""
    draw = torch.Generator().manual_seed(0)
    args = [torch.randn(*s, generator=draw) for s in ((192, 32), (96, 48), (32,))]
    compiled = check(function, *args, products="generated", interpret_level="tiled")
    assert [graph.launches_after for graph in compiled.graphs] == [2]


def summed_twice(x: Tensor, w: Tensor) -> Tensor:
    twice = x.repeat_interleave(2, 0)
    return ((twice @ w) * twice).sum(0)


def test_a_sum_of_rows_and_of_what_no_product_has_is_held() -> None:
    draw = torch.Generator().manual_seed(0)
    args = [torch.randn(*s, generator=draw) for s in ((40, 32), (32, 32))]
    compiled = check(summed_twice, *args, products="generated", interpret_level="tiled")
    assert [graph.launches_after for graph in compiled.graphs] == [1]


@pytest.fixture
def few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three multiprocessors, each with one program that goes through blocks of 32 rows."""
    few = replace(devices.hardware_named("generic"), sm_count=3)
    monkeypatch.setattr(devices, "_model", lambda name: few)
    monkeypatch.setattr(held, "_ROWS", (32,))
    monkeypatch.setattr(held, "_WARP_ROWS", 8)
    monkeypatch.setattr(held, "_WARPS_IN_TURN", 4)


def scaled_twice(x: Tensor, w: Tensor, v: Tensor, b: Tensor, s: Tensor) -> Tensor:
    return F.silu(x @ w + b) @ v * s


IN_TURN: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, int], ...]]] = {
    "softmax between": (softmax_chain, ((200, 32), (32, 48), (48, 16))),
    "layers": (layers, ((200, 32), (32, 32), (32, 24), (24, 3))),
    "a gate and a residual": (gated, ((203, 40), (40, 64), (40, 64), (64, 32), (203, 32))),
    "a bias and scales": (scaled_twice, ((201, 32), (32, 32), (32, 32), (1, 32), (201, 1))),
}


@pytest.mark.usefixtures("few_programs")
@pytest.mark.parametrize("name", IN_TURN)
def test_programs_go_through_blocks_of_rows(name: str) -> None:
    function, sizes = IN_TURN[name]
    compiled = check(function, *drawn(*sizes), products="generated", interpret_level="tiled", cache=False)
    [graph] = compiled.graphs
    assert graph.launches_after == 1
    [tiling] = [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"]
    assert tiling == "rows-in-turn" and "programs = 3" in str(graph.module)
