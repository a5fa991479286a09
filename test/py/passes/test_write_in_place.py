"""Kernels that write over what they read, run as the GPU would run them: tile code, combined, planned."""

from dataclasses import replace

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

from fuse_mlir.passes.memory.write_in_place import WriteInPlace
from fuse_mlir.passes.pipeline import Settings, default_pipeline
from fuse_mlir.passes.pipeline_text import pipeline_text

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def options(**more):
    """The whole pipeline, in place however small a tensor is."""
    passes = [
        replace(p, min_bytes=0) if isinstance(p, WriteInPlace) else p
        for p in default_pipeline("planned", Settings("h200"))
    ]
    return {"interpret_level": "planned", "pipeline": pipeline_text(passes), "verify": "on", **more}


def written_over(compiled):
    return [r for graph in compiled.graphs for r in graph.remarks.items if r.rule == "in-place"]


def drawn(*shape, grad=False):
    return torch.randn(shape).requires_grad_(grad)


def feed_forward(x, w1, w2):
    return F.gelu(x @ w1) @ w2


def residual_norms(x, w1, w2):
    """Reads a row, reduces it and writes it."""
    y = torch.softmax(x @ w1, -1) @ w2
    return F.layer_norm(y + x, (x.shape[-1],)) @ w1


def two_results(x, w1, w2):
    """One product gives two tensors that others read: one may lie over it."""
    y = x @ w1
    return y.relu() @ w2, y.exp() @ w2


def shapes(x, w1, w2):
    """The product is read flat and written as heads: only the second is in other places of memory."""
    y = (x @ w1).view(4, -1, 8, w1.shape[1] // 8)
    return y.exp() @ y.exp().transpose(-1, -2), y.cos().transpose(1, 2).contiguous() @ w2[:2, :2]


def returned(x, w1, w2):
    """A tensor that is written over becomes a result; another is a result itself and stays."""
    y = x @ w1
    return (x.cos() @ w1 + 1).tanh(), y, y.exp()


def mutated(x, w1, w2):
    y = (x @ w1).exp()
    x.add_(y @ w2)
    return y.sum()


@pytest.mark.parametrize("function", [feed_forward, residual_norms, returned, mutated])
def test_functions(function):
    width = 32 if function is residual_norms else 48
    compiled = check(function, drawn(16, 32), drawn(32, width), drawn(width, 32), **options())
    assert written_over(compiled)


def test_two_results():
    compiled = check(two_results, drawn(16, 32), drawn(32, 32), drawn(32, 32), **options())
    assert len(written_over(compiled)) <= 2


def test_long_rows_that_a_program_loops_over():
    """What is read again by a later loop is not written before."""

    def function(x, w):
        y = x @ w
        return F.layer_norm(y * 2, (y.shape[-1],)) @ w.t(), 0

    compiled = check(function, drawn(3, 8), drawn(8, 40000), **options())
    assert written_over(compiled)


@pytest.mark.parametrize("function", [feed_forward, residual_norms, two_results])
def test_training(function):
    args = drawn(16, 32, grad=True), drawn(32, 32, grad=True), drawn(32, 32, grad=True)
    compiled = Compiled(function, options())
    results = []
    for call in (function, compiled):
        copies = [a.detach().clone().requires_grad_() for a in args]
        given = call(*copies)
        sum(r.square().sum() for r in (given if isinstance(given, tuple) else (given,))).backward()
        results.append([a.grad for a in copies])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert written_over(compiled)


def test_dynamic_sizes():
    compiled = Compiled(feed_forward, options(), dynamic=True)
    w1, w2 = drawn(32, 48), drawn(48, 32)
    for rows in (4, 16, 7):
        x = drawn(rows, 32)
        torch.testing.assert_close(compiled(x, w1, w2), feed_forward(x, w1, w2), rtol=1e-4, atol=1e-4)
    assert written_over(compiled)


def test_the_callers_tensors_stay():
    x = drawn(64)
    before = x.clone()
    check(lambda x: (x.exp(), x.view(8, 8).t()), x, **options())
    assert torch.equal(x, before)


def test_shapes():
    check(shapes, drawn(16, 32), drawn(32, 16), drawn(4, 4), **options())
