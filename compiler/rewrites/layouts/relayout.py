"""A graph in which some values get other strides than in eager mode, and what follows from that.

``spread`` walks the graph once and asks the meta function of each op which strides its result has for the new
strides of its operands.  Some ops need their operands in eager's strides: torch ops that are not in
``FLEXIBLE``, and views that the new strides do not allow.  Those get copies in eager's strides; so does each
result of the graph that another than the backward graph reads, unless only the gap behind its rows differs.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule, Node, map_arg
from torch.utils import _pytree as pytree

from ...fx.new_node import new_node
from ...fx.products import overloads
from ...fx.saved_strides import ALL_KEPT, KeptStrides
from ...fx.table import LOWERINGS, target_name
from ...fx.views import may_share_storage

_aten = torch.ops.aten

#: Library ops that take any strides, and whose results' strides their meta functions tell.
FLEXIBLE: frozenset[Any] = frozenset({
    *overloads(lambda op: op.any_strides),
    _aten.max_pool2d_with_indices.default, _aten.max_pool2d_with_indices_backward.default,
    operator.getitem,
})  # fmt: skip

#: Generated ops that name strides or storage in their arguments.
_STRIDED: frozenset[Any] = frozenset({_aten.as_strided.default, _aten.view.dtype})


class Relayout:
    """A functional graph with ``meta["val"]`` and what eager's values were where they have changed.

    gm: changed in place.  kept: which results must have eager's strides.
    """

    def __init__(self, gm: GraphModule, kept: KeptStrides = ALL_KEPT) -> None:
        self.gm, self.graph, self._kept = gm, gm.graph, kept
        self.eager: dict[Node, Any] = {}  #: changed node -> the value it had
        self._chosen: set[Node] = set()  #: nodes whose strides are no consequence of others'
        self._restored: dict[Node, Node] = {}
        self._made: dict[str, Any] = {}  #: what meta functions gave, by the text of the call
        self._changed = False
        self.padded: list[Node] = []  #: results whose rows are further apart than eager's

    # --- changes
    def set_strides(self, node: Node, strides: Sequence[Any]) -> None:
        """Gives one tensor other strides; ``spread`` then sees to its users."""
        self._chosen.add(node)
        self._move(node, strides)

    def keep_strides(self, copy: Node, strides: Sequence[Any]) -> None:
        """Makes a copy one that keeps the strides of its source: these, or what ``spread`` makes of them."""
        copy.kwargs = {}
        self._move(copy, strides)

    def _move(self, node: Node, strides: Sequence[Any]) -> None:
        value = node.meta["val"]
        self.eager.setdefault(node, value)
        self._changed = True
        node.meta["val"] = value.new_empty_strided(value.shape, strides)

    def emit(self, before: Node, target: Any, *args: Any, like: Node | None = None, **kwargs: Any) -> Node:
        """A call before a node, with the location of ``like`` (else of that node) and its value."""
        with self.graph.inserting_before(before):
            made = new_node(self.graph, target, *args, like=like or before, **kwargs)
        self._changed = True
        made.meta["val"] = self._value(made)
        return made

    def replace(self, node: Node, by: Node) -> None:
        """``by`` takes the place of ``node``, in whatever strides it has."""
        self.eager.setdefault(by, self.eager.get(node, node.meta["val"]))
        node.replace_all_uses_with(by)
        self.graph.erase_node(node)

    # --- what follows
    def spread(self, visit: Callable[[Node], None] = lambda node: None) -> None:
        """Brings every node's metadata up to date, in order.

        visit: called with each node before its operands are looked at; it may change them, and what it
        inserts in front is up to date already.
        """
        for node in list(self.graph.nodes):
            if node.op == "output":
                self._restore_results(node)
            elif node.op == "call_function":
                visit(node)
                self._update(node)
        if self._changed:
            self.graph.eliminate_dead_code()
            self.gm.recompile()

    def _update(self, node: Node) -> None:
        if not any(n in self.eager for n in node.all_input_nodes):
            return
        value = self._value(node) if takes_any_strides(node) else None
        before = node.meta["val"]
        if value is None or not _same_shapes(before, value):
            node.args, node.kwargs = map_arg((node.args, node.kwargs), self.restored)
        elif node not in self._chosen and _differ(before, value):
            self.eager.setdefault(node, before)
            node.meta["val"] = value

    def _value(self, node: Node) -> Any:
        """What a call makes of its operands' metadata.  A model repeats its layers, and a meta function takes
        0.1 to 0.6 ms: equal calls share what they make, where that is a tensor of its own.
        """
        call = _call_text(node)
        if call is None:
            return _value(node)
        if call not in self._made:
            self._made[call] = _value(node)
        return self._made[call]

    def _restore_results(self, output: Node) -> None:
        """Gives results their strides back that must have those: what the caller sees, and what is saved in
        symbolic strides, of which AOTAutograd cannot be told (``result_strides``).
        """
        kept = self._kept
        results, tree = pytree.tree_flatten(output.args[0], is_leaf=lambda leaf: leaf is None)
        end = len(results) if kept.seen is None else kept.seen
        for number, result in enumerate(results):
            if not isinstance(result, Node) or result not in self.eager:
                continue
            if number >= end and is_static(result.meta["val"]):
                continue
            if number in kept.padded and has_padded_rows(result.meta["val"], self.eager[result]):
                self.padded += [] if result in self.padded else [result]
            else:
                results[number] = self.restored(result)
        output.args = (pytree.tree_unflatten(results, tree),)

    def restored(self, node: Node) -> Node:
        """A node with the value that eager gives: itself, a view made again, or a copy beside it."""
        if node not in self.eager:
            return node
        if node not in self._restored:
            made = self._viewed_again(node)
            if made is None:
                with self.graph.inserting_after(node):
                    made = new_node(self.graph, _aten.clone.default, node, like=node)
            made.meta["val"] = self.eager[node]
            self._restored[node] = made
        return self._restored[node]

    def _viewed_again(self, node: Node) -> Node | None:
        """The same view of restored operands, where that gives what eager does."""
        source = node.args[0] if node.target is operator.getitem else node
        lowering = LOWERINGS.get(target_name(source.target)) if source.op == "call_function" else None  # type: ignore[union-attr]
        if lowering is None or not lowering.view:
            return None
        args, kwargs = map_arg((node.args, node.kwargs), self.restored)
        with self.graph.inserting_after(node):
            made = new_node(self.graph, node.target, *args, like=node, **kwargs)
        value = _value(made)
        if value is None or not _same_shapes(value, self.eager[node]) or _differ(value, self.eager[node]):
            self.graph.erase_node(made)
            return None
        return made


def takes_any_strides(node: Node) -> bool:
    """Whether the op takes operands in other strides, and its meta function knows what it makes of them."""
    if node.target in FLEXIBLE:
        return True
    if not isinstance(node.target, torch._ops.OpOverload) or node.target in _STRIDED:
        return False
    writes = node.target._schema.is_mutable and node.target is not _aten.copy_.default
    return target_name(node.target) in LOWERINGS and not writes


def generated(node: Node) -> bool:
    """Whether a kernel of ours makes the node's one tensor, in the strides that its metadata says."""
    return computed(node) and isinstance(node.meta.get("val"), Tensor)


def computed(node: Node) -> bool:
    """Whether kernels of ours make the node's tensor, or its several tensors.  Higher-order ops, such as
    launches of users' kernels, read and write in the strides that they were given.
    """
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    lowering = LOWERINGS.get(target_name(node.target))
    if lowering is None or lowering.view:
        return False
    values = _tensors([n.meta.get("val") for n in (node, *node.all_input_nodes)])
    if any(isinstance(v, Tensor) and v.is_complex() for v in values):
        return False
    return not node.target._schema.is_mutable


def has_padded_rows(value: Any, eager: Any) -> bool:
    """Whether a tensor lies in memory as a contiguous one, but for a gap behind each row.

    It can then be viewed in any shape that keeps the rows.
    """
    if not (is_static(value) and is_static(eager)) or value.dim() < 2 or not eager.is_contiguous():
        return False
    sizes, strides = value.shape, value.stride()
    step = strides[-2]
    if strides[-1] != 1 or step <= sizes[-1]:
        return False
    for size, stride in zip(reversed(sizes[:-1]), reversed(strides[:-1]), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def is_static(value: Any) -> bool:
    """Whether a tensor's sizes and strides are numbers."""
    return isinstance(value, Tensor) and all(type(n) is int for n in (*value.shape, *value.stride()))


def _value(node: Node) -> Any:
    """What a call makes of its operands' metadata; None where it refuses them."""
    args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
    try:
        return node.target(*args, **kwargs)  # type: ignore[operator]
    except (RuntimeError, ValueError):
        return None


def _call_text(node: Node) -> str | None:
    """A call and all that its meta function may ask of its operands, as text, which tells 1 from 1.0.  None
    where the result may share storage, or where the operands are not all plain tensors of known sizes.
    """
    if not isinstance(node.target, torch._ops.OpOverload) or node.target._schema.is_mutable:
        return None
    if may_share_storage(node):
        return None
    values = [n.meta["val"] for n in node.all_input_nodes]
    if not all(type(v) is FakeTensor and is_static(v) and not v.is_complex() for v in values):
        return None
    args, kwargs = map_arg((node.args, node.kwargs), lambda n: _Laid.of(n.meta["val"]))
    return f"{node.target} {args} {kwargs}"


class _Laid(NamedTuple):
    """What a meta function may ask of a plain tensor of known sizes."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @staticmethod
    def of(value: Tensor) -> "_Laid":
        return _Laid(tuple(value.shape), value.stride(), value.dtype, value.device)


def _tensors(value: Any) -> list[Any]:
    return pytree.tree_leaves(value, is_leaf=lambda leaf: leaf is None)


def _differ(left: Any, right: Any) -> bool:
    """Whether values of the same shapes lie differently in memory."""

    def moved(a: Any, b: Any) -> bool:
        known = zip(a.shape, a.stride(), b.stride(), strict=True)
        if _unequal(a.storage_offset(), b.storage_offset()):  # an element of what lies closer now
            return True
        return any(not (type(n) is int and n == 1) and _unequal(s, t) for n, s, t in known)

    pairs = zip(_tensors(left), _tensors(right), strict=True)
    return any(isinstance(a, Tensor) and isinstance(b, Tensor) and moved(a, b) for a, b in pairs)


def _alike(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and not any(map(_unequal, left, right))


def _unequal(left: Any, right: Any) -> bool:
    """Whether sizes differ, without a guard: symbolic ones are compared by what they are called."""
    if type(left) is int and type(right) is int:
        return left != right
    return str(left) != str(right)


def _same_shapes(left: Any, right: Any) -> bool:
    lefts, rights = _tensors(left), _tensors(right)
    return len(lefts) == len(rights) and all(
        isinstance(a, Tensor) == isinstance(b, Tensor)
        and (not isinstance(a, Tensor) or (a.dtype == b.dtype and _alike(a.shape, b.shape)))
        for a, b in zip(lefts, rights, strict=True)
    )


__all__ = [
    "FLEXIBLE",
    "Relayout",
    "generated",
    "has_padded_rows",
    "is_static",
    "takes_any_strides",
]
