"""The call of torch's libraries whose place the kernel of a product has taken, and the way back to it."""

from collections.abc import Mapping

from ...compiler.analysis.contraction.arguments import operands_by_role
from ...compiler.analysis.contraction.product import Product
from ...compiler.analysis.program.dependences import symbol
from ...compiler.base.dataclass import dataclass
from ...compiler.base.product_forms import TENSORS
from ...compiler.index import Expr, Facts, const, parse, simplify, sym
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import INSTEAD, kernel_dims, kernel_ties, string, strings
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..base.kernels import kernel_body
from ..base.new_ops import static_view
from ..base.program import Program


def stand_instead(kernel: ir.Operation, declaration: ir.Operation, product: Product) -> None:
    """Makes the kernel of ``product`` stand instead of ``declaration``, if its call can be made again: sizes
    are static, and each operand is a tensor that the kernel reads."""
    types = ir.FunctionType(ir.TypeAttr(declaration.attributes["function_type"]).value)
    static = all(spec.is_static for spec in product.specs.values())
    if static and len(types.inputs) == len(product.operands):
        name = string(declaration.attributes["sym_name"])
        kernel.attributes[INSTEAD] = ir.FlatSymbolRefAttr.get(name, context=kernel.context)


@dataclass(frozen=True)
class LibraryCall:
    """The call whose place a kernel has taken.

    declaration: what is called.
    product: of the tensors that the kernel reads now, with the layouts that the call took.
    maps: by role, the coordinates of a view of such a tensor that has this layout.
    """

    declaration: ir.Operation
    product: Product
    maps: Mapping[str, tuple[Expr, ...]]

    @staticmethod
    def of(program: Program, call: ir.Operation, known: Facts) -> "LibraryCall | None":
        """What the kernel of ``call`` is instead of; None where that is nothing, or where it does not compute
        the product from views of what it reads any more.  ``known``: what ``@main`` says of its symbols.
        """
        kernel = program.callee(call)
        if INSTEAD not in kernel.attributes:
            return None
        declaration = program.functions[symbol(kernel.attributes[INSTEAD])]
        declared = declaration.attributes
        loads = [op for op in kernel_body(kernel) if isinstance(op, fuse.Load)]
        stores = [op for op in kernel_body(kernel) if isinstance(op, fuse.Store)]
        arguments = {a: call.operands[n] for n, a in enumerate(kernel.regions[0].blocks[0].arguments)}
        places = operands_by_role(declared)
        ends = [op for op in loads if "ends" in places and str(op.results[0].type) == "i32"]
        loads = [op for op in loads if op not in ends[1:]]  # again, to be compared with each other
        read = [arguments[op.operands[0]] for op in loads]
        order = _LOADED if not ends or loads[0] not in ends else ("ends", *_LOADED)
        roles = [role for role in dict.fromkeys(order) if role in places]
        if len(read) != len(roles) or len(stores) != 1:
            return None
        operands = {places[role]: value for role, value in zip(roles, read, strict=True)}
        if any(operands[places[role]] != value for role, value in zip(roles, read, strict=True)):
            return None
        inputs = ir.FunctionType(ir.TypeAttr(declared["function_type"]).value).inputs
        if sorted(operands) != list(range(len(inputs))):
            return None
        product = Product.of_declaration(declared, [operands[n] for n in sorted(operands)], call.results[0])
        if product is None or product.problem() is not None or not _is_stored(product, kernel, stores[0]):
            return None
        facts = known.with_extents(kernel_dims(kernel))
        maps = {}
        for role, op in zip(roles, loads, strict=True):
            at = tuple(map(parse, strings(op.attributes["at"])))
            if role == "right" and product.segments in (*product.dims["right"],):
                at = tuple(c.subs({"i0": sym(product.kernel_dims[product.segments])}) for c in at)
            map_ = _view_map(product, role, at, facts)
            if map_ is None:
                return None
            maps[role] = map_
        if any(maps[r] != maps[o] for r in roles for o in roles if places[r] == places[o]):
            return None
        return LibraryCall(declaration, product, maps)

    def restore(self, program: Program, call: ir.Operation) -> ir.Operation:
        """Replaces the kernel's ``call`` by that of the library; the new call."""
        destination = call.operands[kernel_ties(program.callee(call))[0]]
        if "fuse.group" in call.attributes:
            del call.attributes["fuse.group"]
        places = operands_by_role(self.declaration.attributes)
        roles = {places[role]: role for role in self.maps}  # one of those whose operand is the same
        operands = [self._view(roles[place], call) for place in sorted(roles)]
        new = program.recall(call, self.declaration, operands, [call.results[0].type])
        call.results[0].replace_all_uses_with(new.results[0])
        program.erase_call(call)
        made = defining_op(destination, fuse.Empty)
        if made is not None and not list(destination.uses):
            made.erase()
        return new

    def _view(self, role: str, call: ir.Operation) -> ir.Value:
        """The operand of the library in front of ``call``."""
        value, spec = self.product.values[role], self.product.specs[role]
        plain = tuple(sym(f"v{n}") for n in range(spec.rank))
        if TensorSpec.of(value.type) == spec and all(
            size.constant == 1 or a == b
            for size, a, b in zip(spec.sizes, self.maps[role], plain, strict=True)
        ):
            return value
        with ir.InsertionPoint(call), call.location:
            return static_view(value, spec.type(), self.maps[role])


#: Roles of tensors in the order in which ``product_kernel`` loads them.
_LOADED = ("left", "ends", "right", "left_scale", "right_scale", "added")
assert sorted(_LOADED) == sorted(TENSORS)


def _is_stored(product: Product, kernel: ir.Operation, store: ir.Operation) -> bool:
    """Whether a kernel still has the dims of the product and stores it as the call gives it."""
    extents = {name: product.extents[d] for d, name in product.kernel_dims.items()}
    at = tuple(map(parse, strings(store.attributes["at"])))
    return (
        kernel_dims(kernel) == extents
        and at == product.at("result")
        and TensorSpec.of(store.results[0].type) == product.specs["result"]
    )


def _view_map(product: Product, role: str, at: tuple[Expr, ...], facts: Facts) -> tuple[Expr, ...] | None:
    """The map of a view with the layout that the library takes, of a tensor that a kernel loads ``at`` some
    coordinates; None where no view has this layout."""
    source, spec, own = TensorSpec.of(product.values[role].type), product.specs[role], product.at(role)
    if (source.element, source.device) != (spec.element, spec.device):
        return None
    mapped = sum((c * s for c, s in zip(at, source.strides, strict=True)), start=source.offset)
    direct = sum((c * s for c, s in zip(own, spec.strides, strict=True)), start=spec.offset)
    names = {str(c): sym(f"v{n}") for n, c in enumerate(own) if c.constant is None}
    if (
        simplify(mapped - direct, facts) != const(0)
        or not set().union(*(c.symbols() for c in at)) <= names.keys()
    ):
        return None
    return tuple(c.subs(names) for c in at)
