"""``lower-device-assert``: asserts become ``cf.assert`` with the user's line."""

import re
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import is_true
from ...compiler.ir.kernel import index_check, is_kernel, string
from ...compiler.mlir import arith, ir
from ..base.new_ops import negated
from ..pass_base import Pass, PassError


@dataclass(frozen=True)
class LowerDeviceAssert(Pass):
    """``fuse.device_assert`` becomes ``cf.assert`` in kernel bodies.

    Before::

        "fuse.device_assert"(%c, %g) {message = "index out of bounds"}      loc("index_3"("model.py":12:0))

    After::

        %off = arith.xori %g, %true
        %ok = arith.ori %c, %off
        cf.assert %ok, "index out of bounds (at model.py:12)"

    Where the guard is constantly true, the condition is asserted as it is.  The place in the message is the
    first file and line of the op's location; without one the message stays as it is.  What a kernel asserts
    twice, of one look-up that its readers need at several coordinates, stays once.

    Raises PassError on an assert outside a kernel: ``a device assert sits in a kernel``.
    """

    name: ClassVar[str] = "lower-device-assert"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        for function in (op.operation for op in module.body.operations):
            known = set[tuple[ir.Value, ir.Value, str]]()
            for op in _asserts(function):
                if not is_kernel(function):
                    raise PassError("a device assert sits in a kernel", op.location)
                said = (op.operands[0], op.operands[1], _message(op))
                if said in known:
                    op.erase()
                    continue
                if op.parent.operation == function:
                    known.add(said)
                _lower(op)


def _asserts(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == "fuse.device_assert":
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


def place(location: ir.Location) -> str:
    """`file:line` of the first file position in a printed location, or ""."""
    match = re.search(r'"([^"]+)":(\d+):\d+', str(location))
    return f"{match[1]}:{match[2]}" if match else ""


def _message(op: ir.Operation) -> str:
    where = place(op.location)
    return string(op.attributes["message"]) + (f" (at {where})" if where else "")


def _lower(op: ir.Operation) -> None:
    condition, guard = op.operands
    attributes = {"msg": ir.StringAttr.get(_message(op)), **index_check(op)}
    with ir.InsertionPoint(op), op.location:
        if not is_true(guard):
            condition = arith.ori(condition, negated(guard))
        ir.Operation.create("cf.assert", [], [condition], attributes)
    op.erase()
