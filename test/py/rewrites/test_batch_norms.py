"""Batch norm by running statistics: one op until the import, the same launches and numbers as decomposed."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up_gpu import made_up_gpu
from torch import nn
from torch.nn import functional as F

from fuse_mlir.compiler import backend
from fuse_mlir.compiler.driver import captured_compilation
from fuse_mlir.compiler.rewrites.captured.batch_norms import keep_batch_norms
from fuse_mlir.compiler.rewrites.stages import Stage

BF16, F32, F64 = torch.bfloat16, torch.float32, torch.float64


def statistics(channels: int = 5, dtype: torch.dtype = F32) -> list[torch.Tensor]:
    """Mean, variance, weight, bias."""
    torch.manual_seed(1)
    mean, weight, bias = (torch.randn(channels) for _ in range(3))
    return [n.to(dtype) for n in (mean, torch.rand(channels) + 0.1, weight, bias)]


def kept(function: Callable[..., Any], *inputs: torch.Tensor, dynamic: bool = False) -> list[str]:
    """The functions of a captured graph after the rewrite, by name."""
    found: list[list[str]] = []

    def keep(gm: torch.fx.GraphModule, examples: list[Any]) -> Any:
        keep_batch_norms(gm)
        found.append([str(n.target) for n in gm.graph.nodes if n.op == "call_function"])
        return gm.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=keep, dynamic=dynamic)(*inputs)
    [names] = found
    return names


def is_kept(function: Callable[..., Any], *inputs: torch.Tensor, **options: bool) -> bool:
    return "fuse_mlir.batch_norm.default" in kept(function, *inputs, **options)


CASES = [
    ((4, 5), F32),
    ((2, 5, 7), F64),
    ((2, 5, 3, 4), BF16),
    ((2, 1, 3, 4), torch.float16),
    ((1, 5, 2, 2, 2), F32),
    ((0, 5, 3, 4), BF16),
]


@pytest.mark.parametrize(("shape", "dtype"), CASES)
def test_numbers(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, numbers = torch.randn(shape).to(dtype), statistics(shape[1], dtype)
    images = [x, x.contiguous(memory_format=torch.channels_last)] if x.dim() == 4 else [x]
    for image in images:
        for count in (2, 3, 4):  # without weight and bias, without bias, with both
            given = numbers[:count]
            assert is_kept(F.batch_norm, image, *given)
            torch._dynamo.reset()
            with torch.no_grad():
                got = torch.compile(F.batch_norm, backend=backend.fuse, dynamic=False)(image, *given)
            want = F.batch_norm(image.double(), *(n.double() for n in given))
            assert got.dtype == dtype and got.stride() == F.batch_norm(image, *given).stride()
            # one rounding of the result, and a few of the steps
            bound = torch.finfo(dtype).eps * want.abs() + 64 * min(torch.finfo(dtype).eps, 1.2e-7)
            assert ((got.double() - want).abs() <= bound).all()


def test_wider_statistics_than_images() -> None:
    x, numbers = torch.randn(2, 5, 3, 4).to(BF16), statistics()
    assert is_kept(F.batch_norm, x, *numbers)
    with torch.no_grad():
        torch._dynamo.reset()
        got = torch.compile(F.batch_norm, backend=backend.fuse)(x, *numbers)
    want = F.batch_norm(x.double(), *(n.double() for n in numbers))
    torch.testing.assert_close(got.double(), want, rtol=2**-8, atol=1e-5)


def test_keywords_and_defaults() -> None:
    x, (mean, var, _, bias) = torch.randn(2, 5, 3, 4), statistics()

    def run(x: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, running_var=var, running_mean=mean, bias=bias, eps=0.5)

    assert is_kept(run, x)
    torch._dynamo.reset()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(run, backend=backend.fuse)(x), run(x))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 4)])
def test_a_batch_norm_is_two_kernels_which_fuse(shape: tuple[int, ...]) -> None:
    graphs: list[Any] = []
    torch._dynamo.reset()
    with torch.no_grad():
        options = {"on_compiled": graphs.append, "cache_dir": None}
        torch.compile(F.batch_norm, backend=backend.fuse, options=options)(torch.randn(shape), *statistics(3))
    assert (graphs[0].launches_before, graphs[0].launches_after) == (2, 1)


def test_what_is_left_alone() -> None:
    x, numbers = torch.randn(2, 5, 3, 4), statistics()
    assert not is_kept(lambda x, m, v: F.batch_norm(x, m.clone(), v.clone(), training=True), x, *numbers[:2])
    assert not is_kept(F.batch_norm, x.permute(0, 1, 3, 2), *numbers)
    assert not is_kept(F.batch_norm, x, *numbers, dynamic=True)

    def differentiates(x: torch.Tensor, *numbers: torch.Tensor) -> torch.Tensor:
        y = F.batch_norm(x, *numbers)
        with torch.enable_grad():
            return F.batch_norm(y, *numbers)

    assert not is_kept(differentiates, x, *numbers)


def test_gradients_through_running_statistics() -> None:
    """A norm in evaluation mode that is differentiated takes the old way."""
    torch.manual_seed(0)
    module = nn.BatchNorm2d(5).eval()
    module.running_mean.normal_()
    x = torch.randn(2, 5, 3, 4)
    grads = []
    for call in (torch.compile(copy.deepcopy(module), backend=backend.fuse), module):
        torch._dynamo.reset()
        leaf = x.clone().requires_grad_()
        call(leaf).square().sum().backward()
        grads.append(leaf.grad)
    torch.testing.assert_close(*grads)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.max_pool2d(self.norms[0](self.first(x)).relu(), 3, 2, 1)
        return (self.norms[2](self.second(y)) + self.norms[1](y)).relu()


def test_the_program_is_that_of_the_decomposition(tmp_path: Path, monkeypatch: Any) -> None:
    """Launches, grids and buffers are equal; kernels have other names, and arguments in another order."""
    sources = []
    for number in range(2):
        torch._dynamo.reset()
        graphs: list[Any] = []
        options = {"cache_dir": str(tmp_path / str(number)), "on_compiled": graphs.append, "hardware": "h200"}
        module = Block().to(BF16).eval()
        with made_up_gpu(), torch.no_grad():
            torch.compile(module, backend=backend.fuse, options=options, dynamic=False)(
                torch.randn(2, 3, 16, 16).to(BF16)
            )
        [graph] = graphs
        names: dict[str, str] = {}
        source = re.sub(r"launch_\w+", lambda m, n=names: n.setdefault(m[0], f"k{len(n)}"), graph.source)
        sources.append(re.sub(r"\w+_p(?:, \w+_p)+", lambda m: ", ".join(sorted(m[0].split(", "))), source))
        monkeypatch.setattr(captured_compilation, "CAPTURED", Stage("captured", "", ()))
    assert "k0" in sources[0] and sources[0] == sources[1]
