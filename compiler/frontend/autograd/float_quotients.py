"""Whole quotients and remainders of Python floats that vary: torch's symbols compute others than Python.

Dynamo takes a float that differs between calls as an argument, and AOTAutograd traces with a symbol for it.
``s // 0.1`` becomes the floor of a rounded quotient, as an integer: 10 for 1.0, where Python gives 9.0, and
-2**63 for infinity, where Python gives NaN.  ``s % 0.1`` raises an ``AttributeError`` inside torch.  The
captured graph still has Python's operators, so torch runs that graph with the floats themselves.
"""

import operator

import torch
from torch.fx import GraphModule

from ...base.errors import FloatQuotient


def require_no_float_quotients(gm: GraphModule) -> None:
    """Raises ``FloatQuotient`` for the first ``//`` or ``%`` of a captured graph, or of one inside it, whose
    result is a symbol for a float.
    """
    for module in gm.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            is_float = isinstance(node.meta.get("example_value"), torch.SymFloat)
            if is_float and node.target in (operator.floordiv, operator.mod):
                raise FloatQuotient(name=node.name)


__all__ = ["require_no_float_quotients"]
