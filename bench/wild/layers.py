"""Layers of networks that are no transformers: products of matrices, and what is before and behind them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ..graph import Source
from .workload import BFLOAT16, FLOAT32, Workloads

LAYERS = Workloads()


def _weights(source: Source, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Matrices whose products with normal numbers are normal; their sums run over the dim before the last."""
    return [source.normal(*shape) / shape[-2] ** 0.5 for shape in shapes]


@LAYERS.add("skip_connection", (16384, 1024, 512), (64, 32, 16), BFLOAT16, slack=4.0)
def _skip_connection(source: Source, rows: int, deep: int, skipped: int):
    """Two tensors side by side, through a layer, as in decoders of U-Nets."""

    def skip_connection(x: Tensor, skip: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.silu(torch.cat((x, skip), -1) @ weight + bias)

    [weight] = _weights(source, (deep + skipped, deep))
    return skip_connection, (
        source.normal(rows, deep),
        source.normal(rows, skipped),
        weight,
        source.normal(deep),
    )


@LAYERS.add("low_rank_adapter", (8192, 4096, 16), (64, 64, 4), BFLOAT16, slack=4.0)
def _low_rank_adapter(source: Source, rows: int, width: int, rank: int):
    """A frozen layer and an adapter of low rank beside it (LoRA)."""

    def low_rank_adapter(x: Tensor, weight: Tensor, down: Tensor, up: Tensor) -> Tensor:
        return x @ weight + (x @ down) @ up * 2.0

    return low_rank_adapter, (
        source.normal(rows, width),
        *_weights(source, (width, width), (width, rank), (rank, width)),
    )


@LAYERS.add("low_rank_adapter_trained", (8192, 2048, 16), (64, 64, 4), BFLOAT16, slack=8.0, trains=2)
def _low_rank_adapter_trained(source: Source, rows: int, width: int, rank: int):
    """Gradients of the adapter alone."""

    def low_rank_adapter_trained(down: Tensor, up: Tensor, x: Tensor, weight: Tensor, goal: Tensor) -> Tensor:
        return (x @ weight + (x @ down) @ up * 2.0 - goal).float().square().mean()

    down, up, weight = _weights(source, (width, rank), (rank, width), (width, width))
    x, goal = source.normal(rows, width), source.normal(rows, width)
    return low_rank_adapter_trained, (down, up, x, weight, goal)


@LAYERS.add("feature_interactions", (16384, 26, 128), (16, 5, 16), BFLOAT16, slack=4.0)
def _feature_interactions(source: Source, batch: int, tables: int, width: int):
    """Products of all pairs of features of a sample, beside the dense ones, as in DLRM."""

    def feature_interactions(dense: Tensor, sparse: Tensor) -> Tensor:
        every = torch.cat((dense[:, None], sparse), 1)
        pairs = torch.bmm(every, every.transpose(1, 2))
        row, column = torch.tril_indices(tables + 1, tables + 1, -1, device=dense.device)
        return torch.cat((dense, pairs[:, row, column]), 1)

    return feature_interactions, (source.normal(batch, width), source.normal(batch, tables, width))


@LAYERS.add("cross_layers", (65536, 512), (64, 32), BFLOAT16, slack=8.0)
def _cross_layers(source: Source, rows: int, width: int):
    """Three layers that multiply their input with the first one's, as in DCN."""

    def cross_layers(x: Tensor, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
        first = x
        for weight, bias in zip(weights, biases, strict=True):
            x = first * (x @ weight + bias) + x
        return x

    biases = [source.normal(width) for _ in range(3)]
    return cross_layers, (source.normal(rows, width), _weights(source, *[(width, width)] * 3), biases)


@LAYERS.add("gated_pooling", (64, 2048, 512, 256), (4, 32, 32, 16), BFLOAT16, slack=8.0)
def _gated_pooling(source: Source, bags: int, members: int, width: int, hidden: int):
    """Attention over the members of a bag, by two gates, as in learning from many instances."""

    def gated_pooling(x: Tensor, left: Tensor, right: Tensor, out: Tensor) -> Tensor:
        score = (torch.tanh(x @ left) * torch.sigmoid(x @ right)) @ out
        weight = score.float().softmax(1).to(x.dtype)
        return (weight * x).sum(1)

    weights = _weights(source, (width, hidden), (width, hidden), (hidden, 1))
    return gated_pooling, (source.normal(bags, members, width), *weights)


@LAYERS.add("bilinear", (4096, 256, 64), (32, 16, 4), BFLOAT16, slack=4.0)
def _bilinear(source: Source, rows: int, width: int, outputs: int):
    """A form of two vectors for each output."""

    def bilinear(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        return torch.einsum("bi,oij,bj->bo", x, weight, y)

    vectors = source.normal(rows, width), source.normal(rows, width)
    return bilinear, (*vectors, source.normal(outputs, width, width) / width)


@LAYERS.add("modulated_layer", (32, 1024, 768), (2, 16, 32), BFLOAT16, slack=8.0)
def _modulated_layer(source: Source, batch: int, tokens: int, width: int):
    """A norm, scaled and shifted by a condition, through a layer, gated and added, as in DiT."""

    def modulated_layer(x: Tensor, condition: Tensor, modulate: Tensor, weight: Tensor) -> Tensor:
        shift, scale, gate = (F.silu(condition) @ modulate)[:, None].chunk(3, -1)
        inside = F.layer_norm(x, (width,)) * (1 + scale) + shift
        return x + gate * (inside @ weight)

    args = source.normal(batch, tokens, width), source.normal(batch, width)
    return modulated_layer, (*args, *_weights(source, (width, 3 * width), (width, width)))


@LAYERS.add("contrastive_loss", (4096, 512), (32, 16), BFLOAT16, slack=16.0, trains=2)
def _contrastive_loss(source: Source, pairs: int, width: int):
    """Cosines of all pairs of images and texts, and both cross entropies, as in CLIP."""

    def contrastive_loss(images: Tensor, texts: Tensor) -> Tensor:
        logits = (F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).t()).float() * 14.0
        own = torch.arange(pairs, device=images.device)
        return (F.cross_entropy(logits, own) + F.cross_entropy(logits.t(), own)) / 2

    return contrastive_loss, (source.normal(pairs, width), source.normal(pairs, width))


@LAYERS.add("radial_kernel", (8192, 8192, 32), (64, 48, 8), FLOAT32, slack=16.0)
def _radial_kernel(source: Source, points: int, others: int, width: int):
    """exp(-|x - y|^2 / 2) of all pairs, by a product and norms."""

    def radial_kernel(x: Tensor, y: Tensor) -> Tensor:
        apart = x.square().sum(-1)[:, None] + y.square().sum(-1) - 2 * (x @ y.t())
        return torch.exp(-0.5 * apart.clamp(min=0))

    return radial_kernel, (source.normal(points, width) / 4, source.normal(others, width) / 4)


@LAYERS.add("squeeze_excite", (64, 480, 28, 28), (2, 16, 5, 5), BFLOAT16, slack=8.0)
def _squeeze_excite(source: Source, batch: int, channels: int, high: int, wide: int):
    """Channels weighed by a small network of their means, as in MobileNet and EfficientNet."""

    def squeeze_excite(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
        weight = torch.sigmoid(F.silu(x.mean((2, 3)) @ down) @ up)
        return x * weight[:, :, None, None]

    weights = _weights(source, (channels, channels // 4), (channels // 4, channels))
    return squeeze_excite, (source.normal(batch, channels, high, wide), *weights)


@LAYERS.add("covariance_pooling", (64, 784, 256), (2, 12, 8), BFLOAT16, slack=16.0)
def _covariance_pooling(source: Source, batch: int, places: int, width: int):
    """Covariances of channels over an image, their signed roots, and a norm of all."""

    def covariance_pooling(x: Tensor) -> Tensor:
        apart = x - x.mean(1, keepdim=True)
        covariance = ((apart.transpose(1, 2) @ apart) / places).float()
        return F.normalize((covariance.sign() * covariance.abs().sqrt()).flatten(1), dim=-1)

    return covariance_pooling, (source.normal(batch, places, width),)


@LAYERS.add("lstm_step", (2048, 1024), (16, 32), BFLOAT16, slack=4.0)
def _lstm_step(source: Source, batch: int, width: int):
    """One step of a cell, with both products."""

    def lstm_step(x: Tensor, h: Tensor, c: Tensor, inner: Tensor, across: Tensor, bias: Tensor):
        i, f, g, o = (x @ inner + h @ across + bias).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    states = (source.normal(batch, width) for _ in range(3))
    return lstm_step, (*states, *_weights(source, *[(width, 4 * width)] * 2), source.normal(4 * width))


@LAYERS.add("few_queries", (32, 64, 8192, 64), (2, 4, 48, 8), BFLOAT16, slack=8.0)
def _few_queries(source: Source, batch: int, queries: int, tokens: int, width: int):
    """Learnt queries look at many tokens, as in Perceiver and Q-Former; the softmax written out."""

    def few_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        score = (q @ k.transpose(-1, -2)).float() * width**-0.5
        return score.softmax(-1).to(v.dtype) @ v

    tokens_of = (source.normal(batch, tokens, width) for _ in range(2))
    return few_queries, (source.normal(queries, width), *tokens_of)


@LAYERS.add("expert_layers", (8, 2048, 1024, 2048), (2, 16, 32, 32), BFLOAT16, slack=4.0)
def _expert_layers(source: Source, experts: int, rows: int, width: int, hidden: int):
    """Each expert's rows through its two layers."""

    def expert_layers(x: Tensor, up: Tensor, gate: Tensor, down: Tensor) -> Tensor:
        return torch.bmm(F.silu(torch.bmm(x, gate)) * torch.bmm(x, up), down)

    shapes = [(experts, width, hidden)] * 2 + [(experts, hidden, width)]
    return expert_layers, (source.normal(experts, rows, width), *_weights(source, *shapes))


@LAYERS.add("small_vocabulary_loss", (32768, 256, 1000), (64, 16, 12), BFLOAT16, slack=16.0, trains=2)
def _small_vocabulary_loss(source: Source, rows: int, width: int, classes: int):
    """A classifier's last layer and its loss, with smoothed labels."""

    def small_vocabulary_loss(x: Tensor, weight: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy((x @ weight).float(), label, label_smoothing=0.1)

    [weight] = _weights(source, (width, classes))
    return small_vocabulary_loss, (source.normal(rows, width), weight, source.integers(classes, rows))


@LAYERS.add("mixed_tokens", (64, 196, 384, 768), (2, 12, 16, 24), BFLOAT16, slack=8.0)
def _mixed_tokens(source: Source, batch: int, tokens: int, width: int, hidden: int):
    """A network over the tokens of each channel, as in MLP-Mixer."""

    def mixed_tokens(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
        inside = F.layer_norm(x, (width,)).transpose(1, 2)
        return x + (F.gelu(inside @ first) @ second).transpose(1, 2)

    weights = _weights(source, (tokens, hidden), (hidden, tokens))
    return mixed_tokens, (source.normal(batch, tokens, width), *weights)


@LAYERS.add("moved_points", (1000000, 24), (64, 4), FLOAT32, slack=4.0)
def _moved_points(source: Source, points: int, bones: int):
    """Points moved by a weighed mean of bones' matrices, as in linear blend skinning."""

    def moved_points(x: Tensor, weight: Tensor, matrices: Tensor) -> Tensor:
        own = (weight.softmax(-1) @ matrices.view(bones, 12)).view(-1, 3, 4)
        return (own[:, :, :3] @ x[:, :, None])[..., 0] + own[:, :, 3]

    return moved_points, (source.normal(points, 3), source.normal(points, bones), source.normal(bones, 3, 4))


@LAYERS.add("hashed_features", (1048576, 16, 2, 64), (64, 4, 2, 16), BFLOAT16, slack=8.0)
def _hashed_features(source: Source, points: int, levels: int, features: int, hidden: int):
    """Features looked up in the table of each level, through two layers, as in Instant NGP."""

    def hashed_features(tables: Tensor, at: Tensor, first: Tensor, second: Tensor) -> Tensor:
        level = torch.arange(levels, device=at.device)
        found = tables[level, at].reshape(points, levels * features)
        return torch.relu(found @ first) @ second

    entries = 2**14
    weights = _weights(source, (levels * features, hidden), (hidden, 16))
    return hashed_features, (
        source.normal(levels, entries, features),
        source.integers(entries, points, levels),
        *weights,
    )


@LAYERS.add("normalised_heads", (16384, 2048, 16, 128), (32, 32, 2, 16), BFLOAT16, slack=8.0)
def _normalised_heads(source: Source, rows: int, width: int, heads: int, size: int):
    """Queries with a root mean square norm for each head, as in Qwen 3 and OLMo 2."""

    def normalised_heads(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
        q = (x @ weight).view(rows, heads, size)
        wide = q.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return wide.to(q.dtype) * scale

    [weight] = _weights(source, (width, heads * size))
    return normalised_heads, (source.normal(rows, width), weight, source.normal(size))
