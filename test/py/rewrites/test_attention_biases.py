"""rewrites/attention/attention_biases.py: attention with a bias in memory or in a table, which stays spelled
out.
"""

from typing import Any

import pytest
import torch
from compiling import Compiled
from told import Told
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, symbolic_trace
from torch.nn import functional as F

from fuse_mlir.compiler.cost.attention import LookedUpBias
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


def _distance(q: Tensor, k: Tensor) -> Tensor:
    return torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])


def by_distance(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    bias = table[:, _distance(q, k).clamp(-128, 128) + 128]
    return (q @ k.transpose(-2, -1) * 0.125 + bias).softmax(-1) @ v


def embedded(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    bias = F.embedding(_distance(q, k).abs().clamp(max=128), table.t()).permute(2, 0, 1).unsqueeze(0)
    return (q @ k.transpose(-2, -1) / 8 + bias).softmax(-1) @ v


def selected(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    place = (_distance(q, k).clamp(-128, 128) + 128).reshape(-1)
    bias = torch.index_select(table, 1, place).reshape(8, q.shape[-2], k.shape[-2])
    return (q @ k.transpose(-2, -1) * 0.125 + bias).softmax(-1) @ v


def in_buckets(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    place = (_distance(q, k).abs() + 1).float().log().to(torch.int64)
    return (q @ k.transpose(-2, -1) * 0.125 + table[:, place]).softmax(-1) @ v


def shared(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    bias = table[:, _distance(q, k).clamp(-128, 128) + 128]
    first = (q @ k.transpose(-2, -1) * 0.125 + bias).softmax(-1) @ v
    return (first @ k.transpose(-2, -1) * 0.125 + bias).softmax(-1) @ v


def table_of_data(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
    return (q @ k.transpose(-2, -1) * 0.125 + (2 * table)[:, _distance(q, k) + 512]).softmax(-1) @ v


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


def captured_by_dynamo(
    function: Any, batch: int = 1, rows: int = 512, numbers: int = 257, head: int = 64
) -> GraphModule:
    """``numbers``: of the table, for each of 8 heads."""
    found = list[tuple[GraphModule, list[Tensor]]]()

    def take(gm: GraphModule, examples: list[Tensor]) -> Any:
        found.append((gm, examples))
        return lambda *given: (given[0],)

    q, k, v = (torch.empty(batch, 8, rows, head, dtype=torch.bfloat16) for _ in range(3))
    torch._dynamo.reset()
    with torch.no_grad():
        compiled = torch.compile(function, backend=take, dynamic=False, fullgraph=True)
        compiled(q, k, v, torch.empty(8, numbers, dtype=torch.bfloat16))
    [(gm, examples)] = found
    with FakeTensorMode():
        Told(gm).run(*(torch.empty_strided(x.shape, x.stride(), dtype=x.dtype) for x in examples))
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


@pytest.mark.parametrize("function", [by_distance, embedded, selected])
def test_tables_stay_spelled_out(function: Any) -> None:
    """With both times, of which the kernel's is less."""
    gm = captured_by_dynamo(function)
    counted = keep_biases(gm)
    assert counted == 1 and isinstance(counted, Weighed)
    assert counted.times["kernel_us"] < counted.times["call_us"]
    assert not any(n.target is F.scaled_dot_product_attention for n in gm.graph.nodes)


@pytest.mark.parametrize(
    ("how", "reasons"),
    [
        ({"function": in_buckets}, ["places of its table are computed by ops that were not measured"]),
        ({"function": by_distance, "numbers": 8193}, ["its table has more than 131072 bytes"]),
        ({"function": shared}, ["other ops read its bias, too"] * 2),
        ({"function": by_distance, "rows": 128}, ["128 rows and 128 keys were not measured"]),
        ({"function": table_of_data, "numbers": 1025}, []),
    ],
)
def test_tables_become_calls(how: dict[str, Any], reasons: list[str]) -> None:
    gm = captured_by_dynamo(**how)
    counted = keep_biases(gm)
    assert counted == 0 and isinstance(counted, Weighed) and not counted.missed
    assert [text for _, text in counted.kept] == reasons
    assert fuse_attention(gm) == (2 if how["function"] is shared else 1)


def test_tables_of_large_batches_and_narrow_heads_become_calls() -> None:
    """All sequences read the mask, which is made once; the remark has both times."""
    counted = keep_biases(captured_by_dynamo(by_distance, batch=64, head=16))
    assert counted == 0 and isinstance(counted, Weighed) and not counted.kept
    [(_, times)] = counted.missed
    assert times["kernel_us"] > times["call_us"]


def test_the_clock_says_of_tables_what_was_measured() -> None:
    """Kernels and calls, within a tenth; of the others one was not measured."""
    measured = {
        (2, 16, 2048, 128): (219, 294),
        (8, 12, 1024, 64): (120, None),
        (32, 12, 512, 64): (129, None),
        (1, 16, 4096, 64): (None, 454),
    }
    for (batch, heads, rows, head), (kernel, call) in measured.items():
        scores = heads * rows * rows
        bias = LookedUpBias(batch * scores, scores, ops=3, head=head, element="bf16")
        assert kernel is None or bias.kernel_us(H200) == pytest.approx(kernel, rel=0.1)
        assert call is None or bias.call_us(H200) == pytest.approx(call, rel=0.1)
        assert bias.kernel_us(H200) < bias.call_us(H200)


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
