"""Ops that compute each row of a result from the same row of their operands, and how they compute some rows.

Rows are the leading dims of a tensor, flattened: those of [B, S, V] are B * S.  Some rows of it are [t, V],
whatever its leading dims were.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.fx.node import map_arg

from ...base.dataclass import dataclass
from ...fx.new_node import new_node
from ...fx.views import RESHAPES
from ..graph.one_hot import ZEROS

_aten = torch.ops.aten
PRODUCTS = frozenset({_aten.mm.default, _aten.addmm.default})
#: Copies of a tensor, which change at most its dtype or strides.
_COPIES = frozenset({
    _aten._to_copy.default, _aten.clone.default, _aten.detach.default, _aten.alias.default,
    torch.ops.prims.convert_element_type.default,
})  # fmt: skip
#: Ops that change where dims of size 1 are, or how a row is cut into dims.
_RESHAPES = RESHAPES | {
    _aten.unsqueeze.default, _aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims,
}  # fmt: skip
_REDUCTIONS = frozenset({
    _aten.sum.dim_IntList, _aten.mean.dim, _aten.amax.default, _aten.amin.default, _aten.logsumexp.default,
    _aten.any.dim, _aten.any.dims, _aten.all.dim, _aten.all.dims, _aten.var.correction, _aten.prod.dim_int,
    _aten.argmax.default, _aten.argmin.default, _aten.linalg_vector_norm.default,
})  # fmt: skip
#: Ops along one dim; the tensors that they take have the same rows.
_ALONG = frozenset({
    _aten.gather.default, _aten.scatter.value, _aten.scatter.src, _aten.scatter_add.default,
    _aten.slice.Tensor, _aten.select.int,
})  # fmt: skip
#: Creation from sizes, the first argument; and from those of a tensor.
_CREATIONS = frozenset({_aten.full.default, _aten.zeros.default, _aten.ones.default})
_CREATIONS_LIKE = frozenset({_aten.full_like.default, _aten.zeros_like.default, _aten.ones_like.default})
_NEW_CREATIONS = frozenset({_aten.new_full.default, _aten.new_zeros.default, _aten.new_ones.default})
#: The place of the dims among the arguments of a reduction.
_DIMS_AT = {_aten.linalg_vector_norm.default: 2}
_TRANSPOSES = frozenset({_aten.t.default, _aten.permute.default, _aten.transpose.int})


def shape_of(node: object) -> tuple[int, ...] | None:
    """The sizes of a tensor where all are known while compiling."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    if not isinstance(value, Tensor) or any(type(n) is not int for n in value.shape):
        return None
    return tuple(value.shape)


@dataclass(frozen=True)
class Rows:
    """Tensors of ``count`` rows."""

    count: int

    def leading(self, node: object) -> int | None:
        """How many dims of a tensor are rows; None where it has others."""
        shape = shape_of(node) or ()
        for dims in range(1, len(shape) + 1):
            if prod(shape[:dims]) == self.count:
                return dims
        return None

    def row(self, node: Node) -> tuple[int, ...]:
        """The sizes of one row."""
        shape, leading = shape_of(node), self.leading(node)
        assert shape is not None and leading is not None
        return shape[leading:]

    def is_of(self, operand: Node, result: Node) -> bool | None:
        """Whether an operand has the rows of a result; False: every row reads the same of it; None: neither,
        as it has some of the dims.
        """
        shape, whole, leading = shape_of(operand), shape_of(result), self.leading(result)
        if shape is None or whole is None or leading is None:
            return None
        if len(shape) == len(whole) and shape[:leading] == whole[:leading]:
            return True
        return False if prod(shape[: max(0, len(shape) - len(whole) + leading)]) == 1 else None

    def computes_rows(self, node: Node) -> bool:
        """Whether a node computes rows of its result from the same rows of its operands."""
        target = node.target
        leading = self.leading(node)
        if node.op != "call_function" or leading is None:
            return False
        if target in PRODUCTS:
            *bias, left, right = node.args
            whole = shape_of(right)
            rows = self.leading(left) == 1 and shape_of(left) is not None and whole is not None
            return rows and all(isinstance(b, Node) and self.is_of(b, node) is not None for b in bias)
        operands = node.all_input_nodes
        if any(shape_of(n) is None for n in operands):
            return False
        if target in _CREATIONS:
            return True
        source = node.args[0] if node.args else None
        if is_pointwise(target) or target is _aten.expand.default:
            return all(self.is_of(n, node) is not None for n in operands)
        if not isinstance(source, Node) or self.leading(source) is None:
            return False
        if target in _CREATIONS_LIKE or target in _NEW_CREATIONS:
            return shape_of(source) == shape_of(node)
        if target in _RESHAPES:
            return prod(self.row(source)) == prod(self.row(node))
        if target in _REDUCTIONS:
            dims = reduced(node)
            return dims is not None and min(dims) >= self.leading_of(source)
        if target in _ALONG:
            dim = _along(node)
            same = all(self.is_of(n, source) is not None and self._same(n, source) for n in operands)
            return same and dim >= self.leading_of(source)
        return False

    def read_whole(self, node: Node) -> list[Node]:
        """Operands of which every row reads all."""
        if node.target in PRODUCTS:
            *bias, _, right = node.args
            return [right, *(b for b in bias if not self.is_of(b, node))]  # type: ignore
        if node.target is _aten.expand.default or is_pointwise(node.target):
            return [n for n in node.all_input_nodes if not self.is_of(n, node)]
        return []

    def _same(self, node: Node, other: Node) -> bool:
        leading, shapes = self.leading_of(other), (shape_of(node) or (), shape_of(other) or ())
        return shapes[0][:leading] == shapes[1][:leading]

    def leading_of(self, node: Any) -> int:
        """``leading`` of a tensor that has these rows."""
        leading = self.leading(node)
        assert leading is not None
        return leading

    def compute(self, node: Node, size: int, of: Callable[[Node, bool], Node]) -> Node:
        """``size`` rows of a node for which ``computes_rows``.  ``of``: those of an operand, or with False it
        all.
        """
        target = node.target
        if target in PRODUCTS:
            *bias, left, right = node.args
            wide = [of(b, bool(self.is_of(b, node))) for b in bias]  # type: ignore[arg-type]
            return called(node, target, *wide, of(left, True), of(right, False), **node.kwargs)  # type: ignore[arg-type]
        if target in _CREATIONS:
            return called(node, target, [size, *self.row(node)], *node.args[1:], **node.kwargs)
        source = node.args[0]
        if is_pointwise(target):
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: self._operand(n, node, of))
            return called(node, target, *args, **kwargs)
        assert isinstance(source, Node)
        if target is _aten.expand.default:
            return called(node, target, self._operand(source, node, of), [size, *self.row(node)])
        if target in _CREATIONS_LIKE:
            return called(node, target, of(source, True), *node.args[1:], **node.kwargs)
        if target in _NEW_CREATIONS:
            sizes = [size, *self.row(node)]
            return called(node, target, of(source, True), sizes, *node.args[2:], **node.kwargs)
        if target in _RESHAPES:
            return reshaped(of(source, True), [size, *self.row(node)], node)
        fewer = self.leading_of(source) - 1
        if target in _REDUCTIONS:
            dims, at = reduced(node), _DIMS_AT.get(target, 1)
            assert dims is not None
            one = isinstance(node.args[at], int)
            moved = dims[0] - fewer if one else [d - fewer for d in dims]
            return called(
                node, target, of(source, True), *node.args[1:at], moved, *node.args[at + 1 :], **node.kwargs
            )
        args = map_arg(node.args[2:], lambda n: of(n, True))
        if self._adds_one(node):
            return _one_place(node, *args)
        return called(node, target, of(source, True), _along(node) - fewer, *args, **node.kwargs)

    def _adds_one(self, node: Node) -> bool:
        """Whether a node adds one number to each row of zeros: the gradient of a read at one place."""
        if node.target is not _aten.scatter_add.default or len(self.row(node)) != 1:
            return False
        zeros, _, index, _ = node.args
        assert isinstance(zeros, Node) and isinstance(index, Node)
        return _is_zero(zeros) and self.row(index) == (1,)

    def _operand(self, operand: Node, result: Node, of: Callable[[Node, bool], Node]) -> Node:
        """What some rows of a pointwise result read of an operand."""
        if self.is_of(operand, result):
            return of(operand, True)
        whole, shape = of(operand, False), shape_of(operand)
        row = len(self.row(result))
        assert shape is not None
        return whole if len(shape) <= row + 1 else reshaped(whole, list(shape[len(shape) - row :]), result)


def reduced(node: Node) -> list[int] | None:
    """The dims of a reduction along some, counted from 0; None where it names none."""
    at, source = _DIMS_AT.get(node.target, 1), shape_of(node.args[0])
    dims = node.args[at] if len(node.args) > at else node.kwargs.get("dim")
    if source is None or dims is None or dims == [] or len(node.args) <= at:
        return None
    return [d % len(source) for d in (dims if isinstance(dims, list | tuple) else [dims])]  # type: ignore


def is_transpose(node: Node) -> bool:
    """Whether a node exchanges the two dims of a matrix."""
    shape = shape_of(node)
    if node.target not in _TRANSPOSES or shape is None or len(shape) != 2:
        return False
    dims = [d % 2 for d in node.args[1]] if node.target is _aten.permute.default else [1, 0]  # type: ignore
    if node.target is _aten.transpose.int:
        dims = [1, 0] if (node.args[1] - node.args[2]) % 2 else [0, 1]  # type: ignore[operator]
    return dims == [1, 0]


def reshaped(node: Node, sizes: list[int], like: Node) -> Node:
    """A node with other sizes, as a view where its strides allow one."""
    value = node.meta["val"]
    if list(value.shape) == sizes:
        return node
    try:
        return new_node(like.graph, _aten.view.default, node, sizes, like=like, val=value.view(sizes))
    except RuntimeError:  # by its strides it is none
        whole = called(like, _aten.clone.default, node, memory_format=torch.contiguous_format)
        return new_node(
            like.graph, _aten.view.default, whole, sizes, like=like, val=whole.meta["val"].view(sizes)
        )


def called(like: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    """A new node with the origin of ``like``, whose value is computed from those of its arguments."""
    values = map_arg((args, kwargs), lambda n: n.meta["val"])
    with like.meta["val"].fake_mode:  # of creation, no argument says it
        value = target(*values[0], **values[1])
    return new_node(like.graph, target, *args, like=like, val=value, **kwargs)


def _one_place(like: Node, index: Node, number: Node) -> Node:
    """``number`` [t, 1] at ``index`` [t, 1] of each row, zeros elsewhere: pointwise, so that it needs no
    memory.
    """
    value = like.meta["val"]
    places = called(like, _aten.arange.default, value.shape[-1], device=value.device)
    zero = called(like, _aten.full.default, [], 0, dtype=value.dtype, device=value.device)
    return called(like, _aten.where.self, called(like, _aten.eq.Tensor, index, places), number, zero)


def is_reshape(target: Any) -> bool:
    """Whether an op changes how the elements of a tensor are cut into dims, and nothing else."""
    return target in _RESHAPES


def places_of(rows: Rows, node: Node) -> tuple[Node, Any] | None:
    """(index, number) of what is ``number`` at one place of each row and 0 elsewhere: [.., 1], and the same
    or a number.  None for any other node.
    """
    scatters = (_aten.scatter.value, _aten.scatter.src, _aten.scatter_add.default)
    if node.target not in scatters or not rows.computes_rows(node):
        return None
    zeros, _, index, number = node.args
    assert isinstance(zeros, Node) and isinstance(index, Node)
    if len(rows.row(node)) != 1 or rows.row(index) != (1,) or not _is_zero(zeros):
        return None
    return (index, number) if not isinstance(number, Node) or rows.row(number) == (1,) else None


def _is_zero(node: Node) -> bool:
    filled = node.target in _CREATIONS | _NEW_CREATIONS and node.args[-1] == 0
    return filled or node.target in ZEROS


def _along(node: Node) -> int:
    shape = shape_of(node.args[0])
    dim = node.args[1] if len(node.args) > 1 else 0
    assert shape is not None and isinstance(dim, int)
    return dim % len(shape)


def is_pointwise(target: Any) -> bool:
    """Whether an op computes each element from the same one of its operands."""
    if target in _COPIES:
        return True
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable:
        return False
    return torch.Tag.pointwise in target.tags and torch.Tag.nondeterministic_seeded not in target.tags


__all__ = [
    "PRODUCTS",
    "Rows",
    "called",
    "is_pointwise",
    "is_reshape",
    "is_transpose",
    "places_of",
    "reduced",
    "reshaped",
    "shape_of",
]
