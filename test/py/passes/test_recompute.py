"""What stayed apart from its readers: computed again where that moves less, with the same numbers."""

import pytest
import torch
from compiling import check

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def recomputed(graph):
    return [r for r in graph.remarks.items if r.rule == "recomputed"]


def both(x, y):
    s = x.sin()
    return torch.cat([s, y], 1), s * 2


def sums(x):
    s = (x.sin() * 0.5).exp()
    return s.sum(1), s.reshape(-1, 8).sum(1)


def test_a_tensor_that_two_kernels_read_is_not_stored():
    (graph,) = check(both, torch.randn(64, 32), torch.randn(64, 48), interpret_level="planned").graphs
    assert len(recomputed(graph)) == 1
    text = str(graph.module)
    assert text.count('"fuse.empty"') + text.count('"fuse.alloc"') == 2, "the results, and nothing else"


def test_the_numbers_of_each_pass():
    check(both, torch.randn(64, 32), torch.randn(64, 48), verify="numeric")
    check(sums, torch.randn(64, 48), verify="numeric")


@torch.library.custom_op("fuse_tests::quadruple_", mutates_args=("x",))
def quadruple_(x: torch.Tensor) -> None:
    x.mul_(4)


def before_an_op(x, w, y):
    """The sine of a product that an op then changes in place; its readers come behind the op."""
    a = x @ w
    s = a.sin()
    quadruple_(a)
    b = (a @ w.t())[:, :1]
    return torch.cat([s, y + b], 1), (s + b).reshape(-1, 8).sum(1), a


def test_what_an_op_changes_in_place_is_not_read_again():
    args = torch.randn(64, 32), torch.randn(32, 32), torch.randn(64, 48)
    (graph,) = check(before_an_op, *args, interpret_level="planned").graphs
    assert not recomputed(graph)


def test_random_numbers_are_drawn_once():
    def dropped(x):
        s = F.dropout(x, 0.5)
        return s.sum(1), s.reshape(-1, 8).sum(1)

    torch.manual_seed(0)
    graphs = []
    import fuse_mlir

    call = torch.compile(dropped, backend=fuse_mlir.backend, options={"on_compiled": graphs.append})
    rows, columns = call(torch.ones(64, 48))
    torch.testing.assert_close(rows.sum(), columns.sum())
    assert not recomputed(graphs[0])


def test_what_is_returned_too_is_recomputed_from_fewer_bytes_only():
    def kept(x, y):
        s = x + y
        return s, s.sum(1), s.reshape(-1, 8).sum(1)

    (graph,) = check(kept, torch.randn(64, 48), torch.randn(64, 48)).graphs
    assert not recomputed(graph)


def normalised(x, mean, rstd, weight, gradient):
    """Part of the backward of a layer norm: few rows, so that sums of rows and of columns stay apart."""
    wide = x.float()
    rows = (wide - mean) * rstd
    inner = gradient.float() * weight
    dot = (inner * rows).sum(1, keepdim=True)
    return (inner - rows * dot).to(x.dtype), (gradient.float() * rows).sum(0)


def test_a_reader_of_what_needs_no_sum_leaves_the_sums_behind():
    x, gradient = torch.randn(2, 96, 256).bfloat16()
    mean, rstd, weight = *torch.randn(2, 96, 1), torch.randn(256)
    (graph,) = check(
        normalised, x, mean, rstd, weight, gradient, interpret_level="planned", hardware="h200"
    ).graphs
    assert len(recomputed(graph)) == 1
    assert "tensor<96x256xf32>" not in str(graph.module), "the normalised rows are in no memory"


def test_the_numbers_of_a_copy_without_sums():
    x, gradient = torch.randn(2, 96, 256).bfloat16()
    mean, rstd, weight = *torch.randn(2, 96, 1), torch.randn(256)
    check(normalised, x, mean, rstd, weight, gradient, verify="numeric")


def test_a_reduction_is_not_computed_again():
    def softmax(x):
        s = x.softmax(1)
        return (s - s.sum(0)).square().sum(1), s.reshape(-1, 8).sum(1)

    (graph,) = check(softmax, torch.randn(96, 256), hardware="h200").graphs
    assert not recomputed(graph)
