"""Small products as kernels: their numbers against float64, scalar and as tile code."""

import pytest
import torch
from compiling import Compiled, check
from versions import TORCH

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def made(function, *args, level="scheduled", **options):
    """Compiles and compares; one kernel, and no call of torch's libraries."""
    options = {"products": "generated", "interpret_level": level, **options}
    graph = check(function, *args, **options).graphs[0]
    assert (graph.externs, graph.launches_after) == (0, 1)
    return str(graph.module)


SMALL = {
    "dots": ("bi,bi->b", ((6, 40), (6, 40))),
    "matrices": ("bij,bjk->bik", ((6, 5, 8), (6, 8, 4))),
    "rows": ("ij,jk->ik", ((70, 8), (8, 8))),
    "columns": ("ij,jk->ik", ((3, 8), (8, 70))),
    "matrices times vectors": ("bij,bj->bi", ((6, 8, 8), (6, 8))),
    "vectors times matrices": ("nk,nkm->nm", ((6, 8), (6, 8, 12))),
    "one matrix for a batch": ("bij,jk->bik", ((6, 5, 8), (8, 4))),
    "transposed": ("bji,bkj->bik", ((6, 8, 5), (6, 4, 8))),
}


@pytest.mark.parametrize("name", SMALL)
def test_numbers(name):
    spec, shapes = SMALL[name]
    made(lambda *args: torch.einsum(spec, *args), *map(torch.randn, shapes), level="tiled")


def test_results_of_another_type():
    """One row of 16 bits, with a float32 result: torch has the op on a GPU only."""

    def function(x, y, z):
        scores = torch.ops.aten.bmm.dtype(x, y, torch.float32).softmax(-1)
        row = torch.ops.aten.mm.dtype(x[:, 0], y[0], torch.float32)
        if TORCH < (2, 13):  # it takes the dtype of a fake addmm for beta
            return scores, 2 * z
        return scores, torch.ops.aten.addmm.dtype(z, x[:, 0], y[0], torch.float32, beta=2.0) - row

    x, y = torch.randn(3, 1, 16).bfloat16(), torch.randn(3, 16, 40).bfloat16()
    compiled = Compiled(function, {"products": "generated", "interpret_level": "planned"})
    scores, twice = compiled(x, y, torch.arange(40.0))
    torch.testing.assert_close(scores, (x.float() @ y.float()).softmax(-1))
    torch.testing.assert_close(twice, (2 * torch.arange(40.0)).expand_as(twice), atol=1e-5, rtol=1e-5)
    assert sum(graph.externs for graph in compiled.graphs) == 0


@pytest.mark.parametrize("summed", [0, 1, 5, 16, 17])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_lengths_of_sums(summed, dtype):
    """Up to 16 elements are multiplied one by one; of 17 on, and of none, there is a reduction."""
    x, w = torch.randn(6, 5, summed, dtype=dtype), torch.randn(6, summed, 8, dtype=dtype)
    text = made(torch.bmm, x, w)
    assert ('"fuse.dot"' in text or '"fuse.reduce"' in text) == (summed in (0, 17))


def test_a_sum_of_nothing_reads_nothing():
    """Batches are multiplied behind views.  These are empty here, and an empty tensor has no address."""
    made(torch.matmul, torch.randn(6, 5, 0), torch.randn(6, 0, 8), level="tiled", hardware="h200")


@pytest.mark.parametrize("sizes", [(2, 5), (3, 16), (2, 17)], ids=str)
def test_factors_in_any_strides(sizes):
    """Every second row, a batch that is broadcast, and columns that lie apart."""
    batch, summed = sizes
    x, w = torch.randn(1, 14, summed), torch.randn(batch, 9, 2 * summed)

    def function(x, w):
        return x[:, ::2].expand(batch, -1, -1) @ w[:, :, ::2].mT

    made(function, x, w)


def test_batches_of_unknown_size():
    compiled = Compiled(torch.bmm, {"products": "generated"}, dynamic=True)
    for batch in (6, 9):
        x, w = torch.randn(batch, 8, 8), torch.randn(batch, 8, 8)
        torch.testing.assert_close(compiled(x, w).double(), x.double() @ w.double(), rtol=1e-5, atol=1e-5)
    assert [graph.externs for graph in compiled.graphs] == [0]


def test_what_is_computed_around_them():
    """In front of each factor and behind the result."""

    def function(x, w, c):
        return torch.baddbmm(c, x.relu() + 1, w.tanh(), beta=0.5).sigmoid()

    made(function, torch.randn(6, 5, 8), torch.randn(6, 8, 4), torch.randn(6, 5, 4))


#: What chooses the tile, a product, and its factors.
TILED = {
    "weighed rows of several matrices": ("weighed-rows", "nk,nkm->nm", ((31685, 5), (31685, 5, 16))),
    "columns that step over": ("columns-step-over", "bij,bkj->bik", ((301, 8, 8), (301, 8, 8))),
    "two rows of a thread": ("rows-share-reads", "ij,jk->ik", ((203, 16), (16, 16))),
    "blocks": ("blocks-of-products", "bij,bkj->bik", ((6, 16, 16), (6, 16, 16))),
}


@pytest.mark.parametrize("name", TILED)
def test_numbers_of_tiles(name):
    rule, spec, shapes = TILED[name]
    options = {"products": "generated", "interpret_level": "tiled", "hardware": "h200"}
    compiled = check(lambda *args: torch.einsum(spec, *args), *map(torch.randn, shapes), **options)
    (graph,) = compiled.graphs
    assert [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"] == [rule]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
def test_several_matrices_of_a_program(dtype, dynamic):
    """Four matrices of 16 rows and columns to a program, the last of which has one."""
    options = {"products": "generated", "interpret_level": "tiled", "hardware": "h200"}
    function = lambda x, y, z: torch.tanh(x @ y) + z  # noqa: E731
    compiled = Compiled(function, options, dynamic=dynamic)
    for batch in (21, 9) if dynamic else (21,):
        x, y, z = (torch.randn(batch, 16, 16, dtype=dtype) for _ in range(3))
        want = function(*(t.double() for t in (x, y, z)))
        results = compiled(x, y, z), function(x, y, z)
        error, eager = ((result - want).norm() for result in results)
        assert error <= 1.1 * eager
    (graph,) = compiled.graphs
    assert (graph.externs, graph.launches_after) == (0, 1)
    assert "tensor<4x16x16x" in str(graph.module)
    assert [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"] == ["blocks-of-products"]


def test_weighed_rows_of_unknown_number():
    compiled = Compiled(
        lambda x, w: torch.einsum("nk,nkm->nm", x, w),
        {"products": "generated", "interpret_level": "tiled", "hardware": "h200"},
        dynamic=None,
    )
    for rows in (17, 5):
        x, w = torch.randn(3961, rows), torch.randn(3961, rows, 64)
        torch._dynamo.mark_dynamic(x, 1)
        torch._dynamo.mark_dynamic(w, 1)
        want = torch.einsum("nk,nkm->nm", x.double(), w.double())
        torch.testing.assert_close(compiled(x, w).double(), want, rtol=1e-5, atol=1e-5)
    (graph,) = compiled.graphs
    assert "weighed-rows" in [r.rule for r in graph.remarks.items]
