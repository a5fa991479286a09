"""What a call of torch's libraries multiplies, as data."""

from dataclasses import dataclass

from ...base.products import product_op
from ...ir.dialects import fuse
from ...ir.kernel import attribute_items, string
from ...ir.layout import TensorSpec
from ...ir.storage import operand_number
from ...mlir import ir

#: Element types whose products a kernel adds up in f32.
FLOATS = ("bf16", "f16", "f32")
#: The ops of ``base/products.py`` that multiply two matrices and do no more than add a third tensor.
_OPS = ("aten.mm.default", "aten.addmm.default")


@dataclass(frozen=True)
class Product:
    """``alpha * left @ right + beta * added``: values of ``@main``.

    left is [m, k], right [k, n], the result [m, n], and ``added`` broadcasts to it.
    """

    left: ir.Value
    right: ir.Value
    result: ir.Value
    added: ir.Value | None = None
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def specs(self) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        """Of left, right and the result."""
        left, right, result = (TensorSpec.of(v.type) for v in (self.left, self.right, self.result))
        return left, right, result

    def problem(self) -> str | None:
        """What is wrong with the shapes, as a sentence; None where they match."""
        left, right, made = (spec.sizes for spec in self.specs)
        if not len(left) == len(right) == len(made) == 2:
            return f"expected matrices, got {len(left)} and {len(right)} dims"
        if left[1] != right[0] or made != (left[0], right[1]):
            shapes = (" x ".join(map(str, sizes)) for sizes in (left, right, made))
            return "expected m x k times k x n to be m x n, got {} times {} to be {}".format(*shapes)
        if self.added is not None:
            sizes = TensorSpec.of(self.added.type).sizes
            matches = all(
                s.constant == 1 or s == o for s, o in zip(reversed(sizes), reversed(made), strict=False)
            )
            if len(sizes) > 2 or not matches:
                return f"expected what is added to broadcast to the result, got {' x '.join(map(str, sizes))}"
        return None

    @staticmethod
    def of(call: ir.Operation, callee: ir.Operation) -> "Product | None":
        """What a call of an extern op multiplies; None where it is no product of two matrices, or one with
        arguments other than those above."""
        name = string(callee.attributes["fuse.extern"])
        op = product_op(name)
        if name not in _OPS or op is None or op.factors is None or len(call.results) != 1:
            return None
        positions = (*op.factors, op.added)
        arguments = list(ir.ArrayAttr(callee.attributes["fuse.args"]))
        scales = {key: _number(value) for key, value in attribute_items(callee.attributes["fuse.kwargs"])}
        if scales.keys() - {"alpha", "beta"} or None in scales.values():
            return None
        left, right, added = (None if p is None else _operand(call, arguments[p]) for p in positions)
        if left is None or right is None or (added is None) != (op.added is None):
            return None
        if len(arguments) > sum(p is not None for p in positions):
            return None
        alpha, beta = (scales.get(name, 1.0) for name in ("alpha", "beta"))
        assert alpha is not None and beta is not None
        if beta == 0:  # torch does not read what is added then, not even its NaNs
            added = None
        return Product(left, right, call.results[0], added, alpha, beta)


def _operand(call: ir.Operation, argument: ir.Attribute) -> ir.Value | None:
    if not isinstance(argument, fuse.Arg):
        return None
    return call.operands[operand_number(argument)]


def _number(attribute: ir.Attribute) -> float | None:
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr)):
        return float(attribute.value)
    return None
