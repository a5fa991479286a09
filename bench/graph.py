"""A graph of the kernel benchmark: how to build it at a size, what it must move, how its answer is judged."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

BOTH_DTYPES = (torch.float32, torch.bfloat16)


@dataclass(frozen=True)
class Built:
    """A graph ready to run: `fn(*args)`.

    bytes: the fewest bytes that device memory must move: every input element that is needed read once, every
    output element written once.
    exact: computes the same with ops that have a float64 form, where `fn` has others; None says `fn` itself.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    bytes: int
    exact: Callable[..., Any] | None = None


class Source:
    """Seeded random arguments, drawn on the device; another seed gives other numbers."""

    def __init__(self, device: torch.device, dtype: torch.dtype, seed: int) -> None:
        self.device, self.dtype = device, dtype
        self._generator = torch.Generator(device).manual_seed(seed)

    @property
    def size(self) -> int:
        """Bytes of one element of the graph's dtype."""
        return self.dtype.itemsize

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Normal numbers, rounded from float32 to the graph's dtype unless told."""
        values = torch.randn(shape, generator=self._generator, device=self.device)
        return values.to(dtype or self.dtype)

    def uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """Uniform in [low, high), in the graph's dtype."""
        values = torch.rand(shape, generator=self._generator, device=self.device)
        return (values * (high - low) + low).to(self.dtype)

    def integers(self, high: int, *shape: int) -> Tensor:
        """int64 in [0, high)."""
        return torch.randint(0, high, shape, generator=self._generator, device=self.device)


@dataclass(frozen=True)
class Graph:
    """One memory-bound graph of the benchmark.

    name:     unique key in `GRAPHS`, with its size.
    build:    (source, *sizes) -> `Built`.   sizes, small: of the benchmark, and of a dry run.
    dtypes:   of the floating arguments.
    reduces:  writes far less than it reads, so that a read-only pass is the fairer baseline.
    mutates:  writes into its arguments, which are compared then as well.
    slack:    units of eps that an answer may have on top of the rule of `tolerance.py`. Above 1 for a single
              number that sums very many: eager's own error, one sample, may be zero there by luck.
    trains:   gradients of so many of the first arguments are computed as well; the result is one number.
    summed:   elements of each sum of its matrix products; 0 for a graph without any.
    dropout:  probability with which `fn(x, residual) = dropout(x) + residual` drops; None for every graph
              without random numbers. Such a graph is checked by properties (`graph_check.check_dropout`).
    """

    name: str
    build: Callable[..., Built]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    dtypes: tuple[torch.dtype, ...] = BOTH_DTYPES
    reduces: bool = False
    mutates: bool = False
    slack: float = 1.0
    trains: int = 0
    summed: int = 0
    dropout: float | None = None
    then: Callable[[Tensor], Tensor] | None = None

    def new(self, dtype: torch.dtype, device: torch.device, *, small: bool = False, seed: int = 0) -> Built:
        """Function, arguments and bytes at the benchmark's size or the small one."""
        return self.build(Source(device, dtype, seed), *(self.small if small else self.sizes))

    def step(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is checked and timed of `function`, the graph's own or a compiled one: a call, or a call and
        its gradients, which gives (result, *gradients).
        """
        if not self.trains:
            return function

        def with_gradients(*args: Any) -> tuple[Any, ...]:
            first, rest = args[: self.trains], args[self.trains :]
            with torch.enable_grad():
                given = [a.detach().requires_grad_() for a in first]
                result = function(*given, *rest)
                return (result.detach(), *torch.autograd.grad(result, given))

        return with_gradients


def graph_table(graphs: Iterable[Graph]) -> Mapping[str, Graph]:
    """One read-only table by name. Raises AssertionError on a name used twice."""
    table: dict[str, Graph] = {}
    for graph in graphs:
        assert graph.name not in table, f"two graphs are named {graph.name!r}"
        table[graph.name] = graph
    return MappingProxyType(table)
