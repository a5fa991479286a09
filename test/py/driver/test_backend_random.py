"""Random small programs through the backend: views, broadcasts, reductions and arithmetic, as chance has it.

A program is a list of steps over a pool of tensors, drawn from a seed, so every run and every machine tries
the same ones; a failure's test id is the seed that repeats it.
"""

import random
from collections.abc import Callable

import pytest
import torch
from compiling import check

Step = Callable[[list[torch.Tensor]], torch.Tensor]

UNARY = {
    "sin": torch.sin,
    "exp": lambda x: torch.exp(x.clamp(-3, 3)),
    "sigmoid": torch.sigmoid,
    "square": torch.square,
    "relu": torch.relu,
    "neg": torch.neg,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "div": lambda x, y: x / (y.abs() + 1),
}
REDUCTIONS = {
    "sum": lambda x, d: x.sum(d),
    "mean": lambda x, d: x.mean(d, keepdim=True),
    "amax": lambda x, d: x.amax(d),
    "softmax": lambda x, d: x.softmax(d),
    "cumsum": lambda x, d: x.cumsum(d),
    "var": lambda x, d: x.var(d, unbiased=False, keepdim=True),
}


def program(seed: int, steps: int = 9) -> Callable[..., tuple[torch.Tensor, ...]]:
    """A function of two float tensors; its last few values are the results, which keep the others alive."""
    draw = random.Random(seed)
    made = [_step(draw) for _ in range(steps)]
    kept = [draw.randrange(2, steps + 2) for _ in range(2)] + [steps + 1]

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pool = [x, y]
        for step in made:
            pool.append(step(pool))
        return tuple(pool[i] for i in dict.fromkeys(kept))

    return function


def _step(draw: random.Random) -> Step:
    """One step; what it does depends on the shapes that it meets, so that it fits all of them."""
    kind = draw.choice(["unary", "binary", "binary", "reduce", "view"])
    first, second = (draw.choice([-1, -1, -2, 0, 1]) for _ in range(2))  # the newest values most often
    number = draw.randrange(1 << 16)
    name = draw.choice(sorted({"unary": UNARY, "binary": BINARY, "reduce": REDUCTIONS, "view": VIEWS}[kind]))

    def run(pool: list[torch.Tensor]) -> torch.Tensor:
        x, y = pool[first], pool[second]
        if kind == "unary":
            return UNARY[name](x)
        if kind == "binary":
            return BINARY[name](x, _fitting(x, y))
        if x.ndim == 0:
            return x + 1
        if kind == "reduce":
            return REDUCTIONS[name](x, number % x.ndim)
        return VIEWS[name](x, number % x.ndim)

    return run


def _fitting(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`y`, or a number made of it, in a shape that broadcasts with `x`."""
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    fits = y.ndim <= 3 and all(m == n or m == 1 or n == 1 for m, n in pairs)
    return y if fits else y.mean()


VIEWS = {
    "transpose": lambda x, d: x.transpose(0, d),
    "slice": lambda x, d: x.narrow(d, x.shape[d] // 2, x.shape[d] - x.shape[d] // 2),
    "step": lambda x, d: x[::2] if d == 0 else x[..., ::2],
    "flatten": lambda x, d: x.reshape(-1),
    "split": lambda x, d: x.unflatten(d, (2, -1)) if x.shape[d] % 2 == 0 and x.ndim < 3 else x,
    "unsqueeze": lambda x, d: x.unsqueeze(d) if x.ndim < 3 else x,
    "expand": lambda x, d: x.unsqueeze(0).expand(2, *x.shape) if x.ndim < 3 else x,
    "flip": lambda x, d: x.flip(d),
    "cat": lambda x, d: torch.cat([x, x + 1], d),
}


def inputs(seed: int) -> list[torch.Tensor]:
    draw = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    rows, columns = draw.choice([1, 3, 4, 6]), draw.choice([2, 5, 8, 33])
    shapes = [(rows, columns), draw.choice([(rows, columns), (columns,), (rows, 1), ()])]
    return [torch.randn(shape, generator=generator) for shape in shapes]


def seeds(quick: int, total: int) -> list:
    return [pytest.param(n, marks=() if n < quick else (pytest.mark.slow,)) for n in range(total)]


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_random_program(seed):
    check(program(seed), *inputs(seed), interpret_level="planned")


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_random_program_with_dynamic_sizes(seed):
    check(program(1000 + seed), *inputs(1000 + seed), dynamic=True)


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_random_program_keeps_its_numbers_through_every_pass(seed):
    check(program(2000 + seed), *inputs(2000 + seed), verify="numeric", interpret_level="planned")
