"""Attention spelled out, as one kernel that goes through its keys in blocks: as near to float64 as eager."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from attention_forms import scores
from compiling import Compiled, check
from derived_cascades import FORCED, assert_derived, refusals
from draws import drawn
from torch import Tensor

from fuse_mlir.compiler.analysis.contraction.looped import LoopedBlocks
from fuse_mlir.compiler.analysis.tiling import held_rules

ROWS, KEYS, HEADS = 70, 90, 4


def positions(s: Tensor) -> tuple[Tensor, Tensor]:
    return torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])


def merged_heads(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    o = torch.softmax(scores(q, k).float(), -1).to(v.dtype) @ v
    return o.transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)


def alibi_window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = positions(s)
    slopes = 2.0 ** -torch.arange(HEADS)[:, None, None]
    s = 20 * torch.tanh((s - (slopes * (i - j)).to(s.dtype)) / 20)
    return torch.where((i >= j) & (i - j < 24), s, -math.inf).softmax(-1) @ v


def grouped(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
    k, v = (x[:, :2].repeat_interleave(HEADS // 2, 1) for x in (k, v))
    return (scores(q, k) + bias).masked_fill(~mask, -math.inf).softmax(-1) @ v


def gated_sigmoid(q: Tensor, k: Tensor, v: Tensor, gate: Tensor) -> Tensor:
    return torch.sigmoid(scores(q, k[:, :1]) - 4) @ v[:, :1] * gate


def factors(rows: int = ROWS, keys: int = KEYS, summed: int = 40, made: int = 24) -> list[Tensor]:
    return [
        drawn(2, HEADS, rows, summed),
        drawn(2, HEADS, keys, summed, of=1),
        drawn(2, HEADS, keys, made, of=2),
    ]


#: Of whole blocks and of others, with dims of heads that are a power of two and not.
VARIANTS: dict[str, tuple[Callable[..., Tensor], list[Tensor]]] = {
    "merged heads": (merged_heads, factors(64, 128, 32, 32)),
    "ALiBi, soft cap, window": (alibi_window, factors()),
    "grouped heads, bias, mask": (
        grouped,
        [*factors(), drawn(HEADS, 1, KEYS), torch.arange(ROWS)[:, None] % 7 != torch.arange(KEYS) % 5],
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_attention_is_one_kernel_and_right(name: str) -> None:
    function, args = VARIANTS[name]
    assert_derived(check(function, *args, **FORCED))


def test_without_a_softmax_of_symbolic_lengths() -> None:
    args = [*factors(100, 300), drawn(2, HEADS, 100, 24)]
    for tensor, dim in ((args[0], 2), (args[1], 2), (args[2], 2), (args[3], 2)):
        torch._dynamo.mark_dynamic(tensor, dim)
    compiled = Compiled(gated_sigmoid, FORCED, dynamic=None)
    for sizes in ((100, 300), (33, 5)):
        some = [x[:, :, :n].contiguous() for x, n in zip(args, (*sizes, sizes[1], sizes[0]), strict=True)]
        if sizes == (100, 300):
            some = args
        exact = gated_sigmoid(*(x.double() for x in some))
        error, eager = ((f(*some).double() - exact).norm() for f in (compiled, gated_sigmoid))
        assert error <= 1.05 * eager
    assert_derived(compiled)


def test_a_softmax_of_symbolic_lengths() -> None:
    """Of whole blocks and of others, and of rows without a key."""
    args, sizes = factors(60, 90), ((33, 5), (64, 64), (2, 3))
    for tensor in args:
        torch._dynamo.mark_dynamic(tensor, 2)
    compiled = Compiled(alibi_window, FORCED, dynamic=None)
    cut = [[q.contiguous() for q in (args[0][:, :, :n], *(x[:, :, :m] for x in args[1:]))] for n, m in sizes]
    for some in (args, *cut):
        found, eager, exact = compiled(*some), alibi_window(*some), alibi_window(*(x.double() for x in some))
        assert torch.equal(found.isnan(), exact.isnan())
        errors = [(x.double() - exact).nan_to_num().norm() for x in (found, eager)]
        assert errors[0] <= 1.05 * errors[1]
    assert_derived(compiled)


def test_special_rows_are_those_of_eager() -> None:
    """A row whose keys are all masked, whose first block is, with one key, NaN, an infinite score; a value
    that no probability is above 0 for is multiplied by it, as eager does.
    """

    def masked(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return (scores(q, k) + bias).softmax(-1) @ v

    q, k, v = factors(8, 80, 16, 16)
    bias = torch.zeros(8, 80, dtype=torch.bfloat16)
    bias[0], bias[1, :70] = -math.inf, -math.inf
    bias[2], bias[2, 75] = -math.inf, 0
    bias[3], bias[4, 3], bias[5, 79] = torch.finfo(bias.dtype).min, math.nan, math.inf
    v[1, 0, 5, 3] = math.inf
    compiled = Compiled(masked, FORCED)
    found, eager = compiled(q, k, v, bias), masked(q, k, v, bias)
    assert_derived(compiled)
    torch.testing.assert_close(found, eager, equal_nan=True, rtol=0.02, atol=0.01)
    assert found[:, :, 0].isnan().all()
    assert torch.equal(found[:, 1:, 2], v[:, 1:, 75])


def test_blocks_that_no_row_admits_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN that eager reads behind a probability of 0 shows which blocks of 16 x 16 were left out."""
    blocks = LoopedBlocks(16, 16, 4, 1)
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: blocks)
    q, k, v = factors(60, 90, 16, 16)

    def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k)
        i, j = positions(s)
        s = s + torch.full_like(s, -math.inf).triu(21)
        return torch.where((j > i - 10) & (i < 50), s, -math.inf).softmax(-1) @ v

    compiled = Compiled(window, FORCED)
    found, eager = compiled(q, k, v), window(q, k, v)
    assert_derived(compiled)
    torch.testing.assert_close(found, eager, equal_nan=True, rtol=0.02, atol=0.01)
    assert found[:, :, 50:].isnan().all()
    v[:, :, 64:] = math.nan  # rows 48 and on see the columns up to 79, those before 32 none behind 51
    found = compiled(q, k, v)
    torch.testing.assert_close(found[:, :, :32], eager[:, :, :32], rtol=0.02, atol=0.01)
    assert found[:, :, 48:].isnan().all()


@pytest.mark.parametrize(("keys", "hidden"), [(60, 60), (50, 60), (60, 5)])
def test_a_finite_filler_counts_in_rows_that_admit_nothing(
    keys: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks are left out where each row admits a key.  With fewer keys than rows that is not known, nor
    where a mask given as data may hide the keys of row ``hidden``.
    """
    blocks = LoopedBlocks(16, 16, 4, 1)
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: blocks)
    q, k, v = factors(60, keys, 16, 16)
    rows = (torch.arange(60) != hidden)[:, None]

    def window(q: Tensor, k: Tensor, v: Tensor, rows: Tensor) -> Tensor:
        s = scores(q, k)
        i, j = positions(s)
        seen = (j <= i) & (i - j < 4)
        return (
            s.masked_fill(~(seen & rows if hidden < 60 else seen), torch.finfo(s.dtype).min).softmax(-1) @ v
        )

    compiled = Compiled(window, FORCED)
    found, eager = compiled(q, k, v, rows), window(q, k, v, rows)
    assert_derived(compiled)
    torch.testing.assert_close(found, eager, rtol=0.02, atol=0.01)
    v[:, :, 16:32] = math.nan
    assert compiled(q, k, v, rows)[:, :, :16].isnan().any() == (keys < 60 or hidden < 60)


def test_scores_that_are_the_sum_of_two_products() -> None:
    """Heads of 48 numbers, of which 16 are the same for all heads."""

    def split(q: Tensor, k: Tensor, q2: Tensor, k2: Tensor, v: Tensor) -> Tensor:
        s = q @ k.transpose(-2, -1) + q2 @ k2.transpose(-2, -1)
        return (s * 48**-0.5).softmax(-1) @ v

    q, k, v = factors(summed=32)
    assert_derived(
        check(split, q, k, drawn(2, HEADS, ROWS, 16, of=3), drawn(2, 1, KEYS, 16, of=4), v, **FORCED)
    )


def one_query(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
    s = 20 * torch.tanh(scores(q, k) / 20)
    seen = torch.arange(k.shape[2]) < lengths[:, None]
    return s.masked_fill(~seen[:, None, None], -math.inf).softmax(-1) @ v


def test_lengths_bound_the_columns_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sequences and of rows, also where a number is far from all columns.  NaN behind the last block shows
    that it is not read; a sequence without a key is NaN.
    """
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))

    def packed(q: Tensor, k: Tensor, v: Tensor, first: Tensor, behind: Tensor, lengths: Tensor) -> Tensor:
        s = scores(q, k)
        i, j = positions(s)
        seen = (j >= first[:, None]) & (j < behind[:, None]) & (j < lengths[:, None, None, None]) & (j <= i)
        return torch.where(seen, s, -math.inf).softmax(-1) @ v

    q, k, v = factors(64, 64, 16, 16)
    first, behind = (torch.tensor([n] * 25 + [m] * 39) for n, m in ((0, 25), (25, 64)))
    args = [q, k, v, first, behind, torch.tensor([40, -(2**63)])]
    compiled = Compiled(packed, FORCED)
    found, eager = compiled(*args), packed(*args)
    assert_derived(compiled)
    torch.testing.assert_close(found, eager, equal_nan=True, rtol=0.02, atol=0.01)
    assert found[1].isnan().all()
    assert found[0, :, 40:].isnan().any(-1).equal(eager[0, :, 40:].isnan().any(-1))
    v[0, :, 48:], v[1] = math.nan, math.nan
    v[0, :, :16] = math.nan  # rows from 32 on see what is between
    torch.testing.assert_close(compiled(*args)[0, :, 32:], eager[0, :, 32:], rtol=0.02, atol=0.01)


def pages(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    k, v = (cache[table].flatten(1, 2).transpose(1, 2) for cache in (k, v))
    return one_query(q, *(x.repeat_interleave(2, 1) for x in (k, v)), lengths)


def test_pages_of_a_cache_are_read_as_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page behind the end is not read.  A number that is no page's is an error, as it is in eager."""
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))
    k, v = (drawn(35, 24, 2, n, of=n) for n in (32, 16))
    table = torch.randperm(35, generator=torch.Generator().manual_seed(0))[:34].view(2, 17)
    args = [drawn(2, 4, 1, 32), k, v, table, torch.tensor([300, 23])]
    compiled = Compiled(pages, FORCED)
    found, eager = compiled(*args), pages(*args)
    exact = pages(*(a.double() if a.is_floating_point() else a for a in args))
    assert (found.double() - exact).norm() <= 1.05 * (eager.double() - exact).norm()
    [graph] = compiled.graphs
    assert (graph.launches_after, graph.externs) == (2, 0)
    v[table[0, 13:]], v[table[1, 2:]] = math.nan, math.nan
    assert torch.equal(compiled(*args), found)
    table[1, 16] = -35
    assert torch.equal(compiled(*args), found)
    table[1, 16] = 35
    with pytest.raises(IndexError, match=r"index out of bounds .* with size 35 .*test_cascades\.py"):
        compiled(*args)


def test_bad_masks_tables_and_lengths_are_errors() -> None:
    """Those of eager where shapes and types say it, and an assertion of the line where numbers do."""
    k, v = drawn(5, 8, 2, 16), drawn(5, 8, 2, 16, of=1)
    table, lengths = torch.zeros(2, 2), torch.tensor([4, 17])

    def asserted(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
        torch._assert_async((lengths <= k.shape[2]).all(), "lengths beyond the cache")
        return one_query(q, k, v, lengths)

    with pytest.raises(Exception, match="tensors used as indices must be"):
        Compiled(pages, FORCED)(drawn(2, 4, 1, 16), k, v, table, lengths)
    q, k, v = factors(1, 16, 16, 16)
    with pytest.raises(Exception, match=r"must match|to broadcast"):
        Compiled(one_query, FORCED)(q, k, v, torch.tensor([1, 2, 3]))
    compiled = Compiled(asserted, FORCED)
    with pytest.raises(Exception, match="lengths beyond the cache"):
        compiled(q, k, v, lengths)
    assert not compiled(q, k, v, torch.tensor([4, 16])).isnan().any()


def quantised_cache(q: Tensor, k: Tensor, v: Tensor, k_scales: Tensor, v_scales: Tensor) -> Tensor:
    k, v = k.to(q.dtype) * k_scales, v.to(q.dtype) * v_scales
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return scores(q, k).softmax(-1) @ v


def guesses(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    i, j = positions(s)
    i = i + k.shape[2] - q.shape[2]
    return torch.where((j <= i) & (i - j < 200), s, -math.inf).softmax(-1) @ v


def bytes_of(*sizes: int, of: int) -> Tensor:
    return (30 * drawn(*sizes, of=of)).to(torch.int8)


#: A few queries and 500 keys: of a sequence of no key, of slices of which all keys are hidden.
DECODING: dict[str, tuple[Callable[..., Tensor], list[Tensor]]] = {
    "one query, lengths": (one_query, [*factors(1, 500, 32, 32), torch.tensor([0, 130])]),
    "cache in bytes": (
        quantised_cache,
        [
            drawn(2, HEADS, 3, 32),
            *(bytes_of(2, 2, 500, 32, of=n) for n in (1, 2)),
            *(drawn(2, 2, 500, 1, of=n).abs() / 30 for n in range(2)),
        ],
    ),
    "guesses": (guesses, factors(5, 521, 32, 16)),
}


@pytest.mark.parametrize("name", DECODING)
def test_a_few_queries_split_the_keys(name: str) -> None:
    function, args = DECODING[name]
    compiled = Compiled(function, FORCED)
    found, eager = compiled(*args), function(*args)
    exact = function(*(a.double() if a.is_floating_point() else a for a in args))
    assert torch.equal(found.isnan(), exact.isnan())
    errors = [(x.double() - exact).nan_to_num().norm() for x in (found, eager)]
    assert errors[0] <= 1.05 * errors[1]
    [graph] = compiled.graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade"]
    assert (graph.launches_after, graph.externs) == (2, 0)
    assert "split" in [r.rule for r in graph.remarks.items if r.pass_name == "split-reductions"]


def sinks(q: Tensor, k: Tensor, v: Tensor, numbers: Tensor, seen: Tensor) -> Tensor:
    s = scores(q, k).masked_fill(~seen, -math.inf)
    beside = numbers.view(1, -1, 1, 1).expand(*s.shape[:3], 1)
    return torch.cat([s, beside], -1).softmax(-1)[..., :-1] @ v


def plus_one(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k).float()
    top = s.amax(-1, True).clamp(min=0)
    powers = torch.exp(s - top)
    return (powers / (powers.sum(-1, True) + torch.exp(-top))).to(v.dtype) @ v


def test_numbers_beside_the_scores_are_part_of_the_softmax() -> None:
    """Also in rows without keys, where a finite number leaves the values no weight, and others NaN."""
    seen = torch.arange(ROWS)[:, None] % 7 != torch.arange(KEYS) % 5
    seen[3] = False
    numbers = torch.tensor([0.3, -math.inf, math.inf, math.nan], dtype=torch.bfloat16)
    args = (*factors(), numbers, seen)
    compiled = Compiled(sinks, FORCED)
    found, exact = compiled(*args), sinks(*(a if a is seen else a.double() for a in args))
    assert_derived(compiled)
    torch.testing.assert_close(found.double(), exact, equal_nan=True, rtol=0.02, atol=0.01)
    assert found[:, 0, 3].eq(0).all()
    assert_derived(check(plus_one, *factors(), **FORCED))


def divided_behind(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    powers = torch.exp(s - s.amax(-1, True))
    return (powers @ v) / powers.sum(-1, True)


def with_logarithms(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    s = scores(q, k).float()
    top = s.amax(-1, True)
    powers = torch.exp(s - top)
    total = powers.sum(-1, True)
    return (powers / total).to(v.dtype) @ v, top + total.log()


def with_logsumexp(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    s = scores(q, k).float() + bias
    return s.softmax(-1).to(v.dtype) @ v, s.logsumexp(-1)


def of_logsumexp(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    s = scores(q, k).float() + bias
    whole = torch.logsumexp(s, -1, keepdim=True)
    return torch.exp(s - whole).to(v.dtype) @ v, whole


@pytest.mark.parametrize(("function", "rows"), [(with_logsumexp, 8), (of_logsumexp, 70)])
def test_the_logarithm_of_a_sum_is_beside_a_softmax(function: Callable[..., Any], rows: int) -> None:
    """As a result, and subtracted; in rows without a key, of NaN, and with an infinite score too.  Keys of a
    few rows come in slices.
    """
    args = [*factors(rows, 300 if rows == 8 else KEYS, 32, 16)]
    bias = torch.zeros(rows, args[1].shape[2])
    bias[0], bias[1, :70], bias[2, 5], bias[3, 7], bias[4, 9] = -math.inf, -math.inf, math.inf, math.nan, 60
    compiled = Compiled(function, FORCED)
    found, eager = compiled(*args, bias), function(*args, bias)
    for a, b in zip(found, eager, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True, rtol=0.02, atol=0.01)
    assert [n.item() for n in found[1][0, 0, :3].flatten()][::2] == [-math.inf, math.inf]
    [graph] = compiled.graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade"]
    assert graph.externs == 0


def test_sums_of_rows_are_read_behind_the_last_product() -> None:
    assert_derived(check(divided_behind, *factors(), **FORCED))
    [graph] = check(with_logarithms, *factors(), **FORCED).graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade"]


def test_a_window_of_rows_that_share_keys_leaves_blocks_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries lie in front of the heads of a group, which are rows, too."""
    monkeypatch.setattr(held_rules, "looped_blocks", lambda *_: LoopedBlocks(16, 16, 4, 1))

    def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = torch.einsum("qhmd,khd->hmqk", q, k)
        i, j = positions(s)
        s = torch.where((i >= j) & (i - j < 24), s, -math.inf)
        return torch.einsum("hmqk,khd->qhmd", s.softmax(-1), v)

    q, k, v = drawn(70, 2, 4, 16), drawn(70, 2, 16), drawn(70, 2, 16, of=1)
    compiled = check(window, q, k, v, **FORCED)
    assert_derived(compiled)
    v[64:] = math.nan
    assert compiled(q, k, v).isnan().any(-1).any(-1).any(-1).nonzero().flatten().tolist() == [*range(64, 70)]


def test_a_product_is_of_one_chain() -> None:
    def layers(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.relu(torch.relu(x @ a) @ b) @ c

    compiled = check(layers, drawn(70, 16), drawn(16, 600), drawn(600, 600), drawn(600, 16), **FORCED)
    [graph] = compiled.graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade", "taken"]
    assert graph.launches_after == 2


def test_values_that_are_projected_are_no_scores() -> None:
    """What a product makes of values is a factor of the last product; its sum runs in a kernel of its own."""

    def projected(q: Tensor, k: Tensor, x: Tensor, w: Tensor, seen: Tensor) -> Tensor:
        v = (x @ w).view(2, KEYS, HEADS, 24).transpose(1, 2)
        s = scores(q, k).float().masked_fill(~seen[:, None, None, :], -math.inf)
        return (s.softmax(-1).to(v.dtype) @ v).transpose(1, 2).reshape(2, ROWS, -1)

    q, k, _ = factors()
    seen = torch.rand(2, KEYS, generator=torch.Generator().manual_seed(0)) < 0.8
    args = [q, k, drawn(2, KEYS, 48), drawn(48, HEADS * 24) * 48**-0.5, seen]
    compiled = Compiled(projected, FORCED)
    exact = projected(*(x.double() if x.is_floating_point() else x for x in args))
    error, eager = ((f(*args).double() - exact).norm() for f in (compiled, projected))
    assert error <= 1.05 * eager
    [graph] = compiled.graphs
    assert [rule for rule, _ in refusals(graph)] == ["cascade"]
    tilings = [r.rule for r in graph.remarks.items if r.pass_name == "choose-tiling"]
    assert "columns-in-a-loop" in tilings and len(tilings) == 2


def test_what_needs_whole_rows_says_so() -> None:
    q, k, v = factors(32, 256, 16, 16)
    mask = torch.rand(32, 256, generator=torch.Generator().manual_seed(0)) > 0.1

    def stored(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        p = scores(q, k).softmax(-1)
        return p @ v, p

    def normed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k).float()
        return (s - s.mean(-1, keepdim=True)).to(v.dtype) @ v

    def dropped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (scores(q, k).softmax(-1) * mask) @ v

    def many(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k)
        for _ in range(24):
            s = torch.sin(s) + 1
        return s.softmax(-1) @ v

    for function, rule, text in (
        (many, "size", "calls are between its products, at most 48"),
        (stored, "stored", "is stored, or read elsewhere"),
        (normed, "whole-row", "fuse.reduce (sum)"),
        (dropped, "weights", "more than the exponentials"),
    ):
        compiled = check(function, q, k, v, **FORCED)
        [(found, message)] = refusals(compiled.graphs[0])
        assert found == rule
        assert text in message
    [graph] = check(merged_heads, q, k, v, **FORCED, rounding="eager").graphs
    assert refusals(graph) == []
