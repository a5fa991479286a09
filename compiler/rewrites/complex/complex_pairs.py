"""Complex arithmetic becomes arithmetic on pairs of reals, which fuses like any other.

Before::

    y = view_as_real(mul(view_as_complex(x), w))               # x is [8, 2], w is complex64 [8]

After::

    a, b = select(x, -1, 0), select(x, -1, 1)
    c, d = select(view_as_real(w), -1, 0), select(view_as_real(w), -1, 1)
    y = cat([unsqueeze(a * c - b * d, -1), unsqueeze(a * d + b * c, -1)], -1)

A complex tensor that is in memory is read through ``view_as_real``.  One that torch reads, such as the
operand of an FFT or of a product of matrices, and one that is a result, is written by ``cat`` and handed on
by ``view_as_complex``, in the strides that it had.  A conjugate is a view whose imaginary part is negated.

It fires on the ops of ``complex_formulas.py``, ``complex_functions.py`` and ``complex_reductions.py``, on
views, also of the same bytes as another dtype, and on ops that only move or sum elements, of complex64 and
complex128.  Numbers of Python are taken as they are.

It does not fire on other ops (inverse trigonometric functions, a product of many elements); on operands on
several devices; on symbolic numbers; where the result has gaps between its elements; nor where a real result
would get other strides.  Torch runs those.

Why not an MLIR pass: every op of real tensors has its builder already, and what fuses is decided on them.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node, map_arg

from ...fx.new_node import tidied
from ..rewriting import rewrite
from .complex_formulas import (
    BINARY,
    Maker,
    NoFormula,
    Pair,
    Plane,
    added,
    conjugate,
    divided,
    interpolated,
    multiplied,
    polar,
)
from .complex_functions import TO_REAL, UNARY, power, to_number
from .complex_reductions import REDUCTIONS

_aten = torch.ops.aten
_PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_RESHAPES: frozenset[Any] = frozenset({_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default})
#: Views of which each part of a complex tensor has its own.
_VIEWS: frozenset[Any] = _RESHAPES | {
    _aten.permute.default, _aten.transpose.int, _aten.t.default, _aten.expand.default, _aten.slice.Tensor,
    _aten.select.int, _aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims, _aten.unsqueeze.default,
    _aten.diagonal.default, _aten.alias.default, _aten.detach.default, _aten.split.Tensor,
    _aten.split_with_sizes.default, _aten.unbind.int, operator.getitem,
}  # fmt: skip
#: Ops that do the same to each part, and which of their arguments are complex elements.
_BY_PART: dict[Any, tuple[int, ...]] = {
    _aten.clone.default: (0,), _aten.lift_fresh_copy.default: (0,), _aten.cat.default: (0,),
    _aten.index.Tensor: (0,), _aten._unsafe_index.Tensor: (0,), _aten.index_select.default: (0,),
    _aten.gather.default: (0,), _aten.flip.default: (0,), _aten.roll.default: (0,),
    _aten.repeat.default: (0,), _aten.tril.default: (0,), _aten.triu.default: (0,),
    _aten.where.self: (1, 2), _aten.where.ScalarOther: (1, 2), _aten.where.ScalarSelf: (1, 2),
    _aten.masked_fill.Scalar: (0, 2), _aten.select_scatter.default: (0, 1),
    _aten.slice_scatter.default: (0, 1), _aten.index_put.default: (0, 2), _aten.sum.default: (0,),
    _aten.sum.dim_IntList: (0,), _aten.mean.default: (0,), _aten.mean.dim: (0,), _aten.cumsum.default: (0,),
    _aten.masked_fill.Tensor: (0, 2), _aten.scatter.src: (0, 3), _aten.scatter.value: (0, 3),
    _aten.scatter_add.default: (0, 3), _aten.index_add.default: (0, 3), _aten.index_copy.default: (0, 3),
    _aten.embedding.default: (0,), _aten._unsafe_index_put.default: (0, 2),
    _aten.constant_pad_nd.default: (0, 2), _aten.nan_to_num.default: (0,),
}  # fmt: skip
#: Ops that make a tensor of one number: the same for a real tensor, and the number, where the op implies it.
_FILLED: dict[Any, tuple[Any, float | None]] = {
    _aten.zeros.default: (_aten.full.default, 0), _aten.zeros_like.default: (_aten.full_like.default, 0),
    _aten.ones.default: (_aten.full.default, 1), _aten.ones_like.default: (_aten.full_like.default, 1),
    _aten.full.default: (_aten.full.default, None), _aten.full_like.default: (_aten.full_like.default, None),
    _aten.scalar_tensor.default: (_aten.full.default, None),
}  # fmt: skip


@rewrite("complex-pairs", "complex arithmetic becomes arithmetic on pairs of reals")
def compute_pairs(gm: GraphModule) -> int:
    """Rewrites a functional graph with ``meta["val"]`` in place; how many ops became ops on real tensors.

    Fires on pointwise ops, on sums, and on what moves elements, of complex64 and complex128 tensors on one
    device.  Does not fire on ops without a formula, on symbolic numbers, nor where strides would change.
    """
    if not any(_is_complex(value) for node in gm.graph.nodes for value in _values(node)):
        return 0
    pairs, nodes = _Pairs(), list(gm.graph.nodes)
    for node in nodes:
        if node.op == "call_function" and node.target not in _VIEWS:
            pairs.visit(node)
        elif node.target is _aten.select.int:
            pairs.select(node)
    for node in reversed(nodes) if pairs.count else ():
        if node in pairs.replaced or node.target in _VIEWS:
            if node in pairs.replaced and node.users:
                made = pairs.joined(node)
                node.replace_all_uses_with(made)
                _refresh(made)
            if not node.users:
                gm.graph.erase_node(node)
    return tidied(gm, pairs.count)


class _Pairs:
    """The parts of the complex nodes of a graph, which are made where they are first read."""

    def __init__(self) -> None:
        self.count = 0
        #: Nodes that are computed by parts.
        self.replaced: set[Node] = set()
        self._pairs: dict[Node, Pair] = {}
        #: Nodes whose parts were made for the op that is being computed.
        self._read: list[Node] = []
        #: What was made of ``view_as_real``.
        self._interleaved: dict[Node, Pair] = {}
        #: Real views of one part of a complex tensor that is computed.
        self._planes: dict[Node, Plane] = {}

    def visit(self, node: Node) -> None:
        """Computes a node by parts if its op has a formula."""
        values = _values(node)
        if not isinstance(node.target, torch._ops.OpOverload) or len(values) != 1:
            return
        operands = [v for n in node.all_input_nodes for v in _values(n)]
        if not any(_is_complex(v) for v in (*values, *operands)):
            self._read_planes(node)
            self._resolve(node)
            return
        if any(v.device != values[0].device for v in operands):
            return
        if any(_is_complex(v) and v.dtype not in _PARTS for v in (*values, *operands)):
            return
        m = Maker(node)
        self._try(m, lambda: self._accept(m, node, self._computed(m, node)))

    def _try(self, m: Maker, compute: Callable[[], None]) -> None:
        """Leaves the graph as it was where ``compute`` refuses, or torch has no such view of a part."""
        self._read.clear()
        try:
            compute()
        except (NoFormula, RuntimeError):
            for node in self._read:
                del self._pairs[node]
            m.discard()

    def _accept(self, m: Maker, node: Node, made: Pair | Node | None) -> None:
        if made is None:
            raise NoFormula
        value = node.meta["val"]
        if isinstance(made, Pair):
            _order(value)
            self._pairs[node] = self._whole(m, made, value)
            self.replaced.add(node)
        else:
            new = made.meta["val"]
            if (new.dtype, tuple(new.shape), new.stride()) != (
                value.dtype,
                tuple(value.shape),
                value.stride(),
            ):
                raise NoFormula
            node.replace_all_uses_with(made)
            node.graph.erase_node(node)
        self.count += 1

    def select(self, node: Node) -> None:
        """Notes that a view is one part of a computed complex tensor."""
        source, dim, index = node.args
        if source in self._interleaved and index in (0, 1):
            rank = source.meta["val"].dim()  # type: ignore[union-attr]
            if dim % rank == rank - 1:  # type: ignore[operator]
                self._planes[node] = self._interleaved[source][index]  # type: ignore[index]

    def _read_planes(self, node: Node) -> None:
        """Lets a real op read computed parts, if its result keeps its strides."""
        read = {n: self._planes[n] for n in node.all_input_nodes if n in self._planes}
        if not read or node.target._schema.is_mutable:  # type: ignore[union-attr]
            return
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: read.get(n, n).meta["val"])  # type: ignore
        new, old = node.target(*args, **kwargs), node.meta["val"]  # type: ignore[operator]
        if isinstance(new, Tensor) and new.stride() == old.stride() and not new._is_view():
            node.args, node.kwargs = map_arg((node.args, node.kwargs), lambda n: read.get(n, n))

    def _resolve(self, node: Node) -> None:
        """Lets a copy of a real view that is negated when it is read, as ``z.conj().imag`` is, negate."""
        source = node.args[0] if node.target is _aten.clone.default else None
        if isinstance(source, Node) and source.meta["val"].is_neg():
            m = Maker(node)
            self._try(m, lambda: self._accept(m, node, m(_aten.neg.default, _plain(m, source))))

    def _is_computed(self, node: Node) -> bool:
        """Whether a complex node is a view of one that is computed by parts."""
        while node.target in _VIEWS or node.target is _aten._conj.default:
            node = node.all_input_nodes[0]
        return node in self.replaced

    def _computed(self, m: Maker, node: Node) -> Pair | Node | None:
        target: Any = node.target
        name, value = target._schema.name.removeprefix("aten::"), node.meta["val"]
        if target in _BY_PART:
            return self._by_part(m, node)
        if name in BINARY and target._overloadname in ("Tensor", "Scalar"):
            x, y = (self._operand(m, a, value.dtype) for a in node.args[:2])
            if name in ("add", "sub"):  # eager multiplies by 1, too: an infinite part makes the other one NaN
                alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
                y = multiplied(m, self._operand(m, alpha, value.dtype), y)
            return BINARY[name](m, x, y)
        if target is _aten.rsub.Scalar and not node.kwargs and len(node.args) == 2:
            x, y = (self._operand(m, a, value.dtype) for a in node.args)
            return BINARY["sub"](m, y, multiplied(m, Pair(1.0, 0.0), x))
        if name in UNARY and target._overloadname == "default":
            return UNARY[name](m, self.pair(m, node.args[0]))
        if name in TO_REAL and target._overloadname == "default":
            return TO_REAL[name](m, self.pair(m, node.args[0]))
        if target is _aten.polar.default:
            return polar(m, *self._reals(m, node))
        if target is _aten.complex.default:
            return Pair(*self._reals(m, node))
        if name in ("eq", "ne") and target._overloadname in ("Tensor", "Scalar"):
            return self._compared(m, node, name)
        if target is _aten._to_copy.default:
            re, im = self._operand(m, node.args[0], node.args[0].meta["val"].dtype)  # type: ignore[union-attr]
            return (
                self._cast(m, Pair(re, im), value.dtype)
                if _is_complex(value)
                else m(_aten._to_copy.default, re, dtype=value.dtype)
            )
        if target is _aten.view_as_real.default:
            return self._as_real(m, node.args[0])  # type: ignore[arg-type]
        if name == "pow":
            x, y = (self._operand(m, a, value.dtype) for a in node.args)
            exponent = node.args[1]
            return power(m, x, y) if isinstance(exponent, Node) else to_number(m, x, complex(*y))
        if name in ("addcmul", "addcdiv", "lerp"):
            return self._combined(m, node, name)
        if target in REDUCTIONS:
            return REDUCTIONS[target](m, self.pair(m, node.args[0]), node)
        if target is _aten.view.dtype:
            return self._bytes(m, node)
        if target in _FILLED:
            return self._filled(m, node)
        return None

    def _combined(self, m: Maker, node: Node, name: str) -> Pair:
        """Ops of three operands, and a factor."""
        x, y, z = (self._operand(m, a, node.meta["val"].dtype) for a in node.args[:3])
        if name == "lerp":
            return interpolated(m, x, y, z)
        factor = self._operand(m, node.kwargs.get("value", 1), node.meta["val"].dtype)
        scaled = multiplied(m, factor, y)
        return added(m, x, multiplied(m, scaled, z) if name == "addcmul" else divided(m, scaled, z))

    def _bytes(self, m: Maker, node: Node) -> Pair | Node:
        """The same bytes as another dtype: of reals where they lie side by side."""
        source, value = node.args[0], node.meta["val"]
        assert isinstance(source, Node)
        dtype = _PARTS.get(value.dtype, value.dtype)
        real = source
        if _is_complex(source.meta["val"]):
            if source.meta["val"].is_conj() or value.dim() == 0:
                raise NoFormula
            pair = self._whole(m, self.pair(m, source), source.meta["val"])
            real = m(_aten.reshape.default, _interleaved(m, pair), [*source.meta["val"].shape[:-1], -1])
        made = m(_aten.view.dtype, real, dtype)
        if not _is_complex(value):
            return made
        return _selected(m, m(_aten.reshape.default, made, [*value.shape, 2]))

    def _as_real(self, m: Maker, z: Node) -> Node | None:
        if z.target is _aten.view_as_complex.default:
            return z.args[0]  # type: ignore[return-value]
        if not self._is_computed(z):
            return None
        pair = self._whole(m, self.pair(m, z), z.meta["val"])
        made = _interleaved(m, pair)
        self._interleaved[made] = pair
        return made

    def pair(self, m: Maker, node: Any) -> Pair:
        """The parts of a complex node, or of a list of them that ``getitem`` reads."""
        if not isinstance(node, Node) or not _values(node) or not all(map(_is_complex, _values(node))):
            raise NoFormula
        if node not in self._pairs:
            self._pairs[node] = self._view(m, node)
            self._read.append(node)
        return self._pairs[node]

    def _view(self, m: Maker, node: Node) -> Pair:
        target = node.target
        if target is _aten._conj.default:
            return conjugate(m, self.pair(m, node.args[0]))
        if target is _aten.view_as_complex.default:
            return _selected(m, node.args[0])  # type: ignore[arg-type]
        if target in _VIEWS and (target is not operator.getitem or node.args[0].target in _VIEWS):  # type: ignore
            target = _aten.reshape.default if target in _RESHAPES else target
            return Pair(
                *(m(target, part, *node.args[1:], **node.kwargs) for part in self.pair(m, node.args[0]))
            )
        value = node.meta["val"]
        if not isinstance(value, Tensor) or value.is_neg() or value.layout is not torch.strided:
            raise NoFormula
        plain = m(_aten._conj.default, node) if value.is_conj() else node
        pair = _selected(m, m(_aten.view_as_real.default, plain))
        return conjugate(m, pair) if value.is_conj() else pair

    def _operand(self, m: Maker, operand: Any, dtype: torch.dtype) -> Pair:
        """A node or a number as a pair of the parts of ``dtype``."""
        if isinstance(operand, bool | int | float | complex):
            return Pair(complex(operand).real, complex(operand).imag)
        if not isinstance(operand, Node) or not isinstance(operand.meta["val"], Tensor):
            raise NoFormula
        if _is_complex(operand.meta["val"]):
            return self._cast(m, self.pair(m, operand), dtype)
        return self._cast(m, Pair(self._real(m, operand), 0.0), dtype)

    def _real(self, m: Maker, node: Any) -> Node:
        """A real tensor that a formula reads."""
        if not isinstance(node, Node) or not isinstance(node.meta["val"], Tensor):
            raise NoFormula
        plane = self._planes.get(node, node)
        assert isinstance(plane, Node)
        if plane.meta["val"].is_neg():
            return m(_aten.neg.default, m(_aten._neg_view.default, plane))
        return plane

    def _reals(self, m: Maker, node: Node) -> list[Node]:
        return [self._real(m, a) for a in node.args]

    def _cast(self, m: Maker, pair: Pair, dtype: torch.dtype) -> Pair:
        part = _PARTS.get(dtype, dtype)
        return Pair(
            *(
                p if not isinstance(p, Node) or p.meta["val"].dtype == part
                else m(_aten._to_copy.default, p, dtype=part)
                for p in pair
            )
        )  # fmt: skip

    def _compared(self, m: Maker, node: Node, name: str) -> Node:
        dtype = torch.result_type(*(a.meta["val"] if isinstance(a, Node) else a for a in node.args[:2]))
        x, y = (self._operand(m, a, dtype) for a in node.args[:2])
        packet = getattr(_aten, name)
        if not isinstance(x.re, Node):
            x, y = y, x
        parts = []
        for a, b in zip(x, y, strict=True):
            if not isinstance(a, Node):
                a, b = b, a
            if not isinstance(a, Node):
                raise NoFormula
            parts.append(m(packet.Tensor if isinstance(b, Node) else packet.Scalar, a, b))
        return m(_aten.logical_and.default if name == "eq" else _aten.logical_or.default, *parts)

    def _by_part(self, m: Maker, node: Node) -> Pair | Node:
        """Does what an op does to complex elements to each of their parts."""
        value = node.meta["val"]
        if not _is_complex(value):
            raise NoFormula
        kwargs = dict(node.kwargs)
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = _PARTS[kwargs["dtype"]]  # type: ignore[index]
        positions = [p for p in _BY_PART[node.target] if p < len(node.args)]
        if any(isinstance(n, complex) for n in kwargs.values()):
            raise NoFormula
        both_args: list[list[Any]] = [list(node.args), list(node.args)]
        for position in positions:
            given: Any = node.args[position]
            for part in range(2):
                if isinstance(given, list | tuple):
                    each: Any = [self._tensor(m, n, value.dtype)[part] for n in given]
                elif isinstance(given, Node):
                    each = self._tensor(m, given, value.dtype)[part]
                else:
                    each = self._operand(m, given, value.dtype)[part]
                both_args[part][position] = each
        return Pair(*(m(node.target, *args, **kwargs) for args in both_args))

    def _tensor(self, m: Maker, node: Node, dtype: torch.dtype) -> tuple[Node, Node]:
        re, im = self._operand(m, node, dtype)
        assert isinstance(re, Node)
        return re, im if isinstance(im, Node) else m(_aten.full_like.default, re, im)

    def _filled(self, m: Maker, node: Node) -> Pair:
        """A tensor of one number."""
        args, (target, number) = list(node.args), _FILLED[node.target]
        if number is None:
            number = args.pop()  # type: ignore[assignment]
        if not isinstance(number, bool | int | float | complex):
            raise NoFormula
        shape = args[0] if args else []
        if isinstance(shape, Node):
            shape = self._operand(m, shape, shape.meta["val"].dtype).re
        kwargs: dict[str, Any] = {**node.kwargs, "dtype": _PARTS[node.meta["val"].dtype]}
        whole = complex(number)
        return Pair(*(m(target, shape, part, **kwargs) for part in (whole.real, whole.imag)))

    def _whole(self, m: Maker, pair: Pair, value: Tensor) -> Pair:
        """Parts that are tensors with all elements."""
        tensors = [p for p in pair if isinstance(p, Node)]
        if not tensors:
            raise NoFormula
        parts = []
        for part in pair:
            whole = part if isinstance(part, Node) else m(_aten.full_like.default, tensors[0], part)
            if tuple(whole.meta["val"].shape) != tuple(value.shape):
                if not all(type(n) is int for n in value.shape):
                    raise NoFormula
                whole = m(_aten.expand.default, whole, list(value.shape))
            parts.append(whole)
        return Pair(*parts)

    def joined(self, node: Node) -> Node:
        """A computed complex node in memory, with the strides of its value."""
        m, value = Maker(node), node.meta["val"]
        order = _order(value)
        pair = self._pairs[node]
        if order == list(range(len(order))):
            return m(_aten.view_as_complex.default, _interleaved(m, pair))
        turned = Pair(*(m(_aten.permute.default, part, order) for part in pair))
        made = m(_aten.view_as_complex.default, _interleaved(m, turned))
        return m(_aten.permute.default, made, [order.index(d) for d in range(len(order))])


def _plain(m: Maker, node: Node) -> Node:
    """The same view without ``_neg_view``."""
    if node.target is _aten._neg_view.default:
        return node.args[0]  # type: ignore[return-value]
    if node.target not in _VIEWS or node.target is operator.getitem:
        raise NoFormula
    return m(node.target, _plain(m, node.args[0]), *node.args[1:], **node.kwargs)  # type: ignore[arg-type]


def _refresh(source: Node) -> None:
    """Computes the values of the views of a node again: they share its storage now."""
    for user in source.users:
        if user.target in _VIEWS or user.target in (_aten._conj.default, _aten.view_as_real.default):
            args, kwargs = map_arg((user.args, user.kwargs), lambda node: node.meta["val"])
            user.meta["val"] = user.target(*args, **kwargs)  # type: ignore[operator]
            _refresh(user)


def _selected(m: Maker, real: Node) -> Pair:
    """The parts of what ``view_as_real`` gives."""
    if real.meta["val"].is_neg():
        raise NoFormula
    return Pair(m(_aten.select.int, real, -1, 0), m(_aten.select.int, real, -1, 1))


def _interleaved(m: Maker, pair: Pair) -> Node:
    """Both parts of each element side by side, as complex tensors lie in memory."""
    return m(_aten.cat.default, [m(_aten.unsqueeze.default, part, -1) for part in pair], -1)


def _order(value: Tensor) -> list[int]:
    """The dims of a tensor without gaps, from the slowest to the fastest; raises ``NoFormula``."""
    order = list(range(value.dim()))
    if _is_dense(value, order):
        return order
    if any(type(n) is not int for n in (*value.shape, *value.stride())):
        raise NoFormula
    order.sort(key=lambda d: (-value.stride(d), value.shape[d] == 1))
    if not _is_dense(value, order):
        raise NoFormula
    return order


def _is_dense(value: Tensor, order: Sequence[int]) -> bool:
    expected: Any = 1
    for d in reversed(order):
        if value.shape[d] != 1 and value.stride(d) != expected:
            return False
        expected = expected * value.shape[d]
    return True


def _values(node: Node) -> list[Tensor]:
    value = node.meta.get("val")
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    return [v for v in values if isinstance(v, Tensor)]


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_complex
