"""Losses that are computed some columns at a time: when, that answers and gradients are as near as eager's,
what memory they take."""

import pytest
import torch
from chunked_losses import peaks, results
from compiling import Compiled, cloned
from torch.nn import functional as F

from fuse_mlir.compiler.rewrites.chunks import column_chunks

ROWS, INNER, COLUMNS = 24, 16, 1000
#: float32: a column of logits, or of their gradient, has 96 bytes.
LIMIT = 40_000
PLANNED = {"interpret_level": "planned", "cache": False}


@pytest.fixture(autouse=True)
def small_weights_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_chunks, "_LARGE", 1)


def given(element=torch.float32):
    generator = torch.Generator().manual_seed(5)
    x = (torch.randn(ROWS, INNER, generator=generator).to(element)).requires_grad_()
    w = torch.randn(COLUMNS, INNER, generator=generator).to(element) / 2
    b = torch.randn(COLUMNS, generator=generator).to(element)
    target = torch.randint(COLUMNS, (ROWS,), generator=generator)
    target[:4] = torch.tensor([-100, 0, COLUMNS - 1, 320])
    return [x, w, b], target


def gemma(x, w, b, t):
    logits = 30 * torch.tanh((F.rms_norm(x, (INNER,)) @ w.T).float() / 30)
    z = logits.logsumexp(-1).square().mean()
    return F.cross_entropy(logits, t, label_smoothing=0.1) + 1e-2 * z


def biased(x, w, b, t):
    logits = F.linear(x.view(4, 6, INNER), w, b).float()
    return F.cross_entropy(logits.view(-1, COLUMNS), t, reduction="none") * torch.arange(ROWS)


def spelled(x, w, b, t):
    logits = x @ w.T
    read = logits.gather(1, t.clamp(min=0).unsqueeze(1)).squeeze(1)
    return logits.logsumexp(-1) - read


def weighed(x, w, b, t):
    logits = ((x @ w.T) * b + b).float()
    return F.log_softmax(logits, -1).sum(-1) / COLUMNS


def extremes(x, w, b, t):
    """The gradient of a maximum divides by how often it is met, which is known of all columns."""
    logits = x @ w.T
    return (logits - logits.amax(-1, keepdim=True)).sum(-1) / COLUMNS + logits.amin(-1)


FIRES = [gemma, biased, spelled, weighed]


def fired(compiled, name="column-chunks") -> bool:
    return any(r.pass_name == name for graph in compiled.graphs for r in graph.remarks.items)


@pytest.mark.parametrize("function", FIRES)
@pytest.mark.parametrize("element", [torch.float32, torch.bfloat16])
def test_gradients_are_as_near_as_eagers(function, element):
    arguments, t = given(element)
    compiled = Compiled(function, {"memory_limit": LIMIT * element.itemsize // 4, **PLANNED})
    exact = results(function, cloned(arguments, torch.float64), t)
    eager = results(function, cloned(arguments), t)
    found = results(compiled, cloned(arguments), t)
    assert fired(compiled) and not fired(compiled, "row-chunks")
    for a, b, e in zip(found, eager, exact, strict=True):
        assert (a.double() - e).norm() <= 1.5 * (b.double() - e).norm() + 1e-6 * e.norm()


@pytest.mark.parametrize("function", [gemma, spelled])
def test_the_limit_is_kept(function):
    """One product's result, and its gradient in the same place, of some columns at a time."""
    arguments, t = given()
    compiled = Compiled(function, {"memory_limit": LIMIT, "strict": True, **PLANNED})
    results(compiled, cloned(arguments), t)
    assert fired(compiled)
    assert all(peak <= LIMIT for peak in peaks(compiled)), peaks(compiled)
    whole = Compiled(function, PLANNED)
    results(whole, cloned(arguments), t)
    assert all(peak > LIMIT for peak in peaks(whole)), peaks(whole)


def test_gradients_lie_where_logits_were():
    """Of chunks of a megabyte: as many columns fit as if there was no gradient."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(16, 8, generator=generator).bfloat16().requires_grad_()
    w = torch.randn(1 << 17, 8, generator=generator).bfloat16()
    t = torch.randint(1 << 17, (16,), generator=generator)
    limit = 1_600_000  # of logits of 4.2 MB

    def loss(x, w, t):
        return F.cross_entropy((x @ w.T).float(), t)

    compiled = Compiled(loss, {"memory_limit": limit, "strict": True, "epilogues": "library", **PLANNED})
    [found] = torch.autograd.grad(compiled(x, w, t), x)
    forward, backward = peaks(compiled)
    assert fired(compiled) and forward <= limit and limit / 2 < backward <= limit
    wide = x.detach().double().requires_grad_()
    [exact] = torch.autograd.grad(F.cross_entropy(wide @ w.double().T, t), wide)
    [eager] = torch.autograd.grad(loss(x, w, t), x)
    assert (found - exact).norm() <= 1.6 * (eager - exact).norm()


@pytest.mark.parametrize("function", [*FIRES, extremes])
def test_without_gradients(function):
    arguments, t = given()
    arguments = [a.detach() for a in arguments]
    compiled = Compiled(function, {"memory_limit": LIMIT, "strict": True, **PLANNED})
    torch.testing.assert_close(compiled(*arguments, t), function(*arguments, t))
    assert fired(compiled)


def test_as_many_rows_as_columns_and_numbers_that_widen():
    """A number for each column has as many elements as one for each row; one of one dim makes float32."""

    def both(x, w, b, t):
        logits = ((x @ w.T) * b.to(x.dtype) + b.to(x.dtype)) * torch.ones(1)
        return (logits - b).sum(-1) / COLUMNS + F.log_softmax(logits, -1).sum(-1) / COLUMNS

    arguments, _ = given(torch.bfloat16)
    x, w = arguments[0].detach().repeat(COLUMNS // ROWS + 1, 1)[:COLUMNS], arguments[1]
    b = torch.randn(COLUMNS, generator=torch.Generator().manual_seed(7))
    compiled = Compiled(both, {"memory_limit": 600_000, **PLANNED})
    found, eager = compiled(x, w, b, None), both(x, w, b, None)
    assert fired(compiled) and found.dtype == eager.dtype == torch.float32
    exact = both(x.double(), w.double(), b.double(), None)
    assert (found - exact).norm() <= 1.5 * (eager - exact).norm()


def test_numbers_that_are_none_and_rows_that_do_not_count():
    def numbers(x, w, b, t):
        return extremes(x, w, b, t), spelled(x, w, b, t), F.cross_entropy(x @ w.T, torch.full_like(t, -100))

    arguments, t = given()
    x, w, b = (a.detach() for a in arguments)
    x[0, 0], x[1, 0], x[2] = torch.nan, torch.inf, -torch.inf
    compiled = Compiled(numbers, {"memory_limit": LIMIT, **PLANNED})
    torch.testing.assert_close(compiled(x, w, b, t), numbers(x, w, b, t), equal_nan=True)
    assert fired(compiled)


@pytest.mark.parametrize("place", [COLUMNS, -101])
def test_places_beyond_the_columns_are_refused(place):
    def read(x, w, b, t):
        logits = x @ w.T
        return logits.logsumexp(-1) - logits.gather(1, t.unsqueeze(1)).squeeze(1)

    arguments, t = given()
    arguments = [a.detach() for a in arguments]
    compiled = Compiled(read, {"memory_limit": LIMIT, **PLANNED})
    compiled(*arguments, t.clamp(min=0))
    assert fired(compiled)
    t[3] = place
    with pytest.raises(Exception, match="out of bounds"):
        compiled(*arguments, t)


def entropy(x, w, b, t):
    p = (x @ w.T).softmax(-1)
    return -(p * p.log()).sum(-1).mean()


def sorted_rows(x, w, b, t):
    return (x @ w.T).softmax(-1).amax(-1).mean()


@pytest.mark.parametrize("function", [entropy, sorted_rows, extremes])
def test_left_alone(function):
    """A column of these depends on all others."""
    arguments, t = given()
    compiled = Compiled(function, {"memory_limit": LIMIT, **PLANNED})
    exact, found = (
        results(function, cloned(arguments, torch.float64), t),
        results(compiled, cloned(arguments), t),
    )
    for a, e in zip(found, exact, strict=True):
        torch.testing.assert_close(a.double(), e, rtol=1e-4, atol=1e-6)
    assert not fired(compiled)


def test_weights_with_a_gradient_are_left_to_rows():
    arguments, t = given()
    arguments[1].requires_grad_()
    compiled = Compiled(gemma, {"memory_limit": 2 * LIMIT, **PLANNED})
    results(compiled, cloned(arguments), t)
    assert not fired(compiled) and fired(compiled, "row-chunks")


def test_small_weights_are_left_to_rows(monkeypatch):
    monkeypatch.undo()
    arguments, t = given()
    compiled = Compiled(gemma, {"memory_limit": LIMIT, **PLANNED})
    results(compiled, cloned(arguments), t)
    assert not fired(compiled) and fired(compiled, "row-chunks")


def test_a_limit_that_is_kept_changes_nothing():
    arguments, t = given()
    compiled = Compiled(gemma, {"memory_limit": 10_000_000, **PLANNED})
    results(compiled, cloned(arguments), t)
    assert not fired(compiled)
