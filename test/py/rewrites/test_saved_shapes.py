"""What the backward pass reads in two shapes is read in one, where a view can undo the other."""

import pytest
import torch
from compiling import check
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.rewrites.joint.saved_shapes import save_one_shape

aten = torch.ops.aten
X, Y = torch.randn(2, 3, 4), torch.randn(2, 3, 4)


def traced(function, mode="fake"):
    """A joint graph: what depends on ``tangents`` is the backward pass."""

    def joint(primals, tangents):
        return function(primals, tangents)

    return make_fx(joint, tracing_mode=mode)(X, Y)


def two_shapes(primals, tangents):
    y = primals.relu()
    matrix = y.view(6, 4)
    return matrix.t() @ tangents.view(6, 4), aten.threshold_backward(tangents, y, 0)


def copied(primals, tangents):
    y = primals.relu()
    matrix = y.clone().view(6, 4)
    return matrix.t() @ tangents.view(6, 4), aten.threshold_backward(tangents, y, 0)


@pytest.mark.parametrize("function", [two_shapes, copied])
def test_readers_of_two_shapes_read_one(function):
    gm = traced(function)
    expected = gm(X, Y)
    assert save_one_shape(gm) == 1
    gm.graph.lint()
    gm.recompile()
    torch.testing.assert_close(gm(X, Y), expected, rtol=0, atol=0)
    [reader] = gm.graph.find_nodes(op="call_function", target=aten.threshold_backward.default)
    [relu] = gm.graph.find_nodes(op="call_function", target=aten.relu.default)
    assert relu not in reader.all_input_nodes  # but a view of what the product reads
    assert all(user.target in (aten.view.default, aten.clone.default) for user in relu.users)


def one_shape(primals, tangents):
    y = primals.relu()
    return y.view(6, 4).sum(0), aten.threshold_backward(tangents, y, 0)


def not_contiguous(primals, tangents):
    y = primals.transpose(0, 1).relu()
    matrix = y.reshape(6, 4)
    return matrix.t() @ tangents.view(6, 4), aten.threshold_backward(tangents.view(3, 2, 4), y, 0)


def returned_beside_a_copy(primals, tangents):
    """The graph's output is no reader of the backward pass."""
    y = primals.relu()
    matrix = y.clone().view(6, 4)
    return y, matrix.t() @ tangents.view(6, 4)


def a_returned_copy(primals, tangents):
    """The program may write to the copy before the backward pass reads what was copied."""
    y = primals.relu()
    matrix = y.clone().view(6, 4)
    return matrix, matrix.t() @ tangents.view(6, 4), aten.threshold_backward(tangents, y, 0)


@pytest.mark.parametrize(
    ("function", "mode"),
    [
        (returned_beside_a_copy, "fake"),
        (a_returned_copy, "fake"),
        (one_shape, "fake"),
        (not_contiguous, "fake"),
        (two_shapes, "symbolic"),
    ],
    ids=["returned", "a_returned_copy", "the_matrix_is_not_saved", "not_contiguous", "unknown_sizes"],
)
def test_left_alone(function, mode):
    assert save_one_shape(traced(function, mode)) == 0


def test_a_result_and_a_copy_of_it_are_two_tensors(fresh_dynamo):
    def function(x, w):
        y = (x @ w).tanh()
        return y.clone(), y

    check(function, torch.randn(6, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True))
