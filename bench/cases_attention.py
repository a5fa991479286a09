"""Attention as programs spell it out: `ATTENTION[name]`, the suite `attention`.

q[B, H, S, D], k and v [B, H or fewer, S, D] in bf16; names end with those sizes.  Where
`scaled_dot_product_attention` and `flex_attention` can say a form, that call is a case of its own, under the
prefixes `sdpa` and `flex` (the latter for compilers alone).  The forms named `.._training` are timed with the
gradients of q, k and v.  The forms `plain` and `causal_float` are what the library computes: as kernels with
the backend `fuse-generated`, as calls with `fuse`.  Decoding is in `cases_decoding.py`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention

from .cases_decoding import DECODING
from .graph import Built, Graph, Source, graph_table
from .wild.workload import BFLOAT16, Workloads

FORMS = Workloads()
#: Batch, heads, rows and head size of the forms, and of a dry run.
SIZES, LONG, SMALL = (2, 16, 2048, 128), (1, 16, 4096, 64), (1, 8, 64, 16)
#: Rows of the plain forms beside these: many, of few heads, as float64 has all scores, and few.
PLAIN = (1, 2, 16384, 128), (8, 16, 1024, 64)
#: Between 0 and a window's rows a row sees keys.
WINDOW, SHORT_WINDOW = 512, 128
CAP = 30.0

Form = Callable[..., Tensor]
#: From (source, heads, rows) to a form and its arguments beside q, k and v.
MakeForm = Callable[[Source, int, int], tuple[Any, ...]]


def _add(
    name: str, *, groups: int = 1, trains: bool = False, more: tuple[tuple[int, ...], ...] = ()
) -> Callable[[MakeForm], MakeForm]:
    """Enters a form at both sizes and `more`, and with gradients at the first; `groups` heads of q share k
    and v.
    """

    def enter(make: MakeForm) -> MakeForm:
        for sizes in (SIZES, LONG, *more):
            FORMS.add(name, sizes, SMALL, BFLOAT16, summed=sizes[2])(_workload(make, groups))
        if trains:
            enter_training = FORMS.add(f"{name}_training", SIZES, SMALL, BFLOAT16, summed=SIZES[2], trains=3)
            enter_training(_workload(make, groups, weighed=True))
        return make

    return enter


def _workload(make: MakeForm, groups: int, *, weighed: bool = False) -> Callable[..., tuple[Any, ...]]:
    """What builds a form; `weighed` sums its result times numbers given, which are the result's gradient."""

    def build(source: Source, batch: int, heads: int, rows: int, width: int) -> tuple[Any, ...]:
        form, rest, *exact = make(source, heads, rows)
        q = source.normal(batch, heads, rows, width)
        k, v = (source.normal(batch, heads // groups, rows, width) for _ in range(2))
        if not weighed:
            return (form, (q, k, v, *rest), *exact)
        given = source.normal(batch, heads, rows, width)

        def number(q: Tensor, k: Tensor, v: Tensor, given: Tensor, *rest: Any) -> Tensor:
            return (form(q, k, v, *rest) * given).sum()

        return number, (q, k, v, given, *rest)

    return build


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT * (1 / math.sqrt(q.shape[-1]))


def _distance(q: Tensor) -> Tensor:
    places = torch.arange(q.shape[-2], device=q.device)
    return places[:, None] - places


@_add("soft_cap", trains=True)
def _soft_cap(source: Source, heads: int, rows: int):
    """Scores that a tanh keeps below 30."""

    def soft_cap(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (CAP * torch.tanh(_scores(q, k) / CAP)).softmax(-1) @ v

    return soft_cap, ()


@_add("window_grouped", groups=2, trains=True)
def _window_grouped(source: Source, heads: int, rows: int):
    """A soft cap and a window of 512 keys; two heads of q share one of k and v."""

    def window_grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        distance = _distance(q)
        scores = CAP * torch.tanh(_scores(q, k) / CAP)
        seen = (distance >= 0) & (distance < WINDOW)
        return torch.where(seen, scores, -math.inf).softmax(-1) @ v

    return window_grouped, ()


@_add("alibi", trains=True)
def _alibi(source: Source, heads: int, rows: int):
    """A penalty that grows with the distance, a slope for each head; causal."""

    def alibi(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
        distance = _distance(q)
        scores = _scores(q, k) - slopes[:, None, None] * distance
        return torch.where(distance >= 0, scores, -math.inf).softmax(-1) @ v

    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device=source.device) / heads)
    return alibi, (slopes.to(source.dtype),)


@_add("learned_bias", trains=True)
def _learned_bias(source: Source, heads: int, rows: int):
    """A bias for each head, row and key."""

    def learned_bias(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        return (_scores(q, k) + bias).softmax(-1) @ v

    return learned_bias, (source.normal(heads, rows, rows),)


@_add("distance_table", trains=True)
def _distance_table(source: Source, heads: int, rows: int):
    """A bias looked up by the distance, which is cut off at 128."""

    def distance_table(q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Tensor:
        bias = table[:, _distance(q).clamp(-128, 128) + 128]
        return (_scores(q, k) + bias).softmax(-1) @ v

    return distance_table, (source.normal(heads, 257),)


@_add("sigmoid", trains=True)
def _sigmoid(source: Source, heads: int, rows: int):
    """Weights that do not sum to one."""

    def sigmoid(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.sigmoid(_scores(q, k) - math.log(q.shape[-2])) @ v

    return sigmoid, ()


@_add("documents", trains=True)
def _documents(source: Source, heads: int, rows: int):
    """Documents packed into a row of tokens: a token sees those before it in its own; numbered in order."""

    def documents(q: Tensor, k: Tensor, v: Tensor, document: Tensor) -> Tensor:
        seen = (document[:, None] == document) & (_distance(q) >= 0)
        return torch.where(seen, _scores(q, k), -math.inf).softmax(-1) @ v

    starts = source.integers(rows // 8, rows) == 0
    return documents, (starts.cumsum(0),)


@_add("causal_float", trains=True, more=PLAIN)
def _causal_float(source: Source, heads: int, rows: int):
    """Causal; the softmax in float32."""

    def causal_float(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = torch.where(_distance(q) >= 0, _scores(q, k).float(), -math.inf)
        return scores.softmax(-1).to(q.dtype) @ v

    return causal_float, ()


@_add("plain", trains=True)
def _plain(source: Source, heads: int, rows: int):
    """All rows see all keys."""

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return _scores(q, k).softmax(-1) @ v

    return plain, ()


@_add("sinks", groups=8, trains=True)
def _sinks(source: Source, heads: int, rows: int):
    """A score for each head that takes weight and gives nothing; a window of 128; 8 heads share k and v."""

    def sinks(q: Tensor, k: Tensor, v: Tensor, sink: Tensor) -> Tensor:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        distance = _distance(q)
        seen = (distance >= 0) & (distance < SHORT_WINDOW)
        scores = torch.where(seen, _scores(q, k), -math.inf)
        column = sink[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.cat((scores, column), -1).softmax(-1)[..., :-1] @ v

    return sinks, (source.normal(heads),)


@_add("differential", trains=True)
def _differential(source: Source, heads: int, rows: int):
    """The difference of the softmaxes of two halves of each head."""

    def differential(q: Tensor, k: Tensor, v: Tensor, weight: Tensor) -> Tensor:
        (q1, q2), (k1, k2) = (t.chunk(2, -1) for t in (q, k))
        return _scores(q1, k1).softmax(-1) @ v - weight * (_scores(q2, k2).softmax(-1) @ v)

    return differential, (source.uniform(0.2, 0.8, 1),)


@_add("sdpa_causal", trains=True)
def _sdpa_causal(source: Source, heads: int, rows: int):
    """The library's causal attention: what `causal_float` computes."""

    def sdpa_causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return sdpa_causal, ()


def _add_flex(name: str, make: MakeForm) -> None:
    """Enters a form that calls `flex_attention`, at both sizes: a compiler makes a kernel of the call. The
    float64 answer is the plain form's, which `make` gives last.
    """

    def build(source: Source, batch: int, heads: int, rows: int, width: int) -> Built:
        form, rest, plain = make(source, heads, rows)
        args = tuple(source.normal(batch, heads, rows, width) for _ in range(3))
        moved = 4 * args[0].nbytes + sum(t.nbytes for t in rest)
        return Built(form, (*args, *rest), moved, plain)

    for sizes in (SIZES, LONG):
        key = f"flex_{name}_{'x'.join(map(str, sizes))}"
        FORMS.append(Graph(key, build, sizes, SMALL, BFLOAT16, summed=sizes[2]))


def _flex_soft_cap(source: Source, heads: int, rows: int):
    plain, rest = _soft_cap(source, heads, rows)

    def capped(score: Tensor, *_: Tensor) -> Tensor:
        return CAP * torch.tanh(score / CAP)

    def flex_soft_cap(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=capped)

    return flex_soft_cap, rest, plain


def _flex_alibi(source: Source, heads: int, rows: int):
    plain, rest = _alibi(source, heads, rows)

    def flex_alibi(q: Tensor, k: Tensor, v: Tensor, slopes: Tensor) -> Tensor:
        def penalised(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return torch.where(i >= j, score - slopes[h] * (i - j), -math.inf)

        return flex_attention(q, k, v, score_mod=penalised)

    return flex_alibi, rest, plain


_add_flex("soft_cap", _flex_soft_cap)
_add_flex("alibi", _flex_alibi)

ATTENTION = graph_table([*FORMS, *DECODING])
