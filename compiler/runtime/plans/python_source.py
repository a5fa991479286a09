"""The Python that a launch plan runs as: one line for an allocation, a launch, an extern call or a view, and
nothing to look up.

Kernels get addresses, which a function computes once for each tensor, where it first needs them.  What a CUDA
graph records is a function of its own:

    def partition_0(args):
        a0, t3, = args
        args.clear()
        a0_p = a0.data_ptr()
        ...
        return [t7]

``bound_plan.py`` compiles the text and binds its names.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

from ..taken_over import TAKE_OVER
from . import steps
from .plan import Plan, PlanFunction
from .promised import Promised, promised
from .python_text import (
    dtype_name,
    empty_text,
    identifier,
    layout_text,
    operand_text,
    python_text,
    tuple_of_texts,
)
from .steps import Operand, Step, StepBlock, Value, defined

#: Lines before and after the line of a step.
Around = Callable[[Step], tuple[Sequence[str], Sequence[str]]]


def python_source(plan: Plan, around: Around | None = None, nested: Around | None = None) -> str:
    """The source of ``run(args)``, from the list of arguments, which it empties, to the list of results, and
    of the functions that it calls.  ``around``: what stands beside the steps of ``run``.  nested: beside
    those of the others.
    """
    known = _Known(plan)
    texts = [_Printer(known, function, nested).text() for function in plan.functions[:-1]]
    return "\n".join([*texts, _Printer(known, plan.main, around).text()])


def _listed(operands: Iterable[Operand]) -> str:
    return ", ".join(map(operand_text, operands))


def _names(values: Iterable[Value]) -> list[str]:
    return [value.name for value in values]


class _Known:
    """What the functions of a plan are printed with."""

    def __init__(self, plan: Plan) -> None:
        self.on_gpu = plan.device.startswith("cuda")
        self.externs = {extern.name: extern for extern in plan.externs}
        self.parameters = {kernel.name: kernel.parameters for kernel in plan.kernels}
        self.controls = {f.name for f in plan.functions if f.kind == "control"}


class _Printer:
    """Prints one function."""

    def __init__(self, known: _Known, function: PlanFunction, around: Around | None = None) -> None:
        self.known, self.of, self.around = known, function, around
        self.before: list[str] = []  #: functions of what is recorded
        self.lines: list[str] = []
        self.depth = 1
        self.addresses: set[str] = set()  #: of tensors, computed already
        self.promised: dict[str, Promised] = {}  #: results of torch ops
        self.tensors = {v.name for v in function.parameters if v.is_tensor}

    def text(self) -> str:
        parameters = _names(self.of.parameters)
        self._steps(self.of.steps, parameters if self.of.kind == "graph" else None)
        taken = "args" if self.of.kind == "graph" else ", ".join(parameters)
        return "\n".join([*self.before, f"def {self.of.name}({taken}):", *self.lines]) + "\n"

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    # --- functions

    def _steps(self, body: Sequence[Step], parameters: Sequence[str] | None) -> None:
        """The body of a function; ``parameters`` are unpacked from the list ``args``."""
        if parameters is not None:
            if parameters:
                self.emit(f"{', '.join(parameters)}{',' if len(parameters) == 1 else ''} = args")
            self.emit("args.clear()")
        aligned = list(takewhile(lambda step: isinstance(step, steps.Align), body))
        for step in aligned:
            self.step(step)
        if any(isinstance(step, steps.LaunchKernel | steps.LaunchTuned) for step in body):
            self.emit("stream = current_stream(device)" if self.known.on_gpu else "stream = 0")
        for step in body[len(aligned) :]:
            if self.around is None:
                self.step(step)
                continue
            before, after = self.around(step)
            for line in before:
                self.emit(line)
            self.step(step)
            for line in after:
                self.emit(line)

    def step(self, step: Step) -> None:
        self.tensors.update(v.name for v in defined(step) if v.is_tensor)
        _STEPS[type(step)](self, step)

    # --- storage

    def align(self, step: steps.Align) -> None:
        name = step.name
        self.emit(f"{name}_p = {name}.data_ptr()")
        if step.written:
            self.emit(f"{name}_caller = {name}")
        if step.given is not None:
            self.emit(f"{step.given.name} = {name}")
        self.emit(f"if {name}_p & 15: {name} = aligned({name}); {name}_p = {name}.data_ptr()")
        self.addresses.add(name)

    def alloc(self, step: steps.Alloc) -> None:
        assert not isinstance(step.result.type, str)
        self.emit(f"{step.result.name} = {empty_text(step.result.type)}")

    def reuse(self, step: steps.Reuse) -> None:
        assert not isinstance(step.result.type, str)
        if step.result.name != step.donor:
            self.emit(f"{step.result.name} = reinterpret({step.donor}, {layout_text(step.result.type)}, 0)")

    def view(self, step: steps.View) -> None:
        assert not isinstance(step.result.type, str)
        layout, offset = layout_text(step.result.type), python_text(step.offset)
        self.emit(f"{step.result.name} = reinterpret({step.base}, {layout}, {offset})")

    def free(self, step: steps.Free) -> None:
        self.emit(f"del {', '.join(step.names)}")

    def lay_out(self, step: steps.LayOut) -> None:
        self.emit(f"{step.name} = laid_out({step.name}, {layout_text(step.type)})")

    def copy_back(self, step: steps.CopyBack) -> None:
        name = step.name
        self.emit(f"if {name} is not {name}_caller: {name}_caller.copy_({name}); {name} = {name}_caller")

    def check(self, step: steps.Check) -> None:
        sizes, strides = (
            tuple_of_texts(
                f"{step.name}.{what}({dim})" if e is None else python_text(e) for dim, e in enumerate(parts)
            )
            for what, parts in (("size", step.sizes), ("stride", step.strides))
        )
        name, made = step.name, self.promised[step.name]
        dtype, layout = dtype_name(made.element), f"{step.name}, {sizes}, {strides}"
        fitted = f"fitted({layout}, {dtype}, {step.made_by!r}, {made.where!r}, {made.shares})"
        self.emit(f"try: check({layout})")
        self.emit(f"except AssertionError: {name} = {fitted}")
        if not step.made_by.startswith("aten."):  # fake kernels of torch are right about dtypes
            self.emit(f"if {name}.dtype is not {dtype}: {fitted}")

    # --- numbers

    def size(self, step: steps.Size) -> None:
        self.emit(f"{step.name} = {step.tensor}.size({step.dim})")

    def compute(self, step: steps.Compute) -> None:
        self.emit(f"{step.name} = {python_text(step.value)}")

    def draw(self, step: steps.DrawNumbers) -> None:
        self.emit(f"{', '.join(step.names)} = draw({step.device!r}, {step.count})")

    def constant(self, step: steps.Constant) -> None:
        value = f"float('{step.value}')" if isinstance(step.value, float) else str(step.value)
        self.emit(f"{step.result.name} = {value}")

    def arithmetic(self, step: steps.HostArithmetic) -> None:
        left, right = operand_text(step.left), operand_text(step.right)
        self.emit(f"{step.result.name} = {left} {step.operator} {right}")

    # --- calls

    def launch(self, step: steps.LaunchKernel) -> None:
        self.emit(f"launch_{identifier(step.kernel)}(stream, {self._grid_and_arguments(step)})")

    def tune(self, step: steps.LaunchTuned) -> None:
        key = tuple_of_texts([python_text(value) for value in step.key])
        forms = ", ".join(f"({self._grid_and_arguments(each)})" for each in step.launches)
        written = tuple_of_texts(step.written)
        self.emit(f"tune_{identifier(step.name)}(stream, {key}, {written}, {forms})")

    def _grid_and_arguments(self, step: steps.LaunchKernel) -> str:
        arguments = [python_text(g) for g in step.grid]
        for kind, argument in zip(self.known.parameters[step.kernel], step.arguments, strict=True):
            arguments.append(self.address(str(argument)) if kind == "ptr" else operand_text(argument))
        return ", ".join(arguments)

    def address(self, name: str) -> str:
        if name not in self.addresses:
            self.addresses.add(name)
            self.emit(f"{name}_p = {name}.data_ptr()")
        return f"{name}_p"

    def extern(self, step: steps.CallExtern) -> None:
        if self.known.externs[step.extern].op == TAKE_OVER:
            self._take_over(str(step.arguments[0]), step.results[0].name)
        else:
            left = f"{', '.join(_names(step.results))} = " if step.results else ""
            self.emit(f"{left}extern_{identifier(step.extern)}({_listed(step.arguments)})")
        self.promised |= promised(step, self.known.externs[step.extern])

    def _take_over(self, saved: str, result: str) -> None:
        """The tensor is in a list by then, and no variable or argument holds it."""
        self.emit(f"box = [{saved}]; {saved} = None")
        self.emit(f"{result} = take_over(box)")

    def call(self, step: steps.CallFunction) -> None:
        operands = _listed(step.arguments)
        one_by_one = step.function in self.known.controls
        text = f"{step.function}({operands})" if one_by_one else f"{step.function}([{operands}])"
        if step.separated:
            tensors = [str(a) for a in step.arguments if a in self.tensors]
            text = f"own_storage({text}, [{', '.join(tensors)}])"
        left = f"[{', '.join(_names(step.results))}] = " if step.results else ""
        self.emit(left + text)

    def watch(self, step: steps.Watch) -> None:
        written = None if step.written is None else tuple_of_texts(step.written)
        self.emit(f"watch({step.number}, {tuple_of_texts(step.read)}, {written})")

    def finish(self, step: steps.Return) -> None:
        self.emit(f"return [{_listed(step.values)}]")

    def recorded(self, step: steps.Recorded) -> None:
        inside = _Printer(self.known, self.of)
        inside.tensors, inside.promised = self.tensors, self.promised
        inside._steps(step.steps, step.inputs)
        inside.emit(f"return [{', '.join(step.results)}]")
        self.before += [f"def {step.name}(args):", *inside.lines]
        self.emit(f"given = [{', '.join(step.inputs)}]")
        if step.released:
            self.emit(f"del {', '.join(step.released)}")
        left = f"{', '.join(step.results)}, = " if step.results else ""
        self.emit(f"{left}{step.name}(given)")

    # --- control flow

    def assign(self, targets: Sequence[str], sources: Sequence[Operand]) -> None:
        if targets:
            self.emit(f"{', '.join(targets)} = {_listed(sources)}")

    def nested(self, block: StepBlock) -> None:
        """A block one level deeper, which the caller leaves."""
        self.depth += 1
        for step in block.steps:
            self.step(step)
        if not block.steps:
            self.emit("pass")

    def branch(self, step: steps.Branch) -> None:
        results = _names(step.results)
        for head, block in ((f"if {operand_text(step.condition)}:", step.then), ("else:", step.otherwise)):
            if block is not None:
                self.emit(head)
                self.nested(block)
                self.assign(results, block.values)
                self.depth -= 1

    def repeat(self, step: steps.While) -> None:
        carried = _names(step.carried)
        self.assign(carried, step.initial)
        self.emit("while True:")
        self.nested(step.before)
        goes_on, *passed = step.before.values
        self.emit(f"if not {operand_text(goes_on)}:")
        self.depth += 1
        self.assign(_names(step.results), passed)
        self.emit("break")
        self.depth -= 2
        self._carry(carried, step.after)

    def count(self, step: steps.For) -> None:
        carried = _names(step.carried)
        self.assign(carried, step.initial)
        self.emit(f"for {step.number.name} in range({_listed((step.first, step.end, step.step))}):")
        self._carry(carried, step.body)

    def _carry(self, carried: list[str], block: StepBlock) -> None:
        """The body of a loop: what it ends with is what it carries on.  Its variables are let go."""
        self.nested(block)
        self.assign(carried, block.values)
        made = sorted({v.name for step in block.steps for v in defined(step)})
        if made:
            self.emit(f"del {', '.join(made)}")
        self.depth -= 1


_STEPS: dict[type, Callable[[_Printer, Any], None]] = {
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
