"""flex_gemm: a product and what the user computes of it, one higher-order op; torch has it from 2.15 on."""

from pathlib import Path

import pytest
import torch
from nesting import WHERE, check
from stored_programs import compiled
from versions import TORCH

import fuse_mlir

flex_gemm = pytest.importorskip(
    "torch._higher_order_ops.flex_gemm", reason="torch has it from 2.14 on"
).flex_gemm

aten = torch.ops.aten
A, B = torch.arange(48.0).reshape(6, 8).sin(), torch.arange(32.0).reshape(8, 4).cos()
BIAS = torch.linspace(-1, 1, 4)


def activated(a, b, bias):
    return flex_gemm(torch.addmm, (bias, a + 1, b), lambda x: x.relu() * 2, gemm_kwargs={"alpha": 0.5})


def several(a, b, bias):
    both = flex_gemm(aten.mm.default, (a, b), lambda x: (x.sin() + 1, x.sum(1)))
    return both[0] * bias, both[1]


def batched(a, b, bias):
    return flex_gemm(torch.bmm, (torch.stack((a, a + 1)), torch.stack((b, b * 2))), torch.tanh) + bias


@pytest.mark.parametrize("function", (activated, several, batched))
def test_numbers(function):
    for where in WHERE if function is activated else ("planned", "launch plan"):
        check(function, (A, B, BIAS), (A - 1, B, BIAS), where=where, strict=True)


def test_sizes_that_are_symbols():
    check(activated, (A, B, BIAS), (A[:5].clone(), B, BIAS), (A[:3].clone(), B, BIAS), dynamic=True)


def test_it_is_stored_with_the_program(tmp_path: Path):
    def function(x, w):
        return flex_gemm(torch.mm, (x, (x * 2).t()), torch.relu) + w.sum()

    first, second = compiled(tmp_path, function), compiled(tmp_path, function)
    assert (first.cached, second.cached) == (False, True) and first.source == second.source


@pytest.mark.skipif(TORCH < (2, 15), reason="AOTAutograd of torch 2.14 loses the gradient without a word")
def test_a_gradient_is_refused_as_in_eager_mode():
    given = [x.clone().requires_grad_() for x in (A, B, BIAS)]
    made = torch.compile(activated, backend=fuse_mlir.backend)(*given)
    with pytest.raises(NotImplementedError, match="Autograd not implemented for flex_gemm"):
        made.sum().backward()
