"""rewrites/graph/flex_gradients.py: gradients of ``flex_attention`` as kernels of this compiler's.  torch
says that the op has none on a CPU, where only Inductor has no code for them.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiling import Compiled
from draws import drawn
from torch import Tensor
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules

FORCED = {
    "products": "generated", "flex_attention": "generated", "interpret_level": "tiled", "cache": False,
}  # fmt: skip
HEADS, SIZE = 4, 100
SLOPES = 2.0 ** -torch.arange(HEADS)
DOCUMENT = torch.arange(SIZE) // 40

Function = Callable[..., Tensor]
#: Name -> score and mask functions.
FORMS: dict[str, tuple[Function | None, Function | None]] = {
    "nothing": (None, None),
    "soft cap and window": (
        lambda s, b, h, i, j: 20 * torch.tanh(s / 20), lambda b, h, i, j: (i >= j) & (i - j < 30)
    ),
    "ALiBi": (lambda s, b, h, i, j: s - SLOPES[h] * (i - j), lambda b, h, i, j: i >= j),
    "documents": (None, lambda b, h, i, j: (i >= j) & (DOCUMENT[i] == DOCUMENT[j])),
    "rows that admit nothing": (None, lambda b, h, i, j: i - j >= 40),
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)


def factors() -> list[Tensor]:
    """Two heads of q share one of k and v."""
    return [drawn(2, HEADS, SIZE, 32), drawn(2, 2, SIZE, 32, of=1), drawn(2, 2, SIZE, 16, of=2)]


def gradients(function: Callable[..., Any], args: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """Of a function that returns its result and a logarithm for each row, each times numbers given."""
    args = [a.detach().to(dtype).requires_grad_() for a in args]
    out, logarithm = function(*args)
    total = (out * drawn(*out.shape, of=3).to(dtype)).sum()
    admitted = logarithm.where(logarithm.isfinite(), 0)
    total = total + (admitted * drawn(*logarithm.shape, of=4)).sum()
    return list(torch.autograd.grad(total, args))


def spelled(compiled: Compiled) -> list[str]:
    said = [r for g in compiled.graphs for r in g.remarks.items if r.kind == "passed"]
    return [r.pass_name for r in said if r.pass_name.startswith("flex-")]


def derived(compiled: Compiled) -> list[str]:
    return [r.rule for g in compiled.graphs for r in g.remarks.items if r.pass_name == "derive-cascades"]


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_kernels_and_right(name: str) -> None:
    """No further from float64 than eager mode, and of equal bits each time."""
    score, mask = FORMS[name]
    blocks = mask and create_block_mask(mask, None, None, SIZE, SIZE, device="cpu", BLOCK_SIZE=16)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=True, return_lse=True)

    compiled = Compiled(attend, FORCED)
    found, again = (gradients(compiled, factors(), torch.bfloat16) for _ in range(2))
    eager, exact = (gradients(attend, factors(), dtype) for dtype in (torch.bfloat16, torch.float64))
    for a, same, b, e in zip(found, again, eager, exact, strict=True):
        assert torch.equal(a, same) and (a.stride(), a.dtype) == (b.stride(), b.dtype)
        assert (a.double() - e).norm() <= 1.05 * (b.double() - e).norm()
    assert spelled(compiled)[:2] == ["flex-kernels", "flex-gradients"]
    assert derived(compiled)[:4] == ["cascade"] * 4


def test_blocks_of_keys_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN in values that rows do not see shows which blocks of 16 x 16 the gradient of q was computed of."""
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))
    mask = FORMS["documents"][1]
    assert mask is not None
    blocks = create_block_mask(mask, None, None, SIZE, SIZE, device="cpu", BLOCK_SIZE=16)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(q, k, v, block_mask=blocks, enable_gqa=True, return_lse=True)

    compiled = Compiled(attend, FORCED)
    q, k, v = factors()
    found = gradients(compiled, [q, k, v], torch.bfloat16)[0]
    v[:, :, :32] = math.nan  # rows 48 to 63 see the keys of 40 to 63
    assert torch.equal(gradients(compiled, [q, k, v], torch.bfloat16)[0][:, :, 48:64], found[:, :, 48:64])


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        (torch.float32, {}),
        (torch.bfloat16, {"products": "auto"}),
        (torch.bfloat16, {"flex_attention": "eager"}),
    ],
)
def test_left_alone(dtype: torch.dtype, options: dict[str, str]) -> None:
    """Floats of 32 bits, and where calls or torch's own op compute it."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(q, k, v, enable_gqa=True, return_lse=True)

    compiled = Compiled(attend, {**FORCED, **options})
    found, eager = (gradients(f, factors(), dtype) for f in (compiled, attend))
    for a, b in zip(found, eager, strict=True):
        assert (a - b).norm() <= 1e-2 * b.norm()
    assert "flex-gradients" not in spelled(compiled)
    if options.get("products") == "auto":
        kept = [r.message for g in compiled.graphs for r in g.remarks.items if r.rule == "stays"]
        assert any("Inductor's kernels of its gradients take less time" in text for text in kept)


@pytest.mark.parametrize("learned", [True, False])
def test_gradients_of_captured_tensors(learned: bool) -> None:
    """Where a captured tensor has a gradient, torch's op computes all; else kernels do."""
    bias = drawn(HEADS, SIZE).float()

    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Any:
        return flex_attention(
            q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, j], enable_gqa=True, return_lse=True
        )

    def of(function: Callable[..., Any], dtype: torch.dtype) -> list[Tensor]:
        args = [a.detach().to(dtype).requires_grad_() for a in factors()]
        given = bias.clone().requires_grad_(learned)
        out, _ = function(*args, given)
        seeds = drawn(*out.shape, of=3).to(dtype)
        return list(torch.autograd.grad((out * seeds).sum(), [*args, given] if learned else args))

    compiled = Compiled(attend, FORCED)
    found, eager, exact = of(compiled, torch.bfloat16), of(attend, torch.bfloat16), of(attend, torch.float64)
    for a, b, e in zip(found, eager, exact, strict=True):
        assert (a.double() - e).norm() <= 1.05 * (b.double() - e).norm() + 1e-3 * e.norm()
    assert ("flex-gradients" in spelled(compiled)) != learned
    kept = [r.message for g in compiled.graphs for r in g.remarks.items if r.kind == "missed"]
    assert any("a captured tensor has a gradient" in text for text in kept) == learned
