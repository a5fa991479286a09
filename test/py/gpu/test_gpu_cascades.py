"""Attention spelled out as one kernel on a CUDA device: the interpreter does not show what tensor cores and
copies in flight do.
"""

import math
from collections.abc import Callable

import pytest
import torch
from attention_forms import decayed
from chunk_forms import along_columns, along_rows, backwards, beside_states, turned, with_states
from compiling import Compiled, check
from draws import drawn
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

import fuse_mlir

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("fresh_dynamo")]

FORCED = {"products": "generated", "attention": False}


def on_gpu(*sizes: int, of: int = 0) -> Tensor:
    return drawn(*sizes, of=of).cuda()


def scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5


def positions(s: Tensor) -> tuple[Tensor, Tensor]:
    return torch.arange(s.shape[-2], device=s.device)[:, None], torch.arange(s.shape[-1], device=s.device)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return (s + torch.full_like(s[0, 0], -math.inf).triu(1)).softmax(-1) @ v


def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x[:, :2].repeat_interleave(2, 1) for x in (k, v))
    s = 20 * torch.tanh(scores(q, k) / 20)
    i, j = positions(s)
    return torch.where((i >= j) & (i - j < 200), s, -math.inf).softmax(-1) @ v


def sigmoid(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.sigmoid(scores(q, k) - 4) @ v


def bias(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return (s + s.new_ones(s.shape[-2:]).cumsum(-1) / 64).softmax(-1) @ v


def sinks(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = positions(s)
    s = torch.where((i >= j) & (i - j < 128), s, -math.inf)
    beside = q[:, :, :1, :1].expand(*s.shape[:3], 1)
    return torch.cat([s, beside], -1).softmax(-1)[..., :-1] @ v


@pytest.mark.parametrize("function", [causal, window, sigmoid, bias, sinks], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("length", "heads"), [(1024, (128, 128)), (1000, (64, 128)), (777, (96, 40))])
def test_keys_go_by_in_blocks(function: Callable[..., Tensor], length: int, heads: tuple[int, int]) -> None:
    summed, made = heads
    q, k, v = (on_gpu(2, 4, length, n, of=of) for of, n in enumerate((summed, summed, made)))
    [graph] = check(function, q, k, v, **FORCED).graphs
    assert "columns-in-a-loop" in {r.rule for r in graph.remarks.items}


def slopes(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = positions(s)
    s = s - torch.arange(1, 5, device=s.device)[:, None, None] * (i - j) / 64
    return torch.where(i >= j, s, -math.inf).softmax(-1).to(v.dtype) @ v


@pytest.mark.parametrize("function", [window, sigmoid, sinks, slopes], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("length", "heads", "kernels"),
    [(1024, (128, 128), 2), (1000, (64, 64), 2), (777, (96, 40), 3), (512, (256, 256), 3)],
)
def test_gradients(
    function: Callable[..., Tensor], length: int, heads: tuple[int, int], kernels: int
) -> None:
    """As near to float64 as eager, and equal bits from equal inputs.  One kernel computes the gradients of
    keys and of values, where these are as wide and registers hold a block of both.
    """
    summed, made = heads
    args = [on_gpu(2, 4, length, n, of=of).requires_grad_() for of, n in enumerate((summed, summed, made))]

    def gradients(f: Callable[..., Tensor], dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
        some = [x.detach().to(dtype).requires_grad_() for x in args]
        return [*torch.autograd.grad(f(*some), some, on_gpu(2, 4, length, made, of=3).to(dtype))]

    compiled = Compiled(function, FORCED)
    found, again = gradients(compiled), gradients(compiled)
    rules = [r.rule for r in compiled.graphs[1].remarks.items if r.pass_name == "derive-cascades"]
    assert rules == ["cascade"] * 3
    tiles = [r.rule for r in compiled.graphs[1].remarks.items if r.pass_name == "choose-tiling"]
    assert tiles.count("columns-in-a-loop") == kernels
    exact, eager = gradients(function, torch.float64), gradients(function)
    for mine, same, best, other in zip(found, again, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
        assert torch.equal(mine, same)


def test_gradients_where_each_row_finds_itself() -> None:
    """A row's product of result and gradient is nearly that of its largest score, and what is left of their
    difference is of the rounding of the result.  SDPA saves the same number of 16 bits.
    """

    def behind(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k)
        i, j = positions(s)
        return torch.where(i >= j, s, -math.inf).softmax(-1) @ v

    def flash(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    args = [on_gpu(2, 4, 1024, 128).requires_grad_() for _ in range(3)]

    def gradients(f: Callable[..., Tensor], dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
        some = [x.detach().to(dtype).requires_grad_() for x in args]
        return [*torch.autograd.grad(f(*some), some, on_gpu(2, 4, 1024, 128).to(dtype))]

    compiled = Compiled(behind, FORCED)
    found = gradients(compiled), gradients(flash), gradients(behind, torch.float64)
    rules = [r.rule for r in compiled.graphs[1].remarks.items if r.pass_name == "derive-cascades"]
    assert rules == ["cascade"] * 3
    for mine, other, best in zip(*found, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()


def capped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (30 * torch.tanh(scores(q, k) / 30)).softmax(-1) @ v


@pytest.mark.parametrize("function", [capped, sigmoid], ids=lambda f: f.__name__)
def test_a_pair_of_products_is_one_kernel_where_it_pays(function: Callable[..., Tensor]) -> None:
    """No option asks for it: the estimate of the pair beside those of the calls does."""
    q, k, v = (on_gpu(2, 8, 1536, 128, of=n) for n in range(3))
    [graph] = check(function, q, k, v).graphs
    assert ("cascade", "derive-cascades") in {(r.rule, r.pass_name) for r in graph.remarks.items}
    assert graph.externs == 0


def shared_heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return scores(q, k).softmax(-1) @ v


def cache_in_bytes(q: Tensor, k: Tensor, v: Tensor, scales: Tensor) -> Tensor:
    return shared_heads(q, *((30 * x).to(torch.int8).to(q.dtype) * scales for x in (k, v)))


@pytest.mark.parametrize("queries", [1, 5])
def test_decoding_reads_the_cache_as_it_lies(queries: int) -> None:
    """No option asks for it; heads that share keys are rows of one tile, and keys are split."""
    q, k, v = on_gpu(2, 16, queries, 128), on_gpu(2, 4, 8192, 128, of=1), on_gpu(2, 4, 8192, 128, of=2)
    for function, args in (
        (shared_heads, (q, k, v)),
        (cache_in_bytes, (q, k, v, on_gpu(8192, 1).abs() / 30)),
    ):
        [graph] = check(function, *args).graphs
        rules = {(r.pass_name, r.rule) for r in graph.remarks.items}
        assert {("derive-cascades", "cascade"), ("split-reductions", "split")} <= rules
        assert graph.externs == 0


def of_lengths(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    seen = torch.arange(k.shape[2], device=k.device) < lengths[:, None]
    return scores(q, k).masked_fill(~seen[:, None, None], -math.inf).softmax(-1) @ v


def of_pages(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, table: Tensor) -> Tensor:
    return of_lengths(q, *(x[table].flatten(1, 2).transpose(1, 2) for x in (k, v)), lengths)


@pytest.mark.parametrize("lengths", [(1, 8192), (8191, 70), (0, 4000)])
def test_decoding_reads_as_many_keys_as_there_are(lengths: tuple[int, int]) -> None:
    """Of sequences that lie together, and of pages: pages behind the end may hold anything."""
    q, n = on_gpu(2, 16, 1, 128), torch.tensor(lengths, device="cuda")
    k, v = on_gpu(2, 4, 8192, 128, of=1), on_gpu(2, 4, 8192, 64, of=2)
    table = torch.randperm(256, device="cuda").view(2, 128)
    pages = [
        x.transpose(1, 2).unflatten(1, (128, 64)).flatten(0, 1)[table.flatten().argsort()] for x in (k, v)
    ]
    for row, length in enumerate(lengths):
        pages[1][table[row, -(-length // 64) :]] = math.nan
    exact = of_lengths(*(x.double() for x in (q, k, v)), n)
    for function, args in ((of_lengths, (q, k, v, n)), (of_pages, (q, *pages, n, table))):
        graphs = []
        options = {"on_compiled": graphs.append}
        found = torch.compile(function, backend=fuse_mlir.backend, dynamic=False, options=options)(*args)
        torch.testing.assert_close(found.double(), exact, equal_nan=True, rtol=0.02, atol=0.002)
        assert "cascade" in {r.rule for r in graphs[0].remarks.items if r.pass_name == "derive-cascades"}
        assert graphs[0].externs == 0


def test_a_softmax_of_symbolic_lengths() -> None:
    q, k, v = (on_gpu(2, 8, 1536, 128, of=n) for n in range(3))
    for tensor in (q, k, v):
        torch._dynamo.mark_dynamic(tensor, 2)
    compiled = Compiled(capped, dynamic=None)
    for length in (1536, 1000, 77):
        args = [x if length == 1536 else x[:, :, :length].contiguous() for x in (q, k, v)]
        exact = capped(*(x.double() for x in args))
        assert (compiled(*args).double() - exact).norm() <= 1.05 * (capped(*args).double() - exact).norm()
    [graph] = compiled.graphs
    assert graph.externs == 0


@pytest.mark.parametrize("sizes", [(64, 64, 128, 64), (128, 128, 64, 64), (40, 50, 24, 33)], ids=str)
def test_chunks_that_a_block_holds(sizes: tuple[int, int, int, int]) -> None:
    """Scores of chunks times decays, as state spaces have them."""
    rows, columns, summed, made = sizes
    args = [
        on_gpu(300, rows, summed),
        on_gpu(300, columns, summed, of=1),
        on_gpu(300, rows, columns, of=2),
        on_gpu(300, columns, made, of=3),
    ]
    [graph] = check(decayed, *args, **FORCED).graphs
    assert (graph.launches_after, graph.externs) == (1, 0)


@pytest.mark.parametrize("rows", [64, 40, 33])
@pytest.mark.parametrize(
    "function", [along_rows, along_columns, backwards, turned, with_states, beside_states]
)
def test_scans_and_products_beside_chunks(function: Callable[..., Tensor], rows: int) -> None:
    """A block has all of a chunk, along which decays are scanned, and the states in front of it."""
    args = [
        on_gpu(300, rows, 128),
        on_gpu(300, rows, 128, of=1),
        -on_gpu(300, rows, of=2).float().abs() / 4,
        on_gpu(300, rows, 64, of=3),
        on_gpu(300, 64, 128, of=4),
    ]
    args = args if function in (with_states, beside_states) else args[:4]
    [graph] = check(function, *args, **FORCED).graphs
    tilings = [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"]
    assert "columns-in-a-loop" in tilings and "blocks-of-products" not in tilings
