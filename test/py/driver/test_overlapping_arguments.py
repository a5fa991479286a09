"""Arguments that share memory, of a graph that writes to one: every call is as in eager mode, whatever the
graph was compiled for.
"""

import logging
import random

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds

from fuse_mlir.compiler.driver.direct_call import mutated_inputs
from fuse_mlir.compiler.runtime.overlapping_arguments import overlaps


def both(x, y):
    x.mul_(2)
    y.add_(1)
    return x * y


def from_one_to_the_other(x, y):
    z = x.sin()
    y.add_(z)
    x.add_(z)
    return y * 2


def one(x, y):
    x.mul_(2)
    return x + y


#: Two arguments of 10 elements, as views of memory of 40.
LAID = {
    "apart": lambda b: (b[:10], b[20:30]),
    "in two memories": lambda b: (b[:10], b.clone()[5:15]),
    "the same": lambda b: (b[:10], b[:10]),
    "partly the same": lambda b: (b[:10], b[5:15]),
    "backwards": lambda b: (b[5:15], b[:10]),
    "alternating": lambda b: (b[:20:2], b[1:21:2]),
    "one twice as wide": lambda b: (b[:10], b[:20:2]),
}


def run(function, views):
    """What ``function`` gives of the views, and leaves in them."""
    result = function(*views)
    return [result.clone(), *(v.clone() for v in views)]


@pytest.mark.parametrize(("first", "train"), (("apart", False), ("partly the same", False), ("apart", True)))
def test_calls_of_other_patterns_than_the_first(first, train):
    """Eager computes with memory as it is at each op."""
    weight = torch.linspace(1, 2, 10).requires_grad_(train)

    def function(x, y):
        z = x.detach().cos()
        y.mul_(2)
        x.add_(z)
        return x * weight + y

    compiled = Compiled(function)
    for name in (first, *LAID):
        memory = torch.linspace(-1, 1, 40)
        expected = run(function, LAID[name](memory.clone()))
        found = run(compiled, LAID[name](memory.clone()))
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
        if train:
            (gradient,) = torch.autograd.grad(found[0].sum(), weight) if found[0].requires_grad else (None,)
            assert gradient is None or torch.allclose(gradient, found[1])


@pytest.mark.parametrize("dynamic", (False, True))
def test_the_compiled_graph_runs_where_it_was_compiled_for_it(dynamic, caplog):
    compiled = Compiled(both, dynamic=dynamic)
    for size in (10, 10, 8):
        compiled(torch.ones(size), torch.ones(size))
    assert not caplog.records
    memory = torch.ones(20)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            compiled(memory[:8], memory[4:12])
    [record] = caplog.records  # once for a graph
    assert "l_x_ with l_y_" in record.getMessage()
    assert torch.equal(memory[:12], torch.tensor([4.0] * 4 + [7.0] * 4 + [3.0] * 4))


def test_an_argument_that_meets_itself():
    def function(x):
        x.add_(1.0)
        return x * 2

    memory = torch.arange(8.0)
    expected, found = (
        run(f, [memory.clone().as_strided((4, 4), (1, 1))]) for f in (function, Compiled(function))
    )
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_what_autograd_refuses_runs_as_torch():
    """Views of two dtypes, which AOTAutograd does not handle."""

    def function(x, y):
        x.add_(1.0)
        y.add_(1)
        return x * 2

    memory = torch.arange(8.0)
    expected, found = memory.clone(), memory.clone()
    function(expected, expected.view(torch.int32))
    Compiled(function)(found, found.view(torch.int32))
    assert torch.equal(expected, found)


def test_overlaps():
    b = torch.zeros(40)
    args = [b[:10], b[10:20], b[9:12], b[30:40:3], torch.zeros(10), b[3:3], b[0].expand(4), 7]
    strided = range(7)
    assert overlaps(args, strided, [0]) == {(0, 2), (0, 6)}
    assert overlaps(args, strided, [1, 3]) == {(1, 2)}
    assert overlaps(args, strided, [6]) == {(0, 6), (6, 6)}
    assert overlaps(args, strided, []) == overlaps(args, strided, [4, 5]) == frozenset()
    assert mutated_inputs(3) == ()  # nothing is compiled


def test_random_arguments():
    """FUSE_MLIR_RANDOM=n runs n of them."""
    for seed in seeds(2):
        rng = random.Random(seed)
        torch._dynamo.reset()
        functions = (both, from_one_to_the_other, one)
        function = rng.choice(functions)
        compiled = Compiled(function, dynamic=rng.choice((False, True)))
        for _ in range(6):
            starts, steps = [rng.randrange(12) for _ in range(2)], [rng.choice((1, 1, 2)) for _ in range(2)]
            memory = torch.linspace(-1, 1, 40)
            n = rng.choice((10, 10, 7))

            def views(memory, starts=starts, steps=steps, n=n):
                return [memory[a : a + n * s : s] for a, s in zip(starts, steps, strict=True)]

            mine, eagers = memory.clone(), memory.clone()
            found, expected = run(compiled, views(mine)), run(function, views(eagers))
            for a, b in zip((*found, mine), (*expected, eagers), strict=True):
                torch.testing.assert_close(a, b, msg=lambda m, seed=seed: f"seed {seed}: {m}")
