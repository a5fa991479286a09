"""Which quotients are a softmax whose probabilities may be computed of logarithms."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.joint.log_sums import softmax_of

_aten = torch.ops.aten


def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """Exponentials of scores, and their sums."""
    power = torch.exp(x - x.amax(-1, keepdim=True))
    return power, power.sum(-1, keepdim=True)


def softmax(x: Tensor) -> Tensor:
    power, total = parts(x)
    return power / total


def one_over_the_sum(x: Tensor) -> Tensor:
    """A number in place of the exponentials."""
    return _aten.div.Tensor(1.0, parts(x)[1])


def over_a_number(x: Tensor) -> Tensor:
    return _aten.div.Tensor(parts(x)[0], 3.0)


def another_sum(x: Tensor) -> Tensor:
    return parts(x)[0] / parts(x + 1)[1]


def of_columns(x: Tensor) -> Tensor:
    power = torch.exp(x - x.amax(-2, keepdim=True))
    return power / power.sum(-2, keepdim=True)


def quotients(made: Callable[[Tensor], Tensor], dtype: torch.dtype = torch.float32) -> set[Node]:
    graph = make_fx(made)(torch.randn(4, 4, dtype=dtype)).graph
    return set(graph.find_nodes(op="call_function", target=_aten.div.Tensor))


def test_a_softmax_is_found() -> None:
    (quotient,) = quotients(softmax)
    found = softmax_of({quotient})
    assert found is not None
    assert found.p is quotient


@pytest.mark.parametrize("other", [one_over_the_sum, over_a_number, another_sum, of_columns])
def test_other_quotients_are_none(other: Callable[[Tensor], Tensor]) -> None:
    (quotient,) = quotients(other)
    assert softmax_of({quotient}) is None


def test_a_softmax_of_float64_is_none() -> None:
    assert softmax_of(quotients(softmax, torch.float64)) is None


def test_of_two_none_is_taken() -> None:
    def twice(x: Tensor) -> Tensor:
        return softmax(x) + softmax(x + 1)

    found = quotients(twice)
    assert len(found) == 2
    assert softmax_of(found) is None
