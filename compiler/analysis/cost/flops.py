"""Floating-point operations of torch ops that multiply matrices: two for each multiplication and addition."""

import math
from collections.abc import Callable

from ...index import Expr
from ...ir.dialects import fuse
from ...ir.layout import TensorSpec
from ...mlir import ir

Sizes = tuple[int, ...]

#: Backward attention multiplies five times where forward does twice.
_BACKWARD_ATTENTION = 2.5


def flops_of(
    name: str, call: ir.Operation, callee: ir.Operation, number: Callable[[Expr], int]
) -> tuple[int, str]:
    """Operations of one call of a torch op, and the element type they are done in; 0 for what multiplies no
    matrices.  ``number`` gives the value of a size.
    """
    given = [call.operands[ir.IntegerAttr(a.params[0]).value] for a in _arguments(callee)]
    tensors = [v for v in given if isinstance(v.type, ir.RankedTensorType)]
    results = [v for v in call.results if isinstance(v.type, ir.RankedTensorType)]
    if not tensors or not results:
        return 0, "f32"

    def sizes(value: ir.Value) -> Sizes:
        return tuple(number(s) for s in TensorSpec.of(value.type).sizes)

    counted = _count(name.removeprefix("aten."), [sizes(v) for v in tensors], [sizes(v) for v in results])
    return counted, TensorSpec.of(tensors[-1].type).element


def _arguments(callee: ir.Operation) -> list[fuse.Arg]:
    """The arguments of a torch op that are operands of its calls, in its order."""
    return [a for a in ir.ArrayAttr(callee.attributes["fuse.args"]) if isinstance(a, fuse.Arg)]


def _count(op: str, operands: list[Sizes], results: list[Sizes]) -> int:
    if op.startswith(("mm.", "bmm.")):
        return 2 * math.prod(operands[0]) * operands[1][-1]
    if op.startswith(("addmm.", "baddbmm.", "addmm_.", "_addmm_activation.")):
        return 2 * math.prod(operands[1]) * operands[2][-1]
    if op.startswith("convolution."):  # each output element: the weights of its channel
        return 2 * math.prod(results[0]) * math.prod(operands[1][1:])
    if op.startswith("convolution_backward."):
        gradient, weight = operands[0], operands[2]
        once = 2 * math.prod(gradient) * math.prod(weight[1:])
        return once * sum(len(r) == len(weight) for r in results)
    if op.startswith("_scaled_dot_product"):
        if "_backward" in op:
            return int(_BACKWARD_ATTENTION * _attention(*operands[1:4]))
        return _attention(*operands[:3])
    return 0


def _attention(query: Sizes, key: Sizes, value: Sizes) -> int:
    """Both products of q [b, h, t, d], k [b, h, s, d], v [b, h, s, e], as if nothing were masked."""
    *batch, rows, width = query
    return 2 * math.prod(batch) * rows * key[-2] * (width + value[-1])
