"""What is kept between forward and backward."""

from contextlib import nullcontext

import pytest
import torch
from compiling import Compiled
from interpreted_gpu import interpreted_gpu
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fuse_mlir.compiler.frontend.autograd.old_values import save_old_values

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.mark.products("auto")  # a product is a call
def test_cross_entropy_keeps_the_logits_and_no_log_softmax():
    """Compared with float64; three kernels, none of which writes as many float32 as there are logits."""
    rows, classes = 24, 500
    torch.manual_seed(0)
    hidden, weight = torch.randn(rows, 16).bfloat16(), torch.randn(classes, 16).bfloat16()
    target = torch.randint(classes, (rows,))
    target[3] = -100

    def loss(h, w, t):
        return F.cross_entropy((h @ w.t()).float(), t)

    compiled = Compiled(loss, {"hardware": "h200"})
    h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
    value = compiled(h, w, target)
    value.backward()
    a, b = hidden.double().requires_grad_(), weight.double().requires_grad_()
    exact = F.cross_entropy(a @ b.t(), target)
    exact.backward()
    torch.testing.assert_close(value.double(), exact, rtol=2e-2, atol=0)
    torch.testing.assert_close(h.grad.double(), a.grad, rtol=5e-2, atol=2e-2)
    torch.testing.assert_close(w.grad.double(), b.grad, rtol=5e-2, atol=2e-2)
    forward, backward = compiled.graphs
    kernels = [x for g in (forward, backward) for x in g.launches if x.kind == "kernel"]
    assert (forward.launches_after, backward.launches_after) == (2, 1)
    logits = rows * classes * 2
    assert max(x.estimate.written for x in kernels) == logits
    assert sum(x.estimate.bytes for x in kernels) < 3.2 * logits


def test_a_logsumexp_between_two_readers_of_logits_does_not_save_what_they_read():
    """The capped logits have a softmax, and a z-loss in front of it; the gradient needs the product alone."""

    def loss(h, w, t):
        logits = 30 * torch.tanh((h @ w.t()).float() / 30)
        return F.cross_entropy(logits, t, label_smoothing=0.1) + logits.logsumexp(-1).square().mean()

    generator = torch.Generator().manual_seed(0)
    h, w = (torch.randn(n, 8, generator=generator).bfloat16().requires_grad_() for n in (12, 100))
    t, saved = torch.arange(12), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        value = Compiled(loss)(h, w, t)
    value.backward()
    assert [s.dtype for s in saved if s.numel() == 1200] == [torch.bfloat16]
    a, b = (x.detach().double().requires_grad_() for x in (h, w))
    loss(a, b, t).backward()
    for x, exact in ((h, a), (w, b)):
        torch.testing.assert_close(x.grad.double(), exact.grad, rtol=5e-2, atol=5e-2)


def squashed(x):
    return (x * torch.tanh(x * 2).sigmoid()).cos()


def likelihood(x):
    return F.logsigmoid(x) * (1 - x.sigmoid()) ** 2


@pytest.mark.parametrize("function", [squashed, likelihood])
def test_an_activation_that_its_gradient_reads_is_computed_again(function):
    """What tanh, sigmoid and log-sigmoid give is cheap: the backward graph gets the input alone."""
    x = torch.randn(8, 64, requires_grad=True)
    compiled = Compiled(function, {"hardware": "h200"})
    compiled(x).sum().backward()
    exact = x.detach().double().requires_grad_()
    function(exact).sum().backward()
    torch.testing.assert_close(x.grad.double(), exact.grad, rtol=1e-5, atol=1e-5)
    [forward], [backward] = (g.launches for g in compiled.graphs)
    assert forward.estimate.written == 8 * 64 * 4
    assert backward.estimate.read <= 2 * 8 * 64 * 4


def crossed(x, y, at):
    return torch.linalg.cross(x.index_select(0, at).tanh(), y.roll(1, 0)).exp()


def test_rows_that_are_read_by_an_index_are_not_saved():
    """The backward graph gets ``x``, ``y``, the result and the index: rows of a selection, of a roll and of a
    cross product are read again.
    """
    x, y = (torch.randn(n, 3, requires_grad=True) for n in (20, 400))
    at, saved = torch.randint(20, (400,)), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        result = Compiled(crossed, {"hardware": "h200"})(x, y, at)
    result.sum().backward()
    assert sorted(t.numel() for t in saved if t.is_floating_point()) == [60, 1200, 1200]
    exact = [t.detach().double().requires_grad_() for t in (x, y)]
    crossed(*exact, at).sum().backward()
    for a, b in zip((x, y), exact, strict=True):
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "softplus", "hardtanh", "hardswish", "hardsigmoid"])
def test_what_an_activation_reads_is_computed_again(name):
    """The sum of rows of two tables is made of small tensors; the gradient of an activation reads it, too."""

    def function(x, y, at):
        return getattr(F, name)(x[at] + y[at.flip(0)])

    x, y = (torch.randn(20, 3, requires_grad=True) for _ in range(2))
    at, saved = torch.randint(20, (400,)), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        result = Compiled(function, {"hardware": "h200"})(x, y, at)
    result.sum().backward()
    assert [t.numel() for t in saved if t.is_floating_point()] == [60, 60]
    exact = [t.detach().double().requires_grad_() for t in (x, y)]
    function(*exact, at).sum().backward()
    for a, b in zip((x, y), exact, strict=True):
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=1e-4, atol=1e-5)


def feed_forward(x, w1, w2):
    return torch.relu(x @ w1) @ w2


def feed_forward_with_a_copy(x, w1, w2):
    return torch.relu(x @ w1).clone() @ w2


@pytest.mark.parametrize("function", [feed_forward, feed_forward_with_a_copy])
def test_an_activation_in_two_shapes_is_saved_once(function):
    """The gradient of the second weight reads a matrix, that of the relu what the matrix is a view of."""
    args = [torch.randn(shape, requires_grad=True) for shape in ((4, 6, 16), (16, 48), (48, 16))]
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        compiled = Compiled(function, {"hardware": "h200"})
        result = compiled(*args)
    result.square().sum().backward()
    assert sum(t.numel() == 4 * 6 * 48 for t in saved) == 1
    exact = [a.detach().double().requires_grad_() for a in args]
    feed_forward(*exact).square().sum().backward()
    for a, b in zip(args, exact, strict=True):
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("gpu", (False, True))
def test_checkpointed_dropout_is_replayed(gpu, dynamic):
    """The backward graph runs it again from the state that the forward graph saved: with the same mask."""

    def function(x):
        def dropped(x):
            return F.dropout(F.dropout(x.sin(), 0.25).exp(), 0.5)

        return checkpoint(dropped, x, use_reentrant=False)

    x = torch.linspace(1, 2, 40 * 30).view(40, 30).requires_grad_()
    with interpreted_gpu() if gpu else nullcontext():
        compiled = Compiled(function, {"interpret_level": "planned"}, dynamic)
        y = compiled(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
    assert "run_with_rng_state" in str(compiled.graphs[1].module)
    assert 0.4 < (y != 0).float().mean() < 0.6
    both = y > 2.0001  # what only the inner one drops is exp(0) / 0.5
    assert torch.equal(gradient != 0, both)
    exact = 2 / 0.75 * x.cos() * (x.sin() / 0.75).exp()
    torch.testing.assert_close(gradient[both], exact[both])


def seen_before(state, x):
    y = (state[1:] * 2) * x
    state.add_(1)
    return y


@pytest.mark.parametrize("dynamic", (False, True))
@pytest.mark.parametrize("gaps", (False, True))
def test_what_the_forward_graph_overwrites_is_saved_as_it_was(gaps, dynamic):
    state = torch.randn(4, 16)[:, 3:9] if gaps else torch.randn(4, 6)
    exact_state = state.double()
    x = torch.randn(3, 6, requires_grad=True)
    with interpreted_gpu():
        compiled = Compiled(seen_before, dynamic=dynamic)
        (found,) = torch.autograd.grad(compiled(state, x).sum(), x)
    exact = x.detach().double().requires_grad_()
    (want,) = torch.autograd.grad(seen_before(exact_state, exact).sum(), exact)
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gaps", (False, True))
def test_views_of_what_is_overwritten_are_saved_as_they_were(gaps):
    def forward(state, x):
        part = torch.ops.aten.split.Tensor(state, 2)[1].t()
        result = part * x
        torch.ops.aten.copy_.default(state, state + 1)
        return result, x, part

    state = torch.randn(4, 16)[:, 3:9] if gaps else torch.randn(4, 6)
    x = torch.randn(6, 2)
    graph = make_fx(forward, tracing_mode="fake")(state, x)
    output, argument = graph.graph.output_node(), next(iter(graph.graph.nodes))
    output.args = ((*output.args[0], argument),)
    strides = [n.meta["val"].stride() for n in output.args[0]]
    save_old_values(graph, 1)
    graph.recompile()
    old = state.clone()
    result, *saved = graph(state, x)
    assert torch.equal(state, old + 1)
    assert list(map(torch.equal, saved, (x, old[2:].t(), old))) == [True] * 3
    assert [t.stride() for t in (result, *saved)] == strides
    first, *views = [t.untyped_storage().data_ptr() for t in saved]
    assert len({state.untyped_storage().data_ptr(), first, *views}) == 3 and len(set(views)) == 1


def test_what_is_overwritten_and_not_saved_is_not_copied():
    def averaged(state, x):
        state.lerp_(x.detach(), 0.1)
        return x.exp() * state

    compiled = Compiled(averaged)
    compiled(torch.randn(4, 8), torch.randn(4, 8, requires_grad=True))
    assert "clone" not in str(compiled.graphs[0].module)
