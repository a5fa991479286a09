"""Reductions that are stored in place of what is made of them: fewer bytes at once, and the same numbers."""

import pytest
import torch
from compiling import check
from peaks import planned_peak

from fuse_mlir.bench.wild2 import WILD2

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def stored(graph):
    return [r for r in graph.remarks.items if r.rule == "stored"]


def crossings(x):
    """Signs that change within windows that overlap, and their energies."""
    rows = x.unfold(1, 400, 160)
    rows = rows - rows.mean(-1, keepdim=True)
    return rows.square().mean(-1), (rows[..., 1:] * rows[..., :-1] < 0).to(x.dtype).mean(-1)


def paths(x, label):
    """Logarithms of probabilities along two paths."""
    p = x.log_softmax(-1)
    one = F.pad(p[:, 0].gather(1, label), (1, 0))
    return torch.logsumexp(torch.stack((one, one + 1)), 0)[:, 1:] + p[:, 1].gather(1, label)


def logarithms(x):
    """Logarithms of probabilities, of neighbours and of what lies two apart."""
    p = x.log_softmax(1)
    return (p[:, 1:] - p[:, :-1]).square().sum(1), (p[:, 2:] * p[:, :-2]).amax(1)


def shifted(x):
    """Rows of 16 bits below their largest element, rounded before neighbours meet."""
    y = x - x.amax(1, keepdim=True)
    return (y[:, 1:] * y[:, :-1]).sum(1)


def of_a_scan(x):
    p = (x / x.sum(1, keepdim=True)).cumsum(1)
    return (p[:, 1:] * p[:, :-1] < 0.25).sum(1)


CASES = {
    "crossings": (crossings, (torch.randn(4, 4000),)),
    "logarithms": (logarithms, (torch.randn(64, 512),)),
    "shifted": (shifted, (torch.randn(64, 512).bfloat16(),)),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_in_no_memory(name):
    function, args = CASES[name]
    check(function, *args, interpret_level="planned", hardware="h200")
    assert planned_peak(function, args) < args[0].nbytes / 4


def test_a_remark_says_what_is_stored():
    (graph,) = check(crossings, torch.randn(4, 4000), interpret_level="planned", hardware="h200").graphs
    [remark] = stored(graph)
    assert dict(remark.numbers)["saved_bytes"] > 0


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_of_each_pass(name):
    function, args = CASES[name]
    check(function, *args, verify="numeric", hardware="h200")


def test_looked_up_elements_are_computed_where_they_are_read():
    args = torch.randn(8, 2, 1000), torch.randint(0, 1000, (8, 20))
    check(paths, *args, interpret_level="planned", hardware="h200")
    assert planned_peak(paths, args) < args[0].nbytes / 4


def test_a_running_sum_is_stored():
    (graph,) = check(of_a_scan, torch.rand(64, 512), interpret_level="planned", hardware="h200").graphs
    assert not stored(graph)


def test_what_the_caller_gets_is_stored():
    def given(x):
        p = x.softmax(1)
        return p, (p[:, 1:] - p[:, :-1]).square().sum(1)

    (graph,) = check(given, torch.randn(64, 512), interpret_level="planned", hardware="h200").graphs
    assert not stored(graph)


@pytest.mark.parametrize("name", ["overlapping_frames_32x160000x400", "aligned_labels_64x64x128"])
def test_workloads_agree_with_eager(name):
    built = WILD2[name].new(torch.float32, torch.device("cpu"), small=True)
    check(built.fn, *built.args, verify="numeric", hardware="h200")
