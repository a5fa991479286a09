"""What the timer of kernels fills its memory with, and which results it takes for equal."""

import pytest
import torch

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.runtime.gpu.kernel_timer import KernelTimer, _close
from fuse_mlir.compiler.runtime.gpu.trial import Argument


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_results_of_eight_bits_may_round_the_other_way(dtype):
    made = torch.linspace(-3.0, 3.0, 4096).to(dtype)
    bits = made.view(torch.uint8).clone()
    bits[::512] += 1
    assert _close(bits.view(dtype), made)
    assert not _close((2.0 * made.float()).to(dtype), made)


def test_integers_are_equal_or_wrong():
    made = torch.arange(4096, dtype=torch.int32)
    other = made.clone()
    other[17] += 1
    assert _close(made.clone(), made)
    assert not _close(other, made)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "bf16", "f64"])
def test_floats_of_every_width_are_drawn(element, monkeypatch):
    monkeypatch.setattr(KernelTimer, "place", torch.device("cpu"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1 << 40, 1 << 40))
    [drawn] = KernelTimer(0, Options())._memory([Argument(element, 256)])
    assert drawn.double().std() > 0.5
