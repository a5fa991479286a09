"""Writes through views that torch does not invert exactly, over old values that are inf, NaN or large."""

import math

import pytest
import torch
from compiling import Compiled
from torch import Tensor

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

VIEWS = {
    "ones": lambda m: m[None].expand(1, *m.shape),
    "same": lambda m: m.expand(-1, -1),
    "as": lambda m: m.expand_as(m),
    "to": lambda m: torch.broadcast_to(m, (1, 1, *m.shape)),
    "tensors": lambda m: torch.broadcast_tensors(m, m)[0],
    "columns": lambda m: m[:, :1].expand(-1, 3),
    "row": lambda m: m[1].expand(4, 7),
    "part of repeated": lambda m: m[1:3].expand(3, 2, 7)[1],
    "transposed": lambda m: m.T.expand(1, 7, 5)[0, 2:],
    "meshgrid": lambda m: torch.meshgrid(m[0], m[1], indexing="ij")[0],
    "unfold": lambda m: m.unfold(0, 2, 2),
    "unfold with gaps": lambda m: m.unfold(1, 2, 3),
    "unfold overlapping": lambda m: m.unfold(1, 3, 1),
    "strided": lambda m: m[1:].as_strided((2, 3), (7, 1), 3),
    "strided overlapping": lambda m: m.T[2].as_strided((3, 4), (2, 1), 1),
    "strided repeated": lambda m: m.as_strided((3, 4), (0, 1), 1),
}
WRITERS = {
    "fill_": lambda v: v.fill_(2.5),
    "zero_": lambda v: v.zero_(),
    "first": lambda v: v.__setitem__(0, 4.0),
    "copy_": lambda v: v.copy_(torch.full_like(v, 4.0)),
    "add_": lambda v: v.add_(1),
    "masked_fill_": lambda v: v.masked_fill_(torch.arange(v.numel()).view(v.shape) % 3 == 1, 8.0),
    "index_fill_": lambda v: v.index_fill_(-1, torch.tensor([1]), 9.0),
}
EXACT = ("fill_", "first", "add_")  # enough for expansions that repeat nothing
OVERLAPPING = ("unfold overlapping", "strided overlapping")  # what such a sum gives depends on the order


def old_values() -> Tensor:
    m = torch.randn(5, 7) * 4
    m[0], m[1], m[2, 3], m[3, 2:], m[4, 0] = 1e10, -math.inf, math.nan, math.inf, -0.0
    return m


def each_written(pairs):
    def function(x):
        results = []
        for view, writer in pairs:
            memory = x + 0
            part = view(memory)
            writer(part)
            results += [memory, part * 1]
        return results

    return function


def refused(view, writer) -> bool:
    try:
        writer(view(old_values()))
    except RuntimeError:
        return True
    return False


def exactly(found, want):
    torch.testing.assert_close(found, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("names", [list(VIEWS)[:5], list(VIEWS)[5:10], list(VIEWS)[10:]], ids="|".join)
def test_what_is_written_is_in_memory(names):
    pairs = [
        (VIEWS[name], writer)
        for name in names
        for n, writer in WRITERS.items()
        if (n in EXACT or name not in list(VIEWS)[:5])
        and not (n == "add_" and name in OVERLAPPING)
        and not refused(VIEWS[name], writer)
    ]
    assert len(pairs) >= 3 * len(names)
    function, x = each_written(pairs), old_values()
    exactly(Compiled(function, {"interpret_level": "graph"})(x), function(x))


def remarks(compiled: Compiled) -> set[str]:
    return {r.pass_name for graph in compiled.graphs for r in graph.remarks.items}


def test_sizes_that_are_symbols_and_arguments():
    def function(x, y):
        x[None].expand(1, *x.shape).fill_(2.0)
        y[:, :1].expand(-1, 3)[1:].zero_()
        return x.T + 1

    given, wanted = [old_values(), old_values()], [old_values(), old_values()]
    for other, same in zip(wanted, given, strict=True):
        other.copy_(same)
    compiled = Compiled(function, dynamic=True)
    exactly([compiled(*given), *given], [function(*wanted), *wanted])
    assert "written-views" in remarks(compiled)


def test_gradients():
    def function(x):
        m = x * 2
        m[:2].expand(3, 2, 7)[1].add_(x[2])
        m[3:4].expand(1, 1, 7).fill_(1.5)
        m[4:].unfold(1, 2, 3).copy_(x[:1].unfold(1, 2, 3) * 3)
        return m

    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(5, 7, dtype=torch.float64)
    found, want = (torch.autograd.grad((f(x) * weight).sum(), x)[0] for f in (Compiled(function), function))
    torch.testing.assert_close(found, want)


def test_left_alone():
    def only_read(x):
        m = x + 1
        m.mul_(2)
        return x.expand(2, 5, 7) * m

    def inverted_exactly(x):
        m = x + 1
        m[1:].T[2].fill_(0.0)
        return m

    for function in (only_read, inverted_exactly):
        compiled, x = Compiled(function), torch.randn(5, 7)
        exactly(compiled(x), function(x))
        assert "written-views" not in remarks(compiled)


LAYOUTS = {
    "gaps": lambda m: torch.stack([m, m], -1)[..., 0],
    "begins later": lambda m: torch.cat([m, m])[5:],
    "turned": lambda m: m.T.contiguous().T,
}
#: Slices of the memory, but for dims of size 1, and views that are none.
SLICED = ("columns", "row", "part of repeated", "transposed", "meshgrid")
OTHERS = ("unfold", "strided", "unfold overlapping")


def written_arguments(names):
    def function(*memories):
        parts = [VIEWS[name](memory) for name, memory in zip(names, memories, strict=True)]
        for part in parts:
            part.fill_(0.5)
        for memory, part in zip(memories, parts, strict=True):
            memory[3:].add_(1)
            part[:1].fill_(3.0)
        return [*(part * 1 for part in parts), *(memory.T + 1 for memory in memories)]

    return function


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("names", [SLICED, *((name,) for name in OTHERS)], ids="|".join)
def test_arguments_with_gaps(names, layout, caplog):
    function = written_arguments(names)
    values = [old_values() for _ in names]
    given, wanted = ([layout(value.clone()) for value in values] for _ in range(2))
    compiled = Compiled(function)
    exactly([compiled(*given), *given], [function(*wanted), *wanted])
    assert ("torch runs a whole graph" in caplog.text) == (names != SLICED)
