"""Recurrences whose steps become a loop: the answers of whole compiled functions, and that they have one."""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds
from random_recurrences import drawn
from short_recurrences import rerolled
from torch import Tensor
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


@pytest.fixture(autouse=True)
def few_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    rerolled(monkeypatch)


def wkv(decay: Tensor, first: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """RWKV 4, with the states that it ends in."""
    above = below = torch.zeros_like(k[:, 0])
    most = torch.full_like(above, -1e30)
    out = []
    for t in range(k.shape[1]):
        new = torch.maximum(most, first + k[:, t])
        kept, added = torch.exp(most - new), torch.exp(first + k[:, t] - new)
        out.append((kept * above + added * v[:, t]) / (kept * below + added))
        new = torch.maximum(most - decay, k[:, t])
        kept, added = torch.exp(most - decay - new), torch.exp(k[:, t] - new)
        above, below, most = kept * above + added * v[:, t], kept * below + added, new
    return torch.stack(out, 1), above, below, most


def selective_scan(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Mamba's: each step sums the state."""
    state, out = x.new_zeros(x.shape[0], x.shape[2], a.shape[1]), []
    for t in range(x.shape[1]):
        step = F.softplus(dt[:, t, :, None])
        state = torch.exp(step * -torch.exp(a)) * state + step * x[:, t, :, None] * b[:, t, None]
        out.append((state * c[:, t, None]).sum(-1))
    return torch.stack(out, 1)


def last(a: Tensor, x: Tensor) -> Tensor:
    """Nothing is stored but the state at the end."""
    h = x[:, 0]
    for t in range(1, x.shape[1]):
        h = torch.tanh(a[:, t] * h + x[:, t])
    return h


def two_steps_back(a: Tensor, x: Tensor) -> Tensor:
    """Each state takes those of the two steps before."""
    g, h, out = x[:, 0], x[:, 1], []
    for t in range(2, x.shape[1]):
        g, h = h, torch.sigmoid(a[:, t]) * h - 0.5 * g + x[:, t]
        out.append(h)
    return torch.stack(out, 1)


def backwards(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """From the last step to the first, with two stacked results."""
    h, states, gains = torch.ones_like(x[:, 0]), [], []
    for t in reversed(range(x.shape[1])):
        gains.append(torch.tanh(a[:, t]) * h)
        h = gains[-1] + x[:, t]
        states.append(h)
    return torch.stack(states[::-1], 1), torch.stack(gains, 1)


def flat(found: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)


def loops(compiled: Compiled) -> list[dict[str, int]]:
    """What remarks say of the loops."""
    remarks = [r for graph in compiled.graphs for r in graph.remarks.items]
    return [dict(r.numbers) for r in remarks if r.pass_name == "reroll-loops" and r.rule == "rerolled"]


def answered(
    function: Callable[..., Tensor | tuple[Tensor, ...]], *args: Tensor, level: str = "tiled"
) -> Compiled:
    """The compiled function, once its answers are about as near to float64 as eager's."""
    compiled = Compiled(function, {"interpret_level": level, "hardware": "h200"}, dynamic=None)
    found, eager, exact = (
        flat(f(*given))
        for f, given in ((compiled, args), (function, args), (function, [t.double() for t in args]))
    )
    for mine, theirs, want in zip(found, eager, exact, strict=True):
        assert (mine.dtype, mine.shape, mine.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        error, allowed = ((t.double() - want).norm() for t in (mine, theirs))
        assert error <= 1.25 * allowed + 4 * torch.finfo(mine.dtype).eps * want.norm()
    return compiled


@pytest.mark.parametrize(
    ("steps", "width", "looped", "level"),
    [
        (2, 40, False, "tiled"),
        (3, 37, False, "planned"),
        (12, 37, True, "planned"),
        pytest.param(64, 40, True, "tiled", marks=pytest.mark.slow),
    ],
)
def test_wkv(steps: int, width: int, looped: bool, level: str) -> None:
    """Few steps stay as they are.  A width that is no multiple of a block is masked."""
    numbers = torch.rand(width) + 0.1, torch.randn(width)
    k, v = torch.randn(2, 2, steps, width)
    found = loops(answered(wkv, *numbers, k, v, level=level))
    assert bool(found) == looped
    assert not looped or found[0]["steps"] >= steps - 4


@pytest.mark.parametrize(("batch", "steps", "width", "states"), [(2, 9, 48, 8), (1, 20, 24, 16)])
def test_selective_scan(batch: int, steps: int, width: int, states: int) -> None:
    """A step with a sum; the batch is no dim to unroll, as each point of it has states of its own."""
    x, dt = torch.randn(2, batch, steps, width)
    b, c = torch.randn(2, batch, steps, states)
    compiled = answered(selective_scan, x, dt - 1, torch.randn(width, states), b, c)
    assert [found["steps"] for found in loops(compiled)] == [steps - 2]
    assert sum(graph.launches_after for graph in compiled.graphs) == 1


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (last, torch.bfloat16),
        (two_steps_back, torch.float16),
        (two_steps_back, torch.float64),
        (backwards, torch.float32),
        (backwards, torch.bfloat16),
    ],
)
def test_types(function: Callable[..., Tensor | tuple[Tensor, ...]], dtype: torch.dtype) -> None:
    a, x = torch.randn(2, 3, 23, 64).to(dtype)
    assert loops(answered(function, a, x))


def test_symbolic_width() -> None:
    """Offsets grow by a size that the program learns when it runs."""
    a, x = torch.randn(2, 2, 19, 33)
    for t in (a, x):
        torch._dynamo.mark_dynamic(t, 2)
    assert loops(answered(last, a, x))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int64])
def test_numbers_of_steps_among_what_is_computed(dtype: torch.dtype) -> None:
    """What grows from step to step has the type of the state; loops count in 32 bits."""

    def counted(x: Tensor) -> Tensor:
        h = x[:, 0]
        for t in range(x.shape[1]):
            h = torch.maximum(h * 3 + x[:, t], x[:, t]) - (7 * t - 40)
        return h

    x = torch.randint(-100, 100, (2, 11, 24)).to(dtype)
    compiled = Compiled(counted, {"interpret_level": "tiled", "hardware": "h200", "strict": True})
    assert torch.equal(compiled(x), counted(x))
    assert loops(compiled)


def test_registers_limit_what_is_loaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    a, x = torch.randn(2, 3, 23, 64)
    assert [found["unrolled"] for found in loops(answered(last, a, x))] == [4]
    rerolled(monkeypatch, registers=2)
    assert [found["unrolled"] for found in loops(answered(last, a, x))] == [1]


@pytest.mark.parametrize(("unrolled", "steps"), [(1, 14), (2, 15), (3, 16), (5, 17), (7, 18)])
def test_steps_that_are_left_over(unrolled: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rerolled(monkeypatch, unrolled=unrolled)
    assert loops(answered(two_steps_back, *torch.randn(2, 2, steps, 32)))


def test_points_are_no_steps() -> None:
    """Rows that are computed beside each other take nothing of each other."""
    compiled = answered(
        lambda a, x: torch.stack([torch.tanh(a[:, t] * x[:, t]) for t in range(16)], 1),
        *torch.randn(2, 2, 16, 32),
    )
    assert not loops(compiled)


@pytest.mark.parametrize("seed", seeds(3))
def test_drawn(seed: int) -> None:
    recurrence, arguments = drawn(seed)
    answered(recurrence, *arguments, level="planned")


def test_what_is_drawn_becomes_loops() -> None:
    """The first drawn one: two states, two inputs, from the last of 13 steps to the first."""
    recurrence, arguments = drawn(0)
    assert loops(answered(recurrence, *arguments))
