"""What is moved around a product: with it in one kernel, and with it as a call of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.kernel import REDUCTIONS, is_kernel, is_tiled, kernel_ties
from ...ir.layout import TensorSpec
from ...ir.sizes import hints_of, stored_bytes
from ...ir.storage import callee_name
from ...mlir import ir
from .product import Product


@dataclass(frozen=True)
class Moved:
    """``fused_bytes``: by one kernel of the product and what is around it.

    ``call_bytes``, ``call_launches``: where the product is a call, and what makes each operand or reads the
    result is a kernel of its own.  ``own_bytes``: of them, by the call.  ``widened``: whether pointwise
    kernels make a factor from fewer bytes, such as weights of 8 bits.
    """

    fused_bytes: int
    call_bytes: int
    call_launches: int
    own_bytes: int
    widened: bool = False


@dataclass
class Surroundings:
    """Where the values of ``@main`` come from and go to."""

    functions: Mapping[str, ir.Operation]
    hints: Mapping[str, int]

    @staticmethod
    def of(main: ir.Operation, functions: Mapping[str, ir.Operation]) -> "Surroundings":
        return Surroundings(functions, hints_of(main))

    def cost(self, product: Product) -> Moved:
        """Of a product.  Its kernel computes an operand that pointwise kernels make for nothing else."""
        result = self._bytes(product.result)
        fused, call, launches, own, widened = result, result, 1, result, False
        factors = (product.values["left"], product.values["right"])
        for operand in product.operands:
            sources: dict[ir.Value, None] = {}
            made = self._sources(operand, sources)
            read = sum(map(self._bytes, sources))
            fused += read
            own += self._bytes(operand)
            call += self._bytes(operand) + (read + self._bytes(operand) if made else 0)
            launches += made
            widened |= operand in factors and made and read < self._bytes(operand)
        readers = [self._reads_pointwise(use.owner.operation) for use in product.result.uses]
        if any(readers):
            call += 2 * result
            launches += 1
            if not all(readers):  # the product is stored beside what is computed of it
                fused += result
        return Moved(fused, call, launches, own, widened)

    def _sources(self, value: ir.Value, found: dict[ir.Value, None]) -> bool:
        """Adds what a kernel reads that computes ``value``; whether pointwise kernels make the value."""
        made = _root(value).owner
        if not isinstance(made, ir.Block) and len(list(_root(value).uses)) == 1:
            callee = self._pointwise(made.operation)
            if callee is not None:
                ties = set(kernel_ties(callee))
                for number, operand in enumerate(made.operation.operands):
                    if number not in ties and isinstance(operand.type, ir.RankedTensorType):
                        self._sources(operand, found)
                return True
        found[_root(value)] = None
        return False

    def _pointwise(self, op: ir.Operation) -> ir.Operation | None:
        """The scalar kernel that an op calls, if it reduces nothing."""
        if op.name != "func.call":
            return None
        callee = self.functions[callee_name(op)]
        if not is_kernel(callee) or is_tiled(callee):
            return None
        body = callee.regions[0].blocks[0].operations
        crossing = any(o.operation.name in REDUCTIONS or o.operation.name == "fuse.scan" for o in body)
        return None if crossing else callee

    def _reads_pointwise(self, user: ir.Operation) -> bool:
        if user.name == "fuse.view":
            return any(self._reads_pointwise(use.owner.operation) for use in user.results[0].uses)
        return self._pointwise(user) is not None

    def _bytes(self, value: ir.Value) -> int:
        return stored_bytes(TensorSpec.of(value.type), self.hints)


def _root(value: ir.Value) -> ir.Value:
    """What a view is of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "fuse.view":
        value = value.owner.operation.operands[0]
    return value
