"""rewrites/graph/flex_kernels.py: ``flex_attention`` as one kernel of this compiler's."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiling import Compiled
from draws import drawn
from made_up_gpu import made_up_gpu
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules
from fuse_mlir.compiler.base.remarks import Remark
from fuse_mlir.compiler.rewrites.graph import flex_attention as flex_attention_rewrite

FORCED = {
    "products": "generated", "flex_attention": "generated", "interpret_level": "tiled", "cache": False,
}  # fmt: skip
HEADS, SIZE = 4, 150
SLOPES = 2.0 ** -torch.arange(HEADS)
TABLE = torch.randn(HEADS, 2 * SIZE, generator=torch.Generator().manual_seed(1))
SEEN = TABLE > 0
DOCUMENT = torch.arange(SIZE) // 40
NUMBERS = torch.arange(SIZE) // 40
LENGTHS = torch.tensor([140, 31])

Function = Callable[..., Tensor]
#: Name -> score and mask functions.
FORMS: dict[str, tuple[Function | None, Function | None]] = {
    "nothing": (None, None),
    "soft cap": (lambda s, b, h, i, j: 20 * torch.tanh(s / 20), None),
    "ALiBi, causal": (lambda s, b, h, i, j: s - SLOPES[h] * (i - j), lambda b, h, i, j: i >= j),
    "looked up by row and key": (lambda s, b, h, i, j: s + TABLE[h, i % 2 + j % 3], None),
    "looked up by the distance": (lambda s, b, h, i, j: s + TABLE[h, i - j + SIZE], None),
    "window": (None, lambda b, h, i, j: (i >= j) & (i - j < 30)),
    "documents": (None, lambda b, h, i, j: (i >= j) & (DOCUMENT[i] == DOCUMENT[j])),
    "prefix": (None, lambda b, h, i, j: (i >= j) | (j < 50)),
    "lengths": (None, lambda b, h, i, j: j < LENGTHS[b]),
    "rows that admit nothing": (None, lambda b, h, i, j: i - j >= 40),
    "a mask in the scores": (lambda s, b, h, i, j: torch.where(i <= j, s, -math.inf), None),
}


def factors(rows: int = SIZE, keys: int = SIZE) -> list[Tensor]:
    """Two heads of q share one of k and v; the heads of q lie together in memory."""
    return [
        drawn(2, rows, HEADS, 32).transpose(1, 2),
        drawn(2, 2, keys, 32, of=1),
        drawn(2, 2, keys, 16, of=2),
    ]


def blocks_of(mask: Function | None, batch: int | None = None) -> BlockMask | None:
    return mask and create_block_mask(mask, batch, None, SIZE, SIZE, device="cpu", BLOCK_SIZE=16)


def spelled(compiled: Compiled) -> int:
    return sum(r.kind == "passed" for r in said(compiled))


def said(compiled: Compiled) -> list[Remark]:
    return [r for g in compiled.graphs for r in g.remarks.items if r.pass_name == "flex-kernels"]


def rules(compiled: Compiled) -> list[str]:
    return [r.rule for g in compiled.graphs for r in g.remarks.items if r.pass_name == "derive-cascades"]


def assert_near(found: Tensor, eager: Tensor, exact: Tensor) -> None:
    assert (found.dtype, found.stride()) == (eager.dtype, eager.stride())
    assert torch.equal(found.isinf(), exact.isinf()) and not found.isnan().any()
    error, allowed = ((t.double() - exact).nan_to_num(posinf=0, neginf=0).norm() for t in (found, eager))
    assert error <= 1.05 * allowed + 1e-6 * exact.nan_to_num(posinf=0, neginf=0).norm()


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_one_kernel_and_right(name: str) -> None:
    score, mask = FORMS[name]
    blocks = blocks_of(mask, 2 if name == "lengths" else None)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(
            q, k, v, score_mod=score, block_mask=blocks, enable_gqa=True, return_lse=True, scale=0.2
        )

    args = factors()
    compiled = Compiled(attend, FORCED)
    for results in zip(compiled(*args), attend(*args), attend(*(t.double() for t in args)), strict=True):
        assert_near(*results)
    [graph] = compiled.graphs
    assert (spelled(compiled), rules(compiled), graph.externs) == (1, ["cascade"], 0)


def test_it_fuses_with_what_is_around_it() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
        return flex_attention(q * 2, k, v + 1) * gate

    args = [
        drawn(2, HEADS, 60, 32),
        drawn(2, HEADS, 90, 32, of=1),
        drawn(2, HEADS, 90, 16, of=2),
        drawn(2, HEADS, 60, 16),
    ]
    compiled = Compiled(attend, FORCED)
    assert_near(compiled(*args), attend(*args), attend(*(t.double() for t in args)))
    assert [(g.launches_after, g.externs) for g in compiled.graphs] == [(1, 0)]


def test_keys_are_read_as_they_lie() -> None:
    """Heads that share no keys take no copy of them, and a copy that the program takes is not stored."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k.clone(), v)

    args = [drawn(2, HEADS, 512, 32, of=n) for n in range(3)]
    compiled = Compiled(attend, FORCED)
    assert_near(compiled(*args), attend(*args), attend(*(t.double() for t in args)))
    assert [(g.launches_after, g.externs) for g in compiled.graphs] == [(1, 0)]


def test_keys_of_one_batch_are_those_of_all() -> None:
    blocks = blocks_of(FORMS["window"][1], 3)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, block_mask=blocks)

    args = [drawn(n, HEADS, SIZE, 16, of=of) for of, n in enumerate((3, 1, 1))]
    compiled = Compiled(attend, FORCED)
    assert_near(compiled(*args), attend(*args), attend(*(t.double() for t in args)))
    assert rules(compiled) == ["cascade"]


@pytest.mark.parametrize("name", ["window", "documents"])
def test_blocks_of_keys_are_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what a mask compares, and by tables of blocks where it compares look-ups.  NaN in a value shows
    which blocks of 16 x 16 were computed.
    """
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))
    blocks = blocks_of(FORMS[name][1])

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, block_mask=blocks, enable_gqa=True)

    q, k, v = factors()
    compiled = Compiled(attend, FORCED)
    found = compiled(q, k, v)
    for first, last in ((0, 16), (96, 144)):  # rows 64 to 79 see the keys of 34 to 79, or of 40 to 79
        v[:, :, first:last] = math.nan
    assert torch.equal(compiled(q, k, v)[:, :, 64:80], found[:, :, 64:80])
    assert rules(compiled) == ["cascade"]


def test_sizes_that_are_symbols() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf))

    compiled = Compiled(attend, FORCED, dynamic=True)
    for size in (130, 33, 257):
        args = [drawn(2, HEADS, size, 32, of=n) for n in range(3)]
        assert_near(compiled(*args), attend(*args), attend(*(t.double() for t in args)))
    assert len(compiled.graphs) == 1 and rules(compiled) == ["cascade"]


@pytest.mark.parametrize(
    ("name", "rows", "keys", "head", "reason"),
    [
        ("ALiBi, causal", 128, 300, 64, ""),
        ("documents", 128, 300, 100, ""),
        ("nothing", 1, 1024, 128, ""),
        ("nothing", 40, 300, 64, "40 rows and 300 keys were not measured"),
        ("nothing", 128, 128, 64, "128 rows and 128 keys were not measured"),
        ("nothing", 128, 300, 256, "heads of 256 and 256 numbers take less time in other kernels"),
        ("looked up by the distance", 128, 300, 64, ""),
        ("looked up by the distance", 1, 300, 64, "Inductor's kernel takes 0.86 of the time"),
        ("looked up by row and key", 128, 300, 64, "Inductor's kernel takes 0.86 of the time"),
        ("prefix", 128, 300, 64, "Inductor's kernel takes 0.92 of the time"),
    ],
)
def test_by_default_where_it_takes_less_time(
    name: str, rows: int, keys: int, head: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("Inductor has no such GPU")

    monkeypatch.setattr(flex_attention_rewrite, "_inductor", fails)
    score, mask = FORMS[name]
    if name == "documents":
        mask = lambda b, h, i, j: DOCUMENT[i % SIZE] == DOCUMENT[j % SIZE]  # noqa: E731
    blocks = mask and create_block_mask(mask, None, None, rows, keys, device="cpu")

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=score, block_mask=blocks)

    with made_up_gpu():
        compiled = Compiled(attend, {"flex_attention": "auto", "cache": False})
        compiled(drawn(2, HEADS, rows, head), *(drawn(2, HEADS, keys, head, of=n) for n in (1, 2)))
    assert spelled(compiled) == (not reason)
    kept = [r.message.partition(" stays: ")[2] for r in said(compiled) if r.kind == "missed"]
    assert kept == ([reason] if reason else [])


def test_tables_alone_mask_nothing_in_eager_mode() -> None:
    """So Inductor or torch runs the op, as before."""
    tables = blocks_of(FORMS["window"][1])
    assert tables is not None
    blocks = BlockMask.from_kv_blocks(tables.kv_num_blocks, tables.kv_indices, BLOCK_SIZE=16)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, block_mask=blocks)

    args = [drawn(2, HEADS, 160, 16, of=n) for n in range(3)]
    compiled = Compiled(attend, FORCED)
    torch.testing.assert_close(compiled(*args), attend(*args))
    assert ["only the tables of its blocks mask scores" in r.message for r in said(compiled)] == [True]


#: Name -> score and mask functions, and what the remark says of them.
REFUSED: dict[str, tuple[Function | None, Function | None, str]] = {
    "both sides": (None, lambda b, h, i, j: (i >= j) | (j >= 100), "bound keys from two sides"),
    "not linear": (None, lambda b, h, i, j: j % 3 != 0, "its mask is computed by aten.ne.Scalar"),
    "two tables": (None, lambda b, h, i, j: DOCUMENT[i] == NUMBERS[j], "look-ups of two tensors"),
    "a mask that is looked up": (None, lambda b, h, i, j: SEEN[h, j], "its mask is computed by"),
    "two keys": (None, lambda b, h, i, j: j <= 2 * j, "is not linear in the key"),
    "no key": (None, lambda b, h, i, j: i >= h, "compares no key"),
    "a sum": (lambda s, b, h, i, j: s + TABLE.sum(), None, "aten.sum.default in a function is not pointwise"),
    "a row": (lambda s, b, h, i, j: s + TABLE[h].amax(), None, "index in a function is no number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_left_alone(name: str) -> None:
    score, mask, reason = REFUSED[name]
    blocks = blocks_of(mask)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=score, block_mask=blocks, enable_gqa=True)

    compiled = Compiled(attend, FORCED)
    torch.testing.assert_close(compiled(*factors()), attend(*factors()), rtol=0.02, atol=0.01)
    [remark] = said(compiled)
    assert (remark.kind, remark.rule) == ("missed", "stays")
    assert reason in remark.message


def test_left_alone_in_float32() -> None:
    """Tensor cores would round its products."""
    compiled = Compiled(lambda q, k, v: flex_attention(q, k, v, enable_gqa=True), FORCED)
    compiled(*(t.float() for t in factors()))
    [remark] = said(compiled)
    assert "tensor cores do not multiply its dtype exactly" in remark.message
