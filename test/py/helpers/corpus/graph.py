"""A graph of the corpus: a function, what its arguments are made of, and how it is compiled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from random_programs import Input
from torch import Tensor


@dataclass(frozen=True)
class Indices:
    """int64 in [0, high), drawn from `seed`; `distinct`: no two are equal."""

    shape: tuple[int, ...]
    high: int
    distinct: bool = False
    seed: int = 0

    def make(self) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        if self.distinct:
            count = torch.Size(self.shape).numel()
            return torch.randperm(self.high, generator=generator)[:count].reshape(self.shape)
        return torch.randint(0, self.high, self.shape, generator=generator)


@dataclass(frozen=True)
class Graph:
    """`function` of `inputs`.

    dynamic: sizes are symbols.  gradient: its backward graph is checked too.  random: it draws numbers, so
    only the passes are checked, not the result against eager.  asserts: it raises where its floats are NaN.
    """

    function: Callable[..., Any]
    inputs: Sequence[Input | Indices | int | float]
    dynamic: bool = False
    gradient: bool = False
    random: bool = False
    asserts: bool = False

    def make(self) -> list[Any]:
        values = [i.make() if isinstance(i, Input | Indices) else i for i in self.inputs]
        if self.gradient:
            values = [
                v.requires_grad_() if isinstance(v, Tensor) and v.is_floating_point() else v for v in values
            ]
        return values


def graph(*inputs: Input | Indices | int | float, **how: bool) -> Callable[..., Any]:
    """Marks a function as a graph of the corpus; several marks make several graphs."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        marked = function.__dict__.setdefault("corpus_graphs", [])
        marked.append(Graph(function, inputs, **how))
        return function

    return mark


def collected(*families: ModuleType) -> dict[str, Graph]:
    """All marked functions of the modules, by `family/function` with a number where one is marked often."""
    found: dict[str, Graph] = {}
    for family in families:
        for name, value in vars(family).items():
            graphs = getattr(value, "corpus_graphs", ())
            for number, one in enumerate(reversed(graphs)):
                suffix = f"/{number}" if len(graphs) > 1 else ""
                found[f"{family.__name__.rsplit('.', 1)[-1]}/{name}{suffix}"] = one
    return found


def floats(*shape: int, dtype: torch.dtype = torch.float32, layout: str = "plain", seed: int = 0) -> Input:
    """Eighths between -4 and 4."""
    return Input(shape, dtype, layout, seed)


def integers(*shape: int, dtype: torch.dtype = torch.int64, layout: str = "plain", seed: int = 0) -> Input:
    """Integers between -8 and 8."""
    return Input(shape, dtype, layout, seed)


def bools(*shape: int, layout: str = "plain", seed: int = 0) -> Input:
    return Input(shape, torch.bool, layout, seed)
