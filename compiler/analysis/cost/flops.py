"""Floating-point operations of a call of a torch op that multiplies matrices (``base/products.py``)."""

from collections.abc import Callable

from ...base.products import Shape, product_op
from ...index import Expr
from ...ir.dialects import fuse
from ...ir.kernel import extern_arguments
from ...ir.layout import TensorSpec
from ...ir.storage import operand_number
from ...mlir import ir


def flops_of(
    name: str, call: ir.Operation, callee: ir.Operation, number: Callable[[Expr], int]
) -> tuple[int, str]:
    """Operations of one call of a torch op, and the element type they are done in; 0 for what multiplies no
    matrices.  ``number`` gives the value of a size.
    """
    given = [call.operands[operand_number(a)] for a in _arguments(callee)]
    tensors = [v for v in given if isinstance(v.type, ir.RankedTensorType)]
    results = [v for v in call.results if isinstance(v.type, ir.RankedTensorType)]
    if not tensors or not results:
        return 0, "f32"

    def sizes(value: ir.Value) -> Shape:
        return tuple(number(s) for s in TensorSpec.of(value.type).sizes)

    op = product_op(name)
    counted = op.flops([sizes(v) for v in tensors], [sizes(v) for v in results]) if op and op.flops else 0
    return counted, TensorSpec.of(tensors[-1].type).element


def _arguments(callee: ir.Operation) -> list[fuse.Arg]:
    """The arguments of a torch op that are operands of its calls, in its order."""
    return [a for a in extern_arguments(callee.attributes)[0] if isinstance(a, fuse.Arg)]
