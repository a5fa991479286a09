"""What torch knows of the range of an index.  An index may be computed from numbers that are not sizes: one
that was read from a tensor may be negative.
"""

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ...importer.call import Call


def given(call: Call, name: str) -> Any:
    """An argument as torch represents it: an int or a SymInt where ``call[name]`` is an expression."""
    names = [a.name for a in call.node.target._schema.arguments]
    position = names.index(name)
    value = call.node.args[position] if position < len(call.node.args) else call.node.kwargs.get(name)
    return value.meta.get("val") if isinstance(value, fx.Node) else value


def is_at_least(size: Any, least: int) -> bool:
    """Whether ``size``, an int or a SymInt, is known to be at least ``least``.  Always False for a number
    that depends on the data: torch narrows its range by assertions that the graph may not contain.
    """
    if isinstance(size, int):
        return size >= least
    if not isinstance(size, torch.SymInt) or free_unbacked_symbols(size):
        return False
    return bool(size.node.shape_env.bound_sympy(size.node.expr).lower >= least)
