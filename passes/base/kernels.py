"""What several passes do to kernels: signatures, dims, values that vary along a dim.  Not a pass."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...compiler.analysis.program.dependences import Dependences
from ...compiler.index import Expr, Facts, parse
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import (
    Kernel,
    bounds_of,
    natural,
    over,
    string,
    strings,
)
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..pass_base import PassError


def set_signature(
    func: ir.Operation, results: Sequence[ir.Type], attributes: Sequence[dict[str, ir.Attribute]]
) -> None:
    """Makes ``function_type`` and ``arg_attrs`` agree with the body's arguments; drops ``fuse.tile``, which
    is stale now.
    """
    inputs = [a.type for a in func.regions[0].blocks[0].arguments]
    assert len(inputs) == len(attributes), f"{len(inputs)} arguments have {len(attributes)} attribute dicts"
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, list(results)))
    if any(attributes):
        func.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
    elif "arg_attrs" in func.attributes:
        del func.attributes["arg_attrs"]
    forget_tiling(func)


def forget_tiling(func: ir.Operation) -> None:
    """Deletes ``fuse.tile``: the dims it names have changed."""
    if "fuse.tile" in func.attributes:
        del func.attributes["fuse.tile"]


def result_types(func: ir.Operation) -> list[ir.Type]:
    return list(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)


def require_unplanned(deps: Dependences, name: str) -> None:
    """Raises PassError, for the pass ``name``, where storage is taken and given back already."""
    for node in deps.nodes:
        if node.kind in ("fuse.alloc", "fuse.reuse", "fuse.free"):
            raise PassError(f"{name}: memory is planned already: found {node.kind}", node.op.location)


def text_list(values: Iterable[object]) -> ir.ArrayAttr:
    """An array of string attributes."""
    return ir.ArrayAttr.get([ir.StringAttr.get(str(v)) for v in values])


def dims_attribute(dims: dict[str, Expr]) -> ir.DictAttr:
    return ir.DictAttr.get({name: ir.StringAttr.get(str(extent)) for name, extent in dims.items()})


def kernel_body(func: ir.Operation) -> list[ir.OpView]:
    """The operations of a kernel with the return, in order, each as its class."""
    return list(func.regions[0].blocks[0].operations)


#: Attributes of kernel operations that name dims: coordinates, an index expression, what is crossed.
DIMMED = ("at", "expr", "over")

#: Operations without such attributes.
WITHOUT_DIMS = ("arith.", "math.")


def dimmed(func: ir.Operation) -> list[ir.Operation]:
    """The operations of a kernel whose attributes may name dims, in order."""
    return [op for op in kernel_body(func) if not op.name.startswith(WITHOUT_DIMS)]


def rewrite_dims(
    op: ir.Operation,
    expression: Callable[[Expr], Expr],
    over: Callable[[Sequence[str]], Sequence[str]],
    known: dict[tuple[str, ir.Attribute], ir.Attribute] | None = None,
) -> None:
    """Rewrites the index expressions of a kernel operation, and the dims it crosses.  ``known``: by name,
    attributes and what the same functions made of them.

    Raises PassError when a scan would cross several.
    """
    known = {} if known is None else known
    attributes = op.attributes
    for name in DIMMED:
        if name in attributes:
            old = attributes[name]
            new = known.get((name, old))
            if new is None:
                new = known[name, old] = _rewritten(old, op.location, expression, over, name == "over")
            attributes[name] = new


def _rewritten(
    old: ir.Attribute,
    location: ir.Location,
    expression: Callable[[Expr], Expr],
    over: Callable[[Sequence[str]], Sequence[str]],
    crossed: bool,
) -> ir.Attribute:
    """An attribute of ``DIMMED``; whether it says what is ``crossed``."""
    if isinstance(old, ir.StringAttr):
        if not crossed:
            return ir.StringAttr.get(str(expression(parse(old.value))))
        names = over([old.value])
        if len(names) != 1:
            raise PassError(f"a scan over '{old.value}' would have to cross {len(names)} dims", location)
        return ir.StringAttr.get(names[0])
    texts = strings(old)
    return text_list(over(texts) if crossed else [expression(parse(text)) for text in texts])


def copy_at(
    op: ir.Operation, operands: Sequence[ir.Value], point: Mapping[str, int], here: ir.InsertionPoint
) -> ir.Operation:
    """A copy of a kernel operation with other operands, where the dims of ``point`` have its values."""
    copy = op.clone(here).operation
    for number, operand in enumerate(operands):
        copy.operands[number] = operand
    rewrite_dims(copy, lambda e: e.subs(point), lambda names: [n for n in names if n not in point])
    return copy


def add_symbols(
    func: ir.Operation, names: Iterable[str], attributes: list[dict[str, ir.Attribute]], facts: Facts
) -> None:
    """Adds an ``index`` argument for each size symbol, in order; ``attributes`` grows with them and with what
    ``facts`` says of them.

    The caller sets the signature.
    """
    block = func.regions[0].blocks[0]
    for name in names:
        block.add_argument(ir.IndexType.get(), func.location)
        attributes.append({"fuse.sym": ir.StringAttr.get(name), **bounds_of(facts, name)})


def type_symbols(type_: ir.Type) -> tuple[str, ...]:
    """The size symbols that a tensor type's layout names."""
    return TensorSpec.of(type_).symbols if isinstance(type_, ir.RankedTensorType) else ()


def _adding_stores(func: ir.Operation) -> list[ir.Operation]:
    return [
        op
        for op in kernel_body(func)
        if isinstance(op, fuse.Store) and string(op.attributes["mode"]) != "set"
    ]


def adding_dims(func: ir.Operation) -> list[frozenset[str]]:
    """The dims of every store that accumulates, in order: it runs once for each of their points."""
    stores = _adding_stores(func)
    return [dims[op] for op in stores] if stores and (dims := Kernel.of(func).op_dims) else []


def keep_dims(func: ir.Operation, adding: Sequence[frozenset[str]]) -> None:
    """Restores dims along which a rewrite found a value to be constant: those that a reduction crosses, and
    those of the stores that accumulate (``adding``: what ``adding_dims`` gave before), which would run fewer
    times.
    """
    wanted = dict(zip(_adding_stores(func), adding, strict=True)) if adding else {}
    kernel: Kernel | None = None  # read again where something was put in front of an operation
    for op in dimmed(func):
        if "over" in op.attributes:
            kernel = kernel or Kernel.of(func)
            present = [kernel.value_dims.get(operand, frozenset()) for operand in op.operands]
            if op.name == "fuse.dot":  # one of its operands may lack a dim, which repeats it
                present = [present[0] | present[1]]
            missing = {i: set(over(op)) - dims for i, dims in enumerate(present)}
        elif op in wanted:
            kernel = kernel or Kernel.of(func)
            missing = {1: wanted[op] - kernel.op_dims[op]}
        else:
            continue
        for i, dims in missing.items():
            for dim in sorted(dims, key=natural):
                op.operands[i] = vary(op.operands[i], dim, op)[-1].results[0]
                kernel = None


def vary(value: ir.Value, dim: str, before: ir.Operation) -> list[ir.Operation]:
    """Operations in front of ``before`` whose last one gives ``value`` as a value of one more dim.

    It selects by a comparison that always holds and that upstream's patterns do not see through, since they
    do not know that a dim is not negative.
    """
    loc, ip = before.location, ir.InsertionPoint(before)
    i1, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
    whole = isinstance(value.type, ir.IntegerType)
    never = (
        ir.IntegerAttr.get(value.type, value.type.width > 1) if whole else ir.FloatAttr.get(value.type, 0.75)
    )
    made: list[ir.Operation] = []

    def make(name: str, type_: ir.Type, operands: list[ir.Value], **attributes: ir.Attribute) -> ir.Value:
        made.append(ir.Operation.create(name, [type_], operands, attributes, loc=loc, ip=ip))
        return made[-1].results[0]

    at = make("fuse.index", i64, [], expr=ir.StringAttr.get(dim))
    zero = make("arith.constant", i64, [], value=ir.IntegerAttr.get(i64, 0))
    inside = make("arith.cmpi", i1, [at, zero], predicate=ir.IntegerAttr.get(i64, 5))  # sge
    other = make("arith.constant", value.type, [], value=never)
    make("arith.select", value.type, [inside, value, other])
    return made
