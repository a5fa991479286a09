"""What stands in front of a product and behind it: which of it is one kernel with the product."""

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

M, K, N = 32, 64, 48


DRAWN = torch.Generator().manual_seed(0)


def of(*shape):
    return torch.randn(shape, dtype=torch.bfloat16, generator=DRAWN)


def whole(*shape, to=100, dtype=torch.int64):
    return torch.randint(0, to, shape, dtype=dtype, generator=DRAWN)


def rms(x):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5).to(x.dtype)


def by_row(y):
    scale = y.abs().amax(1, keepdim=True) / 127
    return (y / scale).round().to(torch.int8), scale


def rotated(q, c, s):
    return q * c + torch.cat([-q[..., 8:], q[..., :8]], -1) * s


def layers(x, *weights):
    for w in weights[:-1]:
        x = F.relu(x @ w)
    return x @ weights[-1]


def branches(x, *weights):
    return sum(F.relu(x @ w) @ v for w, v in zip(weights[::2], weights[1::2], strict=True))


def gated(g, u):
    return F.silu(g) * u


def einsum_rows(q, r):
    return torch.einsum("bid,ijd->bij", q, r)


X, W = of(M, K), of(K, N)
RELATIVE = of(16, 24, K), of(16, 24, K), of(24, 24, K)
#: By name: a function, its arguments, and how many kernels it is.
CASES = {
    "weights of 8 bits in groups": (
        lambda x, q, s: x @ (q.view(4, 16, N).to(x.dtype) * s[:, None]).view(K, N),
        (X, whole(K, N, to=9, dtype=torch.int8), of(4, N)),
        1,
    ),
    "a row scale in front": (lambda x, s, w: (x * s) @ w, (X, of(M, 1), W), 1),
    "rows that are gathered": (lambda x, i, w: F.embedding(i, x) @ w, (of(100, K), whole(M), W), 1),
    "summed parts": (lambda x, y, w: torch.cat([x, y], 1) @ w, (of(M, 32), of(M, 32), W), 1),
    "GELU of a bias": (lambda x, w, b: F.gelu(x @ w + b), (X, W, of(N)), 1),
    "a transposed residual": (lambda x, w, r: x @ w + r.t(), (X, W, of(N, M)), 1),
    "a residual of another rank": (lambda x, w, r: (x @ w).view(2, 16, N) + r, (X, W, of(2, 16, N)), 1),
    "residuals in strided views": (
        lambda x, w, r: x @ w + r[:, ::2] * r[:1, N:] + r.flip(0)[:, 1 : N + 1],
        (X, W, of(M, 2 * N)),
        1,
    ),
    "row and column scales": (lambda x, w, s, c: (x @ w) * s * c, (X, W, of(M, 1), of(N)), 1),
    "heads": (lambda x, w: (x @ w).view(2, 16, 3, 16).permute(0, 2, 1, 3).contiguous(), (X, W), 1),
    "two products and a gate": (lambda x, w, v: gated(x @ w, x @ v), (X, W, of(K, N)), 1),
    "softmax": (lambda x, w: (x @ w).softmax(-1), (X, W), 1),
    "softmax of batches": (lambda x, w: (x.view(2, 16, K) @ w.view(2, K, 24)).softmax(-1), (X, W), 1),
    "a norm of a residual": (lambda x, w, r: F.layer_norm(x @ w + r, (N,)), (X, W, of(M, N)), 1),
    "a norm of a gate": (lambda x, w, v: rms(gated(x @ w, x @ v)), (X, W, of(K, N)), 1),
    "sums of columns": (lambda x, w: (x @ w).float().sum(0), (X, W), 1),
    "quantisation by row": (lambda x, w: by_row((x @ w).float()), (X, W), 1),
    # Each block of columns would compute the statistics of its rows again.
    "a norm in front": (lambda x, w: rms(x) @ w, (X, W), 2),
    "softmax of weights in front": (lambda x, w: x @ w.softmax(1), (X, W), 2),
    # A program holds at most 512 columns at once, in blocks of powers of two: 128 for each of these, so those
    # of two layers, and not those of five branches.
    "five layers": (layers, (of(48, 72), *(of(72, 72) * 72**-0.5 for _ in range(5))), 1),
    "five branches": (branches, (X, *(of(*s) * 72**-0.5 for _ in range(5) for s in ((K, 72), (72, 88)))), 3),
    "two softmaxes": (
        lambda x, w, v: (x @ w).softmax(-1).amax(-1) + (x @ v).softmax(-1).amax(-1),
        (X, of(K, 272), of(K, 200)),
        2,
    ),
    "a product of a product": (lambda x, w, v: (x @ w).relu() @ v, (X, W, of(N, 32)), 1),
    "a product of a wide product": (lambda x, w, v: (x @ w).relu() @ v, (X, of(K, 192), of(192, 32)), 2),
    "running sums": (lambda x, w: (x @ w).cumsum(1), (X, W), 2),
    "the largest of four": (lambda x, w: (x @ w).argmax(1), (X, of(K, 4)), 2),
    "sums that are multiplied": (lambda t, w: t.float().sum(2).to(t.dtype) @ w, (of(M, K, N), W), 2),
    "a column beside softmax": (lambda x, w, v: (x @ w).softmax(-1) * (x @ v), (X, W, of(K, 1)), 2),
    # A program has a block of rows of both products: those of one may not be the batch of the other.
    "a batch for each row": (lambda q, k, r: q @ k.mT + einsum_rows(q, r), RELATIVE, 2),
    "softmax of a batch for each row": (
        lambda q, k, r: (q @ k.mT + einsum_rows(q, r)).softmax(-1),
        RELATIVE,
        2,
    ),
    "rows of one product, columns of another": (
        lambda x, w, y, v: x @ w.t() + torch.einsum("ak,bjk->abj", y, v),
        (of(16, 24, K), of(N, K), of(16, K), of(24, N, K)),
        1,
    ),
    # One product sums what are columns of the other one, beside what that sums, and reads nothing of it.
    "a product of each head and of all heads": (
        lambda x, y, w: (torch.einsum("bk,khn->bhn", x, w), torch.einsum("bhk,khn->bn", y, w)),
        (X, of(M, 16, K), of(K, 16, N)),
        2,
    ),
    # A program has one block of columns, and the reader wants two that lie apart.
    "a gate of two halves": (lambda x, w: gated(*(x @ w).chunk(2, -1)), (X, of(K, 2 * N)), 2),
    "rotary embedding": (
        lambda x, w, c, s: rotated((x @ w).view(M, 3, 16), c, s),
        (X, W, of(M, 1, 16), of(M, 1, 16)),
        2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_and_numbers(name):
    function, args, launches = CASES[name]
    compiled = Compiled(function, {"products": "generated", "interpret_level": "planned"})
    given = [compiled(*args), function(*args)]
    exact = function(*(a.double() if a.is_floating_point() else a for a in args))
    [graph] = compiled.graphs
    assert (graph.externs, graph.launches_after) == (0, launches)
    for got, eager, wanted in zip(
        *(g if isinstance(g, tuple) else (g,) for g in (*given, exact)), strict=True
    ):
        error, eagers = ((v.double() - wanted).norm() for v in (got, eager))
        assert error <= 1.1 * eagers + 1e-6 * wanted.double().norm()


def test_dropout_behind_a_product():
    compiled = Compiled(
        lambda x, w: F.dropout(x @ w, 0.5, True), {"products": "generated", "interpret_level": "planned"}
    )
    kept = compiled(X, W)
    [graph] = compiled.graphs
    assert (graph.externs, graph.launches_after) == (0, 1)
    torch.testing.assert_close(kept[kept != 0], (2 * (X @ W))[kept != 0], rtol=0.02, atol=0.1)


@pytest.mark.parametrize(
    ("batch", "rows", "columns", "summed", "launches"),
    [
        (2, 32, 512, 256, 1),
        (2, 32, 513, 256, 2),  # more than the registers of a program hold
        (2, 32, 64, 257, 2),  # few programs would each compute long sums
        (128, 32, 64, 257, 1),  # many do
        (8, 4, 64, 64, 2),  # multiplied and summed without tiles
    ],
)
def test_how_much_a_program_holds(batch, rows, columns, summed, launches):
    options = {"products": "generated", "interpret_level": "scheduled"}
    compiled = Compiled(lambda x, w: (x @ w).softmax(-1), options)
    compiled(of(batch, rows, summed), of(batch, summed, columns))
    assert [graph.launches_after for graph in compiled.graphs] == [launches]
