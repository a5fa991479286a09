"""How many bytes a kernel moves and what it computes, read from its scalar body.  Plain numbers, at the hints
of the sizes; nothing depends on them but estimates.

Counted is what the best code moves for the worst inputs.  An element of an argument that is read counts
once, however many loads reach it, and one that is written counts once.  A load reaches as many elements as
its index map has values; two maps into one argument count as one up to the size of the argument.  What a
load finds through loaded indices counts as a different element at every point, up to that size.

The body is gone once ``apply-tiling`` has run; it leaves the numbers behind as ``fuse.traffic``.
"""

import math
from collections.abc import Iterable, Sequence

from ...base.dataclass import dataclass
from ...cost.slots import slots
from ...index import Expr
from ...ir.kernel import Access, Kernel, attribute_items, string
from ...ir.sizes import estimate, hints_of
from ...mlir import ir

ATTRIBUTE = "fuse.traffic"


@dataclass(frozen=True)
class Traffic:
    """reads, writes: bytes of each argument, in order (0 for what is no tensor).  slots: issue slots of all
    scalar operations at all their points, apart from products.  flops: of products, which tensor cores
    compute, and element: the type of their operands (an MLIR spelling), of the first if they differ."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    slots: int
    flops: int = 0
    element: str = "f32"

    def attribute(self) -> ir.Attribute:
        """As the attribute ``fuse.traffic``, in the current context."""
        number = ir.IntegerType.get_signless(64)
        parts: dict[str, ir.Attribute] = {
            "reads": ir.DenseI64ArrayAttr.get(list(self.reads)),
            "slots": ir.IntegerAttr.get(number, self.slots),
            "writes": ir.DenseI64ArrayAttr.get(list(self.writes)),
        }
        if self.flops:
            parts["flops"] = ir.IntegerAttr.get(number, self.flops)
            parts["element"] = ir.StringAttr.get(self.element)
        return ir.DictAttr.get(parts)

    @staticmethod
    def of_attribute(attribute: ir.Attribute) -> "Traffic":
        """Reads ``fuse.traffic``.  Raises ValueError where a part is missing."""
        named = dict(attribute_items(attribute))
        missing = [name for name in ("reads", "writes", "slots") if name not in named]
        if missing:
            raise ValueError(f"{ATTRIBUTE} has no '{missing[0]}'")
        return Traffic(
            tuple(ir.DenseI64ArrayAttr(named["reads"])),
            tuple(ir.DenseI64ArrayAttr(named["writes"])),
            ir.IntegerAttr(named["slots"]).value,
            ir.IntegerAttr(named["flops"]).value if "flops" in named else 0,
            string(named["element"]) if "element" in named else "f32",
        )


def traffic_of(kernel: Kernel) -> Traffic:
    """What a kernel with a scalar body moves and computes."""
    counter = _Counter(kernel)
    arguments, products = range(len(kernel.arguments)), kernel.products
    return Traffic(
        tuple(counter.bytes(a, kernel.loads) for a in arguments),
        tuple(counter.bytes(a, kernel.stores) for a in arguments),
        sum(
            slots(op.name) * counter.points(dims) for op, dims in kernel.op_dims.items() if op not in products
        ),
        sum(2 * counter.points(kernel.op_dims[op]) for op in products),
        str(products[0].operands[0].type) if products else "f32",
    )


def combined_traffic(parts: Iterable[tuple[ir.Operation, Sequence[int]]], arguments: int) -> Traffic:
    """What a kernel of so many arguments moves that does the work of others.  parts: each tiled kernel, and
    which argument of the whole each of its own is.  A part without ``fuse.traffic`` counts as nothing.
    """
    reads, writes, issued, flops, element = [0] * arguments, [0] * arguments, 0, 0, "f32"
    for kernel, numbers in parts:
        if ATTRIBUTE in kernel.attributes:
            part = Traffic.of_attribute(kernel.attributes[ATTRIBUTE])
            issued, element = issued + part.slots, element if flops else part.element
            flops += part.flops
            for number, read, written in zip(numbers, part.reads, part.writes, strict=True):
                reads[number] += read
                writes[number] += written
    return Traffic(tuple(reads), tuple(writes), issued, flops, element)


class _Counter:
    """Counts elements of one kernel's accesses."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        hints = hints_of(kernel.func)
        self.hints = hints
        self.extents = {name: estimate(extent, hints) for name, extent in kernel.dims.items()}

    def points(self, dims: Iterable[str]) -> int:
        return math.prod(self.extents[d] for d in dims)

    def bytes(self, argument: int, accesses: Iterable[Access]) -> int:
        """Bytes of an argument that the accesses to it reach."""
        maps = {(a.coords, a.indices): a for a in accesses if a.argument == argument}
        if not maps:
            return 0
        spec = self.kernel.spec(argument)
        whole = estimate(spec.numel, self.hints)
        return min(whole, sum(self._elements(a) for a in maps.values())) * spec.element_bytes

    def _elements(self, access: Access) -> int:
        """An upper bound of how many different elements an index map reaches."""
        if access.indirect:
            return self.points(self.kernel.op_dims[access.op])
        used: set[str] = set()
        box = 1
        for coordinate in access.coords:
            dims = coordinate.symbols() & self.extents.keys()
            used |= dims
            box *= self._values(coordinate, dims)
        return min(box, self.points(used))

    def _values(self, coordinate: Expr, dims: Iterable[str]) -> int:
        """An upper bound of how many values one coordinate has."""
        points = self.points(dims)
        if coordinate.cost <= 1 or points <= 1:  # a dim alone, shifted or not
            return points
        low, high = self.kernel.facts.interval(coordinate)
        return points if low is None or high is None else min(points, max(0, high - low + 1))
