"""rewrites/attention/attention_biases.py: attention with a bias in memory, which stays spelled out."""

from typing import Any

import pytest
import torch
from compiling import Compiled
from told import Told
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, symbolic_trace
from torch.nn import functional as F

from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.rewrites.attention import attention_biases
from fuse_mlir.compiler.rewrites.attention.attention_biases import keep_biases
from fuse_mlir.compiler.rewrites.captured.attention import fuse_attention
from fuse_mlir.compiler.rewrites.rewriting import Weighed

H200 = hardware_named("h200")


@pytest.fixture(autouse=True)
def on_hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_biases, "hardware_of", lambda device: H200)


def biased(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) * 0.125 + bias).softmax(-1) @ v


def unsqueezed(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) / 8 + bias.unsqueeze(0)).float().softmax(-1).to(q.dtype) @ v


def computed(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) * 0.125 + 2 * bias).softmax(-1) @ v


def open_to_all(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) * 0.125).softmax(-1) @ v


def captured(
    function: Any = biased,
    rows: int = 512,
    keys: int = 512,
    head: int = 64,
    device: str = "cuda",
    dtype: torch.dtype = torch.bfloat16,
    gradients: bool = False,
) -> GraphModule:
    gm = symbolic_trace(function)
    with FakeTensorMode():
        q = torch.empty(2, 8, rows, head, dtype=dtype, requires_grad=gradients)
        k, v = (torch.empty(2, 8, keys, head, dtype=dtype) for _ in range(2))
        told = Told(gm)
        told.device = device
        told.run(q, k, v, torch.empty(8, rows, keys, dtype=dtype))
    return gm


def becomes_a_call(gm: GraphModule) -> bool:
    return fuse_attention(gm) == 1 and any(n.target is F.scaled_dot_product_attention for n in gm.graph.nodes)


@pytest.mark.parametrize("how", [{}, {"function": unsqueezed}, {"head": 128, "rows": 80, "keys": 2048}])
def test_it_stays_spelled_out(how: dict[str, Any]) -> None:
    gm = captured(**how)
    before = gm.code
    assert keep_biases(gm) == 1
    assert not becomes_a_call(gm) and gm.code == before


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"keys": 200}, ["512 rows and 200 keys were not measured"]),
        ({"rows": 16}, ["its keys are split"]),
        ({"head": 256}, ["heads of 256 and 256 numbers take less time in other kernels"]),
        ({"function": computed}, []),
        ({"function": open_to_all}, []),
        ({"device": "cpu"}, []),
    ],
)
def test_it_becomes_a_call(how: dict[str, Any], reason: list[str]) -> None:
    """With the reason where a kernel could be, on a GPU."""
    gm = captured(**how)
    counted = keep_biases(gm)
    assert counted == 0 and isinstance(counted, Weighed)
    assert [text for _, text in counted.kept] == reason
    assert becomes_a_call(gm)


def test_gradients_and_autocast_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """With gradients, a bias may have a row of large numbers only: no call is made of it either."""
    gm = captured(gradients=True)
    assert keep_biases(gm) == 0
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: True)
    assert keep_biases(captured()) == 0


def test_other_gpus_make_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_biases, "hardware_of", lambda device: hardware_named("a100"))
    gm = captured()
    counted = keep_biases(gm)
    assert isinstance(counted, Weighed) and counted.kept[0][1] == "it was measured on other GPUs"
    assert becomes_a_call(gm)


def test_a_bias_that_does_not_broadcast_is_an_error() -> None:
    args = [torch.randn(1, 2, 64, 16, dtype=torch.bfloat16) for _ in range(3)]
    with pytest.raises(Exception, match=r"(?i)size|broadcast|match"):
        Compiled(biased)(*args, torch.randn(3, 64, 64, dtype=torch.bfloat16))
