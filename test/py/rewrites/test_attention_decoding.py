"""Which attention of a few queries stays spelled out, because its keys are made from fewer bytes."""

from typing import Any

import pytest
import torch
from told import Told
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, symbolic_trace
from torch.nn import functional as F

from fuse_mlir.compiler.base.options import Options
from fuse_mlir.compiler.cost.attention import WidenedCache
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.rewrites.captured import attention_decoding
from fuse_mlir.compiler.rewrites.captured.attention import DERIVED, fuse_attention
from fuse_mlir.compiler.rewrites.captured.attention_decoding import keep_decoding
from fuse_mlir.compiler.rewrites.stages import Switch, switched_on

H200 = hardware_named("h200")
MB = 1 << 20


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) * 0.1, -1) @ v


def shared(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attention(q, *(x.repeat_interleave(4, 1) for x in (k, v)))


def expanded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x[:, :, None].expand(2, 8, 4, 8192, 128).reshape(2, 32, 8192, 128) for x in (k, v))
    return F.softmax((q @ k.transpose(2, 3)) / 11, -1, torch.float32).to(q.dtype) @ v


def widened(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x.to(torch.bfloat16) * 0.1 for x in (k, v))
    return attention(q, k, v)


def paged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    table = torch.zeros_like(q[:, :16, 0, 0], dtype=torch.int64)
    k, v = (x.transpose(1, 2)[0].unflatten(0, (-1, 64))[table].flatten(1, 2).transpose(1, 2) for x in (k, v))
    return attention(q, k, v)


def captured(
    function: Any = shared,
    queries: int = 1,
    heads: int = 8,
    keys: int = 8192,
    device: str = "cuda",
    dtype: torch.dtype = torch.bfloat16,
    cache: torch.dtype | None = None,
    gradients: bool = False,
) -> GraphModule:
    gm = symbolic_trace(function)
    with FakeTensorMode():
        q = torch.empty(2, 32, queries, 128, dtype=dtype, requires_grad=gradients)
        k, v = (torch.empty(2, heads, keys, 128, dtype=cache or dtype) for _ in range(2))
        told = Told(gm)
        told.device = device
        told.run(q, k, v)
    return gm


@pytest.fixture(autouse=True)
def on_an_h200(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_decoding, "hardware_of", lambda device: H200)


def said(how: dict[str, Any]) -> str:
    """The name of a case, the same in every process."""
    return "-".join(f"{name}={getattr(value, '__name__', value)}" for name, value in how.items()) or "default"


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"queries": 16, "dtype": torch.float16},
        {"function": expanded},
        {"function": paged, "heads": 32},
        {"function": widened, "heads": 32, "cache": torch.int8},
        {"function": widened, "heads": 32, "cache": torch.float8_e4m3fn},
    ],
    ids=said,
)
def test_fires(how: dict[str, Any]) -> None:
    gm = captured(**how)
    assert keep_decoding(gm) == 1
    assert [DERIVED in node.meta for node in gm.graph.nodes].count(True) == 1
    assert fuse_attention(gm) == 0


@pytest.mark.parametrize(
    "how",
    [
        {"queries": 17},
        {"function": attention, "heads": 32},
        {"keys": 128},
        {"device": "cpu"},
        {"dtype": torch.float32},
        {"gradients": True},
    ],
    ids=said,
)
def test_does_not_fire(how: dict[str, Any]) -> None:
    assert keep_decoding(captured(**how)) == 0


def test_what_makes_no_such_kernel_switches_it_off() -> None:
    for options in (Options(products="library"), Options(rounding="eager"), Options(attention=False)):
        assert Switch.CASCADES not in switched_on(options, kind="inference", on_gpu=True)
    assert Switch.CASCADES in switched_on(Options(products="auto"), kind="inference", on_gpu=True)


def test_the_estimates_are_what_was_measured() -> None:
    """On an H200: 16 sequences of 8192 keys, heads of 128 that share 8, in 16 bits and in 8 with scales."""
    assert WidenedCache(512 * MB, 2048 * MB, 0).kernel_us(H200) == pytest.approx(146, rel=0.15)
    assert WidenedCache(260 * MB, 2048 * MB, 256 * MB).kernel_us(H200) == pytest.approx(125, rel=0.2)
    assert WidenedCache(512 * MB, 2048 * MB, 0).call_us(H200) == pytest.approx(1146, rel=0.15)
