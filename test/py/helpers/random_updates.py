"""Random programs that read, write and view a few tables in turn, at indices that are data.

What they look for is a read that sees too much or too little of what is written around it: gathers, scatters
with equal indices, custom ops that write to what they take, and views of one table through which the others
go.  `random_programs.check_program` runs and judges them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import strategies as st
from random_ops import NotHere, need
from random_programs import MUTABLE, Input, Step
from torch import Tensor
from torch.nn import functional as F


@torch.library.custom_op("fuse_tests::halve_", mutates_args=("x",))
def halve_(x: Tensor) -> None:
    x.copy_(x // 2)


@torch.library.custom_op("fuse_tests::blend_", mutates_args=("x",))
def blend_(x: Tensor, y: Tensor) -> Tensor:
    """Writes to one, and gives what it was."""
    old = x.clone(memory_format=torch.contiguous_format)  # as its fake says
    x.copy_(old - y)
    return old


@blend_.register_fake
def _(x, y):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("fuse_tests::exchange_", mutates_args=("x", "y"))
def exchange_(x: Tensor, y: Tensor) -> None:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)


@dataclass(frozen=True)
class Index:
    """An argument: ``count`` places from 0 to ``limit`` - 1, no two equal if ``distinct``."""

    count: int
    limit: int
    distinct: bool
    seed: int

    def make(self) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        if self.distinct:
            return torch.randperm(self.limit, generator=generator)[: self.count]
        return torch.randint(max(self.limit, 1), (self.count if self.limit else 0,), generator=generator)


@dataclass
class Run:
    """The tables, among them views of the first ones, and the values so far; ``limit`` bounds the indices."""

    tables: list[Tensor]
    values: list[Tensor]
    equal: list[Tensor]
    distinct: Tensor
    limit: int

    def value(self, like: Sequence[int], n: int) -> Tensor:
        """A value of a shape: one that has it, or what begins with one."""
        found = self.values[-1 - n % len(self.values)]
        if found.shape == tuple(like):
            return found
        count = 1
        for size in like:
            count *= size
        need(found.numel() >= count)
        return found.reshape(-1)[:count].view(tuple(like))

    def index(self, table: Tensor, n: int) -> Tensor:
        """Places in the first dim of a table, of which two may be equal."""
        need(table.ndim > 0 and table.shape[0] >= self.limit)
        return self.equal[n % len(self.equal)]

    def places(self, table: Tensor) -> Tensor:
        """Places in the first dim of a table that differ."""
        need(table.ndim > 0 and table.shape[0] >= self.limit)
        return self.distinct

    def lines(self, table: Tensor, index: Tensor) -> Tensor:
        """An index for each element of the rows: what ``gather`` and ``scatter`` take."""
        return index.view(-1, *[1] * (table.ndim - 1)).expand(-1, *table.shape[1:])

    def rows(self, table: Tensor, index: Tensor, n: int) -> Tensor:
        """A value for the rows at an index."""
        return self.value((index.shape[0], *table.shape[1:]), n)


# ---- what a step does --------------------------------------------------------------------------------------


def _products(run: Run, t: Tensor, n: int) -> Tensor:
    need(t.ndim == 2 and t.is_floating_point())
    return t @ t.mT


def _pairs(run: Run, t: Tensor, n: int) -> Tensor:
    need(t.ndim == 2 and t.shape[1] >= run.limit)
    return t[run.index(t, n), run.index(t, n + 1)[: len(run.index(t, n))]]


def _some(run: Run, t: Tensor, n: int) -> Tensor:
    need(t.ndim > 0 and t.shape[0] > 0)
    return t[n % t.shape[0]]


READS: dict[str, Callable[[Run, Tensor, int], Tensor]] = {
    "at": lambda run, t, n: t[run.index(t, n)],
    "at_pairs": _pairs,
    "index_select": lambda run, t, n: t.index_select(0, run.index(t, n)),
    "gather": lambda run, t, n: t.gather(0, run.lines(t, run.index(t, n))),
    "at_distinct": lambda run, t, n: t[run.places(t)] * 2,
    "at_next": lambda run, t, n: t[(run.index(t, n) + 1) % max(t.shape[0], 1)] - 1,
    "row": lambda run, t, n: 2 - _some(run, t, n),
    "whole": lambda run, t, n: t - 3,
    "clone": lambda run, t, n: t.clone(),
    "sum": lambda run, t, n: t.sum(0) if t.ndim else t + 1,
    "flip": lambda run, t, n: t.flip(0) if t.ndim else t + 2,
    "sort": lambda run, t, n: torch.sort(t, 0)[0],
    "products": _products,
    "embedding": lambda run, t, n: F.embedding(run.index(t, n), t) if t.ndim == 2 else t + 3,
}


def _shift(run: Run, t: Tensor, n: int) -> None:
    need(t.ndim > 0)
    t[1:].copy_(t[:-1].clone())


def _put(run: Run, t: Tensor, n: int) -> None:
    t[run.places(t)] = run.rows(t, run.places(t), n)


def _move(run: Run, t: Tensor, n: int) -> None:
    t[run.places(t)] = t[run.index(t, n)][: len(run.places(t))]


def _exchange(run: Run, t: Tensor, n: int) -> None:
    """One value is added to what is read at some places, and written to others."""
    value = run.rows(t, run.places(t), n)
    run.values.append(t[run.index(t, n)] + value)
    t[run.places(t)] = value * 2


def _update(run: Run, t: Tensor, n: int) -> None:
    """Reads and writes at the same places, and says what was there."""
    i = run.index(t, n)
    run.values.append(t[i] + run.rows(t, i, n))
    t[i] = n % 5


WRITES: dict[str, Callable[[Run, Tensor, int], Any]] = {
    "put": _put,
    "exchange": _exchange,
    "move": _move,
    "update": _update,
    "put_number": lambda run, t, n: t.index_fill_(0, run.index(t, n), n % 7),
    "put_add": lambda run, t, n: t.index_put_(
        (run.index(t, n),), run.rows(t, run.index(t, n), n), accumulate=True
    ),
    "index_copy_": lambda run, t, n: t.index_copy_(0, run.places(t), run.rows(t, run.places(t), n)),
    "index_add_": lambda run, t, n: t.index_add_(0, run.index(t, n), run.rows(t, run.index(t, n), n)),
    "scatter_": lambda run, t, n: t.scatter_(0, run.lines(t, run.places(t)), run.rows(t, run.places(t), n)),
    "scatter_number": lambda run, t, n: t.scatter_(0, run.lines(t, run.index(t, n)), n % 3),
    "scatter_add_": lambda run, t, n: t.scatter_add_(
        0, run.lines(t, run.index(t, n)), run.rows(t, run.index(t, n), n)
    ),
    "scatter_max": lambda run, t, n: t.scatter_reduce_(
        0, run.lines(t, run.index(t, n)), run.rows(t, run.index(t, n), n), "amax"
    ),
    "negate": lambda run, t, n: t.neg_(),
    "copy_": lambda run, t, n: t.copy_(run.value(t.shape, n)),
    "some_row": lambda run, t, n: _some(run, t, n).add_(1),
    "shift": _shift,
    "turn": lambda run, t, n: t.copy_(t.flip(0)) if t.ndim else t.add_(2),
    "halve_": lambda run, t, n: halve_(t),
    "blend_": lambda run, t, n: run.values.append(blend_(t, run.value(t.shape, n))),
}


def _tail(t: Tensor, n: int) -> Tensor:
    need(t.ndim > 0)
    return t[1:]


def _alternate(t: Tensor, n: int) -> Tensor:
    need(t.ndim > 0)
    return t[..., n % 2 :: 2]


def _flat(t: Tensor, n: int) -> Tensor:
    need(t.is_contiguous())
    return t.view(-1)


VIEWS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "tail": _tail,
    "alternate": _alternate,
    "flat": _flat,
    "transposed": lambda t, n: t.mT if t.ndim == 2 else t.view(t.shape),
    "line": lambda t, n: _tail(t, n).select(-1, 0) if t.ndim == 2 and t.shape[1] else t.view(t.shape),
}

COMPUTES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y if x.shape == y.shape else x + 1,
    "sub": lambda x, y: x - y if x.shape == y.shape else 1 - x,
    "add_sum": lambda x, y: x + x.sum(0) // 8 if x.ndim else x,
    "relu": lambda x, y: x.clamp(-16, 16),
}


@dataclass(frozen=True)
class Updates:
    """A program: two tables, of which the second may be a view of the first, a value, and indices."""

    tables: tuple[Input, Input]
    source: Input
    indices: tuple[Index, ...]  #: the last has distinct places
    steps: tuple[Step, ...]
    results: tuple[int, ...] = (0,)
    views: tuple[int, ...] = ()  #: views of the tables that are returned
    inputs: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", (*self.tables, self.source, *self.indices))

    def __call__(self, *args: Tensor) -> tuple[Tensor, ...]:
        return self.run(args)[0]

    def run(self, args: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        """The results and all values."""
        run = Run(list(args[:2]), [args[2]], list(args[3:]), args[-1], self.indices[0].limit)
        for step in self.steps:
            table = run.tables[step.first % len(run.tables)]
            x, y = (run.values[-1 - k % len(run.values)] for k in (step.first, step.second))
            try:
                if step.name in VIEWS:
                    run.tables.append(VIEWS[step.name](table, step.n))
                elif step.name in READS:
                    run.values.append(READS[step.name](run, table, step.n))
                elif step.name in WRITES:
                    WRITES[step.name](run, table, step.n)
                else:
                    run.values.append(COMPUTES[step.name](x, y))
            except NotHere:
                continue
        found = [run.values[-1 - k % len(run.values)] for k in self.results]
        found += [run.tables[-1 - k % len(run.tables)] for k in self.views]
        return tuple(found), [*run.values, *run.tables]


DTYPES = (torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32)
ROWS, COLUMNS = (8, 5, 3, 40, 2, 8, 1, 1, 0), (3, 7, 2, 33, 3, 1, 1, 0)
NAMES = st.one_of(
    *(st.sampled_from(sorted(table)) for table in (READS, READS, WRITES, WRITES, VIEWS, COMPUTES))
)


@st.composite
def updates(draw: Callable[..., Any], *, longest: int = 8) -> Updates:
    """Programs of up to ``longest`` steps."""
    rows, columns = draw(st.sampled_from(ROWS)), draw(st.sampled_from(COLUMNS))
    dtype, layouts = draw(st.sampled_from(DTYPES)), ["plain", "plain", *sorted(MUTABLE)]
    other = draw(st.sampled_from(((rows, columns), (rows, columns), (rows + 1, columns), (rows,))))
    tables = (
        Input((rows, columns), dtype, draw(st.sampled_from(layouts))),
        Input(other, dtype, draw(st.sampled_from(layouts)), 1),
    )
    limit = rows - rows // 2  # of a table that is the second half of the other
    count = draw(st.sampled_from((limit, limit, limit, limit, limit // 2, 0)))
    source = Input((count, columns) if draw(st.booleans()) else (rows, columns), dtype, "plain", 2)
    indices = (Index(count, limit, False, 3), Index(count, limit, False, 4), Index(count, limit, True, 5))
    step = st.builds(Step, NAMES, st.integers(0, 4), st.integers(0, 3), st.integers(0, 13))
    steps = draw(st.lists(step, min_size=2, max_size=longest))
    results = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    views = tuple(draw(st.lists(st.integers(0, 3), max_size=1)))
    return Updates(tables, source, indices, tuple(steps), results, views)
