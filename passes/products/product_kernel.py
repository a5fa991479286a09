"""A sum of products as a scalar kernel: two loads, a ``fuse.dot``, what scales it, is added, and a store."""

import math
from collections.abc import Mapping, Sequence

from ...compiler.analysis.contraction.product import Product
from ...compiler.base.dataclass import dataclass
from ...compiler.index import Facts
from ...compiler.ir.kernel import INDEX_CHECK, bounds_of, string
from ...compiler.ir.storage import device_of
from ...compiler.mlir import arith, func, ir
from ...compiler.mlir import math as mlir_math
from ..base.dots import multiplied, widened
from ..base.kernels import dims_attribute, set_signature, text_list, type_symbols
from ..base.new_ops import fold, index, load, number, store, true
from ..base.program import Program

#: Predicates of ``arith.cmpi``.
_SLT, _SLE, _SGT = 2, 3, 4


def product_kernel(
    program: Program,
    symbols: Mapping[str, ir.Value],
    facts: Facts,
    call: ir.Operation,
    callee: ir.Operation,
    product: Product,
) -> ir.Operation:
    """Replaces ``call`` by one of a kernel that computes ``product`` into a fresh tensor; the kernel.
    ``symbols``, ``facts``: the size symbols of ``@main``, and what it says of them."""
    location, result = call.location, product.result
    made = type_symbols(result.type)
    with ir.InsertionPoint(call), location:
        fresh = ir.Operation.create(
            "fuse.empty", [result.type], [symbols[n] for n in made], {"syms": text_list(made)}
        ).results[0]
    tensors = [*product.operands, fresh]
    names = tuple(dict.fromkeys(n for v in tensors for n in type_symbols(v.type)))
    name = program.unique_name(f"{string(callee.attributes['sym_name'])}_kernel")
    operands = [*tensors, *(symbols[n] for n in names)]
    sizes = [{"fuse.sym": ir.StringAttr.get(n), **bounds_of(facts, n)} for n in names]
    kernel = _function(name, [v.type for v in operands], len(tensors) - 1, sizes, callee)
    arguments = dict(zip(tensors, kernel.regions[0].blocks[0].arguments, strict=False))
    gelu = "erf" if device_of(program.module) == "cpu" else "tanh"  # as torch's library on the device
    with ir.InsertionPoint(kernel.regions[0].blocks[0]), kernel.location:
        _Body(kernel, product, arguments, fresh, gelu).write()
    program.functions[name] = kernel
    new = program.recall(call, kernel, operands, [result.type])
    result.replace_all_uses_with(new.results[0])
    program.erase_call(call)
    return kernel


def _function(
    name: str, types: list[ir.Type], made: int, sizes: list[dict[str, ir.Attribute]], callee: ir.Operation
) -> ir.Operation:
    """An empty kernel in front of the function that it replaces.  ``made``: the position of its destination,
    behind which are ``sizes``, whose attributes these are."""
    with ir.InsertionPoint(callee), callee.location:
        kernel = func.FuncOp(name, (types, types[made : made + 1]), visibility="private").operation
        kernel.attributes["fuse.kernel"] = ir.UnitAttr.get()
        kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([made])
        kernel.regions[0].blocks.append(*types, arg_locs=[callee.location] * len(types))
        set_signature(kernel, types[made : made + 1], [*({} for _ in range(made + 1)), *sizes])
    return kernel


@dataclass
class _Body:
    """Writes the body of a kernel.  ``gelu``: by which function the activation GELU is computed.
    ``looked_up``: whether a row is in a segment, and in which, once it is known.
    """

    kernel: ir.Operation
    product: Product
    arguments: dict[ir.Value, ir.Value]
    fresh: ir.Value
    gelu: str
    looked_up: tuple[ir.Value, ...] = ()

    def __post_init__(self) -> None:
        self.true = true()
        self.wide = ir.Type.parse(self.product.accumulator)
        self.floats = isinstance(self.wide, ir.FloatType)

    def write(self) -> None:
        product = self.product
        total = self._scaled(self._sum(), product.alpha)
        for role in ("left_scale", "right_scale"):
            if role in product.values:
                total = arith.mulf(total, self._scale(role))
        if "added" in product.values:
            add = arith.addf if self.floats else arith.addi
            total = add(total, self._scaled(widened(self._load("added"), self.wide), product.beta))
        if product.activation:
            total = getattr(self, f"_{product.activation}")(total)
        element = ir.RankedTensorType(product.result.type).element_type
        if element != self.wide:
            total = arith.truncf(element, total)  # as the call rounds, whatever reads the result
        func.ReturnOp([store(self.arguments[self.fresh], total, product.at("result"), self.true)])
        extents = {name: product.extents[d] for d, name in product.kernel_dims.items()}
        self.kernel.attributes["fuse.dims"] = dims_attribute(extents)

    def _sum(self) -> ir.Value:
        """Of the products of both factors.  One product of each is multiplied without ``fuse.dot``."""
        if self.product.sums_segments:
            pair = self._in_segment()
        elif self.product.segments:
            pair = [self._load("left"), self._of_segment()]
        else:
            pair = [self._load("left"), self._load("right")]
        names = self.product.kernel_dims
        over = [names[d] for d in self.product.summed if d in names]
        if not over:
            return multiplied(*(widened(v, self.wide) for v in pair))
        attributes: dict[str, ir.Attribute] = {"over": text_list(over)}
        if self.product.precision != "ieee":
            attributes["precision"] = ir.StringAttr.get(self.product.precision)
        if self.product.fast_accum:
            attributes["fast_accum"] = ir.UnitAttr.get()
        return ir.Operation.create("fuse.dot", [self.wide], pair, attributes).results[0]

    def _of_segment(self) -> ir.Value:
        """The right factor of the segment of a row, which is the number of ends that are at most the row
        (``analysis/kernel/segments.py``); 0 behind the last end.
        """
        product, wide = self.product, ir.IntegerType.get_signless(64)
        number, rows = (product.kernel_dims[d] for d in (product.segments, product.dims["left"][0]))
        _, end = self._segment(product.dims["left"][0])
        counted = arith.extui(wide, arith.cmpi(_SLE, end, index(rows)))
        segment = fold("sum", counted, [number])
        known = arith.cmpi(_SLT, segment, index(product.size("segments")))
        self.looked_up = known, segment
        return self._looked_up("right")

    def _looked_up(self, role: str) -> ir.Value:
        """What a tensor has for the segment of a row."""
        known, segment = self.looked_up
        number = self.product.kernel_dims[self.product.segments]
        at = ["i0" if str(c) == number else str(c) for c in self.product.at(role)]
        return self._load(role, at=at, guard=known, indices=[segment])

    def _scale(self, role: str) -> ir.Value:
        """A factor of the sum: one number, or one for each row or column, the latter of each segment."""
        of_segments = self.product.segments and self.product.segments in self.product.dims[role]
        return self._looked_up(role) if of_segments else self._load(role)

    def _in_segment(self) -> list[ir.Value]:
        """Both factors, 0 outside of the segment of what is summed."""
        first, end = self._segment(self.product.dims["left"][1])
        point = index(self.product.kernel_dims[self.product.dims["left"][1]])
        inside = arith.andi(arith.cmpi(_SLE, first, point), arith.cmpi(_SLT, point, end))
        return [self._load(role, guard=inside) for role in ("left", "right")]

    def _segment(self, rows: str) -> tuple[ir.Value, ir.Value]:
        """Where a segment of ``rows`` begins and ends.  Asserts that no end is before another one or behind
        the last row.
        """
        product, wide = self.product, ir.IntegerType.get_signless(64)
        number, zero = product.kernel_dims[product.segments], arith.constant(wide, 0)
        end = arith.extsi(wide, self._load("ends"))
        later = arith.cmpi(_SGT, index(number), zero)
        first = arith.extsi(wide, self._load("ends", at=[f"{number} - 1"], guard=later))
        inside = arith.cmpi(_SLE, end, index(product.extents[rows]))
        in_order = arith.andi(arith.cmpi(_SLE, zero, first), arith.cmpi(_SLE, first, end))
        message = "the ends of segments decrease, or pass the last row"
        said = {"message": ir.StringAttr.get(message), INDEX_CHECK: ir.UnitAttr.get()}
        ir.Operation.create(
            "fuse.device_assert", operands=[arith.andi(in_order, inside), self.true], attributes=said
        )
        return first, end

    def _load(
        self,
        role: str,
        at: Sequence[str] | None = None,
        guard: ir.Value | None = None,
        indices: Sequence[ir.Value] = (),
    ) -> ir.Value:
        value = self.product.values[role]
        element = ir.RankedTensorType(value.type).element_type
        where = self.product.at(role) if at is None else at
        return load(self.arguments[value], element, where, guard or self.true, indices)

    def _number(self, value: float) -> ir.Value:
        # Of integers, torch multiplies by the whole part of a number such as 1.5.
        return number(self.wide, value)

    def _scaled(self, value: ir.Value, factor: float) -> ir.Value:
        return value if factor == 1.0 else multiplied(value, self._number(factor))

    def _relu(self, x: ir.Value) -> ir.Value:
        return (arith.maximumf if self.floats else arith.maxsi)(x, self._number(0.0))

    def _gelu(self, x: ir.Value) -> ir.Value:
        """``x / 2 * (1 + erf(x / sqrt(2)))``, or with ``tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))``."""
        if self.gelu == "erf":
            inner = mlir_math.erf(arith.mulf(x, self._number(math.sqrt(0.5))))
        else:
            cube = arith.mulf(arith.mulf(arith.mulf(x, x), x), self._number(0.044715))
            inner = arith.mulf(arith.addf(x, cube), self._number(math.sqrt(2 / math.pi)))
            inner = mlir_math.tanh(inner)
        return arith.mulf(arith.mulf(x, self._number(0.5)), arith.addf(inner, self._number(1.0)))
