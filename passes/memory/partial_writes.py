"""Kernels that only copy, and kernels that write a new value to a part of a tensor, and the old contents to
the rest of it: which part that is, and a kernel that writes this part only.  Not a pass.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...compiler.base.dataclass import dataclass
from ...compiler.cost.hardware import SECTOR
from ...compiler.index import Expr, Facts, Mod, const, linear, offset, parse, sym
from ...compiler.ir.defining import backward_slice, defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Access, Kernel, argument_attributes, string
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.sizes import estimate
from ...compiler.mlir import arith, ir
from ..base.kernels import dimmed, dims_attribute, kernel_body, rewrite_dims, set_signature
from ..base.program import Program
from ..kernels.conditions import comparison, negates

_EQUAL, _LESS, _NOT_LESS = 0, 2, 5  #: predicates of ``arith.cmpi``


@dataclass(frozen=True)
class PartialWrite:
    """Such a kernel: argument number ``into`` holds a new value at the coordinates ``at``, one for each point
    of the new value's ``dims`` (name -> extent), and argument number ``old`` elsewhere.  ``points``: the dims
    of the kernel, at a point of the new value.
    """

    old: int
    into: int
    at: tuple[Expr, ...]
    dims: Mapping[str, Expr]
    points: Mapping[str, Expr]

    def is_short(self, spec: TensorSpec, hints: dict[str, int]) -> bool:
        """Whether writing the part of a tensor takes no longer than writing it all, in whole sectors."""
        facts = Facts.of(extents=self.dims)
        steps = linear(offset(list(self.at), spec.strides, spec.offset, facts), list(self.dims))
        if steps is None:
            return False
        runs, run = 1, spec.element_bytes
        for dim, extent in self.dims.items():
            count = estimate(extent, hints)
            if steps[0].get(dim, const(0)).constant == 1:
                run *= count
            else:
                runs *= count
        whole = estimate(spec.storage_elements, hints) * spec.element_bytes
        return runs * -(-run // SECTOR) * SECTOR <= whole


class _Compared(NamedTuple):
    """What ``arith.cmpi`` compares."""

    predicate: int
    left: Expr
    right: Expr


def copy_in(kernel: ir.Operation) -> tuple[ir.Operation, ir.Operation] | None:
    """The load and the store of a kernel that only copies."""
    body = [op for op in kernel_body(kernel) if op.name != "arith.constant"]
    if [op.name for op in body] != ["fuse.load", "fuse.store", "func.return"]:
        return None
    load, store, _ = body
    return (load, store) if store.operands[1] == load.results[0] and is_true(load.operands[1]) else None


def partial_write(func: ir.Operation) -> PartialWrite | None:
    """What part a kernel writes, where its conditions are known to hold on that part only; None where they
    are not, or where the kernel does anything else.
    """
    kernel = Kernel.of(func)
    if len(kernel.stores) != 1 or len(kernel.loads) != 2 or kernel.reductions or kernel.scans:
        return None
    [store] = kernel.stores
    choice = defining_op(store.op.operands[1], arith.SelectOp)
    if choice is None or kernel.asserts or not _writes_all(kernel, store):
        return None
    condition, value, kept = choice.operands
    old, new = sorted(kernel.loads, key=lambda a: a.op.results[0] != kept)
    if old.op.results[0] != kept or new.indirect or new.op.operands[1] != condition:
        return None
    if old.coords != store.coords or old.op.operands[0].type != store.op.operands[0].type:
        return None
    if len({old.argument, new.argument, store.argument}) < 3 or old.op in backward_slice([value]):
        return None
    if not (is_true(old.op.operands[1]) or negates(old.op.operands[1], condition)):
        return None
    return _part(kernel, (old, new, store), _conjunction(condition))


def _writes_all(kernel: Kernel, store: Access) -> bool:
    """Whether a store writes each element once, at coordinates that are dims."""
    named = [str(c) for c in store.coords if c.constant is None]
    whole = is_true(store.op.operands[2]) and string(store.op.attributes["mode"]) == "set"
    return whole and sorted(named) == sorted(kernel.dims) and not store.indirect


def _conjunction(condition: ir.Value) -> list[_Compared] | None:
    """The comparisons all of which hold where a condition does; None where it is made of anything else."""
    both = defining_op(condition, arith.AndIOp)
    if both is not None:
        parts = [_conjunction(operand) for operand in both.operands]
        return None if None in parts else [each for part in parts if part for each in part]
    compared = comparison(condition)
    if compared is None:
        return None
    predicate, *sides = compared
    left, right = map(_expression, sides)
    return None if left is None or right is None else [_Compared(predicate, left, right)]


def _expression(value: ir.Value) -> Expr | None:
    """An index, or a constant, as an expression; None for any other value."""
    index, constant = defining_op(value, fuse.Index), defining_op(value, arith.ConstantOp)
    if index is not None:
        return parse(string(index.attributes["expr"]))
    return None if constant is None else const(ir.IntegerAttr(constant.attributes["value"]).value)


def _part(
    kernel: Kernel, accesses: tuple[Access, Access, Access], known: list[_Compared] | None
) -> PartialWrite | None:
    """The part, if each point of ``new`` meets the conditions, and each point that does reads of ``new`` what
    that point of it writes.
    """
    if known is None:
        return None
    old, new, store = accesses
    sizes = kernel.spec(new.argument).sizes
    dims = {f"d{number}": sizes[number] for number, at in enumerate(new.coords) if at.constant != 0}
    points: dict[str, Expr] = {}
    for number, at in enumerate(new.coords):
        found = None if at.constant == 0 else _inverse(at, sym(f"d{number}"), kernel.dims, known)
        if found is not None and found[0] not in points:
            points[found[0]] = found[1]
        elif at.constant != 0:
            return None
    for dim in kernel.dims.keys() - points.keys():
        only = _only_value(dim, kernel, points, known)
        if only is None:
            return None
        points[dim] = only
    facts = Facts((), kernel.facts.ranges, kernel.facts.multiples).with_extents(dims)
    inside = all(facts.nonnegative(e) and facts.less(e, kernel.dims[dim]) for dim, e in points.items())
    if not inside or not all(_holds(each, points, facts) for each in known):
        return None
    return PartialWrite(
        old.argument, store.argument, tuple(c.subs(points) for c in store.coords), dims, points
    )


def _inverse(
    coordinate: Expr, point: Expr, dims: Mapping[str, Expr], known: Sequence[_Compared]
) -> tuple[str, Expr] | None:
    """The dim that a coordinate of ``new`` depends on, and its value where the coordinate is ``point``."""
    named = sorted(coordinate.symbols() & dims.keys())
    if len(named) != 1:
        return None
    [dim] = named
    shift = coordinate - sym(dim)
    if dim not in shift.symbols():
        return dim, point - shift
    for moved, step in _steps(dim, known).items():
        if coordinate == moved.floordiv(step):
            return dim, point * step + sym(dim) - moved
    return None


def _steps(dim: str, known: Sequence[_Compared]) -> dict[Expr, int]:
    """e -> n of the conditions that ``e mod n`` is 0, where e is the dim and a shift."""
    found = {}
    for predicate, left, right in known:
        for moved in {each.left for each in known if dim not in (each.left - sym(dim)).symbols()}:
            atoms = left.atoms()
            if predicate == _EQUAL and right.constant == 0 and len(atoms) == 1 and isinstance(atoms[0], Mod):
                step = atoms[0].den.constant
                if step is not None and left == moved.mod(step):
                    found[moved] = step
    return found


def _only_value(
    dim: str, kernel: Kernel, points: Mapping[str, Expr], known: Sequence[_Compared]
) -> Expr | None:
    """The one value that the conditions leave a dim, at a point of ``new``."""
    steps = _steps(dim, known)
    for predicate, left, right in known:
        shift = left - sym(dim)
        if dim in shift.symbols() or not shift.symbols() & kernel.dims.keys() <= points.keys():
            continue
        if predicate == _EQUAL and not right.symbols() & kernel.dims.keys():
            return right - shift.subs(points)
        starts = _Compared(_NOT_LESS, left, right * 0) in known or kernel.facts.nonnegative(left)
        if predicate == _LESS and starts and right.constant in (1, steps.get(left)):
            return -shift.subs(points)
    return None


def _holds(compared: _Compared, points: Mapping[str, Expr], facts: Facts) -> bool:
    """Whether a condition is proved at every point of ``new``."""
    left, right = compared.left.subs(points), compared.right.subs(points)
    if compared.predicate == _EQUAL:
        return facts.equal(left, right)
    if compared.predicate == _LESS:
        return facts.less(left, right)
    return compared.predicate == _NOT_LESS and facts.less_equal(right, left)


def writing_part(program: Program, kernel: ir.Operation, part: PartialWrite) -> ir.Operation:
    """A kernel that writes the new value over ``old``, which its result is tied to, and has no ``into``."""
    new = program.copy(kernel)
    block = new.regions[0].blocks[0]
    [store] = [op.operation for op in block.operations if isinstance(op, fuse.Store)]
    choice = store.operands[1].owner.operation
    condition, value, kept = choice.operands
    over = block.arguments[part.old]
    store.operands[2].owner.operation.move_before(block.operations[0])
    store.operands[0], store.operands[1] = over, value
    choice.erase()
    kept.owner.operation.erase()
    condition.replace_all_uses_with(store.operands[2])  # true: it is walked where that holds
    for op in dimmed(new):
        rewrite_dims(op, lambda e: e.subs(part.points), list)
    new.attributes["fuse.dims"] = dims_attribute(dict(part.dims))
    attributes = argument_attributes(new)
    block.erase_argument(part.into)
    del attributes[part.into]
    tied = part.old - (part.old > part.into)
    new.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([tied])
    set_signature(new, [over.type], attributes)
    program.clean(new)
    return new


__all__ = ["PartialWrite", "partial_write", "writing_part"]
