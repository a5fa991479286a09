"""Products of rows that norms scale (`row_scales.py`): which fire, the numbers, and what is left alone."""

import pytest
import torch
from compiling import Compiled

from fuse_mlir.passes.pipeline import Settings, default_pipeline
from fuse_mlir.passes.pipeline_text import pipeline_text
from fuse_mlir.passes.products.commute_row_scales import CommuteRowScales

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

F = torch.nn.functional


def pipeline(level):
    """The default one, with the pass behind the first choice of libraries."""
    passes = default_pipeline(level, Settings("h200"))
    place = next(n for n, p in enumerate(passes) if p.name == "choose-libraries") + 1
    return pipeline_text([*passes[:place], CommuteRowScales(hardware="h200"), *passes[place:]])


def operands(m=16384, k=128, n=16, dtype=torch.bfloat16):
    """x [4, m / 4, k] with rows of many sizes, a gain [k], a matrix [k, n]."""
    x, gain, w = torch.randn(4, m // 4, k), torch.randn(k), torch.randn(k, n)
    return [t.to(dtype) for t in (x * torch.randn(4, m // 4, 1).exp(), gain, w)]


def scaled(x):
    return x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)


def gained(x, gain, w):
    return (gain * scaled(x).to(x.dtype)) @ w


def plain(x, gain, w):
    return scaled(x).to(x.dtype) @ w


def biased(x, gain, w):
    return F.relu(F.linear(scaled(x).to(x.dtype), w.t(), gain[: w.shape[1]]))


def said(compiled):
    """The rules of the pass's remarks."""
    [graph] = compiled.graphs
    return [r.rule for r in graph.remarks.items if r.pass_name == "commute-row-scales"]


@pytest.mark.parametrize("function", [gained, plain, biased], ids=lambda f: f.__name__)
def test_rows_are_multiplied_before_they_are_scaled(function):
    args = operands()
    exact, eager = function(*(a.double() for a in args)), function(*args)
    compiled = Compiled(function, {"pipeline": pipeline("planned"), "interpret_level": "planned"})
    got = compiled(*args)
    assert said(compiled) == ["kernel"]
    assert (got.double() - exact).norm() <= 1.05 * (eager.double() - exact).norm()
    scaled_rows = [launch for launch in compiled.graphs[0].launches if launch.estimate.written > 2**20]
    assert not scaled_rows, "nothing as large as the rows is written"


def read_again(x, gain, w):
    rows = scaled(x).to(x.dtype)
    return rows @ w, rows


def of_columns_alone(x, gain, w):
    return (x * gain) @ w


def shifted(x, gain, w):
    return (scaled(x) + 1).to(x.dtype) @ w


def scaled_twice(x, gain, w):
    return (scaled(x) * x.float().amax(-1, keepdim=True)).to(x.dtype) @ w


@pytest.mark.parametrize(
    ("function", "given"),
    [
        *((f, {"m": 4096, "k": 32}) for f in (read_again, of_columns_alone, shifted, scaled_twice)),
        (plain, {"m": 4096, "k": 32, "dtype": torch.float16}),
    ],
    ids=["read_again", "of_columns_alone", "shifted", "scaled_twice", "float16"],
)
def test_left_alone(function, given):
    compiled = Compiled(function, {"pipeline": pipeline("scheduled"), "interpret_level": "scheduled"})
    compiled(*operands(**given))
    assert said(compiled) == []


def test_a_small_product_is_the_librarys():
    compiled = Compiled(plain, {"pipeline": pipeline("scheduled"), "interpret_level": "scheduled"})
    compiled(*operands(m=512, k=64))
    assert said(compiled) == ["library"]
