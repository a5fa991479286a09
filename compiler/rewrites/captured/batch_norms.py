"""Batch norm by running statistics, where nothing is differentiated, is one op until its layout is chosen.

AOTAutograd would trace it as eighteen small ops, and each rewrite and the choice of layouts would look at
all of them: for ResNet-50 a fifth of what compiling takes above ``aot_eager``.
They are spelled out when the import comes.

Before, in the graph that Dynamo captured::

    y = torch.nn.functional.batch_norm(x, mean, var, weight, bias, False, 0.1, 1e-5)

From there on, until the strides of ``y`` are chosen::

    y = fuse_mlir.batch_norm(x, mean, var, weight, bias, 1e-5)

For the import, column being ``view(.., [-1, 1, 1])`` where x is a batch of images::

    scale = column(aten.reciprocal(aten.sqrt(aten._to_copy(var) + 1e-5)))
    y = aten._to_copy((x - column(aten._to_copy(mean))) * scale * column(weight) + column(bias))

It does not fire in training, where gradients may be asked for, for other layouts than contiguous and
channels-last, for statistics or parameters of another device or of a wider dtype than what is normalised is
computed in, nor for sizes that are unknown while compiling.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import get_computation_dtype
from torch.fx import GraphModule, Node
from torch.nn import functional as F

from ...fx.new_node import new_node
from .matching import example

_aten = torch.ops.aten

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


def spell_out_batch_norms(gm: GraphModule) -> int:
    """Spells out what ``keep_batch_norms`` kept, in a graph with ``meta["val"]``, in place; how many."""
    nodes = gm.graph.find_nodes(op="call_function", target=torch.ops.fuse_mlir.batch_norm.default)
    steps = _Steps()
    for node in nodes:
        steps.spell_out(node)
    if nodes:
        gm.recompile()
    return len(nodes)


class _Steps:
    """Makes the ops.  Equal results share a fake tensor, which takes longer to make than an op."""

    def __init__(self) -> None:
        self._values: dict[Any, Tensor] = {}

    def spell_out(self, node: Node) -> None:
        x, mean, var, weight, bias, eps = node.args
        result = node.meta["val"]
        wide = get_computation_dtype(result.dtype)
        sizes, strides, channels = tuple(result.shape), result.stride(), (result.shape[1],)
        column = (*channels, *[1] * (result.dim() - 2))

        def op(
            target: Any, args: Sequence[Any], shape: Sequence[int], element: torch.dtype, **kwargs: Any
        ) -> Node:
            name = target.overloadpacket.__name__  # as AOTAutograd's tracing calls it
            whole = strides if shape is sizes else None
            val = self._value(result, tuple(shape), whole, element)
            return new_node(node.graph, target, *args, like=node, val=val, name=name, **kwargs)

        def as_column(source: Any) -> Node:
            return op(_aten.view.default, (source, list(column)), column, source.meta["val"].dtype)

        def widened(source: Any) -> Node:
            if source.meta["val"].dtype == wide:
                return source
            return op(_aten._to_copy.default, (source,), channels, wide, dtype=wide)

        with node.graph.inserting_before(node):
            center = widened(mean)
            scale = op(_aten.add.Tensor, (widened(var), eps), channels, wide)
            scale = op(_aten.sqrt.default, (scale,), channels, wide)
            scale = op(_aten.reciprocal.default, (scale,), channels, wide)
            y = op(_aten.sub.Tensor, (x, as_column(center)), sizes, wide)
            y = op(_aten.mul.Tensor, (y, as_column(scale)), sizes, wide)
            if weight is not None:
                y = op(_aten.mul.Tensor, (y, as_column(weight)), sizes, wide)
            if bias is not None:
                y = op(_aten.add.Tensor, (y, as_column(bias)), sizes, wide)
            if wide != result.dtype:
                y = op(_aten._to_copy.default, (y,), sizes, result.dtype, dtype=result.dtype)
        node.replace_all_uses_with(y)
        node.graph.erase_node(node)

    def _value(
        self, like: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...] | None, dtype: torch.dtype
    ) -> Tensor:
        """A fake tensor on the device of ``like``.  ``strides``: None where the tensor is contiguous."""
        key = (sizes, strides, dtype, like.device)
        if key not in self._values:
            strides = strides or tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
            self._values[key] = like.new_empty_strided(sizes, strides, dtype=dtype)
        return self._values[key]


__all__ = ["keep_batch_norms", "spell_out_batch_norms"]
