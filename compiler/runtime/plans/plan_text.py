"""The text of a launch plan, for people: dumps, logs and traces have it.

    plan on cuda:0
    kernel softmax(ptr, ptr, i32)
    extern mm (2) -> 1 = aten.mm.default($0, $1)

    graph run(a0: f32[s0, 64], s0: index, a1: f32[64, 64]) {
      align a0
      t1: f32[s0, 64] = alloc
      launch softmax grid [(s0 + 3) floordiv 4, 1, 1] (a0, t1, s0) writes [1] from amax, sub at "model.py":12
      free a0
      t2: f32[s0, 64] = extern mm(t1, a1) from mm at "model.py":13
      check t2 [s0, 64] [64, 1] made by "aten.mm.default"
      return t2
    }
    end

A type ends with its strides where the tensor is not row-major (``f32[4, 8 : 1, 4]``) and with its device
where that is not the plan's.  ``$0`` is an operand of an extern op, ``<dtype:float32>`` a name of
torch's.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...base.launch import Line
from ...index import Expr
from . import steps
from .externs import Arg, Argument, Dict, Extern, List, Named, Tuple
from .plan import Plan, PlanFunction
from .steps import Operand, Origin, Step, StepBlock, Type, Value

#: A name that needs no quotes.
_NAME = re.compile(r"[A-Za-z_][\w.]*")


def plan_text(plan: Plan) -> str:
    """The plan as text."""
    return "\n".join(_Printer(plan.device).plan(plan)) + "\n"


def name_text(name: str) -> str:
    """A name, in quotes where it holds other characters than letters, digits, dots and underscores."""
    return name if _NAME.fullmatch(name) else json.dumps(name)


def number_text(value: float) -> str:
    """A constant: ``true``, ``3``, ``0.5``, ``inf``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _operand(operand: Operand) -> str:
    return operand if isinstance(operand, str) else number_text(operand)


def _operands(operands: Iterable[Operand]) -> str:
    return ", ".join(map(_operand, operands))


def _expressions(parts: Iterable[Expr | None]) -> str:
    return f"[{', '.join('?' if e is None else str(e) for e in parts)}]"


def _launched(step: steps.LaunchKernel) -> str:
    called = f"{name_text(step.kernel)} grid {_expressions(step.grid)} ({_operands(step.arguments)})"
    return called + (f" writes {_numbers(step.written)}" if step.written else "")


def _numbers(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers))}]"


def _lines(lines: Sequence[Line]) -> str:
    return f" at {', '.join(f'{json.dumps(file)}:{line}' for file, line in lines)}" if lines else ""


def _origin(origin: Origin) -> str:
    nodes = f" from {', '.join(map(name_text, origin.nodes))}" if origin.nodes else ""
    return nodes + _lines(origin.lines)


def argument_text(argument: Argument) -> str:
    """An argument of an extern op."""
    match argument:
        case None:
            return "none"
        case Arg():
            return f"${argument.number}"
        case Named():
            return f"<{json.dumps(argument.text)[1:-1]}>"
        case List():
            return f"[{', '.join(map(argument_text, argument.items))}]"
        case Tuple():
            return f"({', '.join(map(argument_text, argument.items))})"
        case Dict():
            return "{" + ", ".join(f"{json.dumps(n)}: {argument_text(a)}" for n, a in argument.items) + "}"
        case str():
            return json.dumps(argument)
        case _:
            return number_text(argument)


def extern_text(extern: Extern) -> str:
    """The declaration of an extern op."""
    given = [argument_text(a) for a in extern.arguments]
    given += [f"{name}={argument_text(a)}" for name, a in extern.keywords]
    called = f"{name_text(extern.op)}({', '.join(given)})"
    more = "" if extern.leaves is None else f" leaves {_numbers(extern.leaves)}"
    more += f" writes {_numbers(extern.mutated)}" if extern.mutated else ""
    if extern.aliases:
        more += f" aliases [{', '.join(f'{result}: {operand}' for result, operand in extern.aliases)}]"
    more += " effect" if extern.effect else ""
    return f"extern {name_text(extern.name)} ({extern.operands}) -> {extern.results} = {called}{more}"


class _Printer:
    def __init__(self, device: str) -> None:
        self.device = device

    def plan(self, plan: Plan) -> Iterator[str]:
        yield f"plan on {plan.device}"
        if plan.peak is not None:
            yield f"peak {plan.peak}"
        for kernel in plan.kernels:
            yield f"kernel {name_text(kernel.name)}({', '.join(kernel.parameters)})"
        yield from map(extern_text, plan.externs)
        for call in plan.unrecorded:
            yield f"unrecorded {json.dumps(call.op)} because {json.dumps(call.reason)}{_lines(call.lines)}"
        for function in plan.functions:
            yield ""
            yield from self.function(function)
        yield "end"

    def function(self, function: PlanFunction) -> Iterator[str]:
        yield f"{function.kind} {function.name}({self.values(function.parameters)}) {{"
        yield from self.each(function.steps)
        yield "}"

    def type(self, type_: Type) -> str:
        if isinstance(type_, str):
            return type_
        parts = ", ".join(map(str, type_.sizes))
        if not type_.is_row_major:
            parts += f" : {', '.join(map(str, type_.strides))}"
        where = "" if type_.device == self.device else f" on {type_.device}"
        return f"{type_.element}[{parts}]{where}"

    def value(self, value: Value) -> str:
        return f"{value.name}: {self.type(value.type)}"

    def values(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.value, values))

    def carried(self, values: Sequence[Value], initial: Sequence[Operand]) -> str:
        pairs = zip(values, initial, strict=True)
        return f"({', '.join(f'{self.value(v)} = {_operand(i)}' for v, i in pairs)})"

    def each(self, body: Iterable[Step]) -> Iterator[str]:
        """The lines of ``body``, one level deeper."""
        for step in body:
            for line in _STEPS[type(step)](self, step):
                yield "  " + line

    def block(self, block: StepBlock) -> Iterator[str]:
        yield from self.each(block.steps)
        yield "  yield" + (f" {_operands(block.values)}" if block.values else "")

    def results(self, values: Sequence[Value]) -> str:
        return f"{self.values(values)} = " if values else ""

    # --- steps

    def align(self, step: steps.Align) -> Iterator[str]:
        given = "" if step.given is None else f" beside {self.value(step.given)}"
        yield f"align {step.name}{given}" + (" to copy back" if step.written else "")

    def alloc(self, step: steps.Alloc) -> Iterator[str]:
        yield f"{self.value(step.result)} = alloc"

    def reuse(self, step: steps.Reuse) -> Iterator[str]:
        yield f"{self.value(step.result)} = reuse {step.donor}"

    def view(self, step: steps.View) -> Iterator[str]:
        yield f"{self.value(step.result)} = view {step.base} offset {_expressions([step.offset])}"

    def free(self, step: steps.Free) -> Iterator[str]:
        yield f"free {', '.join(step.names)}"

    def size(self, step: steps.Size) -> Iterator[str]:
        yield f"{step.name} = size {step.tensor} dim {step.dim}"

    def compute(self, step: steps.Compute) -> Iterator[str]:
        yield f"{step.name} = compute {_expressions([step.value])}"

    def draw(self, step: steps.DrawNumbers) -> Iterator[str]:
        yield f"{', '.join(step.names)} = draw {step.count} on {step.device}"

    def launch(self, step: steps.LaunchKernel) -> Iterator[str]:
        yield f"launch {_launched(step)}{_origin(step.origin)}"

    def tune(self, step: steps.LaunchTuned) -> Iterator[str]:
        forms = " or ".join(map(_launched, step.launches))
        yield f"tune by {_expressions(step.key)} {forms}{_origin(step.launches[0].origin)}"

    def extern(self, step: steps.CallExtern) -> Iterator[str]:
        called = f"extern {name_text(step.extern)}({_operands(step.arguments)})"
        yield self.results(step.results) + called + _origin(step.origin)

    def check(self, step: steps.Check) -> Iterator[str]:
        layout = f"{_expressions(step.sizes)} {_expressions(step.strides)}"
        yield f"check {step.name} {layout} made by {json.dumps(step.made_by)}"

    def call(self, step: steps.CallFunction) -> Iterator[str]:
        called = f"run {step.function}({_operands(step.arguments)})"
        separated = " separated" if step.separated else ""
        yield self.results(step.results) + called + separated + _origin(step.origin)

    def lay_out(self, step: steps.LayOut) -> Iterator[str]:
        yield f"layout {step.name} {self.type(step.type)}"

    def watch(self, step: steps.Watch) -> Iterator[str]:
        written = "" if step.written is None else f" writes ({', '.join(step.written)})"
        before = "before " if step.written is None else ""
        yield f"watch {before}{step.number} reads ({', '.join(step.read)}){written}"

    def copy_back(self, step: steps.CopyBack) -> Iterator[str]:
        yield f"copyback {step.name}"

    def finish(self, step: steps.Return) -> Iterator[str]:
        yield "return" + (f" {_operands(step.values)}" if step.values else "")

    def recorded(self, step: steps.Recorded) -> Iterator[str]:
        more = f" static {_numbers(step.static)}" if step.static else ""
        more += f" writes {_numbers(step.mutated)}" if step.mutated else ""
        more += f" gives ({', '.join(step.results)})" if step.results else ""
        more += f" releases ({', '.join(step.released)})" if step.released else ""
        yield f"recorded {step.name}({', '.join(step.inputs)}){more} {{"
        yield from self.each(step.steps)
        yield "}"

    def constant(self, step: steps.Constant) -> Iterator[str]:
        yield f"{self.value(step.result)} = constant {number_text(step.value)}"

    def arithmetic(self, step: steps.HostArithmetic) -> Iterator[str]:
        left, right = _operand(step.left), _operand(step.right)
        yield f"{self.value(step.result)} = {left} {step.operator} {right}"

    def branch(self, step: steps.Branch) -> Iterator[str]:
        yield f"{self.results(step.results)}if {_operand(step.condition)} {{"
        yield from self.block(step.then)
        if step.otherwise is not None:
            yield "} else {"
            yield from self.block(step.otherwise)
        yield "}"

    def repeat(self, step: steps.While) -> Iterator[str]:
        yield f"{self.results(step.results)}while {self.carried(step.carried, step.initial)} {{"
        yield from self.block(step.before)
        yield "} do {"
        yield from self.block(step.after)
        yield "}"

    def count(self, step: steps.For) -> Iterator[str]:
        bounds = f"{_operand(step.first)} to {_operand(step.end)} step {_operand(step.step)}"
        carried = self.carried(step.carried, step.initial)
        yield f"for {self.value(step.number)} from {bounds} {carried} {{"
        yield from self.block(step.body)
        yield "}"


_STEPS: dict[type, Callable[[_Printer, Any], Iterator[str]]] = {
    steps.Align: _Printer.align,
    steps.Alloc: _Printer.alloc,
    steps.HostArithmetic: _Printer.arithmetic,
    steps.Branch: _Printer.branch,
    steps.CallExtern: _Printer.extern,
    steps.CallFunction: _Printer.call,
    steps.Check: _Printer.check,
    steps.Compute: _Printer.compute,
    steps.Constant: _Printer.constant,
    steps.CopyBack: _Printer.copy_back,
    steps.DrawNumbers: _Printer.draw,
    steps.For: _Printer.count,
    steps.Free: _Printer.free,
    steps.LaunchKernel: _Printer.launch,
    steps.LaunchTuned: _Printer.tune,
    steps.LayOut: _Printer.lay_out,
    steps.Recorded: _Printer.recorded,
    steps.Return: _Printer.finish,
    steps.Reuse: _Printer.reuse,
    steps.Size: _Printer.size,
    steps.View: _Printer.view,
    steps.Watch: _Printer.watch,
    steps.While: _Printer.repeat,
}
