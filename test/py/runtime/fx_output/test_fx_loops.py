"""Loops that carry Python ints, as FX graphs: the condition is a number then, and no tensor."""

import pytest
import torch
from nesting import check
from torch._higher_order_ops.while_loop import while_loop

X = torch.arange(24.0).reshape(4, 6) / 10


def nested(x):
    def body(i, x):
        j, y = while_loop(lambda j, y: j < 2, lambda j, y: (j + 1, y * 2), (0, x))
        return i + 1, y + j

    return while_loop(lambda i, x: i < 3, body, (0, x))


def used_later(x):
    i, y = while_loop(lambda i, x: i < 4, lambda i, x: (i + 2, x * i + 1), (0, x))
    return y * i, i


def from_around(x):
    n = x.shape[1]
    return while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + x), (0, x * 1))


LOOPS = {
    "two numbers": lambda x: while_loop(
        lambda i, j, x: i < j, lambda i, j, x: (i + 1, j - 1, x + j), (0, 9, x)
    ),
    "from a size to a size": lambda x: while_loop(
        lambda i, y: i < y.shape[1], lambda i, y: (i + 1, y.sin()), (x.shape[0], x)
    ),
    "nested": nested,
    "used later": used_later,
    "from around": from_around,
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_numbers(name):
    check(LOOPS[name], (X,), where="planned", output="fx", dynamic=len(name) % 2 == 0)
