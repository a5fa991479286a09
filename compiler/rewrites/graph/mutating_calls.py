"""A custom op or Triton kernel that writes to its arguments writes in place, instead of into copies.

AOTAutograd makes each such call functional: it copies what is written and returns the copies as results.

Before::

    made = auto_functionalized_v2(op, y=y, _x_base_index=0, _all_bases=[x])
    new = made[1]

After::

    op(x=x, y=y)                                         # readers of `new` read `x`

The op writes to a value of the graph itself if no node reads that value afterwards, and to an argument if the
call makes the new contents of that argument; the copy into the argument at the end of the graph is then gone.
Any other value is copied first, by a generated kernel that can fuse with others.

AOTAutograd describes a view of such an argument by the offset in its storage.  The view is made again with an
offset that counts from the first element of the argument, which may lie elsewhere in its storage at the next
call.

The graphs of ``cond``, ``while_loop``, ``scan`` and ordered groups are rewritten as well.  An argument of
such a graph is never written to: it is copied.  An empty tensor that an ordered group alone takes, to write
to it, is made inside the group.

It does not fire on calls that write to several values in one storage, unless these are views of one argument
of the call; where a copy would have other strides than the original; on higher-order ops, and ops with
results for arguments (``out=``).

Why not an MLIR pass: the call would be an opaque extern call of a higher-order op, whose copies torch makes.
"""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node, map_arg
from torch.fx.node import map_aggregate

from ...base.dataclass import dataclass
from ...fx.collectives import waits_by_start
from ...fx.new_node import WRITES, computed_node, new_node
from ...fx.ordered_groups import make_inside, ordered_graph
from ...fx.views import Waits, storage_readers, storage_root
from ..rewriting import rewrite

_aten = torch.ops.aten


@dataclass(frozen=True)
class _Call:
    """A functional call: the values that it makes anew, and the key of each in its results."""

    node: Node
    bases: tuple[Node, ...]
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class _Around:
    """The graph around a call: its calls, the places of its nodes, and whether it may write to its
    arguments.
    """

    calls: dict[Node, _Call]
    order: dict[Node, int]
    waits: Waits
    writes_arguments: bool


#: Ops that leave the elements of what they make as they find them.
_EMPTY = (
    _aten.empty,
    _aten.empty_strided,
    _aten.empty_like,
    _aten.new_empty,
    _aten.new_empty_strided,
    _aten.empty_permuted,
)


@rewrite(
    "mutating-calls",
    "a custom op or Triton kernel that writes to its arguments writes in place, instead of into copies",
)
def write_calls_in_place(gm: GraphModule) -> int:
    """Rewrites a graph with ``meta["val"]`` in place, and those inside it, as the last rewrite, for it is not
    functional then; how many calls.
    """
    count = 0
    for held in gm.modules():  # a graph before those inside it
        if isinstance(held, GraphModule):
            _make_empty_inside(held.graph)
            count += _rewrite_graph(held, writes_arguments=held is gm)
    return count


def _rewrite_graph(gm: GraphModule, *, writes_arguments: bool) -> int:
    calls = {node: call for node in gm.graph.nodes if (call := _call(node)) is not None}
    if not calls:
        return 0
    order = {node: number for number, node in enumerate(gm.graph.nodes)}
    around = _Around(calls, order, waits_by_start(gm.graph), writes_arguments)
    count = 0
    for node in list(calls):
        call = calls[node] = _call(node) or calls[node]  # it may take what another call made
        written = _written(call, around)
        if written is not None:
            _rewrite(call, written, order)
            count += 1
    for node in gm.graph.find_nodes(op="call_function", target=_aten.copy_.default) if count else ():
        if node.args[0] is node.args[1]:
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    if count:
        gm.recompile()
    return count


def _make_empty_inside(graph: Graph) -> None:
    """Makes the empty tensors that an ordered group alone takes, to write to them, inside the group."""
    for group in list(graph.nodes):
        inner = ordered_graph(group)
        if inner is None:
            continue
        bases = {base for node in inner.nodes if (call := _call(node)) is not None for base in call.bases}
        for argument in inner.find_nodes(op="placeholder"):
            if argument in bases:
                make_inside(group, argument, _is_empty)


def _is_empty(node: Node) -> bool:
    return getattr(node.target, "overloadpacket", None) in _EMPTY


def _call(node: Node) -> _Call | None:
    if not isinstance(node.target, torch._ops.HigherOrderOperator):
        return None
    name = node.target.name()
    if name == "triton_kernel_wrapper_functional":
        keys: Sequence[Any] = node.kwargs["tensors_to_clone"]  # type: ignore[assignment]
        bases = [node.kwargs["kwargs"][key] for key in keys]  # type: ignore[index,call-overload]
    elif name == "auto_functionalized_v2" and isinstance(node.args[0], torch._ops.OpOverload):
        bases = list(node.kwargs.get("_all_bases") or ())  # type: ignore[arg-type]
        first = max(len(node.args[0]._schema.returns), 1)
        keys = range(first, first + len(bases))
    else:
        return None
    if not bases or not all(isinstance(b, Node) and isinstance(b.meta.get("val"), Tensor) for b in bases):
        return None
    if any(user.op == "call_function" and len(user.args) < 2 for user in node.users):
        return None
    return _Call(node, tuple(bases), tuple(keys))


def _written(call: _Call, around: _Around) -> list[bool] | None:
    """For each base whether the call may write to it, else to a copy; None where the call has to stay."""
    roots = [storage_root(base) for base in call.bases]
    if len(set(roots)) < len(roots) or len(set(call.bases)) < len(call.bases):
        return None
    given = [storage_root(n) for n in _operands(call.node)]
    found = []
    for base, root in zip(call.bases, roots, strict=True):
        in_place = given.count(root) == 1 and _is_free(call, base, root, around)
        if not in_place and not _is_contiguous(base.meta["val"]):
            return None
        found.append(in_place)
    return found


def _is_contiguous(value: Tensor) -> bool:
    """Whether a copy lies exactly as its original, as far as that is known without a guard."""
    expected: Any = 1
    for size, stride in zip(reversed(value.shape), reversed(value.stride()), strict=True):
        if str(stride) != str(expected):
            return False
        expected = size * expected
    return str(value.storage_offset()) == "0"


def _operands(node: Node) -> list[Node]:
    """The nodes that a call takes, as often as it takes them; not those that only say how to copy one."""
    found: list[Node] = []
    map_arg((node.args, _uncopied(node)), found.append)
    return found


def _uncopied(node: Node) -> dict[str, Any]:
    """The keywords of a call without those that say what it copies first, and (from torch 2.15 on) the whole
    tensor that a copied view is part of.
    """
    return {k: v for k, v in node.kwargs.items() if k not in ("tensors_to_clone", "tensor_bases")}


def _is_free(call: _Call, base: Node, root: Node, around: _Around) -> bool:
    """Whether nobody sees the old contents of a base after the call."""
    later = [r for r in storage_readers(root, around.waits) if around.order[r] > around.order[call.node]]
    if root.op != "placeholder":
        return root.op == "call_function" and not later
    if not around.writes_arguments:
        return False
    if root is not base or len(later) != 1 or later[0].target is not _aten.copy_.default:
        return False
    target, new = later[0].args[:2]
    return target is base and _comes_from(new, call, base, around.calls)


def _comes_from(new: Any, call: _Call, base: Node, calls: dict[Node, _Call]) -> bool:
    """Whether ``new``, which no result of the graph is, is what ``call`` makes of ``base``, or what further
    calls make of that which alone read it.
    """
    if not isinstance(new, Node) or any(r.op == "output" for r in storage_readers(new, {})):
        return False
    while isinstance(new, Node) and new.args and new.args[0] in calls:
        last = calls[new.args[0]]  # type: ignore[index]
        if new is not last.node and new.args[1] not in last.keys:
            return False
        before = last.bases[last.keys.index(new.args[1])]
        if last is call:
            return before is base
        if len(before.users) != 1:
            return False
        new = before
    return False


def _rewrite(call: _Call, written: list[bool], order: dict[Node, int]) -> None:
    node = call.node
    with node.graph.inserting_before(node):
        values = [
            base if in_place else computed_node(node, _aten.clone.default, base)
            for base, in_place in zip(call.bases, written, strict=True)
        ]
        if isinstance(node.args[0] if node.args else None, torch._ops.OpOverload):
            made = _op_call(node, values)
        else:
            made = _kernel_call(call, values)
    order[made] = order[node]
    for value in values:
        order.setdefault(value, order[node])
    news = dict(zip(call.keys, values, strict=True))
    for user in list(node.users):
        if user.op == "output":  # of an ordered group
            user.args = map_aggregate(user.args, lambda leaf: _whole(made, news) if leaf is node else leaf)
            continue
        key = user.args[1]
        if key in news:
            user.replace_all_uses_with(news[key])
        elif isinstance(made.meta["val"], tuple):
            user.replace_input_with(node, made)
            continue
        else:
            user.replace_all_uses_with(made)
        node.graph.erase_node(user)
    node.graph.erase_node(node)


def _whole(made: Node, news: dict[Any, Node]) -> Any:
    """What the functional call gave, where ``made`` writes to ``news``."""
    if "kernel_idx" in made.kwargs:
        return dict(news)
    value = made.meta["val"]
    if not isinstance(value, tuple):
        return (None if value is None else made, *news.values())
    with made.graph.inserting_after(made):
        results = [computed_node(made, operator.getitem, made, number) for number in range(len(value))]
    return (*results, *news.values())


def _op_call(node: Node, values: list[Node]) -> Node:
    op: Any = node.args[0]
    given = {name: value for name, value in node.kwargs.items() if name != "_all_bases"}

    def view(prefix: str) -> Node | None:
        number = given.pop(f"{prefix}_base_index")
        if number is None:
            return None
        base = values[number]  # type: ignore[call-overload]
        given.pop(f"{prefix}_alias", None)
        if f"{prefix}_storage_offset" in given:
            layout = [given.pop(f"{prefix}_{part}") for part in ("size", "stride", "storage_offset")]
            return _strided(node, base, *layout)
        if f"{prefix}_slice_dim" in given:
            bounds = [given.pop(f"{prefix}_slice_{part}") for part in ("dim", "start", "end")]
            return computed_node(node, _aten.slice.Tensor, base, *bounds)
        return base  # type: ignore[no-any-return]

    for argument in op._schema.arguments:
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        prefix = f"_{argument.name}"
        if f"{prefix}_length" in given:
            length: Any = given.pop(f"{prefix}_length")
            given[argument.name] = (
                None if length is None else [view(f"{prefix}_{number}") for number in range(length)]
            )
        else:
            given[argument.name] = view(prefix)
    results, count = node.meta["val"], len(op._schema.returns)
    val = tuple(results[:count]) if count > 1 else results[0] if count else None
    made = new_node(node.graph, op, like=node, **given)
    made.meta["val"] = val
    return made


def _strided(like: Node, base: Node, size: Any, stride: Any, offset: Any) -> Node:
    """The view of ``base`` that begins at ``offset`` of its storage, as one that counts from the first
    element of ``base``: no guard says that the next call's begins at the same element of its storage, unless
    the place is a symbol.
    """
    begin = base.meta["val"].storage_offset()
    if not isinstance(begin, int):
        return computed_node(like, _aten.as_strided.default, base, size, stride, offset)
    if isinstance(offset, Node):
        offset = computed_node(like, operator.sub, offset, begin) if begin else offset
    else:
        offset -= begin
    if offset != 0 and 0 not in size:  # where nothing is viewed, it does not matter where
        end = computed_node(like, operator.add, offset, 1) if isinstance(offset, Node) else offset + 1
        before = computed_node(like, _aten.as_strided.default, base, [end], [1])
        base = computed_node(like, _aten.slice.Tensor, before, 0, offset)
    return computed_node(like, _aten.as_strided.default, base, size, stride)


def _kernel_call(call: _Call, values: list[Node]) -> Node:
    node = call.node
    given = _uncopied(node)
    given["kwargs"] = {**given["kwargs"], **dict(zip(call.keys, values, strict=True))}  # type: ignore[dict-item]
    made = new_node(node.graph, torch.ops.higher_order.triton_kernel_wrapper_mutation, like=node, **given)
    made.meta |= {"val": None, WRITES: tuple(values)}
    return made


__all__ = ["write_calls_in_place"]
