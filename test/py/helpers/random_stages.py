"""Random chains of what models do to rows beside products and reductions: groups of rows whose offsets are
data, scans, look-ups in small tables, windows with a roll, writes to slices in sequence.

Each stage takes [rows, cols] and gives the same shape, so that any follows any.  ``drawn`` makes the program.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

#: What a stage does to [rows, cols]; it has drawn its parameters and its further inputs before.
Stage = Callable[[Tensor], Tensor]


@dataclass
class Inputs:
    """What the stages of one program draw from.  ``tensors``: the program's inputs, the first one
    [rows, cols]; floats are of ``dtype``.  A stage asks for an input by its place.
    """

    rows: int
    cols: int
    dtype: torch.dtype
    draw: random.Random
    tensors: list[Tensor] = field(default_factory=list)
    given: list[Tensor] = field(default_factory=list)  #: of the call that runs

    def floats(self, *shape: int) -> Callable[[], Tensor]:
        return self._added(torch.randn(shape).mul(0.5).to(self.dtype))

    def numbers(
        self, least: int, limit: int, *shape: int, dtype: torch.dtype = torch.int64
    ) -> Callable[[], Tensor]:
        return self._added(torch.randint(least, limit, shape).to(dtype))

    def offsets(self, groups: int) -> Callable[[], Tensor]:
        """Where groups of rows end, some of them empty: int64 [groups], the last one ``rows``."""
        ends = sorted(self.draw.choices(range(self.rows + 1), k=groups - 1))
        return self._added(torch.tensor([*ends, self.rows]))

    def _added(self, tensor: Tensor) -> Callable[[], Tensor]:
        self.tensors.append(tensor)
        place = len(self.tensors) - 1
        return lambda: self.given[place]


# ---- groups ------------------------------------------------------------------------------------------------


def _groups(inputs: Inputs) -> tuple[int, Callable[[], Tensor]]:
    """A number of groups, and the group of each row."""
    groups = inputs.draw.choice([1, 2, 5, 8])
    ends = inputs.offsets(groups)
    return groups, lambda: torch.searchsorted(ends(), torch.arange(inputs.rows), right=True)


def grouped_scale(inputs: Inputs) -> Stage:
    groups, of_rows = _groups(inputs)
    scale, bias = inputs.floats(groups, inputs.cols), inputs.floats(groups)
    return lambda t: t * scale()[of_rows()] + bias()[of_rows(), None]


def grouped_mean(inputs: Inputs) -> Stage:
    groups, of_rows = _groups(inputs)

    def with_means(t: Tensor) -> Tensor:
        """Plus, so that nothing cancels."""
        ids = of_rows()
        sums = torch.zeros(groups, inputs.cols, dtype=t.dtype).index_add(0, ids, t)
        counts = torch.zeros(groups, dtype=t.dtype).index_add(0, ids, torch.ones_like(t[:, 0]))
        return t + (sums / counts.clamp_min(1)[:, None])[ids]

    return with_means


def grouped_products(inputs: Inputs) -> Stage:
    groups, of_rows = _groups(inputs)
    weights = inputs.floats(groups, inputs.cols, inputs.cols)
    return lambda t: (t[:, None] @ weights()[of_rows()]).squeeze(1) / inputs.cols**0.5


# ---- scans -------------------------------------------------------------------------------------------------

_SCANS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "sum": lambda t, dim: t.cumsum(dim) / 4,
    "product": lambda t, dim: (1 + t / 16).cumprod(dim),
    "max": lambda t, dim: t.cummax(dim).values,
    "logsumexp": lambda t, dim: t.logcumsumexp(dim),
}


def scan(inputs: Inputs) -> Stage:
    kind, dim = inputs.draw.choice([*_SCANS]), inputs.draw.choice([0, 1])
    backwards, exclusive = inputs.draw.choice([True, False]), inputs.draw.choice([True, False])

    def scanned(t: Tensor) -> Tensor:
        found = _SCANS[kind](t.flip(dim) if backwards else t, dim)
        if exclusive:
            found = torch.cat([torch.zeros_like(found.narrow(dim, 0, 1)), found], dim).narrow(
                dim, 0, t.shape[dim]
            )
        return found.flip(dim) if backwards else found

    return scanned


def recurrence(inputs: Inputs) -> Stage:
    """A state that walks over a few pieces of the columns."""
    pieces = next(n for n in (4, 3, 2, 1) if inputs.cols % n == 0)
    keep = inputs.floats(inputs.cols // pieces)

    def walked(t: Tensor) -> Tensor:
        state, found = torch.zeros_like(t[:, : inputs.cols // pieces]), []
        for piece in t.chunk(pieces, 1):
            state = torch.sigmoid(keep()) * state + piece
            found.append(state)
        return torch.cat(found, 1)

    return walked


# ---- tables ------------------------------------------------------------------------------------------------


def nibbles(inputs: Inputs) -> Stage:
    """Two codes in each byte, numbers of a table of 16, with a scale for each block of a row."""
    codes = inputs.numbers(0, 256, inputs.rows, -(-inputs.cols // 2), dtype=torch.uint8)
    table, blocks = inputs.floats(16), inputs.draw.choice([n for n in (1, 2, 4) if inputs.cols % n == 0])
    scale, low_first = inputs.floats(inputs.rows, blocks), inputs.draw.choice([True, False])

    def added(t: Tensor) -> Tensor:
        halves = [codes() & 15, codes() >> 4]
        numbers = torch.stack(halves if low_first else halves[::-1], -1).flatten(1)[:, : inputs.cols]
        held = table()[numbers.long()].view(inputs.rows, blocks, -1)
        return t + (held * scale()[:, :, None]).flatten(1)

    return added


def tables_of_tables(inputs: Inputs) -> Stage:
    """A table gives the row of another."""
    few, many = inputs.draw.choice([1, 3, 8]), inputs.draw.choice([2, 16])
    at, first = inputs.numbers(0, many, inputs.rows), inputs.numbers(0, few, many)
    table = inputs.floats(few, inputs.cols)
    return lambda t: t + F.embedding(first()[at()], table())


# ---- windows -----------------------------------------------------------------------------------------------


def shifted_windows(inputs: Inputs) -> Stage:
    """Softmax over windows of rows and columns that a roll has moved, and back."""
    down, wide = (
        inputs.draw.choice([n for n in (1, 2, 4, 8) if size % n == 0]) for size in (inputs.rows, inputs.cols)
    )
    moved = inputs.draw.randrange(-3, 4), inputs.draw.randrange(-3, 4)
    high, broad = inputs.rows // down, inputs.cols // wide

    def attended(t: Tensor) -> Tensor:
        windows = t.roll(moved, (0, 1)).view(high, down, broad, wide).transpose(1, 2).reshape(-1, down * wide)
        held = windows.softmax(-1).view(high, broad, down, wide).transpose(1, 2).reshape(t.shape)
        return held.roll((-moved[0], -moved[1]), (0, 1)) + t

    return attended


def sliding(inputs: Inputs) -> Stage:
    """A mean or a maximum over the columns up to each one."""
    width, largest = inputs.draw.choice([1, 2, 3, 5]), inputs.draw.choice([True, False])

    def slid(t: Tensor) -> Tensor:
        windows = F.pad(t, (width - 1, 0)).unfold(1, width, 1)
        return windows.amax(-1) if largest else windows.mean(-1)

    return slid


# ---- writes ------------------------------------------------------------------------------------------------


def slice_writes(inputs: Inputs) -> Stage:
    """Some slices of a tensor are written one after the other, of which later ones read what earlier ones
    wrote.
    """
    draw = inputs.draw

    def span(size: int) -> slice:
        begin = draw.randrange(size)
        return slice(begin, draw.randint(begin + 1, size), draw.choice([1, 1, 1, 2, 3]))

    begins_with = draw.choice(["clone", "zeros", "halves"])
    writes = [
        (
            span(inputs.rows),
            span(inputs.cols),
            draw.choice(["copy", "add", "multiply", "number", "flipped", "row"]),
        )
        for _ in range(draw.randint(1, 4))
    ]

    def written(t: Tensor) -> Tensor:
        out = {"clone": t.clone(), "zeros": torch.zeros_like(t), "halves": t / 2}[begins_with]
        for rows, cols, how in writes:
            held = t[rows, cols]
            if how == "copy":
                out[rows, cols] = held.sin()
            elif how == "add":
                out[rows, cols] += held
            elif how == "multiply":
                out[rows, cols].mul_(held)
            elif how == "number":
                out[rows, cols] = 0.25
            elif how == "flipped":
                out[rows, cols] = out[rows, cols].flip(1) - held
            else:
                out[rows, cols] = out[rows, cols].mean(0)
        return out

    return written


STAGES: dict[str, Callable[[Inputs], Stage]] = {
    made.__name__: made
    for made in (
        grouped_scale, grouped_mean, grouped_products, scan, recurrence, nibbles, tables_of_tables,
        shifted_windows, sliding, slice_writes,
    )
}  # fmt: skip


@dataclass
class Chain:
    """A drawn program: ``names`` of its stages, its inputs, and how it is compiled."""

    names: tuple[str, ...]
    stages: tuple[Stage, ...]
    inputs: Inputs
    options: dict[str, object]

    def __call__(self, *given: Tensor) -> tuple[Tensor, Tensor]:
        """The last stage's result, and the mean squares of its columns, in which nothing cancels."""
        self.inputs.given = list(given)
        t = given[0]
        for stage in self.stages:
            t = torch.tanh(stage(t))
        return t, t.square().mean(0)

    def __str__(self) -> str:
        return f"{self.names} of {self.inputs.rows}x{self.inputs.cols} {self.inputs.dtype} {self.options}"


def drawn(seed: int) -> Chain:
    """The program of a number."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    dtype = draw.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
    inputs = Inputs(draw.choice([1, 2, 7, 16, 33]), draw.choice([1, 3, 8, 24, 64]), dtype, draw)
    inputs.floats(inputs.rows, inputs.cols)
    names = tuple(draw.choices([*STAGES], k=draw.randint(1, 4)))
    options = {
        "hardware": "h200",
        "interpret_level": draw.choice(["scheduled", "planned", "planned"]),
        "products": draw.choice(["auto", "generated"]),
        "rounding": draw.choice(["float32", "eager"]),
    }
    return Chain(names, tuple(STAGES[name](inputs) for name in names), inputs, options)


def difference(chain: Chain) -> str | None:
    """What is wrong with the compiled program, None where nothing is: it may be as far from float64 as a
    quarter more than eager mode, and some units in the last place.
    """
    from compiling import Compiled

    given = chain.inputs.tensors
    wanted = chain(*(t.double() if t.is_floating_point() else t for t in given))
    eager, found = chain(*given), Compiled(chain.__call__, chain.options)(*given)
    for number, (mine, theirs, exact) in enumerate(zip(found, eager, wanted, strict=True)):
        if (mine.dtype, mine.shape, mine.stride()) != (theirs.dtype, theirs.shape, theirs.stride()):
            return f"result {number} is {mine.dtype} {mine.shape} {mine.stride()}"
        wrong, allowed = ((t.double() - exact).norm() for t in (mine, theirs))
        slack = 2 * torch.finfo(mine.dtype).eps * exact.norm() + 1e-6
        if not wrong <= 1.25 * allowed + slack:
            return f"result {number} is {wrong:.2e} from float64, eager mode {allowed:.2e}"
    return None
