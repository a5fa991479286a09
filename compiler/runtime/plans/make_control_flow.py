"""``{fuse.control_flow}`` functions as functions of a plan: branches and loops around calls.

Every result of ``scf``, and what a loop carries, is a variable; so are constants, sums and comparisons of
numbers.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from ...ir.layout import TensorSpec
from ...mlir import ir
from . import steps
from .plan import PlanFunction
from .plan_tensors import tensor_type
from .steps import Operand, Step, StepBlock, Value

#: The predicate ``slt`` of ``arith.cmpi``.
_SIGNED_LESS = 2
#: What a call becomes, from the operation, its operands and the variables of its results.
CallStep = Callable[[ir.Operation, tuple[Operand, ...], tuple[Value, ...]], Step]

_INFIX: dict[str, Literal["+", "-", "*"]] = {
    "arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.addf": "+", "arith.subf": "-",
    "arith.mulf": "*",
}  # fmt: skip


def control_flow(func: ir.Operation, name: str, call: CallStep, device: str) -> PlanFunction:
    """The function ``name`` of a control-flow function.  ``device``: of tensors that name none.

    Raises NotImplementedError naming an op that has no step.
    """
    maker = _Maker(call, device)
    block = func.regions[0].blocks[0]
    arguments = [maker.define(a) for a in block.arguments if str(a.type) != "!fuse.token"]
    body = maker.block(block)
    return PlanFunction(name, "control", tuple(arguments), (*body.steps, steps.Return(body.values)))


class _Maker:
    """Variables of values."""

    def __init__(self, call: CallStep, device: str) -> None:
        self.call, self.device = call, device
        self.names: dict[ir.Value, str] = {}
        self.made = 0

    def define(self, value: ir.Value) -> Value:
        self.made += 1
        name = self.names[value] = f"v{self.made}"
        if not isinstance(value.type, ir.RankedTensorType):
            return Value(name, str(value.type))
        spec = TensorSpec.of(value.type)
        return Value(name, tensor_type(spec, self.device))

    def define_all(self, values: Sequence[ir.Value]) -> tuple[Value, ...]:
        return tuple([self.define(v) for v in values])

    def operands(self, op: ir.Operation) -> tuple[str, ...]:
        return tuple([self.names[v] for v in op.operands if str(v.type) != "!fuse.token"])

    def block(self, block: ir.Block) -> StepBlock:
        made: list[Step] = []
        for op in (o.operation for o in block.operations):
            if op.name in ("func.return", "scf.yield", "scf.condition"):
                return StepBlock(tuple(made), self.operands(op))
            make = _STEPS.get(op.name)
            if make is None:
                raise NotImplementedError(
                    f"{op.location}: no launch plan for the op {op.name} in control flow"
                )
            made.append(make(self, op))
        raise NotImplementedError("a block of control flow does not end")

    def _call(self, op: ir.Operation) -> Step:
        operands = self.operands(op)
        return self.call(op, operands, self.define_all(op.results))

    def _if(self, op: ir.Operation) -> Step:
        (condition,) = self.operands(op)
        results = self.define_all(op.results)
        then, *otherwise = [self.block(region.blocks[0]) for region in op.regions if len(region.blocks)]
        return steps.Branch(condition, results, then, otherwise[0] if otherwise else None)

    def _while(self, op: ir.Operation) -> Step:
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        initial = self.operands(op)
        carried = self.define_all(before.arguments)
        first = self.block(before)
        results = self.define_all(op.results)
        for argument, value in zip(after.arguments, first.values[1:], strict=True):
            self.names[argument] = str(value)
        return steps.While(carried, initial, first, self.block(after), results)

    def _for(self, op: ir.Operation) -> Step:
        block = op.regions[0].blocks[0]
        first, end, step, *initial = self.operands(op)
        number, *carried = self.define_all(block.arguments)
        body = self.block(block)
        for result, value in zip(op.results, carried, strict=True):
            self.names[result] = value.name
        return steps.For(number, first, end, step, tuple(carried), tuple(initial), body)

    def _constant(self, op: ir.Operation) -> Step:
        value = op.attributes["value"]
        if isinstance(value, ir.BoolAttr) or str(op.results[0].type) == "i1":
            return steps.Constant(self.define(op.results[0]), bool(ir.IntegerAttr(value).value))
        return steps.Constant(self.define(op.results[0]), value.value)

    def _arithmetic(self, op: ir.Operation) -> Step:
        left, right = self.operands(op)
        return steps.HostArithmetic(self.define(op.results[0]), _INFIX[op.name], left, right)

    def _comparison(self, op: ir.Operation) -> Step:
        if op.attributes["predicate"].value != _SIGNED_LESS:
            raise NotImplementedError(f"{op.location}: no launch plan for this arith.cmpi in control flow")
        left, right = self.operands(op)
        return steps.HostArithmetic(self.define(op.results[0]), "<", left, right)


_STEPS: dict[str, Callable[[_Maker, ir.Operation], Step]] = {
    "arith.cmpi": _Maker._comparison,
    "arith.constant": _Maker._constant,
    "func.call": _Maker._call,
    "scf.for": _Maker._for,
    "scf.if": _Maker._if,
    "scf.while": _Maker._while,
    **dict.fromkeys(_INFIX, _Maker._arithmetic),
}
