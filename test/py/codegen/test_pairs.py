"""Loads of neighbours two apart, which are read together: the numbers that they give."""

import pytest
import torch
from compiling import check
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

FUNCTIONS = {
    "columns": lambda x: x[..., ::2] - x[..., 1::2],
    "columns the other way round": lambda x: x[..., 1::2] * 3 + x[..., ::2],
    "one of them twice": lambda x: x[..., ::2] * x[..., 1::2] + x[..., ::2],
    "turned": lambda x: torch.stack((x[..., ::2] - x[..., 1::2], x[..., ::2] + x[..., 1::2]), -1).flatten(-2),
    "rows": lambda x: x[..., ::2, :] - x[..., 1::2, :],
    "pool": lambda x: F.max_pool2d(F.relu(x), 3, 2, 1),
    "pool without a border": lambda x: F.max_pool2d(x, 2, 2),
    "mean": lambda x: F.avg_pool2d(x, 2, 2),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pairs(name, dtype):
    check(FUNCTIONS[name], torch.randn(2, 4, 16, 32).to(dtype), interpret_level="tiled")


@pytest.mark.parametrize("name", ["columns", "pool"])
def test_every_pass_keeps_them(name):
    check(FUNCTIONS[name], torch.randn(2, 4, 16, 32), verify="numeric")


@pytest.mark.parametrize("width", [30, 31, 33])
def test_rows_of_other_lengths(width):
    check(FUNCTIONS["pool"], torch.randn(2, 4, 16, width).bfloat16(), interpret_level="tiled")


@pytest.mark.parametrize("width", [131072, 100514])
def test_in_a_loop(width):
    """Rows of whole blocks, and rows that may start anywhere."""
    check(
        lambda x: (x[..., ::2].float() * x[..., 1::2].float()).sum(-1),
        torch.randn(2, width).bfloat16(),
        interpret_level="tiled",
    )
