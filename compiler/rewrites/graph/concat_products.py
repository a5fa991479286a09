"""Matrix products write their results directly into the concatenation of them.

Before::

    a, b = aten.mm(x, v), aten.mm(x, w)
    c = aten.cat([a, b], 1)

After::

    c = aten.empty(..)
    aten.mm.out(x, v, out=c[:, :n])
    aten.mm.out(x, w, out=c[:, n:])

The library writes rows with gaps between them at no cost.  The concatenation, which would read and write all
of it, is gone, and so are its operands: the result is in memory once instead of twice.  All products run
where the last of them ran.

It fires on ``mm`` and ``bmm`` along any dim, and on ``addmm`` along the first: for rows with gaps the library
adds the bias in a second pass.  Views that keep the last dim may lie between, for a concatenation along the
first dim or the last.

It does not fire where an operand of the concatenation is anything else, has another reader or appears twice;
where rows or parts would not start at a multiple of 16 bytes; where sizes are unknown while compiling; nor
where an operand of a product could be freed before the last product runs.

Why not an MLIR pass: it makes other ops of torch's libraries, with views of the result that the FX graph
describes.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from ...fx.collectives import waits_by_start
from ...fx.new_node import new_node
from ...fx.products import overloads
from ...fx.views import RESHAPES, Waits, storage_readers, storage_root
from ..rewriting import rewrite

log = logging.getLogger(__name__)

_aten = torch.ops.aten

#: The products that can write where they are told, and the overload that does.
_PRODUCTS = overloads(lambda op: op.out)
_OUT = {product: getattr(product.overloadpacket, op.out) for product, op in _PRODUCTS.items()}
_ALIGNMENT = 16  #: bytes


@dataclass(frozen=True)
class _Concat:
    """A concatenation of products along ``dim``, one of their own dims: views may lie between."""

    node: Node
    products: tuple[Node, ...]
    dim: int

    @property
    def sizes(self) -> list[int]:
        """Of all products together."""
        sizes = list(_value(self.products[0]).shape)
        sizes[self.dim] = sum(_value(p).shape[self.dim] for p in self.products)
        return sizes


@rewrite("concat-products", "matrix products write their results directly into the concatenation of them")
def write_products_into_concats(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many concatenations went."""
    order = {node: number for number, node in enumerate(gm.graph.nodes)}
    waits = waits_by_start(gm.graph)
    count = 0
    for node in list(gm.graph.find_nodes(op="call_function", target=_aten.cat.default)):
        found = _concat(node)
        reason = found if isinstance(found, str) else _refusal(found, order, waits)
        if reason is not None:
            log.debug("%s stays: %s", node.name, reason)
            continue
        assert isinstance(found, _Concat), "no reason against it"
        log.info("%s is written by its products", node.name)
        _write(found, max(found.products, key=order.__getitem__))
        count += 1
    if count:
        gm.graph.eliminate_dead_code()
        gm.recompile()
    return count


def _value(node: Node) -> Tensor:
    value: Tensor = node.meta["val"]
    return value


def _concat(node: Node) -> _Concat | str:
    """A ``cat`` as a concatenation of products, or why it is none."""
    parts: Any = node.args[0]
    result = node.meta.get("val")
    if not isinstance(result, Tensor) or not result.is_contiguous():
        return "its result has another layout"  # the products write where row-major order says
    if len(set(parts)) != len(parts):
        return "an operand appears twice"  # it would have to be written twice
    products = [_product(part) for part in parts]
    if None in products:
        return "an operand is no product, or something else reads it"
    found = [p for p in products if p is not None]
    values = [result, *map(_value, parts), *map(_value, found)]
    if any(v.dtype != result.dtype or v.device != result.device for v in values):
        return "element types or devices differ"  # `cat` would convert
    if any(type(n) is not int for v in values for n in v.shape) or result.numel() == 0:
        return "a size is unknown, or the result is empty"
    dim = _own_dim(_given_dim(node, result), result.dim(), parts, found)
    if dim is None:
        return "views between do not keep the dim"
    concat = _Concat(node, tuple(found), dim)
    if len({_other_sizes(p, dim) for p in found}) > 1 or math.prod(concat.sizes) != result.numel():
        return "the products have other sizes than their views"
    return concat


def _given_dim(node: Node, result: Tensor) -> int:
    """The dim of the result along which a ``cat`` puts its operands."""
    given: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    dim: int = given % max(result.dim(), 1)
    return dim


def _own_dim(dim: int, rank: int, parts: Sequence[Node], products: Sequence[Node]) -> int | None:
    """The products' own dim that a dim of their views, of ``rank`` dims, is; None where views do not say.

    Views that keep the last dim flatten or split those before it, so the first dim stays the slowest.
    """
    if all(product is part for product, part in zip(products, parts, strict=True)):
        return dim
    if any(_value(p).shape[-1] != _value(v).shape[-1] for p, v in zip(products, parts, strict=True)):
        return None
    if dim == 0:
        return 0
    return _value(products[0]).dim() - 1 if dim == rank - 1 else None


def _other_sizes(product: Node, dim: int) -> tuple[int, ...]:
    """The sizes of a product but for one dim."""
    sizes = _value(product).shape
    return (*sizes[:dim], *sizes[dim + 1 :])


def _product(node: Any) -> Node | None:
    """The product that a node is, behind views; each with one reader."""
    while isinstance(node, Node) and len(node.users) == 1:
        if node.target in _OUT:
            return node if _value(node).is_contiguous() else None
        if node.target not in RESHAPES:
            return None
        node = node.args[0]
    return None


def _refusal(concat: _Concat, order: dict[Node, int], waits: Waits) -> str | None:
    """Why products are not written where they will lie, or None."""
    if concat.dim != 0 and not all(_PRODUCTS[p.target].wide_rows for p in concat.products):
        return "rows would lie apart, and the library would add a bias in a pass of its own"
    if not _is_aligned(concat):
        return "a row or a part would not start where vectors do"
    if not _keeps_operands(concat, order, waits):
        return "what a product reads could be given back before the last of them"
    return None


def _is_aligned(concat: _Concat) -> bool:
    """Whether every row of every part starts as far from the beginning as vectors do."""
    sizes = concat.sizes
    element = _value(concat.node).element_size()
    inner = math.prod(sizes[concat.dim + 1 :]) * element
    row = sizes[-1] * element
    starts = [_value(p).shape[concat.dim] * inner for p in concat.products]
    return all(n % _ALIGNMENT == 0 for n in (row, *starts))


def _keeps_operands(concat: _Concat, order: dict[Node, int], waits: Waits) -> bool:
    """Whether all that the products read is there until the last of them."""
    last = max(order[p] for p in concat.products)
    for operand in {operand for p in concat.products for operand in p.all_input_nodes}:
        root = storage_root(operand)
        kept = root.op in ("placeholder", "get_attr")
        if not kept and all(order.get(reader, last) < last for reader in storage_readers(root, waits)):
            return False
    return True


def _write(concat: _Concat, last: Node) -> None:
    """Puts the products, in front of the ``last``, where they will lie; the buffer is what they make."""
    node, graph, result = concat.node, concat.node.graph, _value(concat.node)

    call = partial(new_node, graph)
    with graph.inserting_before(last):
        whole = result.new_empty(concat.sizes)
        options = {"dtype": result.dtype, "device": result.device}
        made = buffer = call(_aten.empty.memory_format, concat.sizes, like=node, val=whole, **options)
        start = 0
        for product in concat.products:
            size = _value(product).shape[concat.dim]
            part = whole.narrow(concat.dim, start, size)
            bounds = (concat.dim, start, start + size)
            place = call(_aten.slice.Tensor, buffer, *bounds, like=product, val=part)
            call(_OUT[product.target], *product.args, like=product, val=part, out=place, **product.kwargs)
            start += size
    if list(result.shape) != concat.sizes:
        with graph.inserting_before(node):
            seen = whole.view(result.shape)
            made = call(_aten.view.default, buffer, list(result.shape), like=node, val=seen)
    node.replace_all_uses_with(made)
    graph.erase_node(node)


__all__ = ["write_products_into_concats"]
