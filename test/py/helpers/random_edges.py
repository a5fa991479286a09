"""Random programs over narrow dtypes and edge numbers, compared with eager: shared by tests, no test itself.

``EdgeProgram.drawn(seed)`` draws arguments of any dtype, with inf, NaN, -0.0 and numbers at the ends of
narrow floats among them, some of which share memory, and steps: arithmetic with promotion, casts, masks,
products and sums, views that are written in place, reductions.  A step that eager refuses is left out.
``difference`` compiles it with every rounding of eager kept, and compares results, strides and what is left
in arguments.

A value is *exact* if each of its elements is one correctly rounded operation on exact values: it has to have
the bits of eager's, the sign of zeros too.  Comparisons and roundings are applied to exact values only.
Others may err by some rounding errors of their scale, the largest number they were made of.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from compiling import cloned
from torch import Tensor
from torch.nn import functional as F

import fuse_mlir

INF, NAN = math.inf, math.nan
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DTYPES = (*FLOATS, torch.float32, *INTEGERS, torch.bool)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
EDGES = (INF, -INF, NAN, -0.0, -0.0, 0.0, 448.0, -449.0, 257.0, 2049.0, 3e-8, 300.0)
SHAPES = ((4, 6), (6, 4), (3, 5), (5,), (1, 7), (2, 3, 4), (1, 4, 3, 3), (0, 3), ())

Op = Callable[[Tensor, Tensor, int], Tensor]


def floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.float()


def bounded(x: Tensor) -> Tensor:
    """Without NaN, between -100 and 100: what every integer dtype but the unsigned one holds."""
    return x.nan_to_num(1.0).clamp(-100, 100) if x.is_floating_point() else x


def number(x: Tensor) -> Tensor:
    return x.int() if x.dtype == torch.bool else x


def zeros_positive(x: Tensor) -> Tensor:
    """Which of two zeros is the larger one depends on the instructions that eager has for a size."""
    return x + 0.0 if x.is_floating_point() else x


def matrix(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)


def whole(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A matrix of few numbers, whose products with others are exact in every float."""
    return bounded(matrix(x)).clamp(0 if x.dtype == torch.uint8 else -2, 2).to(dtype).round()


def product_and_cast(x: Tensor, y: Tensor, n: int) -> Tensor:
    """A product, and the same or another behind casts that round: exact, but for the casts and the sum."""
    dtype, like = FLOATS[n % 3], y if y.shape[-1:] == x.shape[-1:] else x
    plain = whole(x, dtype) @ whole(like, dtype).T
    cast = plain if n & 32 else whole(x, dtype) @ whole(like, dtype).T * 3
    narrow = (*FLOAT8, torch.bfloat16, torch.float16)[n // 3 % 4]
    return plain + cast.to(narrow).to(FLOATS[n // 16 % 3] if n & 64 else dtype)


def dim(x: Tensor, n: int) -> int:
    return n % x.ndim - (x.ndim if n & 16 else 0)


def mask(x: Tensor, y: Tensor, n: int) -> Tensor:
    """A mask that broadcasts to ``x``."""
    ramp = torch.arange(x.shape[-1] if x.ndim else 1) % 3 == n % 3
    return (y > n % 3) if n & 8 and y.shape == x.shape else ramp.expand(x.shape) if n & 16 else ramp


#: Each element of the result is one rounded operation, or none.
EXACT: dict[str, Op] = {
    "add": lambda x, y, n: torch.add(x, y, alpha=1 + n % 2 if n & 64 else 1),
    "sub": lambda x, y, n: x - y,
    "mul": lambda x, y, n: x * y,
    "div": lambda x, y, n: x / y,
    "number": lambda x, y, n: x + (n % 7 - 3) if n & 32 else x * (0.5, -1.0, INF, 2)[n % 4],
    "rsub": lambda x, y, n: (n % 5) - x,
    "maximum": lambda x, y, n: zeros_positive(torch.maximum(x, y)),
    "fmin": lambda x, y, n: zeros_positive(torch.fmin(x, y)),
    "clamp": lambda x, y, n: zeros_positive(x.clamp(n % 3, 5)),
    "relu": lambda x, y, n: zeros_positive(F.relu(x)),
    "neg": lambda x, y, n: -x,
    "abs": lambda x, y, n: x.abs(),
    "where": lambda x, y, n: torch.where(mask(x, y, n), x, y),
    "where_number": lambda x, y, n: torch.where(mask(x, y, n), x, (-INF, 2, -0.0, 1)[n % 4]),
    "masked_fill": lambda x, y, n: x.masked_fill(mask(x, y, n), (-INF, 3, 0, True)[n % 4]),
    "tril": lambda x, y, n: x.tril(n % 3 - 1),
    "bit_and": lambda x, y, n: x & y,
    "xor": lambda x, y, n: x ^ y,
    "shift": lambda x, y, n: number(x) << n % 5,
    "transpose": lambda x, y, n: x.transpose(dim(x, n), 0),
    "slice": lambda x, y, n: x[n % 2 :: 2],
    "column": lambda x, y, n: x[..., n % 3],
    "expand": lambda x, y, n: x.unsqueeze(0).expand(2, *x.shape),
    "flatten": lambda x, y, n: x.reshape(-1),
    "flip": lambda x, y, n: x.flip(dim(x, n)),
    "roll": lambda x, y, n: x.roll(1 + n % 2, dim(x, n)),
    "cat": lambda x, y, n: torch.cat([x, y], 0),
    "stack": lambda x, y, n: torch.stack([x, y], n % 2),
    "pad": lambda x, y, n: F.pad(x, (n % 3, 1), value=(0, 1, -INF)[n // 4 % 3]),
    "clone": lambda x, y, n: x.clone(),
    "take": lambda x, y, n: x[torch.arange(3) * n % x.shape[0]],
    "amax": lambda x, y, n: zeros_positive(x.amax(dim(x, n), keepdim=bool(n & 32))),
    "amin": lambda x, y, n: zeros_positive(x.amin()),
    "to": lambda x, y, n: x.to(FLOATS[n % 3]),
    "to_wide": lambda x, y, n: x.to(torch.float64 if n & 1 else torch.float32),
    "type_as": lambda x, y, n: bounded(x).abs().type_as(y),
    "float8": lambda x, y, n: floating(x).clamp(-400, 400).to(FLOAT8[n % 2]).to(FLOATS[n // 2 % 3]),
    "product_and_cast": product_and_cast,
    "sum": lambda x, y, n: (x if not x.is_floating_point() else bounded(x.round())).sum(dim(x, n)),
    "sum_zeros": lambda x, y, n: (x * 0).sum(dim(x, n), keepdim=bool(n & 32)),
    "int_cumsum": lambda x, y, n: bounded(x).to(torch.int32).cumsum(dim(x, n)),
    "identity": lambda x, y, n: F.dropout(x, 0.5, False) if n & 1 else x.contiguous(),
}  # fmt: skip

#: The same, where the result jumps: of exact values only.
JUMPS: dict[str, Op] = {
    "less": lambda x, y, n: x < y,
    "equal": lambda x, y, n: x == y,
    "at_least": lambda x, y, n: x >= n % 3 - 0.5,
    "to_integer": lambda x, y, n: bounded(x).abs().to(INTEGERS[n % 5]),
    "to_bool": lambda x, y, n: x.bool(),
    "floor": lambda x, y, n: floating(x).floor() if n & 1 else floating(x).round(),
    "floor_divide": lambda x, y, n: x // (n % 4 + 1),
    "trunc_divide": lambda x, y, n: torch.div(x, n % 3 + 2, rounding_mode="trunc"),
    "divide_by_tensor": lambda x, y, n: torch.div(
        x, bounded(y).abs() + 1, rounding_mode="floor" if n & 1 else "trunc"
    ),
    "remainder": lambda x, y, n: x % (n % 4 + 1) if n & 1 else x % (bounded(y).abs() + 1),
    "fmod": lambda x, y, n: torch.fmod(x, n % 3 + 1),
    "sign": lambda x, y, n: x.sign(),
    "isnan": lambda x, y, n: x.isnan() if n & 1 else x.isinf(),
    "argmax": lambda x, y, n: x.argmax(dim(x, n)),
    "any": lambda x, y, n: x.any(dim(x, n)) if n & 1 else x.all(),
    "not": lambda x, y, n: torch.logical_not(x),
    "signbit": lambda x, y, n: x.nan_to_num(1.0).signbit(),
    "sort": lambda x, y, n: x.sort(dim=dim(x, n), stable=True).values,
}  # fmt: skip

#: Never exact.
SMOOTH: dict[str, Op] = {
    "mm": lambda x, y, n: matrix(x) @ matrix(y).T if n & 1 else matrix(x) @ matrix(x).T,
    "mm_cast": lambda x, y, n: (
        matrix(floating(x)) @ matrix(floating(x)).T
        + (matrix(floating(x)) @ matrix(floating(x)).T).to(FLOATS[n % 3])
    ),
    "float_sum": lambda x, y, n: floating(x).sum(dim(x, n), keepdim=bool(n & 32)),
    "mean": lambda x, y, n: floating(x).mean(),
    "softmax": lambda x, y, n: floating(x).softmax(dim(x, n)),
    "sigmoid": lambda x, y, n: x.sigmoid(),
    "exp": lambda x, y, n: floating(x).clamp(max=3).exp(),
    "tanh": lambda x, y, n: x.tanh(),
    "cumsum": lambda x, y, n: floating(x).cumsum(dim(x, n)),
    "lerp": lambda x, y, n: torch.lerp(x, y, (0.25, 0.75, 1.0, 0.3)[n % 4]),
    "addcmul": lambda x, y, n: torch.addcmul(x, x, y, value=(0.5, 1, 2)[n % 3]),
    "xlogy": lambda x, y, n: torch.xlogy(x, n % 3),
    "addmm": lambda x, y, n: torch.addmm(x, x, x.T @ x if n & 1 else x, beta=n % 2, alpha=n // 2 % 2),
    "masked_softmax": lambda x, y, n: floating(x).masked_fill(mask(x, y, n), -INF).softmax(-1),
}  # fmt: skip

#: In place, through a view of a local value or of an argument.
VIEWS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "whole": lambda x, n: x,
    "row": lambda x, n: x[n % x.shape[0]],
    "column": lambda x, n: x[..., n % x.shape[-1]],
    "steps": lambda x, n: x[::2],
    "turned": lambda x, n: x.mT[1:],
    "diagonal": lambda x, n: x.diagonal(),
    "expanded": lambda x, n: x.expand(1, *x.shape)[0],
    "flat": lambda x, n: x.view(-1)[1:],
    "dropout": lambda x, n: F.dropout(x, 0.5, False),
    "unbound": lambda x, n: x.unbind(0)[-1],
}
WRITERS: dict[str, Callable[[Tensor, Tensor, int], object]] = {
    "fill_": lambda v, y, n: v.fill_((1, 0, -INF, -0.0)[n % 4]),
    "copy_": lambda v, y, n: v.copy_(bounded(y)),
    "add_": lambda v, y, n: v.add_(1),
    "mul_": lambda v, y, n: v.mul_(2),
    "masked_fill_": lambda v, y, n: v.masked_fill_(v > n % 3, n % 5),
    "neg_": lambda v, y, n: v.neg_(),
    "index": lambda v, y, n: v.__setitem__(0, n % 2),
    "iadd": lambda v, y, n: v.__iadd__(bounded(y)),
}
STEPS = {**EXACT, **JUMPS, **SMOOTH}


@dataclass(frozen=True)
class Argument:
    """shape, dtype, layout and numbers of an argument; a view of the one before where ``shared``."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: str
    edges: bool
    shared: bool
    seed: int

    def make(self, before: Sequence[Tensor]) -> Tensor:
        if self.shared and before and before[-1].ndim:
            return before[-1][before[-1].shape[0] // 2 :] if self.seed & 1 else before[-1].flatten()
        draw = random.Random(self.seed)
        count = math.prod(self.shape)
        numbers = [draw.randrange(-32, 33) / 8 for _ in range(count)]
        if self.dtype == torch.bool:
            values = torch.tensor(numbers) > 0
        elif not self.dtype.is_floating_point:
            info = torch.iinfo(self.dtype)
            ends = (info.min, info.max, 0, -1)
            whole = [draw.choice(ends) if self.edges and draw.random() < 0.2 else int(n) for n in numbers]
            values = torch.tensor([max(n, info.min) for n in whole], dtype=self.dtype)
        else:
            found = [draw.choice(EDGES) if self.edges and draw.random() < 0.2 else n for n in numbers]
            values = torch.tensor(found, dtype=torch.float64).to(self.dtype)
        values = values.reshape(self.shape)
        if self.layout == "turned":
            return values.mT.contiguous().mT if values.ndim > 1 else values
        if self.layout == "strided" and values.ndim:
            return torch.stack([values, values], -1)[..., 0]
        if self.layout == "channels_last" and values.ndim == 4:
            return values.to(memory_format=torch.channels_last)
        return values


@dataclass(frozen=True)
class Taken:
    """The op ``name`` on values ``first`` and ``second``, or a write to the first through ``view``."""

    name: str
    first: int
    second: int
    n: int
    view: str = ""

    def run(self, pool: list[Tensor]) -> None:
        x, y = pool[self.first], pool[self.second]
        if self.view:
            WRITERS[self.name](VIEWS[self.view](x, self.n), y, self.n)
        else:
            pool.append(STEPS[self.name](x, y, self.n))


@dataclass(frozen=True)
class EdgeProgram:
    """What was drawn.  exact, scales: of each value, arguments first, as they are at the end."""

    arguments: tuple[Argument, ...]
    steps: tuple[Taken, ...]
    results: tuple[int, ...]
    exact: tuple[bool, ...] = field(compare=False)
    scales: tuple[float, ...] = field(compare=False)

    @staticmethod
    def drawn(seed: int, steps: int = 9) -> "EdgeProgram":
        draw = random.Random(seed)
        shape = draw.choice(SHAPES)
        arguments = tuple(
            Argument(
                shape if draw.random() < 0.6 else shape[draw.randrange(len(shape) + 1) :],
                draw.choice(DTYPES),
                draw.choice(("plain", "plain", "turned", "strided", "channels_last")),
                draw.random() < 0.7,
                draw.random() < 0.2,
                draw.randrange(1 << 16),
            )
            for _ in range(draw.choice((1, 2, 2, 3)))
        )
        drawing = _Drawing(made(arguments))
        for _ in range(4 * steps):
            if len(drawing.taken) < steps:
                drawing.step(draw)
        count = len(drawing.pool)
        results = {count - 1, count - 2, draw.randrange(count)} - set(range(len(arguments)))
        return EdgeProgram(
            arguments, tuple(drawing.taken), tuple(sorted(r for r in results if r >= 0)),
            tuple(drawing.exact), tuple(drawing.scales),
        )  # fmt: skip

    def __call__(self, *args: Tensor) -> tuple[Tensor, ...]:
        pool = list(args)
        for step in self.steps:
            step.run(pool)
        return tuple(pool[i] for i in self.results)


def made(arguments: Sequence[Argument]) -> list[Tensor]:
    found: list[Tensor] = []
    for argument in arguments:
        found.append(argument.make(found))
    return found


class _Drawing:
    """The values of a program while it is drawn, in eager."""

    def __init__(self, args: list[Tensor]) -> None:
        self.pool, self.taken = args, list[Taken]()
        self.exact = [True] * len(args)
        self.scales = [_largest(a) for a in args]

    def step(self, draw: random.Random) -> None:
        count = len(self.pool)
        near = count - 1 - min(draw.choice((0, 0, 0, 1, 1, 2, 3, 5)), count - 1)
        other = draw.randrange(count)
        number = draw.randrange(256)
        if draw.random() < 0.2:
            self._write(Taken(draw.choice(list(WRITERS)), near, other, number, draw.choice(list(VIEWS))))
            return
        name = draw.choice(list(draw.choice((EXACT, EXACT, JUMPS, SMOOTH))))
        exact = self.exact[near] and self.exact[other]
        step = Taken(name, near, other, number)
        if (exact or name not in JUMPS) and self._runs(step):
            value = self.pool[-1]
            if value.numel() > 400 or value.ndim > 4 or (value.dtype == torch.float64 and name in JUMPS):
                self.pool.pop()
                return
            self.taken.append(step)
            self.exact.append(exact and name not in SMOOTH)
            self.scales.append(max(_largest(value), self.scales[near], self.scales[other]))

    def _write(self, step: Taken) -> None:
        before = cloned(self.pool)
        if self._runs(step):
            self.taken.append(step)
            storage = self.pool[step.first].untyped_storage().data_ptr()
            for i, value in enumerate(self.pool):
                if value.untyped_storage().data_ptr() == storage:
                    self.exact[i] = self.exact[i] and self.exact[step.first] and self.exact[step.second]
                    self.scales[i] = max(self.scales[i], self.scales[step.second], _largest(value))
        else:
            self.pool[:] = before

    def _runs(self, step: Taken) -> bool:
        try:
            step.run(self.pool)
        except (RuntimeError, IndexError, ValueError, TypeError, ZeroDivisionError, NotImplementedError):
            return False
        return True


def _largest(x: Tensor) -> float:
    finite = x[x.isfinite()] if x.is_floating_point() else x
    return max(1.0, float(finite.double().abs().max())) if finite.numel() else 1.0


#: Every rounding of eager is kept, so that 16-bit values have its bits.
OPTIONS = {"rounding": "eager"}


def difference(program: EdgeProgram, backend: Any = None, **options: Any) -> str | None:
    """How the compiled program differs from eager, or None.  backend: another than ours, by its name.
    options: of ours, beside ``OPTIONS``.
    """
    eager_args = cloned(made(program.arguments))
    eager = program(*eager_args)
    torch._dynamo.reset()
    how = (
        {"backend": backend} if backend else {"backend": fuse_mlir.backend, "options": {**OPTIONS, **options}}
    )
    compiled = torch.compile(lambda *args: program(*args), fullgraph=True, dynamic=False, **how)
    given = cloned(made(program.arguments))
    try:
        found = compiled(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    places = (*program.results, *range(len(given)))
    for place, a, b in zip(places, (*found, *given), (*eager, *eager_args), strict=True):
        wrong = _judge(a, b, program.exact[place], program.scales[place], len(program.steps))
        if wrong:
            return f"value {place}: {wrong}"
    return None


def _judge(found: Tensor, eager: Tensor, exact: bool, scale: float, steps: int) -> str:
    if found.dtype != eager.dtype or found.shape != eager.shape:
        return f"{found.dtype}{list(found.shape)}, eager has {eager.dtype}{list(eager.shape)}"
    strides = [
        [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] if t.numel() else []
        for t in (found, eager)
    ]
    if strides[0] != strides[1]:
        return f"strides {found.stride()}, eager has {eager.stride()} for {list(eager.shape)}"
    if not eager.is_floating_point():
        return "" if torch.equal(found, eager) else f"{found.tolist()}, eager has {eager.tolist()}"
    mine, theirs = found.double(), eager.double()
    same = (mine == theirs) & (
        not exact or mine.signbit() == theirs.signbit()
    ) | mine.isnan() & theirs.isnan()
    if not exact:
        slack = 8 * steps * max(torch.finfo(eager.dtype).eps, 1e-6) * scale
        same |= (mine - theirs).abs() <= slack
    return "" if bool(same.all()) else f"{mine.tolist()}, eager has {theirs.tolist()}"


__all__ = ["EdgeProgram", "difference"]
