"""Values between kernels lie without the gaps of an input that is a part of something larger."""

import contextlib

import pytest
import torch
from compiling import Compiled, check
from interpreted_gpu import interpreted_gpu
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.layouts.choose import choose_layouts
from fuse_mlir.compiler.rewrites.stages import Switch

aten = torch.ops.aten

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def rows(*shape):
    """A part of rows that are twice as long."""
    return torch.randn(*shape[:-1], 2 * shape[-1])[..., : shape[-1]]


def strides_of_copy(function, *args, mode="fake"):
    """Strides of the functional copy in a graph once layouts are chosen, and of the graph's results."""
    graph = make_fx(function, tracing_mode=mode)(*args)
    choose_layouts(graph, on=(Switch.ALWAYS,))
    copies = graph.graph.find_nodes(op="call_function", target=aten.copy.default)
    (output,) = graph.graph.find_nodes(op="output")
    results = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    return copies[0].meta["val"].stride(), [r.meta["val"].stride() for r in results]


def test_what_kernels_read_has_none():
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y).sin(), rows(4, 8), torch.randn(4, 8))
    assert copy == (8, 1)


def test_the_order_of_strides_stays():
    x = rows(3, 4, 8).permute(2, 0, 1)
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y).sin(), x, torch.randn(8, 3, 4))
    assert copy == (1, 32, 8)


def test_a_view_of_it_is_read():
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y)[1:].mT.sin(), rows(4, 8), torch.randn(4, 8))
    assert copy == (8, 1)


def test_sizes_that_are_unknown():
    copy, _ = strides_of_copy(
        lambda x, y: aten.copy(x, y).sin(), rows(4, 8), torch.randn(4, 8), mode="symbolic"
    )
    assert str(copy[0]) == "s1" or copy[0].node.hint == 8


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: aten.copy(x, y),
        lambda x, y: aten.copy(x, y)[1:],
        lambda x, y: aten.sort(aten.copy(x, y))[0].sin(),
        lambda x, y: aten.sort(aten.copy(x, y)[1:])[0].sin(),
        lambda x, y: x.copy_(aten.copy(x, y)).sin(),
    ],
    ids=["result", "view as result", "torch op", "torch op on a view", "copied into an argument"],
)
def test_where_the_gaps_stay(function):
    copy, _ = strides_of_copy(function, rows(4, 8), torch.randn(4, 8))
    assert copy == (16, 1)


def test_complex_values_are_copied_by_torch():
    x = torch.complex(rows(4, 8), rows(4, 8))[:, ::2]
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y).sin(), x, torch.zeros(4, 4))
    assert copy == (8, 2)


@pytest.mark.parametrize("on_gpu", [False, True], ids=["interpreter", "launch plan"])
def test_gradients_of_a_short_time_fourier_transform(on_gpu):
    x = torch.randn(100, requires_grad=True)
    with interpreted_gpu() if on_gpu else contextlib.nullcontext():
        compiled = Compiled(lambda x: torch.stft(x, 10, return_complex=True))
        (found,) = torch.autograd.grad(torch.view_as_real(compiled(x)).square().sum(), x)
    exact = x.detach().double().requires_grad_()
    spectrum = torch.stft(exact, 10, return_complex=True)
    (want,) = torch.autograd.grad(torch.view_as_real(spectrum).square().sum(), exact)
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)


def test_what_has_no_gaps_stays():
    x = torch.randn(1, 8).expand(4, 8)
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y).sin(), torch.randn(4, 8), x)
    assert copy == (8, 1)
    copy, _ = strides_of_copy(lambda x, y: aten.copy(x, y).sin(), rows(0, 8), torch.randn(0, 8))
    assert copy == (16, 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_numbers(dynamic):
    def shifted(x):
        x[1:].copy_(x[:-1].clone())
        x[:, 1:].copy_(x[:, :-1].clone())
        return x.cumsum(0), x.mT.exp()

    check(shifted, rows(6, 10), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_saved_in_symbolic_strides_keeps_its_gaps(dynamic):
    """AOTAutograd is told of strides that are numbers alone."""

    def filled(state, x):
        made = torch.empty_strided(state.shape, state.stride())
        made[1:], made[0] = x.detach(), 1
        return (made[1:] * x).sin()

    state, x = rows(5, 8), torch.randn(4, 8, requires_grad=True)
    with interpreted_gpu():
        (found,) = torch.autograd.grad(Compiled(filled, dynamic=dynamic)(state, x).sum(), x)
    (want,) = torch.autograd.grad(filled(state, x).sum(), x)
    torch.testing.assert_close(found, want)


def test_an_element_of_what_is_closed_lies_elsewhere():
    """It has no strides that could differ, only an offset."""

    def function(x):
        x.view(-1)[1:].masked_fill_(x[1:] > 0, 1)
        x[4].add_(1)
        return x * 1, x[3] * 2

    given, wanted = torch.randn(5, 2)[:, 0], torch.empty(5, 2)[:, 0]
    wanted.copy_(given)
    torch.testing.assert_close([*Compiled(function)(given), given], [*function(wanted), wanted])
