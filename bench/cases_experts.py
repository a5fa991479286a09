"""Layers of experts: rows that are taken for each expert, two products with a gate, a product, and what comes
back to each token as a weighted sum. `products` are the three products alone: a layer is held against them.

Names end with the experts, how many of them a token takes, and tokens; `skewed`: expert e is taken in
proportion to 1 / e. In bf16, and with rows and weights in floats of 8 bits that have a scale for each row and
each output. `dense` and `capacity` are routed by index ops: every expert multiplies all tokens, or a fixed
number of slots (as in Switch).
"""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from .graph import Built, Graph, Source, graph_table

BF16 = (torch.bfloat16,)
FP8, LARGEST = torch.float8_e4m3fn, 448.0
#: Experts, how many a token takes, and columns of tokens and of what is between: as in Mixtral and in Qwen 3.
WIDE, MANY = (8, 2, 4096, 14336), (64, 8, 2048, 768)
#: The same experts, of which a token takes more and fewer.
WIDE_TO_ALL, MANY_TO_FEW = (8, 8, 4096, 14336), (64, 2, 2048, 768)
TOKENS = (4096, 32768)
#: Of the forms that are routed by index ops, which compute or hold more.
FEWER_TOKENS = 4096

Weights = tuple[Tensor, Tensor, Tensor]


def grouped(x: Tensor, w: Tensor, offs: Tensor) -> Tensor:
    """``w[e]`` times the rows of expert e."""
    return torch._grouped_mm(x, w, offs=offs)


def one_by_one(x: Tensor, w: Tensor, offs: Tensor, scales: Tensor | None = None) -> Tensor:
    """The same in any type, with a scale for each output of an expert."""
    made = x.new_empty(x.shape[0], w.shape[2])
    for e, (first, last) in enumerate(itertools.pairwise([0, *offs.tolist()])):
        made[first:last] = x[first:last] @ w[e] * (1 if scales is None else scales[e])
    return made


def grouped_fp8(x: Tensor, w: Tensor, offs: Tensor, row_scales: Tensor, scales: Tensor) -> Tensor:
    """The same of floats of 8 bits, with a scale for each row and each output."""
    if x.is_cuda:
        return torch._scaled_grouped_mm(x, w, row_scales, scales, offs=offs, out_dtype=torch.bfloat16)
    return (one_by_one(x.float(), w.float(), offs, scales) * row_scales[:, None]).bfloat16()


def in_bytes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as floats of 8 bits, and their scales in float32."""
    scale = x.abs().amax(-1).float().clamp(min=1e-12) / LARGEST
    return (x.float() / scale[..., None]).clamp(-LARGEST, LARGEST).to(FP8), scale


def layer_of(product: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The layer with such products.  x: [tokens, d]; order: the token of each row; inverse, share:
    [tokens, top], the row and the weight of each.
    """

    def layer(
        x: Tensor,
        w1: Tensor,
        w3: Tensor,
        w2: Tensor,
        order: Tensor,
        offs: Tensor,
        inverse: Tensor,
        share: Tensor,
    ) -> Tensor:
        rows = x[order]
        h = F.silu(product(rows, w1, offs)) * product(rows, w3, offs)
        return (product(h, w2, offs)[inverse] * share[:, :, None]).sum(1)

    return layer


def one_expert_at_a_time(
    x: Tensor,
    weights: Callable[[int], Weights],
    order: Tensor,
    offs: Tensor,
    inverse: Tensor,
    share: Tensor,
) -> Tensor:
    """The layer in any type, which holds what one expert needs.  weights: of an expert."""
    made = x.new_empty(order.shape[0], x.shape[1])
    for e, (first, last) in enumerate(itertools.pairwise([0, *offs.tolist()])):
        rows, (w1, w3, w2) = x[order[first:last]], weights(e)
        made[first:last] = (F.silu(rows @ w1) * (rows @ w3)) @ w2
    return (made[inverse] * share[:, :, None]).sum(1)


def _experts(source: Source, count: int, top: int, tokens: int, skewed: bool) -> Tensor:
    """The experts of each token: [tokens, top]."""
    if not skewed:
        return torch.stack([(source.integers(count, tokens) + k) % count for k in range(top)], 1)
    drawn = source.uniform(0.0, 0.999, tokens * top).float()
    return ((count + 1.0) ** drawn).long().clamp(1, count).sub(1).view(tokens, top)


def _weights(source: Source, count: int, width: int, hidden: int) -> Weights:
    up, up_too = (source.normal(count, width, hidden) * width**-0.5 for _ in range(2))
    return up, up_too, source.normal(count, hidden, width) * hidden**-0.5


def _sorted(source: Source, experts: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    tokens, top = experts.shape
    by_expert = experts.view(-1).argsort(stable=True)
    offs = torch.bincount(experts.view(-1), minlength=count).cumsum(0).to(torch.int32)
    return (
        by_expert // top,
        offs,
        by_expert.argsort().view(tokens, top),
        source.uniform(0.1, 0.9, tokens, top),
    )


def _moved(tokens: int, shape: tuple[int, ...], size: int) -> int:
    count, _, width, hidden = shape
    return (2 * tokens * width + 3 * count * width * hidden) * size


def _layer(
    source: Source, count: int, top: int, width: int, hidden: int, tokens: int, skewed: int = 0
) -> Built:
    experts = _experts(source, count, top, tokens, bool(skewed))
    args = (
        source.normal(tokens, width),
        *_weights(source, count, width, hidden),
        *_sorted(source, experts, count),
    )
    moved = _moved(tokens, (count, top, width, hidden), source.size)

    def exact(x: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, *routing: Tensor) -> Tensor:
        return one_expert_at_a_time(x, lambda e: (w1[e], w3[e], w2[e]), *routing)

    return Built(layer_of(grouped), args, moved, exact)


def _trained(source: Source, count: int, top: int, width: int, hidden: int, tokens: int) -> Built:
    layer = _layer(source, count, top, width, hidden, tokens)

    def loss_of(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def loss(*args: Tensor) -> Tensor:
            made = function(*args)
            return made.to(torch.promote_types(made.dtype, torch.float32)).square().mean()

        return loss

    return Built(loss_of(layer.fn), layer.args, 3 * layer.bytes, loss_of(layer_of(one_by_one)))


def _products(
    source: Source, count: int, top: int, width: int, hidden: int, tokens: int, skewed: int = 0
) -> Built:
    experts = _experts(source, count, top, tokens, bool(skewed))
    offs = _sorted(source, experts, count)[1]
    rows = source.normal(tokens * top, width), source.normal(tokens * top, hidden)

    def products(
        x: Tensor, h: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, offs: Tensor
    ) -> tuple[Tensor, ...]:
        return grouped(x, w1, offs), grouped(x, w3, offs), grouped(h, w2, offs)

    def exact(x: Tensor, h: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, offs: Tensor) -> tuple[Tensor, ...]:
        return one_by_one(x, w1, offs), one_by_one(x, w3, offs), one_by_one(h, w2, offs)

    moved = 2 * tokens * top * (width + hidden) + 3 * count * width * hidden + tokens * top * hidden
    args = *rows, *_weights(source, count, width, hidden), offs
    return Built(products, args, moved * source.size, exact)


def _bytes_of_weights(source: Source, count: int, width: int, hidden: int) -> list[Tensor]:
    """Of ``_weights``, each in floats of 8 bits that lie along what is summed, and its scales: [e, n]."""
    found = []
    for w in _weights(source, count, width, hidden):
        q, scale = in_bytes(w.transpose(1, 2))
        found += [q.contiguous().transpose(1, 2), scale]
    return found


def _fp8_layer(source: Source, count: int, top: int, width: int, hidden: int, tokens: int) -> Built:
    def layer_fp8(
        x: Tensor, w1: Tensor, s1: Tensor, w3: Tensor, s3: Tensor, w2: Tensor, s2: Tensor,
        order: Tensor, offs: Tensor, inverse: Tensor, share: Tensor,
    ) -> Tensor:  # fmt: skip
        q, scale = in_bytes(x)
        rows, row_scales = q.view(torch.uint8)[order].view(FP8), scale[order]
        gate, up = (grouped_fp8(rows, w, offs, row_scales, s) for w, s in ((w1, s1), (w3, s3)))
        h, h_scale = in_bytes(F.silu(gate) * up)
        return (grouped_fp8(h, w2, offs, h_scale, s2)[inverse] * share[:, :, None]).sum(1)

    experts = _experts(source, count, top, tokens, False)
    weights = _bytes_of_weights(source, count, width, hidden)
    args = source.normal(tokens, width), *weights, *_sorted(source, experts, count)

    def exact(
        x: Tensor, w1: Tensor, s1: Tensor, w3: Tensor, s3: Tensor, w2: Tensor, s2: Tensor, *routing: Tensor
    ) -> Tensor:
        def weights_of(e: int) -> Weights:
            return w1[e] * s1[e], w3[e] * s3[e], w2[e] * s2[e]

        return one_expert_at_a_time(x, weights_of, *routing)

    return Built(layer_fp8, args, _moved(tokens, (count, top, width, hidden), 1), exact)


def _fp8_products(source: Source, count: int, top: int, width: int, hidden: int, tokens: int) -> Built:
    def products_fp8(
        x: Tensor, sx: Tensor, h: Tensor, sh: Tensor, w1: Tensor, s1: Tensor, w3: Tensor, s3: Tensor,
        w2: Tensor, s2: Tensor, offs: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        up = grouped_fp8(x, w1, offs, sx, s1), grouped_fp8(x, w3, offs, sx, s3)
        return *up, grouped_fp8(h, w2, offs, sh, s2)

    experts = _experts(source, count, top, tokens, False)
    rows = [t for n in (width, hidden) for t in in_bytes(source.normal(tokens * top, n))]
    args = *rows, *_bytes_of_weights(source, count, width, hidden), _sorted(source, experts, count)[1]

    def exact(
        x: Tensor, sx: Tensor, h: Tensor, sh: Tensor, w1: Tensor, s1: Tensor, w3: Tensor, s3: Tensor,
        w2: Tensor, s2: Tensor, offs: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        return (
            one_by_one(x, w1, offs, s1).mul_(sx[:, None]),
            one_by_one(x, w3, offs, s3).mul_(sx[:, None]),
            one_by_one(h, w2, offs, s2).mul_(sh[:, None]),
        )

    moved = tokens * top * (width + 2 * width + 5 * hidden) + 3 * count * width * hidden
    return Built(products_fp8, args, moved, exact)


def _routed(source: Source, shape: tuple[int, int, int, int], tokens: int) -> tuple[Tensor, ...]:
    count, top, width, hidden = shape
    experts = _experts(source, count, top, tokens, False)
    x, share = source.normal(tokens, width), source.uniform(0.1, 0.9, tokens, top)
    return x, *_weights(source, count, width, hidden), experts, share


def _dense(source: Source, count: int, top: int, width: int, hidden: int, tokens: int) -> Built:
    def dense(x: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, experts: Tensor, share: Tensor) -> Tensor:
        weight = torch.zeros(tokens, count, dtype=share.dtype, device=x.device).scatter_add(1, experts, share)
        rows = x.expand(count, *x.shape)
        h = F.silu(torch.bmm(rows, w1)) * torch.bmm(rows, w3)
        return (torch.bmm(h, w2) * weight.t()[:, :, None]).sum(0)

    args = _routed(source, (count, top, width, hidden), tokens)
    return Built(dense, args, _moved(tokens, (count, top, width, hidden), source.size))


def in_slots(
    slots: int, x: Tensor, w1: Tensor, w3: Tensor, w2: Tensor, experts: Tensor, share: Tensor
) -> Tensor:
    """A layer with so many slots for each expert, as in Switch: ``x[tokens, width]``, and for each token its
    experts and their shares; what finds no slot counts as 0.
    """
    (tokens, width), count, top = x.shape, w1.shape[0], experts.shape[1]
    taken = experts.t().reshape(-1)
    each = F.one_hot(taken, count)
    place = ((each.cumsum(0) - 1) * each).sum(-1)
    slot = torch.where(place < slots, taken * slots + place, count * slots)
    rows = x.new_zeros(count * slots + 1, width).index_put((slot,), x.repeat(top, 1))
    rows = rows[:-1].view(count, slots, width)
    made = torch.bmm(F.silu(torch.bmm(rows, w1)) * torch.bmm(rows, w3), w2).view(-1, width)
    made = torch.cat([made, made.new_zeros(1, width)])[slot] * share.t().reshape(-1, 1)
    return made.view(top, tokens, width).sum(0)


def _capacity(source: Source, count: int, top: int, width: int, hidden: int, tokens: int) -> Built:
    slots = 2 * tokens * top // count

    def capacity(*args: Tensor) -> Tensor:
        return in_slots(slots, *args)

    args = _routed(source, (count, top, width, hidden), tokens)
    return Built(capacity, args, _moved(tokens, (count, top, width, hidden), source.size))


def _named(name: str, build: Callable[..., Built], shape: tuple[int, ...], tokens: int, **more: int) -> Graph:
    count, top, width, hidden = shape
    small = (4, min(top, 3), 32, 48, 40, *([1] if name.endswith("skewed") else []))
    sizes = (count, top, width, hidden, tokens, *([1] if name.endswith("skewed") else []))
    key = f"experts_{name}_{count}x{top}_{tokens}"
    return Graph(key, build, sizes, small, BF16, summed=max(width, hidden), **more)


EXPERTS = graph_table(
    (
        *(_named("layer", _layer, shape, tokens) for shape in (WIDE, MANY) for tokens in TOKENS),
        *(_named("products", _products, shape, tokens) for shape in (WIDE, MANY) for tokens in TOKENS),
        *(_named("layer", _layer, shape, FEWER_TOKENS) for shape in (WIDE_TO_ALL, MANY_TO_FEW)),
        *(_named("products", _products, shape, FEWER_TOKENS) for shape in (WIDE_TO_ALL, MANY_TO_FEW)),
        *(_named("layer_skewed", _layer, shape, FEWER_TOKENS) for shape in (WIDE, MANY)),
        *(_named("products_skewed", _products, shape, FEWER_TOKENS) for shape in (WIDE, MANY)),
        *(_named("layer_trained", _trained, shape, FEWER_TOKENS, trains=4) for shape in (WIDE, MANY)),
        *(_named("layer_fp8", _fp8_layer, shape, tokens) for shape in (WIDE, MANY) for tokens in TOKENS),
        *(
            _named("products_fp8", _fp8_products, shape, tokens)
            for shape in (WIDE, MANY)
            for tokens in TOKENS
        ),
        _named("dense", _dense, WIDE, FEWER_TOKENS),
        *(_named("capacity", _capacity, shape, FEWER_TOKENS) for shape in (WIDE, MANY)),
    )
)
