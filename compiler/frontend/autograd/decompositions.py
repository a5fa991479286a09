"""The decomposition table for AOTAutograd: which ops become simpler ones before the import, and why.

The functions are Inductor's and torch's own, except those in ``OWN``; this file chooses among them.  An op
that is not named here reaches the importer whole: either ``frontend/ops`` builds it, or it runs as an extern
call.  No op is in both tables, but for those that are decomposed only where they are differentiated
(``FOR_GRADIENTS``) or on a CPU (``strides.ON_A_CPU``).  A name is that of a packet, and stands for each of
its overloads that returns new tensors.
"""

import math
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import torch
from torch.fx.node import has_side_effect
from torch.utils._python_dispatch import _disable_current_modes

from ...base.options import Random
from ...fx.eager_dtypes import computed_in, rounded
from ...fx.table import draws
from . import bags, cpu_attention, distances, fake_quantize, histograms, lists, paddings, segments, strides

#: reason -> packets of ``torch.ops.aten``.
GROUPS: dict[str, tuple[str, ...]] = {
    "rows are normalised by reductions and pointwise ops, which then fuse with their neighbours": (
        "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "_safe_softmax",
        "native_layer_norm", "native_layer_norm_backward", "native_group_norm", "native_group_norm_backward",
        "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
        "_native_batch_norm_legit_no_training", "_batch_norm_with_update_functional",
        "_batch_norm_no_update", "batch_norm_backward", "native_batch_norm_backward",
        "cudnn_batch_norm", "cudnn_batch_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward",
        "norm", "renorm", "dist",
    ),
    "reductions made of others": ("nanmean", "trace"),
    "products with a vector are bound by memory: a generated reduction reads no worse than the library": (
        "dot", "vdot", "mv", "addmv", "addr", "ger",
    ),
    "random numbers of every distribution are made from the uniform and the normal one": (
        "rand_like", "randn_like", "randint_like", "normal",
        "log_normal", "exponential", "cauchy", "geometric", "rrelu_with_noise_functional",
    ),
    "a loss is pointwise work before a reduction": (
        "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward", "mse_loss",
        "mse_loss_backward",
        "smooth_l1_loss", "smooth_l1_loss_backward", "huber_loss", "huber_loss_backward",
        "binary_cross_entropy",
        "binary_cross_entropy_backward", "binary_cross_entropy_with_logits", "soft_margin_loss",
        "soft_margin_loss_backward",
        "multi_margin_loss",
    ),
    "activations that the pointwise table does not have": (
        "celu", "selu", "_prelu_kernel", "_prelu_kernel_backward", "glu", "glu_backward", "mish_backward",
        "logit_backward",
        "log_sigmoid_backward", "rrelu_with_noise_backward",
    ),
    "special functions made of others": (
        "angle", "isclose", "isin", "logaddexp2", "special_entr", "special_log_ndtr",
        "mvlgamma",
        "float_power", "_euclidean_dist", "linalg_cross",
    ),
    "an index or a scatter of the general form": (
        "embedding_dense_backward", "take",
        "_unsafe_index_put", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "select_backward",
        "slice_backward", "diagonal_backward", "unfold_backward", "value_selecting_reduction_backward",
    ),
    "a copy of a view": (
        "alias_copy", "as_strided_copy", "diagonal_copy", "expand_copy", "narrow_copy", "permute_copy",
        "split_with_sizes_copy",
        "squeeze_copy",
        "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_copy",
        "unsafe_split",
        "unsafe_split_with_sizes",
    ),
    "another order of the same elements": (
        "stack", "rot90", "diag_embed", "block_diag", "_chunk_cat",
        "pixel_shuffle", "pixel_unshuffle",
        "reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward",
        "im2col", "col2im", "tril_indices", "triu_indices",
    ),
    "resampling is a few indexed reads": (
        "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_trilinear3d", "upsample_bicubic2d", "affine_grid_generator",
    ),
    "creation from a formula": ("linspace", "logspace", "hann_window"),
}  # fmt: skip

#: Packets that are decomposed where autograd records the graph, so that the cut between forward and
#: backward graph may lie inside, or since only backward reads what is wrong of them.  Elsewhere the importer
#: builds them: AOTAutograd traces one op instead of ten, and every rewrite and pass looks at fewer.
FOR_GRADIENTS = ("native_layer_norm", "_scaled_dot_product_flash_attention_for_cpu")

#: Ops that decompositions call, always on fresh tensors, although their schema may write.
INNER = ("_native_batch_norm_legit.default",)


#: Without a result, torch 2.11's dead-code elimination would drop it, and a singular matrix pass unseen.
has_side_effect(torch.ops.aten._linalg_check_errors.default)

#: What eager says of an assertion without a message.
NO_MESSAGE = "Expected Tensor with single nonzero value, but got zero"


def _assert_with_message(condition: torch.Tensor) -> None:
    """The same assertion as the overload that torch takes for one that must stay."""
    torch.ops.aten._assert_async.msg(condition, NO_MESSAGE)


def _log_sigmoid(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """min(x, 0) - log1p(exp(-|x|)), and a buffer that only eager's backward on a CPU reads.  Eager rounds
    nothing between, and on a CPU both are contiguous.
    """
    x = x.contiguous() if x.device.type == "cpu" else x
    wide = x.to(computed_in(x))
    decay = wide.abs().neg().exp()
    return (wide.clamp(max=0) - decay.log1p()).to(x.dtype), decay.to(x.dtype)


def _addr(
    x: torch.Tensor, column: torch.Tensor, row: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> torch.Tensor:
    """torch's own, but for 16 bits, where eager rounds each number, product and sum."""
    from torch._decomp import decomposition_table as of_torch

    if not all(t.dtype in _NARROW and t.dtype == x.dtype for t in (x, column, row)):
        return of_torch[torch.ops.aten.addr.default](x, column, row, beta=beta, alpha=alpha)
    beta, alpha = rounded(beta, x.dtype), rounded(alpha, x.dtype)
    product = (column if alpha == 1 else column * alpha)[:, None] * row
    return product if beta == 0 else product + (x if beta == 1 else x * beta)


#: Floats that eager rounds to between two steps of an op.
_NARROW = (torch.float16, torch.bfloat16)


def _weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """``v`` with the norms ``g`` along ``dim``, and the norms that it had, which are float32 where ``g`` has
    16 bits.  Eager rounds nothing between.
    """
    wide = computed_in(g)
    rest = [d for d in range(v.dim()) if d != dim]
    norm = torch.linalg.vector_norm(v, 2, rest, keepdim=True, dtype=wide) if rest else v.to(wide).abs()
    return (v.to(wide) * (g.to(wide) / norm)).to(v.dtype).contiguous(), norm


def _weight_norm_backward(
    grad_w: torch.Tensor, v: torch.Tensor, g: torch.Tensor, norms: torch.Tensor, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of ``v`` and ``g``: what changes the norm alone is no gradient of ``v``."""
    wide = computed_in(g)
    rest = [d for d in range(v.dim()) if d != dim]
    grad, given = grad_w.to(wide), v.to(wide)
    inverse = 1 / norms.to(wide)
    along = (grad * given).sum(rest, keepdim=True) if rest else grad * given
    of_v = g.to(wide) * (grad * inverse - given * (along * inverse * inverse * inverse))
    return of_v.to(v.dtype).contiguous(), (along * inverse).to(g.dtype)


def _index_fill(x: torch.Tensor, dim: int, index: torch.Tensor, value: Any) -> Any:
    """``x`` with ``value``, a number or a 0-d tensor, at ``index`` of ``dim``; strides are a clone's."""
    if index.dtype != torch.int64 or index.dim() > 1 or (isinstance(value, torch.Tensor) and value.dim()):
        return NotImplemented  # eager says what is wrong
    if not isinstance(value, torch.Tensor):
        value = torch.scalar_tensor(value, dtype=x.dtype, device=x.device)
    rows = x.unsqueeze(0) if x.dim() == 0 else x
    at = [None] * (dim % rows.dim()) + [index]
    result = torch.ops.aten.index_put(rows, at, value.to(x.dtype))
    return result.squeeze(0) if x.dim() == 0 else result


def _max_unpool(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    indices: torch.Tensor,
    output_size: list[int],
    *rest: Any,
) -> Any:
    """torch's own, but for an index beyond its image, which eager refuses: torch numbers the places of all
    images in a row, where it is a place of another one.  No place has the least integer's number.
    """
    from torch._decomp import decomposition_table as of_torch

    if indices.dtype == torch.int64:
        beyond = (indices < 0) | (indices >= math.prod(output_size))
        indices = indices.masked_fill(beyond, torch.iinfo(indices.dtype).min)
    return of_torch[overload](x, indices, output_size, *rest)


def _addmv(
    x: torch.Tensor, matrix: torch.Tensor, vector: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """torch's own, but where a library that is called with ``alpha=0`` does not read the product."""
    from torch._decomp import decomposition_table as of_torch

    if alpha == 0 and (matrix.is_cuda or matrix.dtype in (torch.float32, torch.float64)):
        rows = x.expand(matrix.shape[0])
        return rows * beta if beta != 0 else torch.zeros_like(rows, memory_format=torch.contiguous_format)
    return of_torch[torch.ops.aten.addmv.default](x, matrix, vector, beta=beta, alpha=alpha)


#: Overloads for which neither has a function, or one that does not serve.  An assertion without a message has
#: no result and no effect that torch's dead-code elimination knows of, so AOTAutograd drops it.  Torch's
#: partitioner does not know that a log-sigmoid may be computed again: whole, its result would be saved for
#: backward, or what is made of it.  Torch's function makes a 0-d tensor of zero, which would be saved too.
#: Torch's own `max_unpool2d` takes an index of one image for a place of another.
#: Torch 2.11's own `index_fill` copies into a new tensor, which the same torch takes for a graph that writes.
#: For weight normalisation, torch's function rounds the norms to half, and there is none of the gradient: a
#: sum of each row, and pointwise work.
OWN: dict[str, Callable[..., Any]] = {
    "_assert_async.default": _assert_with_message,
    "addmv.default": _addmv,
    "addr.default": _addr,
    "index_fill.int_Scalar": _index_fill,
    "index_fill.int_Tensor": _index_fill,
    "log_sigmoid_forward.default": _log_sigmoid,
    "max_unpool2d.default": partial(_max_unpool, torch.ops.aten.max_unpool2d.default),
    "max_unpool3d.default": partial(_max_unpool, torch.ops.aten.max_unpool3d.default),
    "_weight_norm_interface.default": _weight_norm,
    "_weight_norm_interface_backward.default": _weight_norm_backward,
    **fake_quantize.DECOMPOSITIONS,
    **lists.DECOMPOSITIONS,
    **paddings.DECOMPOSITIONS,
    **distances.DECOMPOSITIONS,
    **segments.DECOMPOSITIONS,
    **bags.DECOMPOSITIONS,
    **cpu_attention.DECOMPOSITIONS,
    **histograms.DECOMPOSITIONS,
    **strides.DECOMPOSITIONS,
}

#: Ops of exported models that are quantised: pointwise work, which torch has as functions in the module that
#: registers the ops.
QUANTISED = (
    "quantize_per_tensor", "dequantize_per_tensor", "quantize_per_channel", "dequantize_per_channel",
    "quantize_per_token", "dequantize_per_token",
)  # fmt: skip
_QUANTISED_MODULE = "torch.ao.quantization.fx._decomposed"

_NAMES: dict[str, str] = {}
for _reason, _packets in GROUPS.items():
    for _packet in _packets:
        assert _packet not in _NAMES, f"{_packet} is decomposed for two reasons"
        _NAMES[_packet] = _reason


#: Packets whose decomposition is Inductor's own, or one that Inductor asks torch for.
OF_INDUCTOR = frozenset({
    "_softmax_backward_data", "nanmean", "ger", "rand_like", "randn_like", "randint_like",
    "rrelu_with_noise_functional", "selu", "angle", "isclose", "float_power",
    "value_selecting_reduction_backward", "narrow_copy", "view_copy",
    "upsample_linear1d",
})  # fmt: skip


def decomposition_table(
    differentiated: bool = True, random: Random = "generated"
) -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    """Overload -> function, for ``aot_autograd(decompositions=...)``.  Packets that this torch lacks are
    left out.  Inductor's table, which takes as long to make as a small graph to compile, is read when an op
    of ``OF_INDUCTOR`` is met.  ``differentiated``: whether autograd records the graph.  ``random``: as the
    option; no op that draws is decomposed where torch draws.
    """
    registered = sys.modules.get(_QUANTISED_MODULE)  # else no graph has such an op
    table = _of_aten() if registered is None else {**_of_aten(), **_quantised(registered)}
    if random == "torch":
        table = {overload: function for overload, function in table.items() if not draws(overload)}
    if differentiated:
        return table
    whole = {overload for packet in FOR_GRADIENTS for overload in overloads(packet)}
    return {overload: function for overload, function in table.items() if overload not in whole}


def _quantised(module: ModuleType) -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    functions = {name: getattr(module, name, None) for name in QUANTISED}
    packets = torch.ops.quantized_decomposed
    return {getattr(packets, n).default: f for n, f in functions.items() if f is not None}


@lru_cache(maxsize=1)
def _of_aten() -> dict[torch._ops.OperatorBase, Callable[..., Any]]:
    from torch._decomp import decomposition_table as of_torch

    table: dict[torch._ops.OperatorBase, Callable[..., Any]] = {}
    for packet in _NAMES:
        for overload in overloads(packet):
            if packet in OF_INDUCTOR:
                table[overload] = partial(_of_inductor, overload)
            elif overload in of_torch:
                table[overload] = of_torch[overload]
    for name in INNER:
        packet, _, overload_name = name.partition(".")
        inner = getattr(getattr(torch.ops.aten, packet), overload_name)
        table[inner] = of_torch[inner]
    for name, function in OWN.items():
        packet, _, overload_name = name.partition(".")
        overload = getattr(getattr(torch.ops.aten, packet, None), overload_name, None)
        if overload is not None:  # newer torch has more of them
            table[overload] = function
    return table


def _of_inductor(overload: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """What Inductor, or else torch, makes of a call; NotImplemented where neither decomposes the overload."""
    from torch._decomp import decomposition_table as of_torch

    function = _table_of_inductor().get(overload) or of_torch.get(overload)
    return NotImplemented if function is None else function(*args, **kwargs)


@lru_cache(maxsize=1)
def _table_of_inductor() -> Mapping[torch._ops.OperatorBase, Callable[..., Any]]:
    with _disable_current_modes():  # whoever traces meets an op; the modules are imported as ever
        from torch._inductor.decomposition import select_decomp_table

        return select_decomp_table()


def overloads(packet: str) -> list[torch._ops.OpOverload]:
    """The overloads of ``torch.ops.aten.<packet>`` that return fresh tensors; none where this torch lacks
    the packet.
    """
    found = getattr(torch.ops.aten, packet, None)
    if found is None:
        return []
    each = [getattr(found, name) for name in found.overloads()]
    return [o for o in each if not o._schema.is_mutable]
