"""Memory-bound graphs that no rule was written for: `FURTHER[name]`, the suite `further`.

Half of them are those of `cases.py` at the shapes of published models, half other computations that models
and their training contain.  They say whether the rules that the suite `kernels` was tuned with carry over.
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from .cases import GRAPHS
from .graph import BOTH_DTYPES, Built, Graph, Source, graph_table

FLOAT32 = (torch.float32,)
BFLOAT16 = (torch.bfloat16,)
INT64 = 8


# Backward passes


def _column_sum(source: Source, rows: int, columns: int) -> Built:
    """The gradient of a bias."""

    def column_sum(dy: Tensor) -> Tensor:
        return dy.sum(0)

    return Built(column_sum, (source.normal(rows, columns),), (rows + 1) * columns * source.size)


def _gelu_backward(source: Source, rows: int, columns: int) -> Built:
    """The gradient of a GELU, and of the bias in front of it."""

    def gelu_backward(dy: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        dx = torch.ops.aten.gelu_backward(dy, x)
        return dx, dx.sum(0)

    args = source.normal(rows, columns), source.normal(rows, columns)
    return Built(gelu_backward, args, (3 * rows + 1) * columns * source.size)


def _softmax_backward(source: Source, rows: int, columns: int) -> Built:
    def softmax_backward(dy: Tensor, y: Tensor) -> Tensor:
        return y * (dy - (dy * y).sum(-1, keepdim=True))

    args = source.normal(rows, columns), source.normal(rows, columns).float().softmax(-1).to(source.dtype)
    return Built(softmax_backward, args, 3 * rows * columns * source.size)


def _rms_norm_backward(source: Source, rows: int, columns: int) -> Built:
    """Gradients of x and of the weight, whose rows are summed in float32."""

    def rms_norm_backward(dy: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        wide, given = x.float(), dy.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        normal = wide * scale
        weighted = given * w.float()
        dx = scale * (weighted - normal * (weighted * normal).mean(-1, keepdim=True))
        return dx.to(x.dtype), (given * normal).sum(0).to(w.dtype)

    args = source.normal(rows, columns), source.normal(rows, columns), source.normal(columns)
    return Built(rms_norm_backward, args, (3 * rows + 2) * columns * source.size)


# Losses


def _distillation(source: Source, rows: int, classes: int) -> Built:
    """The Kullback-Leibler divergence between two rows of logits, its mean."""

    def distillation(student: Tensor, teacher: Tensor) -> Tensor:
        log_p = F.log_softmax(teacher.float(), -1)
        log_q = F.log_softmax(student.float(), -1)
        return (log_p.exp() * (log_p - log_q)).sum(-1).mean()

    args = source.normal(rows, classes), source.normal(rows, classes)
    return Built(distillation, args, 2 * rows * classes * source.size + 4)


def _binary_cross_entropy(source: Source, count: int) -> Built:
    def binary_cross_entropy(x: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(x.float(), target.float())

    args = source.normal(count), source.uniform(0.0, 1.0, count)
    return Built(binary_cross_entropy, args, 2 * count * source.size + 4)


def _log_sum_exp(source: Source, rows: int, columns: int) -> Built:
    def log_sum_exp(x: Tensor) -> Tensor:
        return x.logsumexp(-1)

    return Built(log_sum_exp, (source.normal(rows, columns),), rows * (columns + 1) * source.size)


def _gradient_norm(source: Source, tensors: int, rows: int, columns: int) -> Built:
    """What clipping reads: the norm of all gradients together."""

    def gradient_norm(grads: list[Tensor]) -> Tensor:
        return torch.stack([g.float().square().sum() for g in grads]).sum().sqrt()

    grads = [source.normal(rows, columns) for _ in range(tensors)]
    return Built(gradient_norm, (grads,), tensors * rows * columns * source.size + 4)


# Layouts


def _heads_first(source: Source, batch: int, length: int, heads: int, width: int) -> Built:
    """Queries with their bias, brought to [b, h, t, d]."""

    def heads_first(x: Tensor, bias: Tensor) -> Tensor:
        return (x + bias).view(batch, length, heads, width).transpose(1, 2).contiguous()

    args = source.normal(batch, length, heads * width), source.normal(heads * width)
    return Built(heads_first, args, (2 * batch * length + 1) * heads * width * source.size)


def _geglu(source: Source, rows: int, columns: int) -> Built:
    """Both halves of a row of 2 * columns."""

    def geglu(x: Tensor) -> Tensor:
        value, gate = x.chunk(2, -1)
        return value * F.gelu(gate)

    return Built(geglu, (source.normal(rows, 2 * columns),), 3 * rows * columns * source.size)


def _upsample(source: Source, batch: int, channels: int, side: int) -> Built:
    def upsample(x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=2.0, mode="nearest")

    args = (source.normal(batch, channels, side, side),)
    return Built(upsample, args, 5 * batch * channels * side * side * source.size)


def _max_pool(source: Source, batch: int, channels: int, side: int, last: bool) -> Built:
    def max_pool(x: Tensor) -> Tensor:
        return F.max_pool2d(F.relu(x), 3, 2, 1)

    x = source.normal(batch, channels, side, side)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    return Built(max_pool, (x,), (side * side + (side // 2) ** 2) * batch * channels * source.size)


# Norms and rows


def _modulated_norm(source: Source, batch: int, length: int, columns: int) -> Built:
    """A layer norm whose scale and shift come with each sample, as in diffusion transformers."""

    def modulated_norm(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return F.layer_norm(x, (columns,)) * (1 + scale[:, None]) + shift[:, None]

    args = source.normal(batch, length, columns), source.normal(batch, columns), source.normal(batch, columns)
    return Built(modulated_norm, args, (2 * length + 2) * batch * columns * source.size)


def _embeddings(source: Source, batch: int, length: int, vocabulary: int, columns: int) -> Built:
    """Tokens and positions, their sum and its norm; one row is read per *distinct* token."""

    def embeddings(idx: Tensor, tokens: Tensor, positions: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(F.embedding(idx, tokens) + positions, (columns,), w, b)

    idx = source.integers(vocabulary, batch, length)
    vectors = source.normal(columns), source.normal(columns)
    args = (idx, source.normal(vocabulary, columns), source.normal(length, columns), *vectors)
    rows = int(idx.unique().numel()) + batch * length + length + 2
    return Built(embeddings, args, rows * columns * source.size + idx.numel() * INT64)


def _cosine_similarity(source: Source, rows: int, columns: int) -> Built:
    def cosine_similarity(x: Tensor, y: Tensor) -> Tensor:
        return F.cosine_similarity(x, y, -1)

    args = source.normal(rows, columns), source.normal(rows, columns)
    return Built(cosine_similarity, args, (2 * columns + 1) * rows * source.size)


def _mean_pooling(source: Source, batch: int, length: int, columns: int) -> Built:
    """The mean over the tokens that are not padding."""

    def mean_pooling(x: Tensor, there: Tensor) -> Tensor:
        return (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)

    there = (source.uniform(0.0, 1.0, batch, length) < 0.8).to(source.dtype)
    moved = (batch * length * (columns + 1) + batch * columns) * source.size
    return Built(mean_pooling, (source.normal(batch, length, columns), there), moved)


def _distance_softmax(source: Source, batch: int, heads: int, length: int) -> Built:
    """Scores with a slope for each head times the distance (ALiBi), causal."""

    def distance_softmax(scores: Tensor, slopes: Tensor) -> Tensor:
        at = torch.arange(length, device=scores.device)
        distance = at[None, :] - at[:, None]
        biased = scores + slopes[:, None, None] * distance
        return biased.masked_fill(distance > 0, float("-inf")).softmax(-1)

    args = source.normal(batch, heads, length, length), source.uniform(0.01, 0.5, heads)
    return Built(distance_softmax, args, (2 * batch * heads * length * length + heads) * source.size)


def _standardise(source: Source, batch: int, side: int) -> Built:
    """Each image by its own mean and deviation."""

    def standardise(x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(x, (1, 2, 3), keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-6)

    args = (source.normal(batch, 3, side, side),)
    return Built(standardise, args, 6 * batch * side * side * source.size)


def _dequantise(source: Source, rows: int, columns: int) -> Built:
    """int8 numbers with a scale for each row."""

    def dequantise(q: Tensor, scale: Tensor) -> Tensor:
        return q.to(scale.dtype) * scale[:, None]

    q = (source.integers(255, rows, columns) - 127).to(torch.int8)
    moved = rows * columns * (1 + source.size) + rows * source.size
    return Built(dequantise, (q, source.normal(rows)), moved)


def _weighted_sum(source: Source, tokens: int, experts: int, columns: int) -> Built:
    """The outputs of a token's experts, added with their weights."""

    def weighted_sum(answers: Tensor, weights: Tensor) -> Tensor:
        return (answers * weights[..., None]).sum(1)

    args = source.normal(tokens, experts, columns), source.uniform(0.0, 1.0, tokens, experts)
    moved = tokens * ((experts + 1) * columns + experts) * source.size
    return Built(weighted_sum, args, moved)


def _shaped(of: str, name: str, sizes: tuple[int, ...], dtypes: tuple[torch.dtype, ...]) -> Graph:
    """A graph of `cases.py` at other sizes."""
    return replace(GRAPHS[of], name=name, sizes=sizes, dtypes=dtypes)


_SHAPES = (
    _shaped("softmax_8192x4096", "softmax_32768x1500", (32768, 1500), BFLOAT16),
    _shaped("softmax_8192x4096", "softmax_24576x577", (24576, 577), FLOAT32),
    _shaped("softmax_8192x4096", "softmax_4096x32000", (4096, 32000), BFLOAT16),
    _shaped("softmax_8192x4096", "softmax_1024x128256", (1024, 128256), FLOAT32),
    _shaped("layer_norm_8192x4096", "layer_norm_65536x768", (65536, 768), BFLOAT16),
    _shaped("layer_norm_8192x4096", "layer_norm_16384x1280", (16384, 1280), FLOAT32),
    _shaped("layer_norm_8192x4096", "layer_norm_4096x12288", (4096, 12288), BFLOAT16),
    _shaped("rms_norm_residual_8192x4096", "rms_norm_residual_16384x3584", (16384, 3584), BFLOAT16),
    _shaped("rms_norm_residual_8192x4096", "rms_norm_residual_8192x5120", (8192, 5120), BFLOAT16),
    _shaped("layer_norm_backward_16384x4096", "layer_norm_backward_32768x768", (32768, 768), BFLOAT16),
    _shaped("layer_norm_backward_16384x4096", "layer_norm_backward_8192x5120", (8192, 5120), FLOAT32),
    _shaped("swiglu_8192x4096", "swiglu_8192x14336", (8192, 14336), BFLOAT16),
    _shaped("gelu_gate_8192x4096", "gelu_gate_8192x11008", (8192, 11008), BFLOAT16),
    _shaped("cross_entropy_4096x50304", "cross_entropy_8192x32000", (8192, 32000), BFLOAT16),
    _shaped("cross_entropy_4096x50304", "cross_entropy_2048x151936", (2048, 151936), BFLOAT16),
    _shaped("cross_entropy_4096x50304", "cross_entropy_8192x30522", (8192, 30522), FLOAT32),
    _shaped("group_norm_silu_32x512x64x64", "group_norm_silu_8x320x64x64", (8, 320, 64, 32), BFLOAT16),
    _shaped("group_norm_silu_32x512x64x64", "group_norm_silu_16x1280x16x16", (16, 1280, 16, 32), BFLOAT16),
    _shaped("group_norm_silu_32x512x64x64", "group_norm_silu_4x128x256x256", (4, 128, 256, 32), BFLOAT16),
    _shaped(
        "batch_norm_nchw_64x256x56x56", "batch_norm_nchw_128x64x112x112", (128, 64, 112, False), BFLOAT16
    ),
    _shaped("batch_norm_nchw_64x256x56x56", "batch_norm_nchw_256x512x14x14", (256, 512, 14, False), BFLOAT16),
    _shaped(
        "batch_norm_channels_last_64x256x56x56",
        "batch_norm_channels_last_256x1024x14x14",
        (256, 1024, 14, True),
        BFLOAT16,
    ),
    _shaped(
        "channel_norm_channels_last_64x256x56x56",
        "channel_norm_channels_last_128x96x56x56",
        (128, 96, 56, True),
        BFLOAT16,
    ),
    _shaped(
        "channel_norm_nchw_64x256x56x56", "channel_norm_nchw_128x192x28x28", (128, 192, 28, False), BFLOAT16
    ),
    _shaped(
        "embedding_layer_norm_16384x1024", "embedding_layer_norm_16384x4096", (16384, 128256, 4096), BFLOAT16
    ),
    _shaped("transpose_add_8192x8192", "transpose_add_4096x12288", (4096, 12288), BFLOAT16),
    _shaped("rotary_8x32x2048x128", "rotary_2x64x4096x64", (2, 64, 4096, 64), BFLOAT16),
    _shaped("qk_norm_rotary_8x32x2048x128", "qk_norm_rotary_4x40x4096x128", (4, 40, 4096, 128), BFLOAT16),
    _shaped("masked_softmax_4x16x1024x1024", "masked_softmax_2x12x2048x2048", (2, 12, 2048), BFLOAT16),
    _shaped("var_mean_16384x8192", "var_mean_20000x3000", (20000, 3000), FLOAT32),
    _shaped("argmax_4096x50257", "argmax_1024x128256", (1024, 128256), BFLOAT16),
    _shaped("mean_square_2p27", "mean_square_100000007", (100000007,), BFLOAT16),
    _shaped("row_mean_column_var_8192x8192", "row_mean_column_var_10000x3000", (10000, 3000), FLOAT32),
    _shaped("rms_norm_fp8_group_16384x4096", "rms_norm_fp8_group_8192x7168", (8192, 7168), BOTH_DTYPES),
)

_COMPUTATIONS = (
    Graph("column_sum_32768x3072", _column_sum, (32768, 3072), (64, 48), BFLOAT16, True),
    Graph("gelu_backward_16384x3072", _gelu_backward, (16384, 3072), (32, 48), BFLOAT16),
    Graph("softmax_backward_49152x1024", _softmax_backward, (49152, 1024), (48, 32), BFLOAT16),
    Graph("rms_norm_backward_16384x4096", _rms_norm_backward, (16384, 4096), (32, 64), BFLOAT16),
    Graph("distillation_4096x32000", _distillation, (4096, 32000), (16, 320), BFLOAT16, True, slack=8.0),
    Graph("binary_cross_entropy_2p26", _binary_cross_entropy, (2**26,), (4096,), FLOAT32, True, slack=8.0),
    Graph("log_sum_exp_16384x8192", _log_sum_exp, (16384, 8192), (32, 64), FLOAT32, True),
    Graph(
        "gradient_norm_64x1024x1024", _gradient_norm, (64, 1024, 1024), (4, 8, 8), FLOAT32, True, slack=8.0
    ),
    Graph("heads_first_16x2048x16x64", _heads_first, (16, 2048, 16, 64), (2, 8, 2, 8), BFLOAT16),
    Graph("geglu_8192x10240", _geglu, (8192, 10240), (16, 80), BFLOAT16),
    Graph("upsample_32x128x64x64", _upsample, (32, 128, 64), (2, 4, 4), BFLOAT16),
    Graph("max_pool_nchw_64x64x112x112", _max_pool, (64, 64, 112, False), (2, 4, 8, False), BFLOAT16),
    Graph("max_pool_channels_last_64x64x112x112", _max_pool, (64, 64, 112, True), (2, 4, 8, True), BFLOAT16),
    Graph("modulated_norm_64x1024x1152", _modulated_norm, (64, 1024, 1152), (2, 8, 36), BFLOAT16),
    Graph("embeddings_64x512x768", _embeddings, (64, 512, 30522, 768), (2, 8, 50, 48), BFLOAT16),
    Graph("cosine_similarity_65536x1024", _cosine_similarity, (65536, 1024), (32, 32), FLOAT32, True),
    Graph("mean_pooling_128x512x1024", _mean_pooling, (128, 512, 1024), (2, 16, 32), BFLOAT16, True),
    Graph("distance_softmax_4x16x1024x1024", _distance_softmax, (4, 16, 1024), (2, 2, 16), BFLOAT16),
    Graph("standardise_256x3x224x224", _standardise, (256, 224), (2, 8), FLOAT32),
    Graph("dequantise_8192x8192", _dequantise, (8192, 8192), (16, 64), BFLOAT16),
    Graph("weighted_sum_8192x8x2048", _weighted_sum, (8192, 8, 2048), (8, 2, 32), BFLOAT16, True),
)

FURTHER = graph_table((*_SHAPES, *_COMPUTATIONS))
