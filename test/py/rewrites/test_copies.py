"""Copies that norms and softmaxes ask for keep the strides of what they copy."""

import pytest
import torch
from compiling import check
from interpreted_gpu import interpreted_gpu
from torch._higher_order_ops.triton_kernel_wrap import triton_kernel_wrapper_functional
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.layouts.choose import choose_layouts

aten = torch.ops.aten

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

IMAGES = torch.randn(2, 8, 5, 3).contiguous(memory_format=torch.channels_last)


def strides_of_copy(function, *args):
    """Strides of the one copy in a graph once layouts are chosen, and of the graph's result."""
    graph = make_fx(function, tracing_mode="fake")(*args)
    [copy, *_] = graph.graph.find_nodes(op="call_function", target=aten.clone.default)
    choose_layouts(graph)
    (output,) = graph.graph.find_nodes(op="output")
    return copy.meta["val"].stride(), output.args[0].meta["val"].stride()


def test_a_copy_that_is_reduced_keeps_strides():
    copied = strides_of_copy(lambda x: x.contiguous().view(2, 4, 2, 15).exp().sum((2, 3)), IMAGES)
    assert copied == (IMAGES.stride(), (4, 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.var_mean(x.contiguous().view(2, 4, 2, 15), (2, 3))[0],
        lambda x: torch.var_mean(x.contiguous().double().view(2, 4, 2, 15), (2, 3))[1],
        lambda x: x.contiguous().max(1)[0],
    ],
    ids=["mean and variance", "behind a conversion", "value and index"],
)
def test_a_reduction_with_several_results_counts(function):
    assert strides_of_copy(function, IMAGES)[0] == IMAGES.stride()


def test_a_copy_follows_strides_that_are_chosen_later():
    """A norm over the channels of a convolution, as networks without ``channels_last`` write it."""

    def normed(x, w):
        pixels = aten.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1).permute(0, 2, 3, 1)
        copied = aten.clone(pixels, memory_format=torch.contiguous_format)
        return (copied - copied.mean(-1, keepdim=True)).sum((0, 1, 2))

    copied, _ = strides_of_copy(normed, torch.randn(2, 8, 5, 3), torch.randn(8, 8, 3, 3))
    assert copied == (120, 24, 8, 1)


def test_a_result_has_eager_s_strides():
    def centred(x):
        y = x.contiguous()
        return y - y.amax((2, 3), keepdim=True)

    assert strides_of_copy(centred, IMAGES) == (IMAGES.stride(), (120, 15, 3, 1))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.contiguous() * 2,
        lambda x: x.contiguous().view(2, 8, 15)[0].t() @ x.contiguous().view(2, 8, 15)[0] + x.sum(),
        lambda x: x.contiguous().view(-1, 4).sum(1),
        lambda x: x.expand(3, 2, 8, 5, 3).contiguous().sum(0),
        lambda x: x[:, 1:].contiguous().sum(1),
        lambda x: x.contiguous().sort(1)[0] + x.contiguous().sum(1, keepdim=True),
    ],
    ids=["pointwise", "products", "a view that cannot be", "broadcast", "part", "several of torch's"],
)
def test_copies_that_stay(function):
    copy, _ = strides_of_copy(function, IMAGES)
    assert copy == torch.empty(function_shape(function)).stride()


def function_shape(function):
    """The shape of the first copy."""
    graph = make_fx(function, tracing_mode="fake")(IMAGES)
    return graph.graph.find_nodes(op="call_function", target=aten.clone.default)[0].meta["val"].shape


def test_a_copy_that_a_users_kernel_reads_stays():
    module = make_fx(lambda x: x.contiguous().sum(1), tracing_mode="fake")(IMAGES)
    (copy,) = module.graph.find_nodes(op="call_function", target=aten.clone.default)
    with module.graph.inserting_after(copy):
        launch = module.graph.call_function(triton_kernel_wrapper_functional, kwargs={"kwargs": {"x": copy}})
    launch.meta["val"] = {"x": copy.meta["val"]}
    choose_layouts(module)
    (copy,) = module.graph.find_nodes(op="call_function", target=aten.clone.default)
    assert copy.meta["val"].is_contiguous()


def standardised(x):
    """Groups of channels, as a norm takes them, and a softmax of transposed rows."""
    groups = x.exp().contiguous().view(2, 4, 2, 15)
    return (groups - groups.mean((2, 3), keepdim=True)).view(x.shape), F.log_softmax(
        (x[0] * 2).flatten(1).t(), -1
    )


def group_norm(x):
    """As torch takes it apart on a GPU, where the input is copied first."""
    return F.silu(F.group_norm(x.exp().contiguous(), 4))


@pytest.mark.parametrize("function", [standardised, group_norm])
def test_numbers(function):
    with interpreted_gpu():
        graphs = check(function, IMAGES, layouts="free").graphs
    assert "copies" in [r.pass_name for g in graphs for r in g.remarks.items]
