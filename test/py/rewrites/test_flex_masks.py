"""rewrites/graph/flex_masks.py: what is not read of the functions of ``flex_attention``, with the reason.
What a whole call is refused for is in ``test_flex_kernels.py``.
"""

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.graph import flex_kernels
from fuse_mlir.compiler.rewrites.graph.flex_masks import NotRead, read_mask, read_score
from fuse_mlir.compiler.rewrites.graph.flex_spelled import FlexCall, function_of

NUMBERS = torch.arange(8.0)
INDEX = torch.ops.aten.index.Tensor


def function(f: Callable[..., Tensor], *captured: Tensor, score: bool = True) -> GraphModule:
    """The graph of a score function, or of a mask function."""
    given = [torch.zeros(())] if score else []
    given += [torch.zeros((), dtype=torch.int64) for _ in range(4)]
    return make_fx(f, tracing_mode="fake", _allow_non_fake_inputs=True)(*given, *captured)


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (lambda s, b, h, i, j: s + NUMBERS[0] * 2, "in a function is get_attr"),
        (lambda s, b, h, i, j, table: s + INDEX(table, [h]), "is no number"),
        (lambda s, b, h, i, j, table: s + torch.linalg.vector_norm(table), "is not pointwise"),
    ],
)
def test_scores_that_are_not_read(score: Callable[..., Tensor], reason: str) -> None:
    captured = () if "get_attr" in reason else (torch.zeros(4, 8),)
    with pytest.raises(NotRead, match=reason):
        read_score(function(score, *captured))


def test_a_function_without_a_result() -> None:
    graph = Graph()
    graph.output(1.0)
    with pytest.raises(NotRead, match="a function returns no tensor"):
        read_score(GraphModule({}, graph))
    with pytest.raises(NotRead, match="a function is no graph"):
        function_of(GraphModule({}, Graph()), None)


@pytest.mark.parametrize(
    ("mask", "reason"),
    [
        (lambda b, h, i, j, seen: seen, "its mask is no comparison"),
        (lambda b, h, i, j, seen: torch.full((), False), "its mask is a number"),
        (lambda b, h, i, j, seen: (i >= j) & (j % 3 != 0), "its mask is computed by aten.ne.Scalar"),
        (lambda b, h, i, j, seen: i >= h, "in its mask compares no key"),
        (lambda b, h, i, j, seen: j * j >= i, "in its mask is not linear in the key"),
        (lambda b, h, i, j, seen: (i >= j) | (j >= 100), "bound keys from two sides"),
    ],
)
def test_masks_that_are_not_read(mask: Callable[..., Tensor], reason: str) -> None:
    with pytest.raises(NotRead, match=reason):
        read_mask(function(mask, torch.zeros((), dtype=torch.bool), score=False))


def test_results_that_are_read_as_a_tuple() -> None:
    graph = Graph()
    call = graph.call_function(torch.ops.higher_order.flex_attention, ())
    graph.output(graph.call_function(operator.add, (call, ())))
    with pytest.raises(NotRead, match="its results are read as a tuple"):
        FlexCall.of(GraphModule({}, graph), call, 3, 4)


def test_sizes_that_are_unknown_are_not_weighed() -> None:
    """A call of symbols stays, unless an option asks for the kernel."""
    value = SimpleNamespace(shape=(2, 4, torch.SymInt, 64))
    given: Any = [SimpleNamespace(meta={"val": value})] * 3
    call: Any = SimpleNamespace(node=SimpleNamespace(args=given))
    with pytest.raises(NotRead, match="its sizes are unknown while compiling"):
        flex_kernels._weigh(call, None)  # type: ignore[arg-type]
