"""Which ops of a kernel run with the slices of its reductions, and which after them.  Helpers of
``split-reductions``, not a pass.
"""

from collections.abc import Collection, Sequence
from dataclasses import field

from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.ir.defining import backward_slice
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, over, string
from ...compiler.ir.layout import ELEMENT_BYTES, TensorSpec
from ...compiler.mlir import func, ir

_EFFECTS = ("fuse.store", "fuse.device_assert", "cf.assert")


@dataclass
class Sides:
    """early: ops of the slices.  late: ops of the rest.  kept: stores among the early ops whose values the
    rest reads from memory.  All in program order; ops may be on both sides.
    """

    kernel: Kernel
    early: list[ir.Operation] = field(default_factory=list)
    late: list[ir.Operation] = field(default_factory=list)
    kept: list[ir.Operation] = field(default_factory=list)

    @staticmethod
    def of(kernel: Kernel, reductions: Sequence[ir.Operation]) -> "Sides":
        """Effects that need no result of the split reductions go with the slices, unless the rest reads what
        they overwrite, or all slices read it: each slice has programs of its own.
        """
        sides = Sides(kernel)
        ops = [op for op in kernel.op_dims if not isinstance(op, func.ReturnOp)]
        split_ops = set(reductions)
        dependent: set[ir.Operation] = set()
        for op in ops:
            owners = [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]
            if any(o in dependent or o in split_ops for o in owners):
                dependent.add(op)
        effects = [op for op in ops if op.name in _EFFECTS]
        read = {op.operands[0] for op in ops if isinstance(op, fuse.Load)}
        crossed = {dim for op in reductions for dim in over(op)}
        for_all = {
            op
            for op in effects
            if isinstance(op, fuse.Store) and op.operands[0] in read and not crossed <= kernel.op_dims[op]
        }
        roots = [op for op in effects if op in dependent or op in for_all]
        while True:
            late = _closure(roots, split_ops)
            touched = {op.operands[0] for op in late if op.name in ("fuse.load", "fuse.store")}
            more = [
                op
                for op in effects
                if isinstance(op, fuse.Store) and op not in roots and op.operands[0] in touched
            ]
            if not more:
                break
            roots += more
        late = sides._without_stored(late, roots, split_ops)
        sides.late = [op for op in ops if op in late]
        early = _closure([op for op in effects if op not in roots], ()) | _closure(list(split_ops), ())
        sides.early = [op for op in ops if op in early]
        return sides

    def _without_stored(
        self, late: set[ir.Operation], roots: Sequence[ir.Operation], split_ops: set[ir.Operation]
    ) -> set[ir.Operation]:
        """The ops of the rest, if it reads a value that the slices store rather than computing it again
        wherever that reads fewer bytes (the masked sum of two gradients, instead of both and what masks
        them).
        """
        shape, stops = KernelShape.of(self.kernel), set(split_ops)
        for store in self._whole_stores():
            if store in roots or _stored(store) not in late:
                continue
            fewer = _closure(roots, stops | {_stored(store)})
            saved = _bytes(shape, late - fewer)
            if saved > _bytes(shape, [store]):
                self.kept.append(store)
                stops.add(_stored(store))
                late = fewer
        return late

    def _whole_stores(self) -> list[ir.Operation]:
        """The stores of computed values that memory holds unchanged, each in a place of its own."""
        accesses = [op for op in self.kernel.op_dims if op.name in ("fuse.load", "fuse.store")]
        used = [op.operands[0] for op in accesses]
        found = []
        for op in accesses:
            if (
                not isinstance(op, fuse.Store)
                or string(op.attributes["mode"]) != "set"
                or len(op.operands) != 3
            ):
                continue
            target, value, guard = op.operands
            computed = not isinstance(value.owner, ir.Block) and not isinstance(guard.owner, ir.Block)
            if not computed or str(guard.owner.operation.attributes.get("value")) != "true":
                continue
            if used.count(target) == 1 and self.kernel.op_dims[op] == self.kernel.value_dims[value]:
                found.append(op)
        return found


def _stored(store: ir.Operation) -> ir.Operation:
    """What computes the value."""
    return store.operands[1].owner.operation


def _bytes(shape: KernelShape, ops: Collection[ir.Operation]) -> int:
    """What the loads and stores among the ops move, by hints."""
    total = 0
    for op in ops:
        if op.name in ("fuse.load", "fuse.store"):
            element = ELEMENT_BYTES[TensorSpec.of(op.operands[0].type).element]
            total += element * shape.points(tuple(sorted(shape.kernel.op_dims[op])))
    return total


def _closure(roots: Sequence[ir.Operation], stop: Collection[ir.Operation]) -> set[ir.Operation]:
    """The roots and all that they need, up to ``stop``."""
    needed = backward_slice((v for op in roots for v in op.operands), lambda op: op in stop)
    return {*roots, *(op for op in needed if op not in stop)}
