"""Losses that are computed some rows at a time: when, that answers and gradients are exact, what memory they
take."""

import pytest
import torch
from chunked_losses import peaks, results
from compiling import Compiled, cloned
from torch.nn import functional as F

from fuse_mlir.compiler.base.options import OptionError, Options

ROWS, INNER, COLUMNS = 42, 16, 512
LIMIT = 140_000  # float32: a row of logits and its gradient has 4096 bytes, the gradient of w 32768
SMALL = 50_000  # without gradients
PLANNED = {"interpret_level": "planned", "cache": False}


def given(element=torch.float32):
    generator = torch.Generator().manual_seed(3)
    x, w, v = (torch.randn(n, INNER, generator=generator).to(element) / 2 for n in (ROWS, COLUMNS, COLUMNS))
    b = torch.randn(COLUMNS, generator=generator).to(element)
    target = torch.randint(COLUMNS, (ROWS,), generator=generator)
    target[5] = -100
    return [a.requires_grad_() for a in (x, w, v, b)], target


def gemma(x, w, v, b, t):
    logits = (F.rms_norm(x, (INNER,)) @ w.T).float()
    logits = 30 * torch.tanh(logits / 30)
    z = logits.logsumexp(-1).square().mean()
    return F.cross_entropy(logits, t, label_smoothing=0.1) + 1e-2 * z


def biased(x, w, v, b, t):
    logits = F.linear(x.view(6, 7, INNER), w, b).float()
    return F.cross_entropy(logits.view(-1, COLUMNS), t, reduction="none") * torch.arange(ROWS)


def spelled(x, w, v, b, t):
    logits = x @ w.T
    return logits.logsumexp(-1) - logits.gather(1, t.clamp(min=0).unsqueeze(1)).squeeze(1)


def distilled(x, w, v, b, t):
    with torch.no_grad():
        teacher = (2 * x) @ v.T
    student = F.log_softmax(x @ w.T, -1)
    return F.kl_div(student, F.softmax(teacher, -1), reduction="batchmean")


def entropy(x, w, v, b, t):
    logits = x @ w.T
    p = logits.softmax(-1)
    return F.cross_entropy(logits, t) - 0.1 * (p * p.log()).sum(-1).mean() + logits.abs().mean()


def fired(compiled) -> bool:
    return any(r.pass_name == "row-chunks" for graph in compiled.graphs for r in graph.remarks.items)


@pytest.mark.parametrize("function", [gemma, biased, spelled, distilled, entropy])
@pytest.mark.parametrize("element", [torch.float32, torch.bfloat16])
def test_gradients_are_as_near_as_eagers(function, element):
    if element == torch.bfloat16 and function not in (gemma, biased):
        pytest.skip("one of each kind")
    arguments, t = given(element)
    limit = LIMIT if element == torch.float32 else LIMIT // 2
    compiled = Compiled(function, {"memory_limit": limit, **PLANNED})
    exact = results(function, cloned(arguments, torch.float64), t)
    eager = results(function, cloned(arguments), t)
    found = results(compiled, cloned(arguments), t)
    assert fired(compiled)
    for a, b, e in zip(found, eager, exact, strict=True):
        assert (a.double() - e).norm() <= 1.5 * (b.double() - e).norm() + 1e-6 * e.norm()
    gradients = sum(a.numel() * a.element_size() for a in found[1:])
    forward, backward = peaks(compiled)
    assert forward <= limit
    assert backward <= limit + gradients  # a CPU's sum of products is no update in place


@pytest.mark.parametrize("function", [gemma, spelled, entropy])
def test_without_gradients_the_limit_is_kept(function):
    arguments, t = given()
    arguments = [a.detach() for a in arguments]
    compiled = Compiled(function, {"memory_limit": SMALL, "strict": True, **PLANNED})
    torch.testing.assert_close(compiled(*arguments, t), function(*arguments, t))
    assert fired(compiled) and peaks(compiled)[0] <= SMALL


def test_nothing_counts_or_all_is_huge():
    def ignored(x, w, v, b, t):
        return F.cross_entropy(x @ w.T, torch.full_like(t, -100)), F.cross_entropy(1e5 * (x @ v.T), t)

    arguments, t = given()
    arguments = [a.detach() for a in arguments]
    compiled = Compiled(ignored, {"memory_limit": SMALL, **PLANNED})
    found, expected = compiled(*arguments, t), ignored(*arguments, t)
    torch.testing.assert_close(found, expected, equal_nan=True)
    assert found[0].isnan() and found[1].isfinite() and fired(compiled)
    with pytest.raises(Exception, match="out of bounds"):
        compiled(*arguments, t + COLUMNS)


@pytest.mark.products("auto")
def test_the_library_adds_the_parts_of_a_gradient_in_place():
    arguments, t = given(torch.bfloat16)
    x, w, *rest = arguments
    # the gradient of w has 65536 bytes; sums of whole vectors of 8 rows are the library's
    wide = [torch.cat([a] * 4, 1).detach().requires_grad_() for a in (x[:40], w)]

    def loss(x, w, v, b, t):
        return F.cross_entropy((x @ w.T).float(), t)

    compiled = Compiled(loss, {"memory_limit": 110_000, "epilogues": "library", **PLANNED})
    compiled(*wide, *rest, t[:40]).backward()
    forward, backward = peaks(compiled)
    assert fired(compiled) and forward <= 110_000 and backward <= 110_000


def test_the_gradient_of_a_read_at_one_place_is_pointwise():
    """As a scatter into zeros, each part of it would be whole in memory."""
    arguments, t = given()
    compiled = Compiled(spelled, {"memory_limit": LIMIT, **PLANNED})
    results(compiled, cloned(arguments), t)
    assert fired(compiled) and "scatter" not in str(compiled.graphs[-1].module)


@pytest.mark.parametrize("value", [-1, True, 1.5])
def test_what_is_no_limit_is_refused(value):
    with pytest.raises(OptionError, match=r"option 'memory_limit' (is at least 0|takes an int or None), got"):
        Options.of({"memory_limit": value})


def centred(x, w, v, b, t):
    logits = x @ w.T
    return F.cross_entropy(logits - logits.mean(0), t)


def returned(x, w, v, b, t):
    logits = x @ w.T
    return F.cross_entropy(logits, t), logits


def squared(x, w, v, b, t):
    return (x @ w.T @ w).sum() + (x @ w.T).T.softmax(-1).amax()


@pytest.mark.parametrize("function", [centred, returned, squared])
def test_left_alone(function):
    arguments, t = given()
    compiled = Compiled(function, {"memory_limit": SMALL, **PLANNED})
    found, expected = compiled(*arguments, t), function(*arguments, t)
    torch.testing.assert_close(found, expected)
    assert not fired(compiled)


def test_a_limit_that_is_kept_changes_nothing():
    arguments, t = given()
    compiled = Compiled(gemma, {"memory_limit": 10_000_000, **PLANNED})
    compiled(*arguments, t)
    assert not fired(compiled)


def test_it_says_by_how_much_a_limit_is_not_kept(caplog):
    arguments, t = given()
    compiled = Compiled(returned, {"memory_limit": 1000, **PLANNED})
    compiled(*(a.detach() for a in arguments), t)
    [told] = [r.getMessage() for r in caplog.records if "memory_limit" in r.getMessage()]
    [peak] = peaks(compiled)
    assert f"allocates {peak} bytes at a time and not 1000, {peak - 1000} too many: while " in told
    assert f"{ROWS * COLUMNS * 4} of mm at {__file__}" in told
    strict = Compiled(returned, {"memory_limit": 1000, "strict": True, **PLANNED})
    with pytest.raises(Exception, match="BudgetExceeded: memory_limit: the inference graph allocates"):
        strict(*(a.detach() for a in arguments), t)
