"""A dim of few points, unrolled: what depends on it is computed for each of its points beside the others.

Not a pass.
"""

from ...compiler.base.remarks import Remarks
from ...compiler.cost.slots import slots
from ...compiler.index import parse
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, over, string, strings
from ...compiler.mlir import ir
from ..pass_base import remark_on
from .dots import added
from .kernels import copy_at, dims_attribute, forget_tiling, kernel_body, text_list
from .new_ops import number
from .program import Program

#: Ops that compute nothing.
_ACCESSES = (fuse.Load, fuse.Store, fuse.Reduce, fuse.Index)
#: How many times as many operations do without a dim as run over it, where it is unrolled for their sake.
_SHARED = 2


def few_points(kernel: Kernel, dim: str, most: int) -> bool:
    """Whether a dim has at least two and at most so many points."""
    return 1 < (kernel.dims[dim].constant or 0) <= most


def repeats(kernel: Kernel, dim: str) -> bool:
    """Whether a tile would compute most of what runs at each reduced point again for each of ``dim``, a dim
    that stays.
    """
    rest = kernel.dims.keys() - {dim}
    if dim in kernel.reduced or kernel.products:
        return False
    everywhere = [op for op, dims in kernel.op_dims.items() if rest <= dims and not isinstance(op, _ACCESSES)]
    shared = sum(slots(op.name) for op in everywhere if dim not in kernel.op_dims[op])
    return shared > _SHARED * sum(slots(op.name) for op in everywhere if dim in kernel.op_dims[op])


def unrolled(program: Program, kernel: Kernel, dim: str, name: str, remarks: Remarks) -> None:
    """Unrolls a dim of a scalar kernel, with a remark of the pass ``name``."""
    func, points = kernel.func, kernel.dims[dim].constant
    assert points is not None
    unroll(kernel, dim, points)
    func.attributes["fuse.dims"] = dims_attribute({d: e for d, e in kernel.dims.items() if d != dim})
    forget_tiling(func)
    program.clean(func)
    called = string(func.attributes["sym_name"])
    message = f"@{called} computes {points} points of {dim} beside each other"
    remark_on(func, remarks, name, "passed", "unrolled", message)


def unroll(kernel: Kernel, dim: str, points: int) -> None:
    """Copies what depends on ``dim`` for each of its points, in program order."""
    made: list[dict[ir.Value, ir.Value]] = [{} for _ in range(points)]
    copied: list[ir.Operation] = []
    loaded: dict[tuple[object, ...], ir.Operation] = {}
    stored = {a.argument for a in kernel.stores}
    # The dims are looked up before anything changes: the hash of an op is that of its operands, too.
    for op, dims in [(op, kernel.op_dims[op]) for op in kernel_body(kernel.func)[:-1]]:
        if isinstance(op, fuse.Reduce) and dim in over(op):
            _sum(op, dim, made)
        elif isinstance(op, fuse.Dot) and dim in over(op):
            _add_products(op, dim, made)
        elif dim in dims and isinstance(op, fuse.Store):
            _store(op, dim, made)
        elif dim in dims:
            for point in range(points):
                copy = _copy(op, dim, point, made[point])
                made[point].update(zip(op.results, _once(copy, loaded, stored).results, strict=True))
            copied.append(op)
        else:
            _once(op, loaded, stored, erases=False)
    for op in reversed(copied):
        if all(not list(r.uses) for r in op.results):
            op.erase()


def _once(
    op: ir.Operation, loaded: dict[tuple[object, ...], ir.Operation], stored: set[int], erases: bool = True
) -> ir.Operation:
    """The load in front of this one that reads the same, in place of it; else the op itself, noted."""
    if not isinstance(op, fuse.Load) or ir.BlockArgument(op.operands[0]).arg_number in stored:
        return op
    first = loaded.setdefault((*op.operands, *strings(op.attributes["at"])), op)
    if first is not op and erases:
        op.erase()
        return first
    return op


def _copy(op: ir.Operation, dim: str, point: int, made: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy at a point of a dim; the index that is a number there is a constant."""
    operands = [made.get(operand, operand) for operand in op.operands]
    copy = copy_at(op, operands, {dim: point}, ir.InsertionPoint(op))
    value = parse(string(copy.attributes["expr"])).constant if copy.name == "fuse.index" else None
    if value is None or len(copy.operands):
        return copy
    with ir.InsertionPoint(copy), copy.location:
        constant = number(copy.results[0].type, value)
    copy.erase()
    return constant.owner.operation


def _store(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    target = op.operands[0]
    for point, values in enumerate(made):
        copy = _copy(op, dim, point, values)
        copy.operands[0] = target
        target = copy.results[0]
    op.results[0].replace_all_uses_with(target)
    op.erase()


def _add_products(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    """A product for each point of a dim that it sums, beside others."""
    first, *others = [_copy(op, dim, point, values).results[0] for point, values in enumerate(made)]
    with ir.InsertionPoint(op), op.location:
        for value in others:
            first = added(first, value)
    op.results[0].replace_all_uses_with(first)
    op.erase()


def _sum(op: ir.Operation, dim: str, made: list[dict[ir.Value, ir.Value]]) -> None:
    first, *others = [values.get(op.operands[0], op.operands[0]) for values in made]
    with ir.InsertionPoint(op), op.location:
        for value in others:
            first = added(first, value)
    op.operands[0] = first
    rest = [n for n in over(op) if n != dim]
    if rest:
        op.attributes["over"] = text_list(rest)
    else:
        op.results[0].replace_all_uses_with(first)
        op.erase()
