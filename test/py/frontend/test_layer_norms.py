"""Layer norm where nothing is differentiated: one op in the graph, and two kernels, which fuse."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.compiler.backend import fuse

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64


def compiled(function: Any, *inputs: Tensor, dynamic: bool = False, **options: Any) -> tuple[Any, list[Any]]:
    """The result without gradients, and the graphs that were compiled."""
    graphs: list[Any] = []
    torch._dynamo.reset()
    with torch.no_grad():
        given = {"on_compiled": graphs.append, **options}
        result = torch.compile(function, backend=fuse, dynamic=dynamic, options=given)(*inputs)
    return result, graphs


def parameters(sizes: Sequence[int], dtype: torch.dtype) -> list[Tensor]:
    """Weight and bias."""
    return [torch.randn(sizes).to(dtype) for _ in range(2)]


def check(got: Tensor, x: Tensor, sizes: Sequence[int], *given: Tensor) -> None:
    """Against float64: one rounding of the result, and a few of the steps."""
    want = F.layer_norm(x.double(), sizes, *(p.double() for p in given))
    small = min(torch.finfo(x.dtype).eps, 1.2e-7)
    bound = torch.finfo(x.dtype).eps * want.abs() + 64 * small * (1 + want.abs())
    assert got.dtype == x.dtype and ((got.double() - want).abs() <= bound).all()


@pytest.mark.parametrize("dtype", [F32, BF16, F16, F64])
@pytest.mark.parametrize(
    ("shape", "normed"),
    [((4, 24), 1), ((2, 3, 5, 7), 1), ((2, 3, 5, 7), 3), ((24,), 1), ((3, 1), 1), ((1, 9), 1)],
)
def test_numbers(shape: tuple[int, ...], normed: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, sizes = (torch.randn(shape) * 3 + 1).to(dtype), shape[len(shape) - normed :]
    for count in range(3):  # without parameters, with a weight, with both
        given = parameters(sizes, dtype)[:count]
        got, [graph] = compiled(lambda x, *p, s=sizes: F.layer_norm(x, s, *p), x, *given)
        check(got, x, sizes, *given)
        assert (graph.launches_before, graph.launches_after, graph.externs) == (2, 1, 0)


def test_a_bias_alone() -> None:
    x, (_, bias) = torch.randn(4, 24), parameters((24,), F32)
    got, _ = compiled(lambda x, b: F.layer_norm(x, (24,), None, b), x, bias)
    torch.testing.assert_close(got, F.layer_norm(x, (24,), None, bias))


def test_constant_and_huge_rows() -> None:
    x = torch.stack([torch.full((24,), 3.0), torch.randn(24) * 1e18, torch.randn(24) + 1e6])
    got, _ = compiled(lambda x: F.layer_norm(x, (24,)), x)
    want = F.layer_norm(x.double(), (24,))
    errors = [(y.double() - want).abs().amax(1) for y in (got, F.layer_norm(x, (24,)))]
    assert (errors[0] <= 2 * errors[1] + 1e-6).all()


def test_strided_rows_give_eagers_strides() -> None:
    x = torch.randn(2, 6, 5, 4)
    for view in (x.permute(0, 2, 3, 1), x.contiguous(memory_format=torch.channels_last).permute(0, 2, 3, 1)):
        got, _ = compiled(lambda x: F.layer_norm(x, (6,)), view)
        want = F.layer_norm(view, (6,))
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride()


def test_sizes_that_vary() -> None:
    function = torch.compile(
        lambda x: F.layer_norm(x, x.shape[-1:]), backend=fuse, dynamic=True, options={"strict": True}
    )
    torch._dynamo.reset()
    with torch.no_grad():
        for shape in ((4, 24), (5, 7), (3, 2)):
            x = torch.randn(shape)
            torch.testing.assert_close(function(x), F.layer_norm(x, shape[-1:]))


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_statistics_are_returned(dtype: torch.dtype) -> None:
    x = torch.randn(4, 24).to(dtype)
    got, _ = compiled(lambda x: torch.native_layer_norm(x, (24,), None, None, 1e-5), x, strict=True)
    want = torch.native_layer_norm(x, (24,), None, None, 1e-5)
    for ours, theirs in zip(got, want, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        torch.testing.assert_close(ours, theirs, rtol=2**-7 if dtype == BF16 else 1e-5, atol=1e-2)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0, 5), (3, 0)])
def test_no_elements(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    got, [graph] = compiled(lambda x: F.layer_norm(x, x.shape[-1:]), x)
    assert got.shape == x.shape and graph.launches_before == 0


def test_parameters_of_a_wider_dtype() -> None:
    x, given = torch.randn(4, 24).to(BF16), parameters((24,), F32)
    got, _ = compiled(lambda x, *p: F.layer_norm(x, (24,), *p), x, *given)
    check(got, x, (24,), *given)


def test_where_gradients_are_asked_for_it_is_decomposed() -> None:
    graphs: list[Any] = []
    torch._dynamo.reset()
    x = torch.randn(4, 24, requires_grad=True)
    function = torch.compile(
        lambda x: F.layer_norm(x, (24,)), backend=fuse, options={"on_compiled": graphs.append}
    )
    function(x).sum().backward()
    assert [g.name for g in graphs] == ["forward", "backward"] and graphs[0].launches_before > 2
