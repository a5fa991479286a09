"""A batch norm that stayed one op (``batch_norms.py``) becomes pointwise ops for the import.

Before::

    y = fuse_mlir.batch_norm(x, mean, var, weight, bias, 1e-5)

After, column being ``view(.., [-1, 1, 1])`` where x is a batch of images::

    scale = aten.rsqrt(aten._to_copy(var) + 1e-5) * weight
    y = aten._to_copy((x - column(aten._to_copy(mean))) * column(scale) + column(bias))

AOTAutograd would have made ``column(aten.reciprocal(aten.sqrt(..)))``, and multiplied each element by it and by
``column(weight)``.  A product's epilogue computes what belongs to columns in each thread that holds them, so these
are fewer and shorter instructions, which Triton compiles faster.  The strides are those that were chosen for ``y``.

It does not fire on graphs without such an op: those of training, or where ``batch_norms.py`` did not fire.

Why not an MLIR pass: the importer builds kernels of ATen ops, and this is what the op stands for.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import get_computation_dtype
from torch.fx import GraphModule, Node

from ...fx.new_node import new_node
from ..rewriting import rewrite

_aten = torch.ops.aten


@rewrite("spelled-out-batch-norms", "a batch norm that stayed one op becomes pointwise ops for the import")
def spell_out_batch_norms(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many batch norms were spelled out."""
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
            scale = op(_aten.rsqrt.default, (scale,), channels, wide)
            if weight is not None:
                scale = op(_aten.mul.Tensor, (scale, weight), channels, wide)
            y = op(_aten.sub.Tensor, (x, as_column(center)), sizes, wide)
            y = op(_aten.mul.Tensor, (y, as_column(scale)), sizes, wide)
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


__all__ = ["spell_out_batch_norms"]
