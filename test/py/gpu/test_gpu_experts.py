"""Layers of experts on a CUDA device, with products that are kernels, against float64."""

import pytest
import torch
from compiling import Compiled, check
from expert_layers import drawn, gated, grouped, joined, layer, scaled, scaled_exactly, summed

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

UP = ("x", "rows", "w1", "w3", "offs")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("experts", "top"), [(8, 2), (64, 8), (5, 1)])
def test_a_layer_of_experts(experts: int, top: int, seed: int) -> None:
    given = drawn(500, top, experts, 256, 384, seed=seed, device="cuda")
    compiled = check(layer, *given.values(), products="generated")
    assert compiled.graphs[0].externs == 0


@pytest.mark.parametrize("products", ["generated", "auto"])
def test_parts_of_a_layer(products: str) -> None:
    given = drawn(4096, 2, 8, 1024, 512, seed=1, device="cuda")
    check(gated, *[given[name] for name in UP], products=products)
    h = gated(*[given[name] for name in UP])
    check(joined, h, *[given[name] for name in ("w2", "offs", "scale", "inverse")], products=products)


@pytest.mark.parametrize("rows", [2, 3, 17, 64, 1000])
def test_few_rows_for_many_experts(rows: int) -> None:
    given = drawn(rows, 1, 64, 512, 256, seed=rows, device="cuda")
    check(grouped, given["x"], given["w1"], given["offs"], products="generated")


def test_other_counts_need_no_other_program() -> None:
    given = drawn(1000, 2, 8, 256, 384, seed=8, device="cuda")
    compiled = check(layer, *given.values(), products="generated")
    for seed in range(9, 16):
        other = drawn(1000, 2, 8, 256, 384, seed=seed, device="cuda")
        torch.testing.assert_close(compiled(*other.values()), layer(*other.values()), rtol=0.05, atol=0.05)
    assert len(compiled.graphs) == 1


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_segments(seed: int) -> None:
    given = drawn(3000, 1, 8, 256, 384, seed=seed, device="cuda")
    g = torch.randn(3000, 384, device="cuda").to(torch.bfloat16)
    check(summed, given["x"], g, given["offs"], products="generated")


def test_two_matrices_of_many_experts_are_a_kernel_by_default() -> None:
    given = drawn(4096, 8, 64, 1024, 512, seed=2, device="cuda")
    compiled = check(gated, *[given[name] for name in UP])
    assert compiled.graphs[0].externs == 0


def test_two_matrices_of_few_large_experts_are_calls_by_default() -> None:
    given = drawn(2048, 2, 8, 4096, 7168, seed=2, device="cuda")
    assert check(gated, *[given[name] for name in UP]).graphs[0].externs == 2


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_floats_of_8_bits(seed: int, fast: bool) -> None:
    """No further from float64 than twice the library's answer, but for the rounding of a result."""
    given = drawn(1000, 1, 8, 256, 384, seed=seed, device="cuda")
    draw = torch.Generator("cuda").manual_seed(seed)
    x = given["x"].to(torch.float8_e4m3fn)
    w = given["w1"].mT.contiguous().to(torch.float8_e4m3fn)
    scales = [torch.rand(shape, generator=draw, device="cuda") + 0.5 for shape in ((1000,), (8, 384))]
    want = scaled_exactly(x, w, *scales, given["offs"])
    compiled = Compiled(scaled, {"products": "generated"})
    got, eager = (run(x, w, *scales, given["offs"], fast).double() for run in (compiled, scaled))
    assert compiled.graphs[0].externs == 0
    error, others = ((y - want).abs().max() for y in (got, eager))
    assert error <= 2 * others + 2**-8 * want.abs().max()


@pytest.mark.parametrize("fast", [False, True])
def test_floats_of_8_bits_of_many_experts_are_a_kernel_by_default(fast: bool) -> None:
    """Their rows are looked up as bytes."""
    given = drawn(4096, 8, 64, 1024, 768, seed=3, device="cuda")
    x = given["x"].to(torch.float8_e4m3fn)
    w = given["w1"].mT.contiguous().to(torch.float8_e4m3fn)
    scales = torch.rand(4096, device="cuda") + 0.5, torch.rand(64, 768, device="cuda") + 0.5

    def taken(x: torch.Tensor, w: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        rows = x.view(torch.uint8)[given["rows"]].view(torch.float8_e4m3fn)
        return scaled(rows, w, a[given["rows"]], b, given["offs"], fast)

    compiled = Compiled(taken)
    got, eager = (run(x, w, *scales).double() for run in (compiled, taken))
    rows, of_rows = x.view(torch.uint8)[given["rows"]].view(torch.float8_e4m3fn), scales[0][given["rows"]]
    want = scaled_exactly(rows, w, of_rows, scales[1], given["offs"])
    assert compiled.graphs[0].externs == 0
    error, others = ((y - want).abs().max() for y in (got, eager))
    assert error <= 2 * others + 2**-8 * want.abs().max()


@pytest.mark.parametrize(("rows", "count"), [(32768, 64), (8192, 8), (5000, 3)])
def test_the_places_of_tokens_at_experts(rows: int, count: int) -> None:
    def places(taken: torch.Tensor) -> torch.Tensor:
        each = torch.nn.functional.one_hot(taken, count)
        return ((each.cumsum(0) - 1) * each).sum(-1)

    taken = torch.randint(0, count, (rows,), device="cuda")
    assert torch.equal(Compiled(places)(taken), places(taken))


@pytest.mark.parametrize("shape", [(1 << 20,), (4, 1 << 17), (1 << 15, 40)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_long_running_sums_are_no_further_from_float64_than_eager(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    x, dim = torch.rand(shape, device="cuda").to(dtype), len(shape) - 1 if shape[0] == 4 else 0
    exact = x.double().cumsum(dim)
    error, others = (
        (f(x).double() - exact).norm() for f in (Compiled(lambda x: x.cumsum(dim)), lambda x: x.cumsum(dim))
    )
    assert error <= 1.05 * others + 1e-7 * exact.norm()
