"""A batch norm by running statistics stays one op until the import, where nothing is differentiated.

AOTAutograd would trace each batch norm as eighteen small ops, and every later rewrite, the choice of layouts
and fusion would look at all of them: for ResNet-50 a third of the compile time above ``aot_eager``.

Before, in the graph that Dynamo captured::

    y = torch.nn.functional.batch_norm(x, mean, var, weight, bias, False, 0.1, 1e-5)

After::

    y = fuse_mlir.batch_norm(x, mean, var, weight, bias, 1e-5)

The import makes two kernels of it, which fuse (``frontend/ops/pointwise/batch_norms.py``), in the strides
that are chosen for ``y``.

It does not fire in training, nor where gradients may be asked for; for images that are neither contiguous nor
channels-last; for statistics or parameters on another device, or of a wider dtype than the norm is computed
in; nor for sizes that are unknown while compiling.

Why not an MLIR pass: its purpose is that AOTAutograd and the rewrites of its graphs see one op.
"""

from typing import Any

import torch
from torch import Tensor
from torch._prims_common import get_computation_dtype
from torch.fx import GraphModule
from torch.nn import functional as F

from ..rewriting import rewrite
from .matching import example

#: The op, as the table of lowerings calls it.
BATCH_NORM = "fuse_mlir.batch_norm.default"
_ops = torch.library.Library("fuse_mlir", "FRAGMENT")
_ops.define(
    "batch_norm(Tensor input, Tensor mean, Tensor var, Tensor? weight, Tensor? bias, float eps) -> Tensor"
)


def _batch_norm(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    return F.batch_norm(x, mean, var, weight, bias, False, 0.0, eps)


def _like(
    x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    return torch.empty_like(x)


_ops.impl("batch_norm", _batch_norm, "CompositeExplicitAutograd")
_ops.impl("batch_norm", _like, "Meta")

_NAMES = ("input", "mean", "var", "weight", "bias", "training", "momentum", "eps")
_KEYWORDS = {"running_mean": "mean", "running_var": "var"}
_DEFAULTS: dict[str, Any] = {"weight": None, "bias": None, "training": False, "eps": 1e-5}


@rewrite("batch-norms", "a batch norm by running statistics stays one op until the import")
def keep_batch_norms(gm: GraphModule) -> int:
    """Rewrites a captured graph in place; how many batch norms stay whole.

    gm: as Dynamo hands it to a backend, with ``meta["example_value"]``; nothing in it is differentiated.
    """
    if gm.graph.find_nodes(op="call_function", target=torch._C._set_grad_enabled):
        return 0
    count = 0
    for node in gm.graph.find_nodes(op="call_function", target=F.batch_norm):
        given = {_KEYWORDS.get(name, name): value for name, value in node.kwargs.items()}
        call = {**_DEFAULTS, **dict(zip(_NAMES, node.args, strict=False)), **given}
        if call["training"] is False and _fits(call):
            node.target = torch.ops.fuse_mlir.batch_norm.default
            node.args = tuple(call[name] for name in ("input", "mean", "var", "weight", "bias", "eps"))
            node.kwargs = {}
            count += 1
    if count:
        gm.recompile()
    return count


def _fits(call: dict[str, Any]) -> bool:
    x = example(call["input"])
    if x is None or x.dim() < 2 or not x.is_floating_point() or not isinstance(call["eps"], float):
        return False
    if not all(type(n) is int for n in (*x.shape, *x.stride())):
        return False
    dense = x.is_contiguous() or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last))
    allowed = (x.dtype, get_computation_dtype(x.dtype))
    others = [call[name] for name in ("mean", "var", "weight", "bias")]
    return dense and all(
        (n is None and place > 1) or _is_vector(example(n), x, allowed) for place, n in enumerate(others)
    )


def _is_vector(value: Tensor | None, x: Tensor, dtypes: tuple[torch.dtype, ...]) -> bool:
    return (
        value is not None
        and value.shape == x.shape[1:2]
        and value.device == x.device
        and value.dtype in dtypes
    )


__all__ = ["BATCH_NORM", "keep_batch_norms"]
