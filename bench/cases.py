"""The memory-bound graphs: `GRAPHS[name]`.  Those of a subject of their own are in `cases_*.py`.

Bytes are counted by hand for each graph, never deduced from its arguments: only needed elements count (the
unique rows of an embedding, the part of a concatenation that survives its slice), each once.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .cases_blocks import BLOCKS, DROPOUT, INT64, angles, rotated
from .cases_images import IMAGES
from .cases_quantise import QUANTISE
from .graph import Built, Graph, Source, graph_table
from .models.optimizers import AdamStep

FLOAT32 = (torch.float32,)


# Pointwise


def _gelu_gate(source: Source, rows: int, columns: int) -> Built:
    def gelu_gate(x: Tensor, w: Tensor, b: Tensor, y: Tensor) -> Tensor:
        return F.gelu(x * w + b) * torch.sigmoid(y)

    vectors = source.normal(columns), source.normal(columns)
    args = (source.normal(rows, columns), *vectors, source.normal(rows, columns))
    return Built(gelu_gate, args, (3 * rows * columns + 2 * columns) * source.size)


def _scale_add(source: Source, rows: int, columns: int) -> Built:
    def scale_add(x: Tensor, y: Tensor) -> Tensor:
        return x * 2 + y

    return Built(scale_add, _two(source, rows, columns), 3 * rows * columns * source.size)


def _relu_add(source: Source, rows: int, columns: int) -> Built:
    def relu_add(x: Tensor, y: Tensor) -> Tensor:
        return F.relu(x + y)

    return Built(relu_add, _two(source, rows, columns), 3 * rows * columns * source.size)


def _dropout_residual(source: Source, rows: int, columns: int) -> Built:
    def dropout_residual(x: Tensor, residual: Tensor) -> Tensor:
        return F.dropout(x, DROPOUT, True) + residual

    # x has no numbers near zero: a zero that was kept would look dropped
    args = (source.uniform(0.5, 1.5, rows, columns), source.normal(rows, columns))
    return Built(dropout_residual, args, 3 * rows * columns * source.size)


# Layout


def _transpose_add(source: Source, rows: int, columns: int) -> Built:
    def transpose_add(x: Tensor, y: Tensor) -> Tensor:
        return x + y.t()

    args = (source.normal(rows, columns), source.normal(columns, rows))
    return Built(transpose_add, args, 3 * rows * columns * source.size)


def _concat_slice(source: Source, rows: int, columns: int) -> Built:
    """A quarter of the first operand and three of the second survive: columns read, columns written."""

    def concat_slice(x: Tensor, y: Tensor) -> Tensor:
        start = x.shape[1] * 3 // 4
        return torch.cat([x, y], 1)[:, start : start + x.shape[1]] * 2

    return Built(concat_slice, _two(source, rows, columns), 2 * rows * columns * source.size)


def _rotary(source: Source, batch: int, heads: int, length: int, width: int) -> Built:
    """x [b, h, t, d]; cos, sin [t, d] in the dtype."""

    args = (source.normal(batch, heads, length, width), *angles(source, length, width))
    return Built(rotated, args, (2 * batch * heads + 2) * length * width * source.size)


# Rows


def _softmax(source: Source, rows: int, columns: int) -> Built:
    def softmax(x: Tensor) -> Tensor:
        return x.softmax(-1)

    return Built(softmax, (source.normal(rows, columns),), 2 * rows * columns * source.size)


def _layer_norm(source: Source, rows: int, columns: int) -> Built:
    def layer_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), w, b)

    args = (source.normal(rows, columns), source.normal(columns), source.normal(columns))
    return Built(layer_norm, args, (2 * rows + 2) * columns * source.size)


def _rms_norm_residual(source: Source, rows: int, columns: int) -> Built:
    """Returns the sum and its norm: two read, two written."""

    def rms_norm_residual(x: Tensor, residual: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        h = x + residual
        wide = h.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        return h, (wide * scale).to(h.dtype) * w

    args = (*_two(source, rows, columns), source.normal(columns))
    return Built(rms_norm_residual, args, (4 * rows + 1) * columns * source.size)


def _layer_norm_backward(source: Source, rows: int, columns: int) -> Built:
    """Gradients of x, weight and bias. Reads dy, x, mean, rstd, weight; writes dx, dweight, dbias."""

    def layer_norm_backward(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, w: Tensor, b: Tensor):
        shape = [x.shape[-1]]
        return torch.ops.aten.native_layer_norm_backward(dy, x, shape, mean, rstd, w, b, [True, True, True])

    x, w, b = source.normal(rows, columns), source.normal(columns), source.normal(columns)
    _, mean, rstd = torch.native_layer_norm(x, [columns], w, b, 1e-5)
    args = (source.normal(rows, columns), x, mean, rstd, w, b)
    moved = (3 * rows + 3) * columns * source.size + 2 * rows * mean.element_size()
    return Built(layer_norm_backward, args, moved)


def _embedding_layer_norm(source: Source, tokens: int, vocabulary: int, columns: int) -> Built:
    """Reads one table row per *distinct* token."""

    def embedding_layer_norm(idx: Tensor, table: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(F.embedding(idx, table), (table.shape[1],), w, b)

    idx = source.integers(vocabulary, tokens)
    args = (idx, source.normal(vocabulary, columns), source.normal(columns), source.normal(columns))
    distinct = int(idx.unique().numel())
    return Built(embedding_layer_norm, args, (distinct + tokens + 2) * columns * source.size + tokens * INT64)


def _group_norm_silu(source: Source, batch: int, channels: int, side: int, groups: int) -> Built:
    def group_norm_silu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.silu(F.group_norm(x, groups, w, b))

    args = (source.normal(batch, channels, side, side), source.normal(channels), source.normal(channels))
    return Built(group_norm_silu, args, (2 * batch * side * side + 2) * channels * source.size)


def _cumsum(source: Source, rows: int, columns: int) -> Built:
    def cumsum(x: Tensor) -> Tensor:
        return x.cumsum(-1)

    return Built(cumsum, (source.normal(rows, columns),), 2 * rows * columns * source.size)


# Reductions


def _cross_entropy(source: Source, rows: int, classes: int) -> Built:
    """Mean in float32 over all rows."""

    def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits.float(), target)

    args = (source.normal(rows, classes), source.integers(classes, rows))
    return Built(cross_entropy, args, rows * classes * source.size + rows * INT64 + 4)


def _mean_square(source: Source, count: int) -> Built:
    def mean_square(x: Tensor) -> Tensor:
        return x.float().square().mean()

    return Built(mean_square, (source.normal(count),), count * source.size + 4)


def _row_mean_column_var(source: Source, rows: int, columns: int) -> Built:
    def row_mean_column_var(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.mean(1), x.var(0)

    moved = (rows * columns + rows + columns) * source.size
    return Built(row_mean_column_var, (source.normal(rows, columns),), moved)


# Optimiser


def _adam(source: Source, tensors: int, rows: int, columns: int) -> Built:
    """Reads parameter, gradient and two moments, writes all but the gradient; counts the step."""
    params, grads, averages = ([source.normal(rows, columns) for _ in range(tensors)] for _ in range(3))
    squares = [source.normal(rows, columns).square() + 0.01 for _ in range(tensors)]
    step = torch.tensor(3.0, device=source.device)
    moved = 7 * tensors * rows * columns * source.size + 2 * step.element_size()
    return Built(AdamStep(foreach=False), (params, grads, averages, squares, step), moved)


def _two(source: Source, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    return source.normal(rows, columns), source.normal(rows, columns)


GRAPHS = graph_table(
    (
        Graph("gelu_gate_8192x4096", _gelu_gate, (8192, 4096), (16, 64)),
        Graph("gelu_gate_8192x4097", _gelu_gate, (8192, 4097), (16, 65)),
        Graph("scale_add_8192x4096", _scale_add, (8192, 4096), (16, 64)),
        Graph("relu_add_8192x4096", _relu_add, (8192, 4096), (16, 64)),
        Graph("softmax_8192x4096", _softmax, (8192, 4096), (16, 64)),
        Graph("softmax_16384x4096", _softmax, (16384, 4096), (32, 64)),
        Graph("softmax_65536x1024", _softmax, (65536, 1024), (64, 16)),
        Graph("softmax_8192x4097", _softmax, (8192, 4097), (16, 65)),
        Graph("softmax_512x131072", _softmax, (512, 131072), (2, 2048)),
        Graph("layer_norm_8192x4096", _layer_norm, (8192, 4096), (16, 64)),
        Graph("layer_norm_8192x4097", _layer_norm, (8192, 4097), (16, 65)),
        Graph("rms_norm_residual_8192x4096", _rms_norm_residual, (8192, 4096), (16, 64)),
        Graph("layer_norm_backward_16384x4096", _layer_norm_backward, (16384, 4096), (32, 64)),
        Graph("cross_entropy_4096x50304", _cross_entropy, (4096, 50304), (16, 524), reduces=True, slack=8.0),
        Graph("cross_entropy_4096x50257", _cross_entropy, (4096, 50257), (16, 525), reduces=True, slack=8.0),
        Graph("mean_square_2p27", _mean_square, (2**27,), (4096,), reduces=True, slack=8.0),
        Graph("row_mean_column_var_8192x8192", _row_mean_column_var, (8192, 8192), (48, 64), reduces=True),
        Graph("group_norm_silu_32x512x64x64", _group_norm_silu, (32, 512, 64, 32), (2, 16, 4, 4)),
        Graph("cumsum_8192x4096", _cumsum, (8192, 4096), (16, 64), dtypes=FLOAT32),
        Graph("embedding_layer_norm_16384x1024", _embedding_layer_norm, (16384, 50304, 1024), (32, 50, 64)),
        Graph("transpose_add_8192x8192", _transpose_add, (8192, 8192), (64, 64)),
        Graph("rotary_8x32x2048x128", _rotary, (8, 32, 2048, 128), (2, 2, 8, 16)),
        Graph("concat_slice_8192x4096", _concat_slice, (8192, 4096), (16, 64)),
        Graph("dropout_residual_8192x4096", _dropout_residual, (8192, 4096), (64, 128), dropout=DROPOUT),
        Graph("adam_64x1024x1024", _adam, (64, 1024, 1024), (4, 8, 8), dtypes=FLOAT32, mutates=True),
        *BLOCKS,
        *IMAGES,
        *QUANTISE,
    )
)
