"""A matrix product computes the ReLU behind it in its own kernel, so that the ReLU is saved and not the
product.

Before::

    y = aten.addmm(bias, x, w)
    z = aten.relu(y)
    gradient = aten.threshold_backward(.., z, 0)

After::

    z = aten._addmm_activation(bias, x, w)
    gradient = aten.threshold_backward(.., z, 0)

The library's epilogue works on the float32 sums: one matrix less is written and read, and one rounding less
is made.  A product without a bias gets a bias of zeros, which all products of its width share.

The pass ``activate-products`` does this in every graph; it has the figures, and GELU, whose gradient reads
the product.  The gradient of ReLU can read the activation.  Here the partitioner saves that alone.

It fires where the ReLU is the only reader of the product, with views between at most, or a cast to a wider
type that is cast back behind it.  A copy of the result, as dropout that does nothing makes one, is left out.

It does not fire on float32 and float64, whose products run elsewhere; on a bias that is no contiguous vector;
where a size is no multiple of 8 (a row is then no whole number of 16-byte vectors) or unknown while
compiling.

Why not an MLIR pass: the partitioner decides what is saved before any graph reaches MLIR.
"""

import logging
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ...base.dataclass import dataclass
from ...fx.new_node import new_node, tidied
from ...fx.products import overloads
from ...fx.views import RESHAPES, may_share_storage
from ..rewriting import rewrite

log = logging.getLogger(__name__)

_aten = torch.ops.aten
_DTYPES = (torch.bfloat16, torch.float16)

#: Product -> the op that computes the ReLU of ``bias + x @ y`` as well.
_ACTIVATED = {p: getattr(_aten, op.activated).default for p, op in overloads(lambda op: op.activated).items()}

#: Elements of 16 bytes.
_VECTOR = 8


@rewrite("product-epilogues", "a matrix product computes the ReLU behind it in its own kernel")
def fuse_epilogues(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many ReLUs products took over."""
    count = 0
    zeros: dict[tuple[int, torch.dtype, torch.device], Node] = {}
    for node in list(gm.graph.nodes):
        found = _relu(node)
        if found is None or not found.is_private():
            continue
        product, views = _behind_reshapes(found.source)
        reason = _refusal(product, views)
        if reason is not None:
            log.debug("%s stays apart from %s: %s", node.name, product.name, reason)
            continue
        log.info("%s computes %s", product.name, node.name)
        _fuse(product, found, zeros)
        count += 1
    return tidied(gm, count)


@dataclass(frozen=True)
class _Relu:
    """``max(source, 0)`` as nodes, its result the last of them."""

    source: Node
    nodes: tuple[Node, ...]

    @property
    def result(self) -> Node:
        return self.nodes[-1]

    def is_private(self) -> bool:
        """Whether the source and all that is computed from it, but the result, have no other reader."""
        return all(user in self.nodes for n in (self.source, *self.nodes[:-1]) for user in n.users)


def _relu(node: Node) -> _Relu | None:
    """The ReLU whose function a node is; a cast to a wider type in front of it and one back behind it are
    parts of it."""
    relu = node.target is _aten.relu.default or (
        node.target in (_aten.clamp_min.default, _aten.clamp.default)
        and node.args[1:] == (0,)
        and not node.kwargs
    )
    source, users = node.args[0] if relu else None, list(node.users)
    if not isinstance(source, Node):
        return None
    if not _is_cast(source) or len(users) != 1 or not _is_cast(users[0]):
        return _Relu(source, (node,))
    wide, back = source, users[0]
    source = wide.args[0]
    if not isinstance(source, Node) or _dtype(back) != _dtype(source):
        return _Relu(wide, (node,))
    return _Relu(source, (wide, node, back))


def _is_cast(node: Node) -> bool:
    """Whether a node changes nothing but the type of floating-point numbers."""
    if node.target is not _aten._to_copy.default or node.kwargs.keys() != {"dtype"}:
        return False
    before = _dtype(node.args[0]) if isinstance(node.args[0], Node) else None
    return before is not None and before.is_floating_point and node.kwargs["dtype"].is_floating_point


def _dtype(node: Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, Tensor) else None


def _refusal(product: Node, views: tuple[Node, ...]) -> str | None:
    """Why a node does not take over what is computed from it through views, or None."""
    if product.target not in _ACTIVATED or product.kwargs:
        return "it is no product, or has factors"
    if not product.meta["val"].is_contiguous():
        return "the product has another layout"
    if any(len(n.users) != 1 for n in (product, *views)[:-1]):  # the last one's are the ReLU
        return "the product has other readers"
    *_, left, right = product.args
    values = [n.meta.get("val") if isinstance(n, Node) else None for n in (left, right, product)]
    if any(not isinstance(v, Tensor) or v.dtype not in _DTYPES for v in values):
        return "the element type has no epilogue"
    sizes = [*values[0].shape, values[1].shape[-1]]  # type: ignore[union-attr]
    if any(type(n) is not int or n % _VECTOR for n in sizes):
        return "a size is unknown or no multiple of a vector"
    if product.target is _aten.mm.default:
        return None
    bias = product.args[0].meta.get("val") if isinstance(product.args[0], Node) else None
    if not isinstance(bias, Tensor) or bias.shape != (sizes[2],) or bias.stride() != (1,):
        return "the bias is no contiguous vector"
    return None if bias.dtype == values[2].dtype else "the bias has another dtype"  # type: ignore[union-attr]


def _fuse(product: Node, found: _Relu, zeros: dict[Any, Node]) -> None:
    graph, value = product.graph, product.meta["val"]
    operands = product.args
    if product.target is _aten.mm.default:
        key = (value.shape[1], value.dtype, value.device)
        if key not in zeros:
            zeros[key] = _zeros(graph, value)
        operands = (zeros[key], *operands)
    last = _behind_copies(found.result)
    after, sizes = last.meta["val"], list(value.shape)
    call = partial(new_node, graph, like=found.result)
    with graph.inserting_before(found.result):
        # In the metadata the new value shares the storage of the result, to which views behind it refer.
        flat = after if list(after.shape) == sizes else after.view(sizes)
        result = call(_ACTIVATED[product.target], *operands, val=flat)
        if list(after.shape) != sizes:
            result = call(_aten.view.default, result, list(after.shape), val=after)
    last.replace_all_uses_with(result)


def _behind_copies(node: Node) -> Node:
    """The last of the copies that can be the value itself, else the value: idle dropout leaves one.

    A copy beside other readers must stay in the graph, so that no two results share storage, and views must
    be of one of the two, as metadata names its storage.
    """
    while True:
        copies = [u for u in node.users if u.target is _aten.clone.default and not u.kwargs]
        alone = len(node.users) == 1
        if len(copies) != 1 or (
            not alone and (_leaves(copies[0]) or any(map(may_share_storage, node.users)))
        ):
            return node
        [copied] = copies
        for user in [u for u in node.users if u is not copied]:
            user.replace_input_with(node, copied)
        node = copied


def _leaves(node: Node) -> bool:
    """Whether a value or a view of it is among the results of its graph."""
    return any(user.op == "output" or (may_share_storage(user) and _leaves(user)) for user in node.users)


def _zeros(graph: Graph, value: Tensor) -> Node:
    """A zero for each column of a product, before all that is computed."""
    options = {"dtype": value.dtype, "device": value.device}
    first = next(n for n in graph.nodes if n.op != "placeholder")
    with graph.inserting_before(first):
        zeros = value.new_zeros(value.shape[1])
        return new_node(graph, _aten.full.default, [value.shape[1]], 0, like=first, val=zeros, **options)


def _behind_reshapes(node: Node) -> tuple[Node, tuple[Node, ...]]:
    """What a node is a view of, and the views on the way, from that one on."""
    views: list[Node] = []
    while node.target in RESHAPES and isinstance(node.args[0], Node):
        views.append(node)
        node = node.args[0]
    return node, tuple(reversed(views))


__all__ = ["fuse_epilogues"]
