"""``{fuse.control_flow}`` functions as Python text, for launch plans: ``if``, ``while`` and ``for`` around
calls.

A result of ``scf`` is a variable that every way assigns; so is what a loop carries, whose old value is let go
as soon as the next is there.
"""

from collections.abc import Callable, Sequence

from ...mlir import ir

#: The text of a call: from the operation and the variables of its operands and results to a statement.
CallText = Callable[[ir.Operation, list[str], list[str]], str]

_INFIX = {
    "arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.addf": "+", "arith.subf": "-",
    "arith.mulf": "*",
}  # fmt: skip


def control_flow_source(func: ir.Operation, name: str, call: CallText) -> str:
    """The text of ``def name(..)``, which gives the list of results.  Raises NotImplementedError naming an op
    that has no text.
    """
    writer = _Writer(call)
    block = func.regions[0].blocks[0]
    arguments = [writer.define(a) for a in block.arguments if str(a.type) != "!fuse.token"]
    results = writer.block(block)
    writer.emit(f"return [{', '.join(results)}]")
    return f"def {name}({', '.join(arguments)}):\n" + "\n".join(writer.lines) + "\n"


class _Writer:
    """State of one printing: lines, their indentation, variables of values."""

    def __init__(self, call: CallText) -> None:
        self.call = call
        self.lines: list[str] = []
        self.names: dict[ir.Value, str] = {}
        self.depth = 1
        self.made = 0

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def define(self, value: ir.Value) -> str:
        name = self.names[value] = self.fresh()
        return name

    def block(self, block: ir.Block) -> list[str]:
        """Writes a block; the variables of its terminator's operands."""
        for op in (o.operation for o in block.operations):
            operands = [self.names.get(v, "") for v in op.operands]
            if op.name in ("func.return", "scf.yield", "scf.condition"):
                return operands
            write = _STRUCTURE.get(op.name)
            if write is not None:
                write(self, op, operands)
            elif op.name == "func.call":
                given = [
                    n for n, v in zip(operands, op.operands, strict=True) if str(v.type) != "!fuse.token"
                ]
                self.emit(self.call(op, given, [self.define(r) for r in op.results]))
            else:
                self.emit(f"{self.define(op.results[0])} = {_expression(op, operands)}")
        raise NotImplementedError("a block of control flow does not end")

    def assign(self, targets: Sequence[str], sources: Sequence[str]) -> None:
        if targets:
            self.emit(f"{', '.join(targets)} = {', '.join(sources)}")

    def nested(self, block: ir.Block) -> list[str]:
        """Writes a block one level deeper, which the caller leaves."""
        self.depth += 1
        start = len(self.lines)
        results = self.block(block)
        if len(self.lines) == start:
            self.emit("pass")
        return results

    def _if(self, op: ir.Operation, operands: list[str]) -> None:
        results = [self.define(r) for r in op.results]
        for head, region in zip((f"if {operands[0]}:", "else:"), op.regions, strict=True):
            if len(region.blocks):
                self.emit(head)
                self.assign(results, self.nested(region.blocks[0]))
                self.depth -= 1

    def _while(self, op: ir.Operation, operands: list[str]) -> None:
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        carried = [self.define(a) for a in before.arguments]
        self.assign(carried, operands)
        self.emit("while True:")
        goes_on, *passed = self.nested(before)
        results = [self.define(r) for r in op.results]
        self.emit(f"if not {goes_on}:")
        self.depth += 1
        self.assign(results, passed)
        self.emit("break")
        self.depth -= 1
        for argument, name in zip(after.arguments, passed, strict=True):
            self.names[argument] = name
        self.depth -= 1
        self._carry(carried, after)

    def _for(self, op: ir.Operation, operands: list[str]) -> None:
        block = op.regions[0].blocks[0]
        first, end, step, *initial = operands
        number, *carried = [self.define(a) for a in block.arguments]
        self.assign(carried, initial)
        self.emit(f"for {number} in range({first}, {end}, {step}):")
        self._carry(carried, block)
        for result, name in zip(op.results, carried, strict=True):
            self.names[result] = name

    def _carry(self, carried: list[str], block: ir.Block) -> None:
        """The body of a loop: what it yields is what it carries on."""
        yielded = self.nested(block)
        self.assign(carried, yielded)
        made = sorted({self.names[r] for o in block.operations for r in o.operation.results})
        if made:
            self.emit(f"del {', '.join(made)}")
        self.depth -= 1


def _expression(op: ir.Operation, operands: list[str]) -> str:
    if op.name == "arith.constant":
        value = op.attributes["value"]
        if isinstance(value, ir.BoolAttr) or str(op.results[0].type) == "i1":
            return str(bool(ir.IntegerAttr(value).value))
        if isinstance(value, ir.FloatAttr):
            return f"float('{value.value}')"
        return str(ir.IntegerAttr(value).value)
    if op.name in _INFIX:
        return f" {_INFIX[op.name]} ".join(operands)
    raise NotImplementedError(f"{op.location}: no launch plan for the op {op.name} in control flow")


_STRUCTURE: dict[str, Callable[[_Writer, ir.Operation, list[str]], None]] = {
    "scf.for": _Writer._for,
    "scf.if": _Writer._if,
    "scf.while": _Writer._while,
}
