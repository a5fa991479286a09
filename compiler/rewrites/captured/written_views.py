"""A write through an expanded, unfolded or strided view goes to the memory that it is a view of.

AOTAutograd makes a graph functional: what is written to a view becomes a new base.  Of two views torch does
that inexactly.  The base of an expanded view becomes ``base + sum(written - base)``, which is NaN where the
old value is infinite, rounds, and counts what a fill writes to a repeated element as often as it is repeated.
The base of an unfolded view becomes zero outside all windows, and a sum where windows overlap.  Behind other
views it refuses ``as_strided``.

Before, in the graph that Dynamo captured::

    row = mask[1].expand(4, 7)
    row.fill_(0.0)

After, where ``mask`` is [5, 7]::

    row = mask[1].expand(4, 7)
    row_1 = mask[1, 0:7:1][None]
    row_1.fill_(0.0)

What no slice of the memory gives, such as windows, is taken by ``as_strided``.  That counts from where the
storage begins, and AOTAutograd makes what has gaps, or begins later, a tensor without gaps; then torch runs
the whole graph (``WrittenView``).

An expansion that repeats nothing becomes ``unsqueeze``.  A fill of repeated elements writes to each once.  A
fill under a mask, or at indices, of a view that holds elements twice writes where any of them is chosen.

It does not fire on views that nothing writes to, and on other views, which torch inverts exactly.  It leaves
a write that eager refuses, or whose result depends on the order of elements, and one through a view of
another dtype, or of a detached tensor.

Why not an MLIR pass: graphs are functional by then, and what was written is lost.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils import _pytree as pytree

from ...base.errors import WrittenView
from ...base.strides import span
from ...fx.views import meets_itself
from ..rewriting import rewrite
from .matching import example, rewrite_graphs
from .memory import SharedMemory

#: Parts of names of functions and methods that give a view which torch does not invert exactly.
_INEXACT = ("expand", "broadcast", "meshgrid", "unfold", "as_strided")
_EXPANDING = frozenset({"expand", "expand_as", "broadcast_to"})
#: In-place methods that write one number, and how many arguments those have that write it to some elements.
_FILLS = frozenset({"fill_", "zero_"})
_ARGUMENTS = {"masked_fill_": 3, "index_fill_": 4}
_SETTING = frozenset({"setitem", "__setitem__"})


@rewrite("written-views", "what is written to a view is written to the memory that it is a view of")
def write_to_memory(gm: GraphModule) -> int:
    """Rewrites a captured graph, and the graphs inside it, in place; how many views and writes changed.

    Raises ``WrittenView`` where a write can be expressed neither before nor after.
    """
    return rewrite_graphs(gm, _rewrite)


def _rewrite(graph: Graph) -> int:
    inexact = [node for node in graph.nodes if any(part in _name(node) for part in _INEXACT)]
    if not inexact:
        return 0
    memory = SharedMemory(graph)
    written = {node for node in inexact if memory.writers(node)}
    if not written:
        return 0
    plain = {node for node in written if _repeats_nothing(node)}
    for node in plain:
        _unsqueeze(node)
    writers = [(n, e) for n, e in memory.effects.items() if n not in plain and (e.writes or e.opaque)]
    count = 0
    for node, effect in writers:
        for operand in node.all_input_nodes if effect.opaque else effect.writes:
            views = list(_views(operand)) if example(operand) is not None else []
            if any(view in written and view not in plain for view in views):
                count += _write_directly(node, operand, views)
    return len(plain) + count


def _name(node: Node) -> str:
    """Of the function or method that is called, without an overload."""
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        target = target.overloadpacket
    return str(getattr(target, "__name__", target)) if node.op.startswith("call") else ""


def _storages(node: Node) -> set[int]:
    leaves = pytree.tree_leaves(node.meta.get("example_value"))
    strided = (leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.layout is torch.strided)
    return {leaf.untyped_storage()._cdata for leaf in strided}


def _views(node: Node) -> Iterator[Node]:
    """The node, what it is a view of, and so on to what has the storage first."""
    below: Node | None = node
    while below is not None:
        yield below
        storages = _storages(below)
        below = next((n for n in below.all_input_nodes if not storages.isdisjoint(_storages(n))), None)


# --- expansions that repeat nothing
def _repeats_nothing(node: Node) -> bool:
    if _name(node) not in _EXPANDING or not node.args:
        return False
    source, value = example(node.args[0]), example(node)
    if source is None or value is None or value.dim() < source.dim():
        return False
    shape = (*[1] * (value.dim() - source.dim()), *source.shape)
    return all(statically_known_true(a == b) for a, b in zip(shape, value.shape, strict=True))


def _unsqueeze(node: Node) -> None:
    """Replaces an expansion that repeats nothing."""
    source, value = node.args[0], example(node)
    assert isinstance(source, Node) and value is not None
    missing = value.dim() - source.meta["example_value"].dim()
    node.op, node.kwargs = "call_function", {}
    node.target, node.args = torch.ops.aten.alias.default, (source,)
    if missing:
        node.target, node.args = torch.Tensor.__getitem__, (source, (*[None] * missing, Ellipsis))


# --- writes
def _write_directly(writer: Node, operand: Node, views: list[Node]) -> bool:
    """Makes ``writer`` write to the memory of ``operand`` without the views; whether it could."""
    value: Tensor = operand.meta["example_value"]
    like = [v for v in views if (e := example(v)) is not None and e.dtype == value.dtype]
    like = [v for v in like if v.meta["example_value"].requires_grad == value.requires_grad]
    if not like or like[-1] is operand:
        return False
    name = _name(writer)
    with writer.graph.inserting_before(writer):
        if name in _SETTING:
            return _set_directly(writer, operand, like[-1])
        if name in _ARGUMENTS and meets_itself(value):
            return _fill_each_once(writer, operand, like[-1])
        direct = _strided(like[-1], operand, value, _repeated(value) if name in _FILLS else ())
    writer.replace_input_with(operand, direct)
    if name in _FILLS:
        writer.replace_all_uses_with(operand)  # a method in place returns what it was called on
    return True


def _repeated(value: Tensor) -> tuple[int, ...]:
    return tuple(d for d, stride in enumerate(value.stride()) if type(stride) is int and stride == 0)


def _strided(base: Node, view: Node, value: Tensor, once: tuple[int, ...]) -> Node:
    """A view of ``base`` at the elements of ``view``, whose value is ``value``; one of each dim ``once``."""
    shape = [1 if d in once else n for d, n in enumerate(value.shape)]
    wanted = value.as_strided(shape, value.stride())
    found = _slices(base.meta["example_value"], wanted)
    if found is not None:
        return _sliced(base, wanted, *found)
    graph = base.graph

    def number(n: Any, method: str, *args: int) -> Any:
        return n if type(n) is int else _called(graph, method, n, view, *args)

    sizes = [1 if d in once else number(n, "size", d) for d, n in enumerate(value.shape)]
    strides = [number(n, "stride", d) for d, n in enumerate(value.stride())]
    offset = number(value.storage_offset(), "storage_offset")
    return _as_strided(base, sizes, strides, offset, wanted)


def _as_strided(base: Node, sizes: Any, strides: Any, offset: Any, wanted: Tensor) -> Node:
    memory: Tensor = base.meta["example_value"]
    step = 1
    plain = [memory.storage_offset() == 0]
    for n, stride in zip(reversed(memory.shape), reversed(memory.stride()), strict=True):
        plain.append(n == 1 or stride == step)
        step = step * n
    if not all(statically_known_true(fact) for fact in plain):
        raise WrittenView(name=base.name)
    node = base.graph.call_function(torch.as_strided, (base, sizes, strides, offset))
    node.meta["example_value"] = wanted
    return node


def _slices(base: Tensor, wanted: Tensor) -> tuple[list[int | slice], list[int]] | None:
    """An index of ``base``, and the dims that it leaves in the order of ``wanted``, which has the same
    storage, but for dims of size 1; None where it is no such part, or sizes are symbols.
    """
    numbers = [n for t in (base, wanted) for n in (*t.shape, *t.stride(), t.storage_offset())]
    if not all(type(n) is int for n in numbers) or meets_itself(base) or not wanted.numel():
        return None
    rest = wanted.storage_offset() - base.storage_offset()
    index = dict[int, int | slice]()
    for d in sorted(range(base.dim()), key=base.stride, reverse=True):
        index[d] = min(max(rest // base.stride(d), 0), base.shape[d] - 1) if base.shape[d] > 1 else 0
        rest -= index[d] * base.stride(d)  # type: ignore[operator]
    order = list[int]()
    for n, stride in zip(wanted.shape, wanted.stride(), strict=True):
        if n == 1:
            continue
        fits = [d for d in index if base.shape[d] > 1 and base.stride(d) <= stride]
        found = max(fits, key=base.stride, default=None)
        start = index[found] if found is not None else None
        if found is None or not isinstance(start, int) or stride % base.stride(found):
            return None
        step = stride // base.stride(found)
        index[found] = slice(start, start + (n - 1) * step + 1, step)
        if index[found].stop > base.shape[found]:  # type: ignore[union-attr]
            return None
        order.append(found)
    return ([index[d] for d in range(base.dim())], order) if rest == 0 else None


def _sliced(base: Node, wanted: Tensor, index: list[int | slice], order: list[int]) -> Node:
    """``base`` at ``index``, with its dims in ``order``, and the dims of ``wanted`` that have size 1."""
    graph, value = base.graph, base.meta["example_value"]
    node = _called(graph, "__getitem__", value[tuple(index)], base, tuple(index))
    left = [d for d, part in enumerate(index) if isinstance(part, slice)]
    if left != order:
        turned = [left.index(d) for d in order]
        node = _called(graph, "permute", node.meta["example_value"].permute(turned), node, *turned)
    if 1 in wanted.shape:
        ones = tuple(None if n == 1 else slice(None) for n in wanted.shape)
        node = _called(graph, "__getitem__", wanted, node, ones)
    return node


def _called(graph: Graph, method: str, value: Any, *args: Any) -> Node:
    node = graph.call_method(method, args)
    node.meta["example_value"] = value
    return node


def _set_directly(writer: Node, operand: Node, base: Node) -> bool:
    """``operand[index] = value`` as a write to what the index gives."""
    index, given = writer.args[1:3]
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts):
        return False
    if any(isinstance(n, Node) for part in parts if isinstance(part, slice) for n in _bounds(part)):
        return False
    value: Tensor = operand.meta["example_value"][index]
    number = not isinstance(example(given), Tensor)
    repeated = _repeated(value)
    if not number and (repeated or example(given).dim() > value.dim()):  # type: ignore[union-attr]
        return False
    part = _called(writer.graph, "__getitem__", value, operand, index)
    direct = _strided(base, part, value, repeated)
    _called(writer.graph, "fill_" if number else "copy_", direct.meta["example_value"], direct, given)
    writer.graph.erase_node(writer)
    return True


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def _fill_each_once(writer: Node, operand: Node, base: Node) -> bool:
    """A fill of some elements of ``operand``, which may hold an element twice, as a fill of the range of
    memory that the view lies in, under a mask of that range.
    """
    value: Tensor = operand.meta["example_value"]
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    if len(writer.args) < _ARGUMENTS[_name(writer)] or not all(type(n) is int for n in numbers):
        return False
    graph, filled, shape, strides = writer.graph, writer.args[-1], value.shape, value.stride()
    count = span(shape, strides)
    chosen = graph.call_function(torch.zeros_like, (operand,), {"dtype": torch.bool})
    if _name(writer) == "masked_fill_":
        chosen = graph.call_method("logical_or", (chosen, writer.args[1]))
    else:
        chosen = graph.call_method("index_fill", (chosen, *writer.args[1:3], True))
    places = graph.call_function(torch.arange, (count,), {"device": value.device})
    places = graph.call_function(torch.as_strided, (places, tuple(shape), strides))
    hits = graph.call_function(torch.zeros, (count,), {"dtype": torch.int32, "device": value.device})
    counted = graph.call_method("int", (chosen,))
    hits = graph.call_method("index_put", (hits, (places,), counted, True))
    whole = value.as_strided((count,), (1,))
    memory = _as_strided(base, (count,), (1,), value.storage_offset(), whole)
    graph.call_method("masked_fill_", (memory, graph.call_function(torch.gt, (hits, 0)), filled))
    writer.replace_all_uses_with(operand)
    graph.erase_node(writer)
    return True


__all__ = ["write_to_memory"]
