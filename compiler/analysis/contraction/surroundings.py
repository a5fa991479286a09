"""What is moved around a product: with it in one kernel, and with it as a call of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.kernel import REDUCTIONS, is_kernel, is_tiled, kernel_ties
from ...ir.layout import TensorSpec
from ...ir.sizes import stored_bytes
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
    """Where the values of ``@main`` come from and go to.

    This class is about calls: it takes for granted that a kernel of the product is one with the pointwise
    kernels that make its operands for nothing else, and with those that read its result.
    """

    functions: Mapping[str, ir.Operation]
    hints: Mapping[str, int]

    def joins(self, op: ir.Operation) -> bool:
        """Whether ``op`` calls a kernel that is one with a product whose result it reads."""
        if op.name != "func.call":
            return False
        callee = self.functions[callee_name(op)]
        if not is_kernel(callee) or is_tiled(callee):
            return False
        body = callee.regions[0].blocks[0].operations
        return not any(o.operation.name in REDUCTIONS or o.operation.name == "fuse.scan" for o in body)

    def makes(self, op: ir.Operation, value: ir.Value) -> bool:
        """Whether ``op``, which makes ``value``, calls a kernel that is one with a product that reads it."""
        return len(_uses(value)) == 1 and self.joins(op)

    def cost(self, product: Product) -> Moved:
        """Of a product."""
        result = self._bytes(product.specs["result"])
        fused, call, launches, own, widened = result, result, 1, result, False
        factors = (product.values["left"], product.values["right"])
        for operand, spec in product.reads:
            size = self._bytes(spec)
            sources: dict[ir.Value, None] = {}
            made = self._sources(operand, sources)
            read = sum(self._bytes(TensorSpec.of(v.type)) for v in sources) if made else size
            fused += read + (size if made and self.keeps(_root(operand)) else 0)
            own += size
            call += size + (read + size if made else 0)
            launches += made
            widened |= operand in factors and made and read < size
        readers = [self.joins(user) for user in _uses(product.result)]
        if any(readers):
            call += 2 * result
            launches += 1
            if not all(readers):  # the product is stored beside what is computed of it
                fused += result
        return Moved(fused, call, launches, own, widened)

    def keeps(self, value: ir.Value) -> bool:
        """Whether a value that is computed for the product is stored as well."""
        return False

    def _sources(self, value: ir.Value, found: dict[ir.Value, None]) -> bool:
        """Adds what a kernel reads that computes ``value``; whether such a kernel makes the value."""
        root = _root(value)
        if isinstance(root.owner, ir.Block) or not self.makes(root.owner.operation, root):
            found[root] = None
            return False
        made = root.owner.operation
        ties = set(kernel_ties(self.functions[callee_name(made)]))
        for number, operand in enumerate(made.operands):
            if number not in ties and isinstance(operand.type, ir.RankedTensorType):
                self._sources(operand, found)
        return True

    def _bytes(self, spec: TensorSpec) -> int:
        return stored_bytes(spec, self.hints)


@dataclass
class GroupSurroundings(Surroundings):
    """About the kernel of a product that ``fuse.group`` makes one with others: ``group``, None for none."""

    group: ir.Attribute | None

    def joins(self, op: ir.Operation) -> bool:
        mine = self.group
        return mine is not None and "fuse.group" in op.attributes and op.attributes["fuse.group"] == mine

    def makes(self, op: ir.Operation, value: ir.Value) -> bool:
        return self.joins(op)

    def keeps(self, value: ir.Value) -> bool:
        return not all(map(self.joins, _uses(value)))


def _root(value: ir.Value) -> ir.Value:
    """What a view is of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "fuse.view":
        value = value.owner.operation.operands[0]
    return value


def _uses(value: ir.Value) -> list[ir.Operation]:
    """The operations that use a value, or a view of it."""
    found = []
    for use in value.uses:
        user = use.owner.operation
        found += _uses(user.results[0]) if user.name == "fuse.view" else [user]
    return found
