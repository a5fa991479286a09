"""Reductions of complex tensors as ops on pairs of reals, but for those that sum each part
(``complex_pairs.py``).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from .complex_formulas import Maker, NoFormula, Pair, both, magnitude, multiplied, tensors

_aten = torch.ops.aten
#: How many factors a product may have: each is read by one kernel, which multiplies them one by one.
_FACTORS = 32


def _product(m: Maker, x: Pair, node: Node) -> Pair:
    """The product of all elements, or along a dim, of few of them."""
    re, im = tensors(m, x)
    along = node.target is _aten.prod.dim_int
    if along:
        dim, keepdim = node.args[1], (*node.args[2:], False)[0]
    else:
        re, im = (m(_aten.reshape.default, part, [-1]) for part in (re, im))
        dim, keepdim = 0, False
    count = re.meta["val"].shape[dim] if re.meta["val"].dim() else 1  # type: ignore[index]
    if type(count) is not int or not 0 < count <= _FACTORS or node.kwargs.get("dtype") is not None:
        raise NoFormula
    if not re.meta["val"].dim():
        return Pair(re, im)
    total: Pair | None = None
    for i in range(count):
        factor = Pair(*(m(_aten.select.int, part, dim, i) for part in (re, im)))
        total = factor if total is None else multiplied(m, total, factor)
    assert total is not None
    return Pair(*(m(_aten.unsqueeze.default, part, dim) for part in total)) if keepdim else total


def _norm(m: Maker, x: Pair, node: Node) -> Node:
    return m(_aten.linalg_vector_norm.default, magnitude(m, x), *node.args[1:], **node.kwargs)


def _variance(m: Maker, x: Pair, node: Node) -> Node:
    """The parts vary independently."""
    of_re, of_im = (m(_aten.var.correction, part, *node.args[1:], **node.kwargs) for part in tensors(m, x))
    return m(_aten.add.Tensor, of_re, of_im)


def _deviation(m: Maker, x: Pair, node: Node) -> Node:
    return m(_aten.sqrt.default, _variance(m, x, node))


def _truth(m: Maker, x: Pair, node: Node) -> Node:
    """Of elements of which a part is not 0."""
    true = both(m, _aten.ne.Scalar, _aten.logical_or.default, Pair(*tensors(m, x)), 0)
    return m(node.target, true, *node.args[1:], **node.kwargs)


REDUCTIONS: dict[Any, Callable[[Maker, Pair, Node], Pair | Node]] = {
    _aten.prod.default: _product,
    _aten.prod.dim_int: _product,
    _aten.linalg_vector_norm.default: _norm,
    _aten.var.correction: _variance,
    _aten.std.correction: _deviation,
    **dict.fromkeys((_aten.any.default, _aten.any.dim, _aten.any.dims), _truth),
    **dict.fromkeys((_aten.all.default, _aten.all.dim, _aten.all.dims), _truth),
}
