"""Kernels that a user wrote in Triton: torch launches them.  Where there is no GPU, a function of torch ops
stands for a launch.
"""

from unittest import mock

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu
from user_kernels import both_kernel, opaque_kernels, triton


def launched(kernel, *args, grid, warmup, **kwargs):
    x, z, a, n, _ = args
    z[:n], a[:n] = x[:n] + 1, x[:n] * 2


@pytest.fixture(autouse=True)
def a_machine_with_triton():
    with (
        opaque_kernels(),
        mock.patch("torch.utils._triton.has_triton", lambda **_: True),
        mock.patch.object(triton.runtime.jit.JITFunction, "run", launched),
    ):
        yield


def both(x):
    """``z`` is named before ``a``: in the order of the arguments, and not in that of the names."""
    z, a = torch.empty_like(x), torch.empty_like(x)
    both_kernel[(triton.cdiv(x.numel(), 64),)](x, z, a, x.numel(), 64)
    return z, a * 3


X = torch.linspace(-1, 1, 100)


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_have_their_names(dynamic):
    z, a = Compiled(both, dynamic=dynamic)(X)
    assert torch.equal(z, X + 1) and torch.equal(a, X * 2 * 3)


def test_a_plan_gives_results_by_their_names():
    """The made-up GPU runs torch ops, and no kernel of ours."""
    with made_up_gpu():
        z, _ = Compiled(both)(X)
    assert torch.equal(z, X + 1)


def test_an_argument_is_written():
    def overwrite(x, y):
        both_kernel[(2,)](x, y, torch.empty_like(x), x.numel(), 64)
        return y * 2

    y = torch.zeros(100)
    assert torch.equal(Compiled(overwrite)(X, y), (X + 1) * 2) and torch.equal(y, X + 1)
