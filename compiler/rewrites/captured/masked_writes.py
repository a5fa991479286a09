"""A write where a mask holds looks at the mask, element by element, instead of counting what it selects.

How many elements a mask selects is known when the program runs, so torch looks for their places, and the host
waits for their number; the gradient of what is written cannot even be traced.

Before, in the graph that Dynamo captured (``index_put`` and ``index_put_``, with ``accumulate`` too)::

    y[mask] = row                                     # one row for all that is selected
    y[mask] = values                                  # a row for each that is selected
    y[mask] += t                                      # where dynamic output shapes are captured

After::

    y.copy_(where(mask, row, y))
    y.copy_(where(mask, values[cumsum(mask) - 1], y)) # and an assertion that their number is the mask's
    y.copy_(where(mask, y + t, y))

Numbers and slices beside the mask are a view, which is written.  A mask beside another mask, or beside a
list of indices, becomes one mask of what both select (``mask_indices.py``): torch pairs the n-th with the
n-th.

It does not fire for three of these, or two with a slice between them, masks of uint8, other devices,
values whose other dims do not broadcast, and values for each of several pairs.  Arithmetic on ``y[mask]``
is computed for all elements only where nothing but arithmetic stands between reading and writing, and
where gradients are asked for only sums: 0 times an infinite slope of what is not selected would be NaN.
Where dynamic output shapes are not captured (``torch._dynamo.config.capture_dynamic_output_shape_ops``),
Dynamo ends the graph before ``y[mask]`` is read, so that no backend sees both.

Why not an MLIR pass: its purpose is that AOTAutograd can trace the gradient and meets no size that depends on
data.
"""

import operator
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ..rewriting import rewrite
from .mask_indices import MaskIndex, joined, same_size
from .matching import example, rewrite_graphs

_ARITHMETIC = {
    operator.add: operator.add, operator.iadd: operator.add, operator.sub: operator.sub,
    operator.isub: operator.sub, operator.mul: operator.mul, operator.imul: operator.mul,
    operator.truediv: operator.truediv, operator.itruediv: operator.truediv, operator.neg: operator.neg,
    torch.add: operator.add, torch.sub: operator.sub, torch.mul: operator.mul, torch.div: operator.truediv,
}  # fmt: skip
_LINEAR = (operator.add, operator.sub, operator.neg)


@rewrite("masked-writes", "a write where a mask holds looks at the mask instead of counting what it selects")
def write_where_masks_hold(gm: GraphModule) -> int:
    """Rewrites a captured graph, and those inside it, in place; how many writes."""
    return rewrite_graphs(gm, _write_all)


def _write_all(graph: Graph) -> int:
    count = 0
    for node in list(graph.nodes):
        write = _Write.of(node)
        if write is not None:
            count += write.replaced(graph)
    return count


class _Write:
    """``target[index] = values``: dims beside those of the mask are whole, behind the view ``index.basic``.
    ``values``: a tensor or a number.
    """

    def __init__(self, node: Node, target: Node, index: MaskIndex, values: Any, add: bool) -> None:
        self.node, self.target, self.index, self.values, self.add = node, target, index, values, add
        self.first, self.mask = index.first, index.tensors[0]

    @staticmethod
    def of(node: Node) -> "_Write | None":
        if node.op == "call_function" and node.target is operator.setitem:
            target, index, values = node.args
            indices: Any = index if isinstance(index, tuple) else (index,)
            add = False
        elif node.target in ("index_put", "index_put_", torch.index_put, torch.index_put_):
            given = (
                dict(zip(("self", "indices", "values", "accumulate"), node.args, strict=False)) | node.kwargs
            )
            target, indices, values = (given.get(n) for n in ("self", "indices", "values"))
            target, add = given.get("input", target), given.get("accumulate", False)
            if isinstance(indices, (tuple, list)):
                indices = [slice(None) if i is None else i for i in indices]
        else:
            return None
        x, v = example(target), example(values)
        if not isinstance(indices, (tuple, list)) or not isinstance(add, bool) or x is None:
            return None
        found = MaskIndex.of(x, list(indices))
        if found is None or not found.joins():
            return None
        if v is None:  # the import knows a number behind one mask
            fills = isinstance(values, (bool, int)) or (
                isinstance(values, float) and x.dtype.is_floating_point
            )
            return _Write(node, target, found, values, add) if fills and len(found.tensors) > 1 else None
        if x.device != v.device or x.dtype != v.dtype:
            return None
        write = _Write(node, target, found, values, add)
        return write if write._fits(found.viewed, v) else None

    def _fits(self, x: Tensor, v: Tensor) -> bool:
        """Whether torch would broadcast the values, as far as sizes are known."""
        selected = [*x.shape[: self.first], -1, *x.shape[self.index.end :]]
        lost = v.dim() - len(selected)
        shape = v.shape[max(lost, 0) :]
        if any(not same_size(n, 1) for n in v.shape[: max(lost, 0)]):
            return False
        if not self.index.is_ordered:  # the values of pairs have an order that the mask does not
            place = len(shape) - len(selected) + self.first
            if self.add or (place >= 0 and not same_size(shape[place], 1)):
                return False
        pairs = zip(reversed(shape), reversed(selected), strict=False)
        return all(
            b == -1 if type(b) is int and b == -1 else same_size(a, 1) or same_size(a, b) for a, b in pairs
        )

    def replaced(self, graph: Graph) -> int:
        """Replaces the write; 1, as it fired."""
        in_place = self.node.target is operator.setitem or str(self.node.target).endswith("index_put_")
        in_place = in_place or self.node.target is torch.index_put_
        with graph.inserting_before(self.node):
            everywhere = None if self.add else self._everywhere(graph)
            target, mask = self.target, self.mask
            if self.index.basic is not None:
                target = _shown(
                    graph.call_function(operator.getitem, (target, self.index.basic)), self.index.viewed
                )
            if len(self.index.tensors) > 1:
                mask = graph.call_function(joined, (target, self.first, *self.index.tensors))
            if everywhere is not None:
                new = graph.call_function(chosen, (target, self.first, mask, everywhere))
            elif not isinstance(self.values, Node):
                new = graph.call_function(fill, (target, self.first, mask, self.values))
            else:
                new = graph.call_function(put, (target, self.first, mask, self.values, self.add))
            _shown(new, self.index.viewed)
            result = _shown(graph.call_method("copy_", (target, new)), self.index.viewed) if in_place else new
        self.node.replace_all_uses_with(result)
        graph.erase_node(self.node)
        if everywhere is not None:
            _erase_unused(graph, self.values)
        return 1

    def _everywhere(self, graph: Graph) -> Node | None:
        """Arithmetic on ``x[mask]`` as that on ``x``; None for anything else."""
        if self.index.basic is not None or len(self.index.tensors) > 1:
            return None
        steps: list[Node] = []
        step: Any = self.values
        while isinstance(step, Node) and step.target in _ARITHMETIC and len(step.users) == 1:
            steps.append(step)
            reads = [a for a in step.args if isinstance(a, Node) and self._depends(a)]
            if len(reads) != 1 or step.kwargs:
                return None
            step = reads[0]
        if not steps or not isinstance(step, Node) or step.target is not operator.getitem:
            return None
        source, index = step.args
        checks = _checks(step, steps[-1])
        if checks is None or index is not self.mask or self.first:
            return None
        values = example(self.values)
        assert values is not None
        if values.requires_grad and any(_ARITHMETIC[s.target] not in _LINEAR for s in steps):
            return None
        if not _alike(example(source), example(self.target)):
            return None
        between, node = {*steps, *checks}, step.next
        while node is not self.node:
            if node not in between and node.op != "get_attr":
                return None
            node = node.next
        value: Any = source
        for old in reversed(steps):
            args = tuple(value if isinstance(a, Node) and self._depends(a) else a for a in old.args)
            if not all(self._aligned(a) for a in args if a is not value):
                return None
            value = graph.call_function(_ARITHMETIC[old.target], args)
        for check in reversed(checks):
            graph.erase_node(check)
        return value

    def _depends(self, node: Node) -> bool:
        """Whether the node has a row for each selected element, by its name in torch's sizes."""
        value, values = example(node), example(self.values)
        assert values is not None
        return value is not None and value.dim() > 0 and same_size(value.shape[0], values.shape[0])

    def _aligned(self, operand: Any) -> bool:
        """Whether an operand broadcasts to all elements as to the selected ones."""
        if not isinstance(operand, Node):
            return isinstance(operand, (int, float))
        value, x, m = example(operand), example(self.target), example(self.mask)
        return value is not None and x is not None and m is not None and value.dim() <= x.dim() - m.dim()


def _shown(node: Node, value: Tensor) -> Node:
    """The node, of which that is an example."""
    node.meta["example_value"] = value
    return node


def _alike(a: Tensor | None, b: Tensor | None) -> bool:
    same = a is not None and b is not None and a.dim() == b.dim() and a.dtype == b.dtype
    return same and all(same_size(m, n) for m, n in zip(a.shape, b.shape, strict=True))  # type: ignore[union-attr]


_CHECKS = (torch.ops.aten.sym_size.int, operator.ge, operator.le, torch.ops.aten._assert_scalar.default)


def _checks(selection: Node, reader: Node) -> list[Node] | None:
    """What asserts the range of a selection's size, in order; None where others than ``reader`` read it."""
    found: list[Node] = []
    left = [user for user in selection.users if user is not reader]
    while left:
        node = left.pop(0)
        if node.target not in _CHECKS:
            return None
        found.append(node)
        left.extend(user for user in node.users if user not in left)
    return sorted(found)


def _erase_unused(graph: Graph, node: Node) -> None:
    """Erases a node that nothing uses, and so what only it used, of arithmetic on a selection."""
    if node.users or node.op != "call_function":
        return
    inputs = node.all_input_nodes
    graph.erase_node(node)
    for each in inputs:
        if each.target in _ARITHMETIC or each.target is operator.getitem:
            _erase_unused(graph, each)


# --- what the rewritten graph calls -------------------------------------------------------------------------


def chosen(x: Tensor, first: int, mask: Tensor, values: Tensor) -> Tensor:
    """``values`` where the mask over dims from ``first`` on holds, else ``x``."""
    return torch.where(_over(mask, x, first), values.to(x.dtype), x)


def fill(x: Tensor, first: int, mask: Tensor, value: float) -> Tensor:
    """The number where the mask over dims from ``first`` on holds, else ``x``."""
    return x.masked_fill(_over(mask, x, first), value)


def put(x: Tensor, first: int, mask: Tensor, values: Tensor, add: bool) -> Tensor:
    """``x.index_put([.., mask], values, accumulate=add)``."""
    rank = x.dim() - mask.dim() + 1
    while values.dim() > rank:
        values = values.squeeze(0)
    place = first - (rank - values.dim())
    values = values.to(x.dtype)
    if place >= 0:
        values = _of_each(values, place, mask)
    return torch.where(_over(mask, x, first), x + values if add else values, x)


def _over(mask: Tensor, x: Tensor, first: int) -> Tensor:
    return mask.view(*mask.shape, *[1] * (x.dim() - first - mask.dim()))


def _of_each(values: Tensor, place: int, mask: Tensor) -> Tensor:
    """``values`` with dim ``place``, a row for each element that the mask selects, as dims of the mask."""
    count = values.size(place)
    lead, rest = values.shape[:place], values.shape[place + 1 :]
    if type(count) is int and count == 1:
        return values.reshape(*lead, *[1] * mask.dim(), *rest)
    flat = mask.reshape(-1)
    found = flat.sum()
    told = (
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result"
    )
    fits = found == count
    if type(count) is not int:
        fits = fits | (torch.full_like(found, count) == 1)
    torch.ops.aten._assert_async.msg(fits, told)
    if type(count) is int and count == 0:
        return values.sum(place).reshape(*lead, *[1] * mask.dim(), *rest)
    at = (flat.to(torch.int64).cumsum(0) - 1).clamp(min=0)
    at = torch.minimum(at, torch.full_like(at, count - 1)).view(mask.shape)
    return torch.ops.aten._unsafe_index.Tensor(values, [*[None] * place, at])


__all__ = ["chosen", "fill", "put", "write_where_masks_hold"]
