"""Interprets ``{fuse.control_flow}`` functions: ``scf`` on numbers of the host, around calls."""

from collections.abc import Callable, Sequence
from typing import Any

from ...analysis.program.dependences import extern_mutated
from ...ir.storage import callee_name
from ...mlir import ir
from ..errors import RunError
from ..extern_calls import ExternCall
from ..rng import RngState
from .graph_ops import on_numbers, run_extern
from .graph_values import Module, spec_of
from .scalar.scalar_ops import constant_value, elementwise

Values = list[Any]


class InterpretedControlFlow:
    """One function, run op by op.  Called with its arguments, it returns its results."""

    def __init__(self, module: Module, func: ir.Operation) -> None:
        self._module = module
        self._block = func.regions[0].blocks[0]

    def __call__(self, arguments: Sequence[Any], rng: RngState) -> Values:
        run = _Run(self._module, rng, dict(zip(self._block.arguments, arguments, strict=True)))
        return run.block(self._block, [])


class _Run:
    """The state of one call: the values computed so far."""

    def __init__(self, module: Module, rng: RngState, values: dict[ir.Value, Any]) -> None:
        self.module, self.rng, self.values = module, rng, values

    def block(self, block: ir.Block, arguments: Sequence[Any]) -> Values:
        """Runs a block; returns the operands of its terminator."""
        if arguments:
            self.values.update(zip(block.arguments, arguments, strict=True))
        for op in (o.operation for o in block.operations):
            operands = [self.values[v] for v in op.operands]
            if op.name in ("func.return", "scf.yield", "scf.condition"):
                return operands
            results = self._op(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        raise RunError("a block of control flow does not end", block.owner.location)

    def _op(self, op: ir.Operation, operands: Values) -> Values:
        run = _STRUCTURE.get(op.name)
        if run is not None:
            return run(self, op, operands)
        if op.name == "func.call":
            return self._call(op, operands)
        if op.name == "arith.constant":
            return [constant_value(op)]
        function = elementwise(op, False)
        if function is None:
            raise RunError(
                f"control flow has an op that the interpreter does not know: {op.name}", op.location
            )
        return on_numbers(op, function)(operands)

    def _call(self, op: ir.Operation, operands: Values) -> Values:
        name = callee_name(op)
        target = self.module.function(name, op.location)
        if not isinstance(target, ExternCall):
            return list(target(operands, self.rng))
        declaration = self.module.declaration(name)
        specs = [spec_of(v.type) for v in op.operands]
        mutated = list(extern_mutated(declaration))
        return run_extern(target, operands, specs, mutated, self.module.shadow)

    def _if(self, op: ir.Operation, operands: Values) -> Values:
        branch = op.regions[0 if operands[0] else 1]
        return self.block(branch.blocks[0], []) if len(branch.blocks) else []

    def _while(self, op: ir.Operation, operands: Values) -> Values:
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        carried = operands
        while True:
            goes_on, *carried = self.block(before, carried)
            if not goes_on:
                return carried
            carried = self.block(after, carried)

    def _for(self, op: ir.Operation, operands: Values) -> Values:
        first, end, step, *carried = operands
        for i in range(first, end, step):
            carried = self.block(op.regions[0].blocks[0], [i, *carried])
        return carried


_STRUCTURE: dict[str, Callable[[_Run, ir.Operation, Values], Values]] = {
    "scf.for": _Run._for,
    "scf.if": _Run._if,
    "scf.while": _Run._while,
}
