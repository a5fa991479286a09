"""What is written into an argument and read by a torch op exists once, whatever else is done with either."""

import pytest
import torch
from compiling import check

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def sorted_sum(x, w):
    x.add_(1)
    return torch.sort(x)[0] @ w


def product_of_a_row(x, w):
    x[3:5].copy_(w[:2])
    return x @ w


def handed_out(x, w):
    """The caller gets the input and a copy of it, which must not be the same memory."""
    x.mul_(2)
    return x @ w, x.clone()


def written_twice(x, w):
    x.mul_(2)
    y = x @ w
    x.add_(y)
    return y, torch.sort(x)[0]


def old_and_new(x, w):
    before = x @ w
    x.mul_(2)
    return before + x @ w


#: (function, tensors that are made besides the results of torch ops)
CASES = ((sorted_sum, 0), (product_of_a_row, 0), (handed_out, 1), (written_twice, 1), (old_and_new, 1))


@pytest.mark.parametrize(("function", "made"), CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.products("auto")  # the kernel of a product reads the argument, so it is not the last to read it
def test_inputs_that_are_written_and_read(function, made):
    for level in ("scheduled", "planned"):
        (graph,) = check(function, torch.randn(8, 8), torch.randn(8, 8), interpret_level=level).graphs
        if level == "scheduled":
            assert str(graph.module).count('"fuse.empty"') == made
