"""Rows that are longer than what is read of them: vectors reach behind the end, and nobody uses that."""

import math

import pytest
import torch
from compiling import check
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


@pytest.mark.parametrize("behind", [math.inf, -math.inf])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_stands_behind_the_end_is_not_used(name, behind):
    function = FUNCTIONS[name]
    x = torch.randn(6, 48)
    x[:, 37:] = behind
    check(lambda x: function(x[:, :37]), x, interpret_level="tiled")
