"""Calls of products of torch's libraries that a pass replaces by others.  Not a pass."""

from collections.abc import Mapping, Sequence
from typing import Literal

from ...compiler.analysis.program.dependences import has_effect
from ...compiler.base.products import ProductOp, product_op
from ...compiler.index import contiguous_strides, reshape
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import is_kernel, kernel_ties, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.storage import device_of
from ...compiler.mlir import func, ir
from ..base.new_ops import static_view
from ..base.program import Program

#: The option of a pass that says where it changes the products of a program.
Where = Literal["gpu", "everywhere", "nowhere"]


def runs(where: Where, module: ir.Module) -> bool:
    """Whether a pass with the option ``where`` changes a module."""
    return where == "everywhere" or (where == "gpu" and device_of(module) != "cpu")


def library_product(function: ir.Operation) -> ProductOp | None:
    """What is known of the op that a declaration stands for, if it is the ``default`` overload of a product
    of the library; None for other functions."""
    if "fuse.extern" not in function.attributes:
        return None
    name = string(function.attributes["fuse.extern"])
    op = product_op(name)
    return op if op is not None and op.default == name else None


def is_row_major(value: ir.Value) -> bool:
    return TensorSpec.of(value.type).is_row_major


def reshaped(value: ir.Value, type_: ir.Type, before: ir.Operation) -> ir.Value:
    """A row-major value in the shape of a row-major ``type_``."""
    source, spec = TensorSpec.of(value.type), TensorSpec.of(type_)
    if source.sizes == spec.sizes:
        return value
    seen = TensorSpec(spec.sizes, contiguous_strides(spec.sizes), source.offset, spec.element, spec.device)
    with ir.InsertionPoint(before), before.location:
        return static_view(value, seen.type(), reshape(source.sizes, spec.sizes))


def declare(
    program: Program,
    near: ir.Operation,
    name: str,
    extern: str,
    types: tuple[Sequence[ir.Type], ir.Type],
    arguments: Sequence[ir.Attribute],
    keywords: Mapping[str, ir.Attribute],
    writes: int | None = None,
) -> ir.Operation:
    """A new declaration of an op in front of the function ``near``.

    types:     of the operands and of the result.
    arguments: of the op; ``argument_of(n)`` is operand n.
    writes:    the operand that the op overwrites, in whose storage its result is; None for a new result.
    """
    name = program.unique_name(name)
    operands, result = types
    with ir.InsertionPoint(near), near.location:
        signature = ir.FunctionType.get(list(operands), [result])
        declared = func.FuncOp(name, signature, visibility="private").operation
    declared.attributes["fuse.extern"] = ir.StringAttr.get(extern)
    declared.attributes["fuse.args"] = ir.ArrayAttr.get(list(arguments))
    declared.attributes["fuse.kwargs"] = ir.DictAttr.get(dict(keywords))
    if writes is not None:
        declared.attributes["fuse.mutated"] = ir.DenseI64ArrayAttr.get([writes])
        declared.attributes["fuse.aliases"] = ir.DictAttr.get({"0": _number(writes)})
    program.functions[name] = declared
    return declared


def erase_unread(program: Program, value: ir.Value) -> None:
    """Erases what makes a value that nothing reads any more: views, kernels that write fresh tensors, and
    products of the library; and so on for what these read."""
    pending = [] if isinstance(value.owner, ir.Block) else [value.owner.operation]
    while pending:
        op = pending.pop()
        if any(list(result.uses) for result in op.results) or not _makes_alone(program, op):
            continue
        owners = [v.owner for v in op.operands]
        made = [owner.operation for owner in owners if not isinstance(owner, ir.Block)]
        program.erase(op)
        for other in made:
            if other not in pending:
                pending.append(other)


def _makes_alone(program: Program, op: ir.Operation) -> bool:
    """Whether an operation does nothing but make its results."""
    if op.name != "func.call":
        return op.name in ("fuse.view", "fuse.empty")
    callee = program.callee(op)
    if has_effect(op, callee):
        return False
    product = library_product(callee)
    if product is not None:
        return not product.writes
    written = [op.operands[n] for n in kernel_ties(callee)] if is_kernel(callee) else [None]
    return all(v is not None and defining_op(v, fuse.Empty) is not None for v in written)


def argument_of(operand: int) -> ir.Attribute:
    """An argument of an op: an operand of its call."""
    return fuse.Arg.get(_number(operand))


def _number(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
