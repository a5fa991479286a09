"""A matrix product as a scalar kernel: two loads, a ``fuse.dot``, what is added, and a store."""

from ...compiler.analysis.contraction.product import Product
from ...compiler.index import Expr, const, sym
from ...compiler.ir.kernel import string
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import arith, func, ir
from .kernels import dims_attribute, text_list
from .program import Program


def product_kernel(program: Program, call: ir.Operation, callee: ir.Operation, product: Product) -> None:
    """Replaces ``call`` by one of a kernel that computes ``product`` into a fresh tensor."""
    location, result = call.location, product.result
    operands = list(dict.fromkeys(v for v in (product.added, product.left, product.right) if v is not None))
    with ir.InsertionPoint(call), location:
        fresh = ir.Operation.create(
            "fuse.empty", results=[result.type], attributes={"syms": ir.ArrayAttr.get([])}
        ).results[0]
    operands.append(fresh)
    name = program.unique_name(f"{string(callee.attributes['sym_name'])}_kernel")
    kernel = _function(name, [v.type for v in operands], callee)
    _body(kernel, product, dict(zip(operands, kernel.regions[0].blocks[0].arguments, strict=True)), fresh)
    program.functions[name] = kernel
    new = program.recall(call, kernel, operands, [result.type])
    result.replace_all_uses_with(new.results[0])
    program.erase_call(call)


def _function(name: str, types: list[ir.Type], callee: ir.Operation) -> ir.Operation:
    """An empty kernel whose last argument is its destination, after the function that it replaces."""
    with ir.InsertionPoint(callee), callee.location:
        kernel = func.FuncOp(name, (types, types[-1:]), visibility="private").operation
        kernel.attributes["fuse.kernel"] = ir.UnitAttr.get()
        kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([len(types) - 1])
    kernel.regions[0].blocks.append(*types, arg_locs=[callee.location] * len(types))
    return kernel


def _body(
    kernel: ir.Operation, product: Product, arguments: dict[ir.Value, ir.Value], fresh: ir.Value
) -> None:
    left, _, made = product.specs
    dims: dict[str, Expr] = {}

    def dim(extent: Expr) -> Expr:
        if extent.constant == 1:
            return const(0)
        name = f"d{len(dims)}"
        dims[name] = extent
        return sym(name)

    m, n = (dim(size) for size in made.sizes)
    k = dim(left.sizes[1])
    wide = ir.F32Type.get(kernel.context)
    with ir.InsertionPoint(kernel.regions[0].blocks[0]), kernel.location:
        true = arith.constant(ir.IntegerType.get_signless(1), 1)

        def load(value: ir.Value, *at: Expr) -> ir.Value:
            element = ir.RankedTensorType(value.type).element_type
            zero = arith.constant(element, 0.0)
            attributes = {"at": text_list(at)}
            given = [arguments[value], true, zero]
            return ir.Operation.create("fuse.load", [element], given, attributes).results[0]

        def scaled(value: ir.Value, factor: float) -> ir.Value:
            return value if factor == 1.0 else arith.mulf(value, arith.constant(wide, factor))

        pair = [load(product.left, m, k), load(product.right, k, n)]
        total = ir.Operation.create("fuse.dot", [wide], pair, {"over": text_list([k])}).results[0]
        total = scaled(total, product.alpha)
        if product.added is not None:
            at = (m, n)[2 - TensorSpec.of(product.added.type).rank :]
            sizes = TensorSpec.of(product.added.type).sizes
            added = load(
                product.added, *(const(0) if s.constant == 1 else c for s, c in zip(sizes, at, strict=True))
            )
            total = arith.addf(total, scaled(_widened(added, wide), product.beta))
        element = ir.RankedTensorType(product.result.type).element_type
        if element != wide:
            total = arith.truncf(element, total)  # as the call rounds, whatever reads the result
        stored = ir.Operation.create(
            "fuse.store",
            [fresh.type],
            [arguments[fresh], total, true],
            {"at": text_list((m, n)), "mode": ir.StringAttr.get("set")},
        ).results[0]
        ir.Operation.create("func.return", operands=[stored])
        kernel.attributes["fuse.dims"] = dims_attribute(dims)


def _widened(value: ir.Value, wide: ir.Type) -> ir.Value:
    return value if value.type == wide else arith.extf(wide, value)
