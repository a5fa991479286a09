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


@pytest.mark.parametrize("level", ("scheduled", "planned"))
def test_a_tensor_that_two_kernels_read_is_not_stored(level):
    (graph,) = check(both, torch.randn(64, 32), torch.randn(64, 48), interpret_level=level).graphs
    assert len(recomputed(graph)) == 1
    text = str(graph.module)
    assert text.count('"fuse.empty"') + text.count('"fuse.alloc"') == 2, "the results, and nothing else"


def test_the_numbers_of_each_pass():
    check(both, torch.randn(64, 32), torch.randn(64, 48), verify="numeric")
    check(sums, torch.randn(64, 48), verify="numeric")


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
