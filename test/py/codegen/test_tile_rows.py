"""Rows that are longer than what is read of them, and rows in registers that start anywhere: vectors reach in
front of the start and behind the end, and nobody uses that.
"""

import math

import pytest
import torch
from compiling import Compiled, check
from torch.nn import functional as F

FUNCTIONS = {
    "softmax": lambda x: F.softmax(x, -1),
    "sum": lambda x: x.sum(-1),
    "mean and variance": lambda x: torch.var_mean(x, -1),
    "largest": lambda x: (x.amax(-1), x.argmax(-1)),
    "prefix": lambda x: x.cumsum(-1),
    "suffix": lambda x: x.flip(-1).cumsum(-1),
    "pointwise": lambda x: x.exp() * 2 + 1,
    "columns": lambda x: x.sum(0),
    "gather": lambda x: x[:, (x[0] > 0).long()],
}


pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_stands_behind_the_end_is_not_used(name):
    function = FUNCTIONS[name]
    x, y = torch.randn(2, 6, 48)
    x[:, 37:], y[:, 37:] = math.inf, -math.inf
    check(lambda x, y: (function(x[:, :37]), function(y[:, :37])), x, y, interpret_level="tiled")


#: Of rows [16, 1501] in 16 bits, which start 0 to 7 elements behind a multiple of 16 bytes.
ROWS = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "gradient": lambda x: torch.ops.aten._softmax_backward_data(x, x.flip(0), -1, x.dtype),
    "two results": lambda x: (x - x.amax(-1, keepdim=True), x.argmax(-1), x / x.float().sum(-1, True)),
    "masked": lambda x: F.softmax(x.masked_fill(torch.arange(x.shape[-1]) > 700, -math.inf), -1),
    "part": lambda x: F.softmax(x[:, :1400], -1),
    "later": lambda x: F.softmax(x[:, 3:], -1),
    "weighted": lambda x: F.softmax(x, -1) * x[0],
    "scaled norm": lambda x: F.layer_norm(x, (x.shape[-1],), x[1], x[2]),
    "scaled by a tensor of its own": lambda x: F.softmax(x, -1) * (x[3] * 2).to(x.dtype),
    "product": lambda x: x * (x.float() * x[4]).sum(-1, True).to(x.dtype),
    "any": lambda x: torch.where((x > 3.0).any(-1, True), x, -x),
    "only folded": lambda x: (x.amin(-1), x.float().square().mean(-1)),
}


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, torch.bfloat16) for name in ROWS), ("scaled norm", torch.float16)]
)
def test_rows_in_registers_that_start_anywhere(name, dtype):
    check(ROWS[name], torch.randn(16, 1501).to(dtype), interpret_level="tiled")


@pytest.mark.parametrize("columns", [1033, 1489, 1490, 1500, 2047])
def test_ends_of_rows_of_any_length(columns):
    """8 to 15 elements; of rows at even elements the weights are read as they lie."""
    w, b = torch.randn(2, columns).bfloat16()
    check(lambda x, w, b: F.layer_norm(x, (columns,), w, b), torch.randn(9, columns).bfloat16(), w, b,
          interpret_level="tiled")  # fmt: skip


def test_rows_of_an_unknown_number_start_anywhere():
    """Where a row starts is then computed in 64 bits."""
    x = torch.randn(7, 1501).bfloat16()
    check(ROWS["scaled norm"], x, interpret_level="tiled", dynamic=True)


def test_a_row_between_rows_of_other_numbers_keeps_them_out():
    x = torch.full((16, 1501), math.inf, dtype=torch.bfloat16)
    x[::2] = torch.randn(8, 1501).to(torch.bfloat16)
    found = Compiled(ROWS["softmax"], {"interpret_level": "tiled"}, False)(x)[::2].double()
    torch.testing.assert_close(found, x[::2].double().softmax(-1), rtol=2**-8, atol=0.0)


def test_every_pass_keeps_rows_in_parts():
    check(ROWS["scaled norm"], torch.randn(16, 1501).bfloat16(), verify="numeric")


def components(x):
    """A sum over one component of vectors, and one of the vectors themselves."""
    return (x[..., 0] * x[..., 2]).sum(1), (x.exp() * x[..., 1:2]).sum(1)


@pytest.mark.parametrize("rows", [31, 32])
def test_vectors_of_three_components(rows):
    """Programs take several points; lanes lie along the rows, and one column of four is empty."""
    graphs = check(components, torch.randn(1101, rows, 3), interpret_level="tiled", hardware="h200").graphs
    rules = [r.rule for g in graphs for r in g.remarks.items if r.pass_name == "choose-tiling"]
    assert {"small-matrices", "short-rows"} <= set(rules), rules


@pytest.mark.parametrize("points", [384, 500])
def test_planes_that_share_their_points(points):
    """The fourth plane is none, and the last block of points may be cut."""
    at = torch.randint(points, (270, points))
    weights = torch.randn(270, points)

    def function(x, at, w):
        there = at[:, None].expand(x.shape)
        return x.gather(2, there) * (w.exp().sin() + w.square().log1p())[:, None]

    (graph,) = check(
        function, torch.randn(270, 3, points), at, weights, interpret_level="tiled", hardware="h200"
    ).graphs
    assert "planes-share-points" in [r.rule for r in graph.remarks.items]
