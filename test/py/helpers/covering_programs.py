"""Programs that together apply every op of a table to a tensor that has elements, drawn from a fixed seed.

Each op is tried on the values that the program has so far. All values that are the first operand of no op are
results, so that no op of a program is dead.
"""

import random
import warnings
from collections.abc import Sequence

from random_ops import EXACT, JUMPS, OPS, NotHere
from random_programs import DTYPES, LAYOUTS, Input, Program, Step
from torch import Tensor

#: Ops of a program, and how often an op is tried on other operands before another program gets it.
LONGEST, TRIES = 14, 6
SHAPES = ((6, 4), (5,), (2, 3, 4), (3, 1, 5), (8, 8), (2, 2, 3, 2), (17, 3))
EMPTY = ((0, 4), (3, 0, 2))


def covering_programs(names: Sequence[str], *, gradient: bool = False, seed: int = 0) -> list[Program]:
    """Programs in which every op of ``names`` has a result with elements, then one for each of ``EMPTY``.

    gradient: inputs are floats that need gradients, and so does every result that counts.
    Raises AssertionError with the ops that apply to nothing.
    """
    rng, left, programs = random.Random(seed), list(names), []
    rng.shuffle(left)
    for _ in range(2 * len(names)):
        if not left:
            break
        program, done = _program(rng, left, rng.choice(SHAPES), gradient)
        left = [name for name in left if name not in done]
        if done:
            programs.append(program)
    assert not left, f"these ops apply to none of the values: {left}"
    for shape in EMPTY:
        programs.append(_program(rng, rng.sample(sorted(names), len(names)), shape, gradient)[0])
    return programs


def _program(
    rng: random.Random, names: Sequence[str], shape: tuple[int, ...], gradient: bool
) -> tuple[Program, set[str]]:
    """A program of ops of ``names``, in this order, where they apply; those whose results have elements."""
    dtypes = [d for d in DTYPES if d.is_floating_point or not gradient]
    inputs = tuple(
        Input(shape[k and rng.randrange(2) :], rng.choice(dtypes), rng.choice(sorted(LAYOUTS)), k)
        for k in range(2)
    )
    pool = [i.make().requires_grad_(gradient) for i in inputs]
    exact, steps, read, done = [True, True], [], set(), set()
    for name in names:
        for _ in range(TRIES):
            i, j, n = rng.randrange(len(pool)), rng.randrange(len(pool)), rng.randrange(256)
            value = _applied(name, pool[i], pool[j], n)
            known = exact[i] and exact[j]
            if value is None or (name in JUMPS and not known) or (gradient and not value.requires_grad):
                continue
            steps.append(Step(name, len(pool) - 1 - i, len(pool) - 1 - j, n))
            read.add(i)
            pool.append(value)
            exact.append(known and name in EXACT)
            if value.numel():
                done.add(name)
            break
        if len(steps) == LONGEST:
            break
    results = tuple(len(pool) - 1 - k for k in range(2, len(pool)) if k not in read)
    return Program(inputs, tuple(steps), results), done


def _applied(name: str, x: Tensor, y: Tensor, n: int) -> Tensor | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = OPS[name](x, y, n)
    except (NotHere, RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return None
    return value if value.numel() <= 4096 and value.ndim <= 5 else None
