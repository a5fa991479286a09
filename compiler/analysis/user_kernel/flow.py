"""Follows an address through a kernel: from each value that holds it to those that may hold it next."""

from collections.abc import Iterator

from ...ir.dialects.tt_types import Descriptor, pointee_of
from ...mlir import ir
from .op_kinds import ACCESSES, COMPARED, COMPUTED, DESCRIBING, FOLDS, FOREIGN, PURE_DIALECTS


class Flow:
    """The values that may hold one address.  ``uses`` may be asked for several addresses, whose values are
    then taken together.
    """

    def __init__(self) -> None:
        self.values: set[ir.Value] = set()

    @staticmethod
    def of(start: ir.Value) -> "Flow":
        """The values that may hold the address ``start``."""
        flow = Flow()
        for _ in flow.uses(start):
            pass
        return flow

    def uses(self, start: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
        """Each op of ``ACCESSES`` and ``FOREIGN`` that takes a value which may hold the address, and as which
        operand.
        """
        waiting = [start]
        while waiting:
            value = waiting.pop()
            if value in self.values:
                continue
            self.values.add(value)
            for use in value.uses:
                op = use.owner
                if op.name in ACCESSES or op.name in FOREIGN:
                    yield op, use.operand_number
                waiting.extend(_next(op, use.operand_number))


def has_memory(type_: ir.Type) -> bool:
    """Whether a kernel's argument of this type is memory: an address, a descriptor or, in a kernel of this
    compiler, a tensor.
    """
    return pointee_of(type_) is not None or isinstance(type_, (Descriptor, ir.RankedTensorType))


def _next(op: ir.Operation, operand: int) -> Iterator[ir.Value]:
    """The values that may hold what ``operand`` of ``op`` holds."""
    name = op.name
    if name in COMPARED:
        return
    if (
        name in COMPUTED
        or name in FOREIGN
        or name.partition(".")[0] in PURE_DIALECTS
        or (name == "tt.load" and operand == 2)
    ):
        yield from op.results
    elif name.startswith(FOLDS) and len(op.regions):
        yield from op.results
        yield from op.regions[0].blocks[0].arguments
    elif name.startswith(DESCRIBING) and operand == 0:
        yield from op.results
    elif name == "scf.for":
        if operand < 3:  # the bounds are in the loop's number
            yield op.regions[0].blocks[0].arguments[0]
        else:
            yield op.results[operand - 3]
            yield op.regions[0].blocks[0].arguments[operand - 2]
    elif name == "scf.while":
        yield op.regions[0].blocks[0].arguments[operand]
    elif name == "scf.condition" and operand > 0:
        loop = op.parent
        yield loop.results[operand - 1]
        yield loop.regions[1].blocks[0].arguments[operand - 1]
    elif name == "scf.yield":
        yield from _yielded(op.parent, operand)
    elif name == "cf.br":
        yield op.successors[0].arguments[operand]
    elif name == "cf.cond_br" and operand > 0:
        first = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[1]
        block, place = (0, operand - 1) if operand <= first else (1, operand - 1 - first)
        yield op.successors[block].arguments[place]


def _yielded(parent: ir.Operation, operand: int) -> Iterator[ir.Value]:
    if parent.name == "scf.while":
        yield parent.regions[0].blocks[0].arguments[operand]
        return
    yield parent.results[operand]
    if parent.name == "scf.for":
        yield parent.regions[0].blocks[0].arguments[operand + 1]
