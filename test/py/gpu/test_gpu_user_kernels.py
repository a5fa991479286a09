"""On a CUDA device: what a user's own kernels do inside a compiled function, and flex_attention, whose score
and mask functions are sub-graphs.
"""

import pytest
import torch
from compiling import Compiled
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from user_kernels import (
    CASES,
    both_kernel,
    doubled_argument,
    doubled_by_the_fastest,
    halve_kernel,
    normed,
    softmaxed,
    triton,
)

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]


@torch.library.custom_op("gpu_user_kernels::scale_", mutates_args={"x"})
def scale_(x: torch.Tensor, by: float) -> None:
    x.mul_(by)


def test_results_of_a_kernel_have_their_names():
    """``z`` is named before ``a``: in the order of the arguments, and not in that of the names."""

    def both(x):
        z, a = torch.empty_like(x), torch.empty_like(x)
        both_kernel[(triton.cdiv(x.numel(), 64),)](x, z, a, x.numel(), 64)
        return z.sin(), a * 3

    x = torch.randn(1000, device="cuda")
    z, a = Compiled(both)(x)
    torch.testing.assert_close(z, (x + 1).sin())
    assert torch.equal(a, x * 2 * 3)


def test_an_argument_is_written():
    def overwrite(x, y):
        both_kernel[(triton.cdiv(x.numel(), 64),)](x, y, torch.empty_like(x), x.numel(), 64)
        return y * 2

    x, y = torch.randn(2, 1000, device="cuda")
    assert torch.equal(Compiled(overwrite)(x, y), (x + 1) * 2) and torch.equal(y, x + 1)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_a_kernel_of_the_module(function, dynamic):
    """Twice: the second call finds memory that the first one used."""
    exactly, *shapes = CASES[function]
    compiled = Compiled(function, dynamic=dynamic)
    for _ in range(2):
        inputs = [torch.randn(shape, device="cuda") for shape in shapes]
        exact = [x.double() for x in inputs]
        torch.testing.assert_close(
            compiled(*inputs), exactly(*exact), check_dtype=False, rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(inputs, exact, check_dtype=False, rtol=1e-6, atol=1e-6)
    assert compiled.graphs[0].externs == 0 and "fuse.user" in str(compiled.graphs[0].module)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits(dtype):
    x, w = (torch.randn(shape, device="cuda", dtype=dtype) for shape in ((7, 100), (100,)))
    found, _ = Compiled(normed)(x, w)
    expected, _ = CASES[normed][0](x.double(), w.double())
    torch.testing.assert_close(found, expected, check_dtype=False, rtol=2e-2, atol=2e-2)


def test_an_argument_at_an_odd_address_is_written():
    x = torch.randn(201, device="cuda")[1:]
    before = x.double()
    torch.testing.assert_close(Compiled(doubled_argument)(x), before * 2 + 1, check_dtype=False)
    assert torch.equal(x.double(), before * 2)


def test_cuda_graphs_hold_kernels():
    compiled = Compiled(softmaxed, {"cudagraphs": True})
    for _ in range(4):
        x = torch.randn(5, 100, device="cuda")
        torch.compiler.cudagraph_mark_step_begin()
        torch.testing.assert_close(compiled(x), x.softmax(1).exp())
    assert not compiled.graphs[0].unrecorded


def test_a_stored_program_runs(tmp_path):
    x, w = torch.randn(7, 100, device="cuda"), torch.randn(100, device="cuda")
    for cached in (False, True):
        with torch.no_grad():
            compiled = Compiled(normed, {"cache_dir": str(tmp_path)})
            torch.testing.assert_close(compiled(x, w), CASES[normed][0](x, w))
        assert compiled.graphs[0].cached == cached


@pytest.mark.parametrize("cudagraphs", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_an_autotuned_kernel(dynamic, cudagraphs, tmp_path):
    """It is measured once for each number of elements, and stored."""

    def halved(x):
        out = torch.empty_like(x)
        halve_kernel[lambda meta: (triton.cdiv(x.numel(), meta["block"]),)](x, out, x.numel())
        return out + 1

    options = {"cache_dir": str(tmp_path), "cudagraphs": cudagraphs}
    for _ in range(2):
        torch._dynamo.reset()
        compiled = Compiled(halved, options, dynamic=dynamic)
        for count in (1000, 1000, 1000, 2000):
            x = torch.randn(count, device="cuda")
            torch.compiler.cudagraph_mark_step_begin()
            assert torch.equal(compiled(x), x * 0.5 + 1)
        assert compiled.graphs[0].externs == 0 and len(list(tmp_path.rglob("*.tile"))) == 2


def test_an_autotuned_kernel_in_place():
    """Measuring runs it many times on memory that it reads and writes."""
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(Compiled(doubled_by_the_fastest)(x), (x + 1) * 2)


@pytest.mark.parametrize("cudagraphs", [False, True])
def test_a_custom_op_writes_to_an_argument(cudagraphs):
    def scaled(x, y):
        z = y + 1
        scale_(z, 2.0)
        scale_(x, 3.0)
        return z + x

    compiled = Compiled(scaled, {"cudagraphs": cudagraphs})
    for _ in range(4):
        x, y = torch.randn(2, 64, device="cuda")
        torch.compiler.cudagraph_mark_step_begin()
        expected = (y + 1) * 2 + x * 3
        kept = x * 3
        torch.testing.assert_close(compiled(x, y), expected)
        assert torch.equal(x, kept)


@pytest.mark.parametrize("training", [False, True])
def test_flex_attention(training):
    def attend(q, k, v, bias):
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128, device="cuda")
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + bias[j] * h, block_mask=mask)

    def exactly(q, k, v, bias):
        heads = torch.arange(4, device="cuda").view(4, 1, 1)
        added = bias * heads + torch.full((128, 128), -torch.inf, device="cuda").triu(1)
        return (q @ k.mT / 8 + added).softmax(-1) @ v

    q, k, v = torch.randn(3, 2, 4, 128, 64, device="cuda").requires_grad_(training)
    bias = torch.linspace(-1, 1, 128, device="cuda")
    compiled = Compiled(attend)
    found = compiled(q, k, v, bias)
    expected = exactly(*(t.double() for t in (q, k, v, bias)))
    torch.testing.assert_close(found.double(), expected, atol=3e-3, rtol=3e-3)
    if training:
        given = torch.autograd.grad(found.square().sum(), (q, k, v))
        exact = torch.autograd.grad(expected.square().sum(), (q, k, v))
        for a, e in zip(given, exact, strict=True):
            assert (a - e).norm() <= 5e-3 * e.norm()
    remarks = [r for graph in compiled.graphs for r in graph.remarks.items if r.pass_name == "flex-attention"]
    assert len(remarks) == 1 + training  # Inductor compiled it, and its gradient
