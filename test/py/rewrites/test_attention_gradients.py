"""Gradients of attention spelled out, as kernels that compute scores again: as near to float64 as eager."""

import math
from collections.abc import Callable

import pytest
import torch
from attention_forms import scores
from compiling import Compiled
from draws import drawn
from torch import Tensor

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules

FORCED = {"products": "generated", "attention": False, "interpret_level": "tiled", "cache": False}
ROWS, HEADS, SUMMED, MADE = 40, 2, 16, 24
#: The document of each token, and of the token behind it.
DOCUMENTS, LATER_DOCUMENTS = torch.arange(48) // 7, torch.arange(1, 49) // 7


def positions(s: Tensor) -> tuple[Tensor, Tensor]:
    return torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])


def causal_cap(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = 20 * torch.tanh(scores(q, k) / 20)
    i, j = positions(s)
    return torch.einsum("bhij,bhjd->bhid", torch.where(i >= j, s, -math.inf).softmax(-1), v)


def gated_sigmoid(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.sigmoid(scores(q, k) - 4) @ v


def grouped_window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    k, v = (x[:, :1].repeat_interleave(HEADS, 1) for x in (k, v))
    s = scores(q, k).float()
    i, j = positions(s)
    return s.masked_fill((i < j) | (i - j >= 20), -1e38).softmax(-1).to(v.dtype) @ v


def documents(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = positions(s)
    seen = (DOCUMENTS[: s.shape[-2], None] == DOCUMENTS[: s.shape[-1]]) & (i >= j)
    return torch.where(seen, s, -math.inf).softmax(-1) @ v


def other_documents(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Rows 6, 13 and others are of a document that no key in front of them is of."""
    s = scores(q, k)
    i, j = positions(s)
    seen = (LATER_DOCUMENTS[: s.shape[-2], None] == DOCUMENTS[: s.shape[-1]]) & (i >= j)
    return torch.where(seen, s, -math.inf).softmax(-1) @ v


def operands(rows: int = ROWS, keys: int = ROWS, summed: int = SUMMED, made: int = MADE) -> list[Tensor]:
    sizes = ((rows, summed), (keys, summed), (keys, made))
    return [drawn(1, HEADS, *size, of=n).requires_grad_() for n, size in enumerate(sizes)]


def gradients(function: Callable[..., Tensor], args: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The result and its gradients, of a loss whose gradient differs from row to row."""
    args = [x.detach().to(dtype).requires_grad_() for x in args]
    result = function(*args)
    return [result.detach(), *torch.autograd.grad(result, args, drawn(*result.shape, of=3).to(dtype))]


def derived(compiled: Compiled) -> list[list[str]]:
    """The rules of what ``derive-cascades`` says of each chain of the forward and of the backward graph."""
    return [
        [r.rule for r in graph.remarks.items if r.pass_name == "derive-cascades"] for graph in compiled.graphs
    ]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))


@pytest.mark.parametrize("function", [causal_cap, gated_sigmoid, grouped_window, documents])
def test_gradients_are_kernels_and_right(function: Callable[..., Tensor], small_blocks: None) -> None:
    args, compiled = operands(), Compiled(function, FORCED)
    found = gradients(compiled, args, torch.bfloat16)
    assert derived(compiled) == [["cascade"], ["cascade"] * 3]
    assert [g.externs for g in compiled.graphs] == [0, 0]
    exact, eager = (gradients(function, args, dtype) for dtype in (torch.float64, torch.bfloat16))
    for mine, best, other in zip(found, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()


def test_rows_that_admit_nothing_have_the_gradients_of_eager(small_blocks: None) -> None:
    """With more rows than keys, the last ones see no key of a window of 12: all is NaN that reads them, also
    in blocks that other rows need not compute.
    """

    def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k)
        i, j = positions(s)
        return torch.where((i >= j) & (i - j < 12), s, -math.inf).softmax(-1) @ v

    args, compiled = operands(40, 24), Compiled(window, FORCED)
    found, eager = (gradients(f, args, torch.bfloat16) for f in (compiled, window))
    assert derived(compiled) == [["cascade"], ["cascade"] * 3]
    torch.testing.assert_close(found, eager, equal_nan=True, rtol=0.05, atol=0.05)
    assert found[3].isnan().all()


@pytest.mark.parametrize("function", [causal_cap, documents])
def test_blocks_that_no_row_admits_are_not_computed(
    function: Callable[..., Tensor], small_blocks: None
) -> None:
    """NaN that eager multiplies by 0 shows what was left out: keys behind rows, and rows before keys.  A
    token is of its own document, whichever these are.
    """
    args, compiled = operands(48, 48), Compiled(function, FORCED)
    with torch.no_grad():
        args[1][:, :, 32:] = math.nan
    found, eager = (gradients(f, args, torch.bfloat16) for f in (compiled, function))
    assert found[1][:, :, :32].isfinite().all() and eager[1].isnan().all()
    args, seeds = operands(48, 48), drawn(1, HEADS, 48, MADE, of=3)
    seeds[:, :, :16] = math.nan
    found = torch.autograd.grad(compiled(*args), args, seeds)
    assert all(x[:, :, :16].isnan().all() and x[:, :, 16:].isfinite().all() for x in found)


def test_documents_of_which_a_row_may_see_none(small_blocks: None) -> None:
    """Such a row has NaN gradients, which it gives to all keys: also to those that it need not be computed
    with, as these are behind it.
    """
    args, compiled = operands(48, 48), Compiled(other_documents, FORCED)
    found, eager = (gradients(f, args, torch.bfloat16) for f in (compiled, other_documents))
    assert derived(compiled) == [["cascade"], ["cascade"] * 3]
    torch.testing.assert_close(found, eager, equal_nan=True, rtol=0.05, atol=0.05)
    assert found[3].isnan().all()


def test_a_row_that_a_finite_number_masks_whole(small_blocks: None) -> None:
    """Its probabilities are alike, as in eager mode: of -1e9, float32 has no digits of their logarithm."""

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k).float()
        return s.masked_fill(positions(s)[0] % 3 == 0, -1e9).softmax(-1).to(v.dtype) @ v

    args, compiled = operands(), Compiled(masked, FORCED)
    found = gradients(compiled, args, torch.bfloat16)
    assert derived(compiled) == [["cascade"], ["cascade"] * 3]
    exact, eager = (gradients(masked, args, dtype) for dtype in (torch.float64, torch.bfloat16))
    for mine, best, other in zip(found, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()


def test_what_is_multiplied_both_ways_is_loaded_once(small_blocks: None) -> None:
    """Queries by the kernel of dk, keys by that of dq; so are gradients, where one kernel has both."""
    compiled = Compiled(causal_cap, {**FORCED, "attention": False})
    gradients(compiled, operands(summed=16, made=16), torch.bfloat16)
    kernels = str(compiled.graphs[1].module).split("func.func private")[1:]
    assert sum("tt.trans" in text and text.count("tt.dot") > 4 for text in kernels) == 2


def test_a_gradient_is_scaled_in_front_of_the_kernels(small_blocks: None) -> None:
    """And not for each block of rows that reads it."""

    def weighed(q: Tensor, k: Tensor, v: Tensor, given: Tensor) -> Tensor:
        return (gated_sigmoid(q, k, v) * given).sum()

    compiled = Compiled(weighed, FORCED)
    args = operands(256, 256)
    torch.autograd.grad(compiled(*args, drawn(1, HEADS, 256, MADE, of=3)), args)
    kernels = str(compiled.graphs[1].module).split("func.func private @")[1:]
    assert [text.partition("(")[0] for text in kernels if "tt.dot" not in text] == ["mul_2"]


def projected(x: Tensor, *weights: Tensor) -> Tensor:
    """As a layer of a model: the scores' factors are products, and so is what reads the result."""
    q, k, v = ((x @ w).unflatten(-1, (HEADS, SUMMED)).transpose(1, 2) for w in weights[:3])
    return causal_cap(q, k, v).transpose(1, 2).flatten(2) @ weights[3]


def test_products_around_it_are_of_no_chain(small_blocks: None) -> None:
    """A gradient of a projection makes a number for each row of scores, and is no sum of them."""
    width = HEADS * SUMMED
    args = [drawn(2, ROWS, width), *(drawn(n, width, width)[0] * width**-0.5 for n in range(1, 5))]
    compiled = Compiled(projected, FORCED)
    found, exact, eager = (
        gradients(f, args, dtype)
        for f, dtype in ((compiled, torch.bfloat16), (projected, torch.float64), (projected, torch.bfloat16))
    )
    for mine, best, other in zip(found, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
    forward, backward = derived(compiled)
    assert (forward.count("cascade"), backward.count("cascade")) == (1, 3)
    assert "products" not in backward


@pytest.mark.parametrize("dynamic", [False, True])
def test_few_rows_and_unknown_sizes_keep_their_scores(dynamic: bool) -> None:
    """Scores of a few queries that were computed again would be rounded otherwise than those that were used;
    what has rows and columns is not told among sizes that are symbols.
    """
    compiled = Compiled(causal_cap, FORCED, dynamic=dynamic)
    for rows in (15, 14) if dynamic else (15,):
        args = operands(rows if not dynamic else 30 + rows, 30 + rows)
        found, exact, eager = (
            gradients(f, args, dtype)
            for f, dtype in (
                (compiled, torch.bfloat16),
                (causal_cap, torch.float64),
                (causal_cap, torch.bfloat16),
            )
        )
        for mine, best, other in zip(found, exact, eager, strict=True):
            assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
    assert len(compiled.graphs) == 2
    remarks = [r for g in compiled.graphs for r in g.remarks.items if r.pass_name == "attention-gradients"]
    reason = "not known when compiling" if dynamic else "scores of 15 queries are rounded"
    assert [(r.kind, r.rule, reason in r.message) for r in remarks] == [("missed", "stays", True)]


def in_steps(steps: int) -> Callable[..., Tensor]:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k).float()
        for _ in range(steps):
            s = s + 0.125 * torch.sin(s)
        return s.softmax(-1).to(v.dtype) @ v

    return attend


@pytest.mark.parametrize(("steps", "fires"), [(4, True), (5, False)])
def test_more_than_a_chain_holds_keeps_its_scores(steps: int, fires: bool, small_blocks: None) -> None:
    """Of five steps no chain of gradients is a kernel: scores that calls computed again would be rounded, and
    those that the forward kernel summed were not, by which gradients erred up to twice as much as eager's.
    """
    function = in_steps(steps)
    compiled = Compiled(function, FORCED)
    args = [2 * x.detach() for x in operands()]
    found, exact, eager = (
        gradients(f, args, dtype)
        for f, dtype in (
            (compiled, torch.bfloat16),
            (function, torch.float64),
            (function, torch.bfloat16),
        )
    )
    for mine, best, other in zip(found, exact, eager, strict=True):
        assert (mine.double() - best).norm() <= 1.05 * (other.double() - best).norm()
    remarks = [r for g in compiled.graphs for r in g.remarks.items if r.pass_name == "attention-gradients"]
    reason = "its gradients would be up to 51 calls each, of which 48 become a kernel"
    assert [r.kind for r in remarks] == (["passed"] if fires else ["missed"])
    assert fires or reason in remarks[0].message
    assert (derived(compiled)[1] == ["cascade"] * 3) == fires


def dropped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.dropout(scores(q, k).softmax(-1), 0.5, True) @ v


def twice(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scores(q, k).softmax(-1).softmax(-1) @ v


def of_probabilities(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    p = scores(q, k).softmax(-1)
    return p @ v + p.sum(-2, keepdim=True).mT[..., :1, :]


def with_bias(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (scores(q, k) + v[:, :, :1, :1]).softmax(-1) @ v


@pytest.mark.parametrize(
    ("function", "dynamic"),
    [(dropped, False), (twice, False), (of_probabilities, False), (with_bias, False), (causal_cap, True)],
)
def test_left_alone(function: Callable[..., Tensor], dynamic: bool) -> None:
    """Also where sizes are not known.  What needs scores, or their gradients, in memory is named."""
    compiled = Compiled(function, FORCED, dynamic=dynamic)
    gradients(compiled, operands(24, 24), torch.bfloat16)
    remarks = [r for g in compiled.graphs for r in g.remarks.items if r.pass_name == "attention-gradients"]
    assert {(r.kind, r.rule) for r in remarks} <= {("missed", "stays")}
    if dynamic:
        assert {r.message.partition(": ")[2] for r in remarks} == {"its sizes are not known when compiling"}
    if function is with_bias:  # the sum of the gradient over what is added
        assert [r.message for r in remarks if "needs what has rows and columns in memory" in r.message]
