"""Queries are laid out for the merging of heads where that saves a copy, and nowhere else."""

import pytest
import torch
from compiling import check
from torch.nn import functional as F

import fuse_mlir
from fuse_mlir.bench.accuracy import compare
from fuse_mlir.bench.models import CASES

attend = F.scaled_dot_product_attention


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def operands(b=2, h=3, t=5, d=8):
    return [torch.randn(b, h, t, d) for _ in range(3)]


def launches(compiled) -> int:
    return sum(graph.launches_after for graph in compiled.graphs)


def merged(q, k, v):
    return attend(torch.cat((q[..., :4] * 2, q[..., 4:]), -1), k, v).transpose(1, 2).flatten(2)


def merged_as_three_dims(q, k, v):
    return attend(q * 2, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


@pytest.mark.parametrize("form", [merged, merged_as_three_dims], ids=lambda form: form.__name__)
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_kernel_makes_the_query_and_none_merges(form, dynamic):
    assert launches(check(form, *operands(), dynamic=dynamic)) == 1
    torch._dynamo.reset()
    assert launches(check(form, *operands(), dynamic=dynamic, attention=False)) == 2


def not_merged(q, k, v):
    return attend(q * 2, k, v)


def read_twice(q, k, v):
    q = q * 2
    return attend(q, k, v).transpose(1, 2).flatten(2), q


def an_argument(q, k, v):
    return attend(q, k, v).transpose(1, 2).flatten(2)


def laid_out_already(q, k, v):
    q = q.transpose(1, 2).contiguous().transpose(1, 2) * 2
    return attend(q, k, v).transpose(1, 2).flatten(2)


def returned_as_a_view(q, k, v):
    return attend(q * 2, k, v).transpose(1, 2)


@pytest.mark.parametrize(
    "form",
    [not_merged, read_twice, an_argument, laid_out_already, returned_as_a_view],
    ids=lambda f: f.__name__,
)
def test_does_not_fire(form):
    """The same number of kernels with and without."""
    expected = launches(check(form, *operands(), attention=False))
    torch._dynamo.reset()
    assert launches(check(form, *operands())) == expected


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_llama(dtype, training):
    report = compare(CASES["llama_block"], fuse_mlir.backend, dtype=dtype, training=training)
    assert report.passed, report.explain()
