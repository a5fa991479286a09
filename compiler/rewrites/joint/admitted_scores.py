"""Which part of the scores of attention a mask admits, where it is computed of constants."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg
from torch.utils._python_dispatch import _disable_current_modes

_aten = torch.ops.aten
#: The most elements of a mask that is looked at.
_MOST = 1 << 24
#: Rows and columns of a block that a program leaves out whole.
_BLOCK = 64


def admitted_part(inner: Iterable[Node], masks: Iterable[Node]) -> float:
    """The part of blocks of scores in which one is admitted; 1 where that is not known.

    inner: nodes of rows and columns that are computed of scores; masks: nodes computed of constants beside
    them.  A mask is a condition by which scores are selected, or a term that is -inf.
    """
    given, part = set(masks), 1.0
    for node in inner:
        found = _mask(node, given)
        if found is not None:
            value, admits = found
            part = min(part, _part(value, admits))
    return part


def _mask(node: Node, masks: set[Node]) -> tuple[Node, bool | None] | None:
    """What masks the scores that a node computes: a condition, and what it is where they are admitted; or a
    term, and None.
    """
    if node.target is _aten.where.self and node.args[0] in masks:
        condition, kept, _ = node.args
        assert isinstance(condition, Node)
        return condition, kept not in masks
    if node.target is _aten.add.Tensor:
        terms = [n for n in node.args if n in masks]
        return (terms[0], None) if terms else None
    return None


def _part(mask: Node, admits: bool | None) -> float:
    size = mask.meta["val"].shape
    if len(size) < 2 or size.numel() != size[-1] * size[-2] or size.numel() > _MOST:
        return 1.0
    with _disable_current_modes(), torch.no_grad():
        value = _value(mask, {}).reshape(size[-2:])
        if admits is None and value.dtype == torch.bool:
            return 1.0
        admitted = value != -float("inf") if admits is None else value == admits
        pad = [-n % _BLOCK for n in size[-2:]]
        whole = torch.nn.functional.pad(admitted, (0, pad[1], 0, pad[0]))
        blocks = whole.unflatten(1, (-1, _BLOCK)).unflatten(0, (-1, _BLOCK)).any(-1).any(1)
        return blocks.double().mean().item()


def _value(node: Node, known: dict[Node, Any]) -> Any:
    """What a node computed of constants is, on a CPU."""
    if node not in known:
        args, given = map_arg((node.args, node.kwargs), lambda n: _value(n, known))
        kwargs = {**given}
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        known[node] = node.target(*args, **kwargs)
    return known[node]


__all__ = ["admitted_part"]
