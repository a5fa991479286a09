"""Products of few rows as kernels: their numbers, against float64, at the levels that interpret tile code."""

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

GENERATED = {"products": "generated"}


def plain(x, w):
    return F.silu(F.linear(x, w))


def biased(x, w):
    return torch.addmm(w[:, 0], x, w.t(), beta=0.5, alpha=2)


def gated(x, w):
    return F.silu(x @ w.t()) * (x @ w.flip(0).contiguous().t())


def of_int8(x, w):
    return F.linear(x, (w * 10).to(torch.int8).to(x.dtype)) * w[:, 0]


def columns(x, w):
    """Few columns: the weights are the left operand."""
    return (w @ x.t()).relu()


def normed_before(x, w):
    return F.linear(x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6).to(x.dtype), w)


def summed_behind(x, w):
    return F.linear(x, w).softmax(-1)


FUNCTIONS = (plain, biased, gated, of_int8, columns, normed_before, summed_behind)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_numbers(function, rows, dtype):
    x, w = torch.randn(rows, 96, dtype=dtype), torch.randn(40, 96, dtype=dtype)
    compiled = check(function, x, w, interpret_level="planned", **GENERATED)
    assert sum(graph.externs for graph in compiled.graphs) == 0


def test_weights_of_four_bits():
    def function(x, w, scale):
        halves = torch.stack([w & 15, w >> 4], -1).view(40, -1, 16)
        return F.linear(x, ((halves.to(x.dtype) - 8) * scale[:, :, None]).view(40, -1))

    x, scale = torch.randn(2, 96), torch.rand(40, 6)
    w = torch.randint(0, 256, (40, 48), dtype=torch.uint8)
    compiled = check(function, x, w, scale, interpret_level="planned", **GENERATED)
    [graph] = compiled.graphs
    assert (graph.externs, graph.launches_after) == (0, 1)


@pytest.mark.parametrize("zero", [8, -8, 128, 0.5, 4194304, 8388608])
def test_weights_of_bytes_with_a_zero_point(zero):
    """Integers that fit are part of the conversion of bytes to float32."""

    def function(x, w, signed):
        bits = (w >> 4).float() - zero, (signed >> 4).float(), (signed >> 2 & 15).float() + zero
        return F.linear(x, w.float() - zero), signed.float() + zero, zero - signed.float(), *bits

    w = torch.arange(40 * 96).view(40, 96).to(torch.uint8)
    check(function, torch.randn(2, 96), w, w.view(torch.int8), interpret_level="planned", **GENERATED)


def test_few_rows_in_training():
    def function(x, w):
        return F.gelu(F.linear(x, w)).sum()

    x, w = (torch.randn(shape, requires_grad=True) for shape in ((2, 96), (40, 96)))
    check(function, x, w, interpret_level="planned", **GENERATED)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 8, 1), (0, 8, 4), (2, 0, 4), (4, 2, 1)])
def test_sizes_of_zero_and_one(sizes):
    m, k, n = sizes
    check(plain, torch.randn(m, k), torch.randn(n, k), interpret_level="planned", **GENERATED)


@pytest.mark.products("auto")
def test_a_module_for_the_cpu_keeps_its_calls():
    compiled = Compiled(plain)
    compiled(torch.randn(1, 96), torch.randn(40, 96))
    assert [graph.externs for graph in compiled.graphs] == [1]


def test_symbolic_sizes():
    compiled = check(plain, torch.randn(3, 96), torch.randn(40, 96), dynamic=True, **GENERATED)
    [graph] = compiled.graphs
    assert graph.externs == 0 and "fuse.sym" in str(graph.module)


def test_any_number_of_rows_up_to_a_bound():
    """Blocks are chosen for the bound; each number of rows is right."""

    def function(x, w):
        return F.linear(x, w.to(x.dtype))

    w = torch.randint(-127, 128, (4096, 128), dtype=torch.int8)
    compiled = Compiled(function, {"interpret_level": "planned", "hardware": "h200", **GENERATED}, None)
    for rows in (8, 2, 17, 64):
        x = torch.randn(rows, 128, dtype=torch.bfloat16)
        if rows == 8:
            torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        found, want = compiled(x, w), x.double() @ w.double().t()
        assert (found.double() - want).norm() <= 4e-3 * want.norm()
    [graph] = compiled.graphs
    assert graph.externs == 0 and "fuse.max = 64" in str(graph.module)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_every_byte_is_widened_exactly(dtype):
    info = torch.iinfo(dtype)
    bytes_ = torch.arange(info.min, info.max + 1, dtype=torch.int32).to(dtype)
    check(lambda x: x.to(torch.float32) + 1, bytes_, interpret_level="planned")
    check(lambda x: x.to(torch.bfloat16).float() + 1, bytes_, interpret_level="planned")


def test_what_is_decided_is_decided_by_the_rounded_product():
    """As a call of the library rounds; the kernel would have the number from before."""

    def function(x, w):
        return ((x @ w.t()).float() * 16).floor().int()

    x, w = torch.randn(1, 64, dtype=torch.bfloat16), torch.randn(4000, 64, dtype=torch.bfloat16)
    found = Compiled(function, {"interpret_level": "planned", **GENERATED})(x, w)
    product = (x.double() @ w.double().t()).to(torch.bfloat16)
    assert torch.equal(found, (product.float() * 16).floor().int())


def test_what_is_added_is_not_read_where_beta_is_zero():
    def function(c, x, w):
        return torch.addmm(c, x, w.t(), beta=0)

    x, w = torch.randn(2, 96), torch.randn(40, 96)
    found = Compiled(function, {"interpret_level": "planned", **GENERATED})(
        torch.full((40,), torch.nan), x, w
    )
    torch.testing.assert_close(found.double(), x.double() @ w.double().t(), rtol=1e-5, atol=1e-5)


SHORT = {
    "points": (lambda x, w: F.linear(x, w, w[:, 0]), (17, 3), (5, 3)),
    "matrices": (lambda x, w: (x @ w).relu() - x, (6, 4, 4), (6, 4, 4)),
    "vectors": (lambda x, w: (x @ w[..., None]).squeeze(-1), (6, 5, 2), (6, 2)),
    "outer": (lambda x, w: x @ w, (7, 1), (1, 9)),
    "colours": (lambda x, w: torch.einsum("oc,bchw->bohw", w, x.exp()), (2, 3, 4, 5), (3, 3)),
    "pixels": (lambda x, w: F.relu(F.conv2d(x, w[..., None, None])), (2, 4, 5, 3), (6, 4)),
    "grown": (lambda x, w: torch.addmm(x @ x.t(), x, w, beta=0.5), (8, 3), (3, 8)),
    "nothing": (lambda x, w: x @ w, (0, 3), (3, 4)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("name", SHORT)
def test_short_sums_are_pointwise_work(name, dtype):
    function, *shapes = SHORT[name]
    if not dtype.is_floating_point and name in ("colours", "pixels", "points", "grown"):
        pytest.skip("torch has these of floats")
    x, w = (torch.randn(shape).mul(3).to(dtype) for shape in shapes)
    compiled = check(function, x, w, interpret_level="planned", **GENERATED)
    assert sum(graph.externs for graph in compiled.graphs) == 0
    assert sum(graph.launches_after for graph in compiled.graphs) <= 1


def test_infinity_times_zero_is_nan_in_a_short_sum():
    x, w = torch.tensor([[1.0, float("inf")], [2.0, 3.0]]), torch.tensor([[1.0, 2.0], [0.0, 4.0]])
    found = Compiled(torch.matmul, GENERATED)(x, w)
    assert torch.equal(found.isnan(), (x @ w).isnan())
