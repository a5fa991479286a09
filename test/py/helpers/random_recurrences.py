"""Recurrences that are drawn: their states, what each step reads and computes, and what is asked for."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_OF_ONE: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gaussian": lambda t: torch.exp(-t.abs()),
    "third": lambda t: t / 3,
}
_OF_TWO: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "sub": torch.sub,
    "max": torch.maximum,
}


@dataclass(frozen=True)
class Recurrence:
    """states: how many.  inputs: how many are read at each step.  body: names of functions, and the numbers
    of the values that they take: states, inputs, one that all steps share, then what the body made so far.
    counted: whether the number of a step is added to what it makes.
    """

    states: int
    inputs: int
    body: tuple[tuple[str, tuple[int, ...]], ...]
    backwards: bool
    ends: bool
    counted: bool

    def __call__(self, shared: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        """The first state of all steps along dim 1, and the states at the end where they are asked for."""
        states = [torch.zeros_like(given[0][:, 0]) + n / 2 for n in range(self.states)]
        steps = range(given[0].shape[1])
        stacked: list[Tensor] = []
        for t in reversed(steps) if self.backwards else steps:
            values = [*states, *(x[:, t] for x in given), shared]
            for name, taken in self.body:
                operands = [values[n] for n in taken]
                values.append(_OF_ONE[name](*operands) if name in _OF_ONE else _OF_TWO[name](*operands))
            if self.counted:
                values.append(values[-1] - t / 8)
            states = [torch.tanh(values[-1 - n] + s / 2) for n, s in enumerate(states)]
            stacked.append(states[0])
        return torch.stack(stacked, 1), *(states if self.ends else ())


def drawn(seed: int) -> tuple[Recurrence, tuple[Tensor, ...]]:
    """The recurrence of a number, and its arguments."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    states, inputs, body = draw.randint(1, 3), draw.randint(1, 2), list[tuple[str, tuple[int, ...]]]()
    known = states + inputs + 1
    for _ in range(draw.randint(states, 6)):
        count = draw.choice([1, 2, 2])
        name = draw.choice([*(_OF_ONE if count == 1 else _OF_TWO)])
        body.append((name, tuple(draw.randrange(known) for _ in range(count))))
        known += 1
    body.append(("add", (known - 1, states)))  # each step reads something
    dtype = draw.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16, torch.float64])
    rows, steps, width = draw.choice([1, 3]), draw.choice([5, 8, 13, 21]), draw.choice([16, 31, 64])
    backwards, ends = draw.choice([True, False]), draw.choice([True, False])
    counted, steps = draw.choice([False, False, False, True]), draw.choice([steps, steps, steps, 1, 2, 3])
    read = torch.randn(inputs, rows, steps, width).to(dtype)
    if draw.choice([True, False]):  # steps lie side by side
        read = read.transpose(2, 3).contiguous().transpose(2, 3)
    if draw.choice([True, False, False]):  # behind a row that is not read
        read = torch.cat([read[:, :, :1], read], 2)[:, :, 1:]
    recurrence = Recurrence(states, inputs, tuple(body), backwards, ends, counted)
    return recurrence, (torch.randn(width).to(dtype), *read)
