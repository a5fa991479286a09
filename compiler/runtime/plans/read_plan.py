"""Reads the text of a launch plan (``plan_text.py``) and validates what it says (``validate.py``)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from ...base.launch import Unrecorded
from ...index import Expr
from ..errors import PlanError
from .externs import Extern
from .plan import KernelParameters, Plan, PlanFunction
from .plan_cursor import Context, Cursor
from .plan_text import VERSION
from .read_extern import read_extern
from .steps import (
    Align,
    Alloc,
    Branch,
    CallExtern,
    CallFunction,
    Check,
    Compute,
    Constant,
    CopyBack,
    DrawNumbers,
    For,
    Free,
    HostArithmetic,
    LaunchKernel,
    LaunchTuned,
    LayOut,
    Operand,
    Recorded,
    Return,
    Reuse,
    Size,
    Step,
    StepBlock,
    TensorType,
    Value,
    View,
    Watch,
    While,
)
from .validate import validate

#: How deep control flow may nest: Python has 20 loops inside each other at most.
_DEEPEST = 16


def read_plan(text: str, name: str = "plan", device: str | None = None) -> Plan:
    """The plan that a text says.  ``name``: of the text, for errors.  ``device``, if given, replaces every
    device in it.

    Raises PlanError, which names line and column, for a text that is no plan or is cut short, and for a plan
    that must not run.
    """
    reader = _Reader(text, name, device)
    plan = reader.plan()
    validate(plan, reader.place)
    return plan


class _Reader:
    def __init__(self, text: str, name: str, moved: str | None) -> None:
        self.of = Context(name, moved)
        lines = enumerate(map(str.strip, text.split("\n")), 1)
        self.lines = [(number, line) for number, line in lines if line and not line.startswith("//")]
        self.next = 0
        self.depth = 0
        self.places: dict[int, int] = {}  #: the line of each step, declaration and function, by its identity

    def place(self, what: object) -> str:
        """Where a step, a declaration or a function stands."""
        return f"{self.of.name}:{self.places.get(id(what), 1)}"

    def line(self, inside: str) -> Cursor:
        """The next line.  Raises PlanError where there is none: the text ends inside what ``inside`` says."""
        if self.next == len(self.lines):
            last = self.lines[-1][0] if self.lines else 1
            raise PlanError(f"the text ends inside {inside}", f"{self.of.name}:{last}")
        number, text = self.lines[self.next]
        self.next += 1
        return Cursor(text, number, self.of)

    def plan(self) -> Plan:
        line = self.line("the first line of a plan")
        line.expect("plan")
        version = line.integer("the version of a plan")
        if version != VERSION:
            line.fail(f"the plan is of version {version}, and {VERSION} is read here")
        line.expect("on")
        self.of.device = line.device_name()
        line.end()
        kernels: list[KernelParameters] = []
        externs: list[Extern] = []
        unrecorded: list[Unrecorded] = []
        functions: list[PlanFunction] = []
        peak = None
        while True:
            line = self.line("a plan")
            found: object = None
            if line.take("end"):
                line.end()
                break
            if line.take("peak"):
                peak = line.integer("a number of bytes")
                line.end()
            elif line.take("kernel"):
                name = line.any_name("a kernel")
                found = KernelParameters(name, line.listed("(", ")", partial(line.word, "a type")))
                kernels.append(found)
                line.end()
            elif line.take("extern"):
                found = read_extern(line)
                externs.append(found)
            elif line.take("unrecorded"):
                op = line.string("an op")
                line.expect("because")
                unrecorded.append(Unrecorded(op, line.string("a reason"), line.lines()))
                line.end()
            elif line.take("graph"):
                found = self.function(line, "graph")
                functions.append(found)
            elif line.take("control"):
                found = self.function(line, "control")
                functions.append(found)
            else:
                line.fail("expected 'kernel', 'extern', 'graph', 'control' or 'end'")
            self.places[id(found)] = line.number
        if self.next < len(self.lines):
            self.line("a plan").fail("nothing may follow 'end'")
        return Plan(self.of.device, tuple(kernels), tuple(externs), tuple(functions), tuple(unrecorded), peak)

    # --- functions

    def function(self, line: Cursor, kind: Literal["graph", "control"]) -> PlanFunction:
        name = line.word("a function")
        parameters = line.listed("(", ")", line.value)
        steps, _ = self.opened(line, f"the function {name}", yields=False)
        return PlanFunction(name, kind, parameters, steps)

    def opened(self, line: Cursor, inside: str, yields: bool) -> tuple[tuple[Step, ...], Cursor]:
        """The steps between this line, which ends in a brace, and the one that begins with the other brace,
        which is given too.
        """
        line.expect("{")
        line.end()
        self.depth += 1
        if self.depth > _DEEPEST:
            line.fail(f"blocks nest deeper than {_DEEPEST}")
        steps: list[Step] = []
        while True:
            line = self.line(inside)
            if line.take("}"):
                self.depth -= 1
                return tuple(steps), line
            if yields and line.text.split(" ")[0] == "yield":
                line.at = 0
                self.depth -= 1
                return tuple(steps), line
            number = line.number
            step = self.step(line)
            self.places[id(step)] = number
            steps.append(step)

    def block(self, line: Cursor, inside: str) -> tuple[StepBlock, Cursor]:
        """The block behind the brace at the end of this line, and the line with the other brace."""
        steps, last = self.opened(line, inside, yields=True)
        last.expect("yield")
        values = last.rest(last.operand)
        last.end()
        after = self.line(inside)
        after.expect("}")
        return StepBlock(steps, values), after

    def step(self, line: Cursor) -> Step:
        """The step that begins in this line."""
        start = line.at
        read = line.take_one(_STATEMENTS)
        if read is not None:
            return read(self, line)
        results = self.results(line, start)
        make = line.take_one(_DEFINITIONS)
        return self.arithmetic(line, results) if make is None else make(self, line, results)

    def results(self, line: Cursor, start: int) -> tuple[Value, ...]:
        """``t1: f32[4], u0 =``; what has no type is a size."""
        found = [self.result(line)]
        while line.take(","):
            found.append(self.result(line))
        if not line.take("="):
            line.fail(f"'{line.text[start : start + 20]}' begins no step", start)
        return tuple(found)

    def result(self, line: Cursor) -> Value:
        name = line.word("a variable")
        return Value(name, line.type() if line.take(":") else "index")

    def one(self, line: Cursor, results: tuple[Value, ...]) -> Value:
        if len(results) != 1:
            line.fail(f"expected one result, got {len(results)}")
        return results[0]

    def ended(self, line: Cursor, step: Step) -> Step:
        line.end()
        return step

    # --- steps without results

    def align(self, line: Cursor) -> Step:
        name = line.word("a variable")
        given = line.value() if line.take("beside") else None
        written = line.take("to")
        if written:
            line.expect("copy")
            line.expect("back")
        return self.ended(line, Align(name, written, given))

    def free(self, line: Cursor) -> Step:
        return self.ended(line, Free(line.rest(lambda: line.word("a variable"))))

    def launch(self, line: Cursor) -> Step:
        launched = self._launched(line)
        return self.ended(line, replace(launched, origin=line.origin()))

    def tune(self, line: Cursor) -> Step:
        line.expect("by")
        key = line.known()
        launches = [self._launched(line)]
        while line.take("or"):
            launches.append(self._launched(line))
        origin = line.origin()
        return self.ended(line, LaunchTuned(key, tuple(replace(each, origin=origin) for each in launches)))

    def _launched(self, line: Cursor) -> LaunchKernel:
        kernel = line.any_name("a kernel")
        line.expect("grid")
        at = line.at
        grid = line.known()
        if len(grid) != 3:
            line.fail(f"a grid has 3 extents, got {len(grid)}", at)
        arguments = line.operands()
        written = line.integers("an argument") if line.take("writes") else ()
        return LaunchKernel(kernel, (grid[0], grid[1], grid[2]), arguments, written)

    def check(self, line: Cursor) -> Step:
        name, sizes, strides = line.word("a variable"), line.expressions(), line.expressions()
        line.expect("made")
        line.expect("by")
        return self.ended(line, Check(name, sizes, strides, line.string("an op")))

    def lay_out(self, line: Cursor) -> Step:
        name, at = line.word("a variable"), line.at
        type_ = line.type()
        if not isinstance(type_, TensorType):
            line.fail("expected the type of a tensor", at)
        return self.ended(line, LayOut(name, type_))

    def watch(self, line: Cursor) -> Step:
        number = line.integer("the number of a launch")
        line.expect("reads")
        read = line.names()
        line.expect("writes")
        return self.ended(line, Watch(number, read, line.names()))

    def copy_back(self, line: Cursor) -> Step:
        return self.ended(line, CopyBack(line.word("a variable")))

    def finish(self, line: Cursor) -> Step:
        return self.ended(line, Return(line.rest(line.operand)))

    def recorded(self, line: Cursor) -> Step:
        name, inputs = line.word("a name"), line.names()
        static = line.integers("an input") if line.take("static") else ()
        mutated = line.integers("an input") if line.take("writes") else ()
        results = line.names() if line.take("gives") else ()
        released = line.names() if line.take("releases") else ()
        steps, last = self.opened(line, f"the part {name}", yields=False)
        return self.ended(last, Recorded(name, inputs, static, mutated, results, released, steps))

    def count(self, line: Cursor) -> Step:
        number = line.value()
        line.expect("from")
        first = line.operand()
        line.expect("to")
        end = line.operand()
        line.expect("step")
        by = line.operand()
        carried, initial = self.carried(line)
        body, after = self.block(line, "a loop")
        return self.ended(after, For(number, first, end, by, carried, initial, body))

    def carried(self, line: Cursor) -> tuple[tuple[Value, ...], tuple[Operand, ...]]:
        def pair() -> tuple[Value, Operand]:
            value = line.value()
            line.expect("=")
            return value, line.operand()

        pairs = line.listed("(", ")", pair)
        return tuple(v for v, _ in pairs), tuple(o for _, o in pairs)

    # --- steps that may have results

    def extern_call(self, line: Cursor, results: tuple[Value, ...] = ()) -> Step:
        name, arguments = line.any_name("an extern op"), line.operands()
        return self.ended(line, CallExtern(name, arguments, results, line.origin()))

    def call(self, line: Cursor, results: tuple[Value, ...] = ()) -> Step:
        name, arguments = line.word("a function"), line.operands()
        separated = line.take("separated")
        return self.ended(line, CallFunction(name, arguments, results, separated, line.origin()))

    def branch(self, line: Cursor, results: tuple[Value, ...] = ()) -> Step:
        condition = line.operand()
        then, after = self.block(line, "a branch")
        otherwise = None
        if after.take("else"):
            otherwise, after = self.block(after, "a branch")
        return self.ended(after, Branch(condition, results, then, otherwise))

    def repeat(self, line: Cursor, results: tuple[Value, ...] = ()) -> Step:
        carried, initial = self.carried(line)
        before, after = self.block(line, "a loop")
        after.expect("do")
        body, after = self.block(after, "a loop")
        return self.ended(after, While(carried, initial, before, body, results))

    # --- steps with results

    def alloc(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        return self.ended(line, Alloc(self.one(line, results)))

    def reuse(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        return self.ended(line, Reuse(self.one(line, results), line.word("a variable")))

    def view(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        base = line.word("a variable")
        line.expect("offset")
        return self.ended(line, View(self.one(line, results), base, self.expression(line)))

    def size(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        tensor = line.word("a variable")
        line.expect("dim")
        return self.ended(line, Size(self.one(line, results).name, tensor, line.integer("a dim")))

    def compute(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        return self.ended(line, Compute(self.one(line, results).name, self.expression(line)))

    def expression(self, line: Cursor) -> Expr:
        at = line.at
        found = line.known()
        if len(found) != 1:
            line.fail(f"expected one size in brackets, got {len(found)}", at)
        return found[0]

    def draw(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        count = line.integer("how many")
        line.expect("on")
        return self.ended(line, DrawNumbers(tuple(v.name for v in results), line.device_name(), count))

    def constant(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        value = line.number_here()
        if value is None:
            line.fail("expected a number")
        return self.ended(line, Constant(self.one(line, results), value))

    def arithmetic(self, line: Cursor, results: tuple[Value, ...]) -> Step:
        left = line.operand()
        for mark in ("+", "-", "*", "<"):
            if line.take(mark):
                return self.ended(line, HostArithmetic(self.one(line, results), mark, left, line.operand()))
        line.fail("expected '+', '-', '*' or '<'")


_STATEMENTS: dict[str, Callable[[_Reader, Cursor], Step]] = {
    "launch": _Reader.launch,
    "tune": _Reader.tune,
    "free": _Reader.free,
    "check": _Reader.check,
    "extern": _Reader.extern_call,
    "align": _Reader.align,
    "run": _Reader.call,
    "layout": _Reader.lay_out,
    "watch": _Reader.watch,
    "copyback": _Reader.copy_back,
    "return": _Reader.finish,
    "recorded": _Reader.recorded,
    "if": _Reader.branch,
    "while": _Reader.repeat,
    "for": _Reader.count,
}
_DEFINITIONS: dict[str, Callable[[_Reader, Cursor, tuple[Value, ...]], Step]] = {
    "alloc": _Reader.alloc,
    "extern": _Reader.extern_call,
    "view": _Reader.view,
    "reuse": _Reader.reuse,
    "size": _Reader.size,
    "compute": _Reader.compute,
    "draw": _Reader.draw,
    "run": _Reader.call,
    "constant": _Reader.constant,
    "if": _Reader.branch,
    "while": _Reader.repeat,
}
