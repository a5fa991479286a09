"""Rules of the steps of a launch plan: each variable is defined once, before it is used, and is not used
after it was freed; a tensor stands where a tensor is needed; what is launched and called is declared.
"""

import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from ...base.dataclass import dataclass
from ...index import Expr
from ..errors import PlanError
from . import steps
from .externs import Extern
from .plan import MAIN, PlanFunction
from .steps import NUMBERS, Operand, Step, StepBlock, TensorType, Type, Value, defined

#: How deep control flow and arguments may nest: Python has 20 loops inside each other at most.
DEEPEST = 16
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PART = re.compile(r"partition_[0-9]+")
DEVICE = re.compile(r"cpu|cuda(?::\d{1,4})?")
_ELEMENTS = frozenset(
    ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i64", "i32", "i16", "i8", "i1")
    + ("ui64", "ui32", "ui16", "ui8", "complex<f32>", "complex<f64>")
)
#: Names with a meaning in the Python of a plan, or in its text.
_RESERVED = frozenset(
    ("aligned", "args", "check", "current_stream", "device", "draw", "empty_cpu", "empty_cuda", "fitted")
    + (
        "given",
        "laid_out",
        "memory",
        "own_storage",
        "range",
        "float",
        "reinterpret",
        "run",
        "stream",
        "watch",
    )
    + (
        "launch",
        "free",
        "extern",
        "align",
        "layout",
        "copyback",
        "recorded",
        "alloc",
        "view",
        "reuse",
    )
    + ("size", "compute", "constant", "floordiv", "mod", "ceildiv", "inf", "nan", "true", "false", "none")
    + ("end", "yield", "to", "on", "tuple")
)
_PREFIXES = ("launch_", "extern_", "graph_", "control_flow_", "partition_", "dtype_", "__")
_SUFFIXES = ("_p", "_caller")


@dataclass(frozen=True)
class Declared:
    """What the steps of a plan may name: kernels with their parameters, extern ops, functions."""

    kernels: Mapping[str, tuple[str, ...]]
    externs: Mapping[str, Extern]
    functions: Mapping[str, PlanFunction]


def validate_function(function: PlanFunction, declared: Declared) -> None:
    """Raises PlanError for a function that must not run.  The functions that it calls are valid."""
    _Scope(declared, function).run()


class _Scope:
    """The variables of one function, step by step."""

    def __init__(self, of: Declared, function: PlanFunction) -> None:
        self.of, self.function = of, function
        self.parameters = {value.name for value in function.parameters}
        self.live: dict[str, Type] = {}
        self.known: set[str] = set()  #: all that were ever defined
        self.freed: set[str] = set()
        self.kept: set[str] = set()  #: aligned arguments that are to be copied back
        self.torchs: set[str] = set()  #: results of torch's ops
        self.at: object = function
        self.depth = 0  #: of blocks around a step

    def fail(self, message: str) -> NoReturn:
        number = next((i for i, step in enumerate(self.function.steps) if step is self.at), None)
        where = f"in '{self.function.name}'" + ("" if number is None else f", step {number}")
        raise PlanError(message, where)

    def run(self) -> None:
        for value in self.function.parameters:
            self.define(value)
        *body, last = self.function.steps or (None,)
        if not isinstance(last, steps.Return):
            self.fail(f"the function '{self.function.name}' does not end with a return")
        self.each(body)  # type: ignore[arg-type]
        self.at = last
        for operand in last.values:
            self.operand(operand)
        if self.kept:
            self.fail(f"'{min(self.kept)}' is not copied back")

    def each(self, body: Iterable[Step]) -> None:
        for step in body:
            self.at = step
            check = _RULES.get(type(step))
            if check is None:
                self.fail(f"a {step.word} has no place here")
            check(self, step)

    # --- variables

    def define(self, value: Value) -> None:
        name = value.name
        if (
            not VARIABLE.fullmatch(name)
            or keyword.iskeyword(name)
            or name in _RESERVED
            or name.startswith(_PREFIXES)
            or name.endswith(_SUFFIXES)
        ):
            self.fail(f"'{name}' is no name of a variable")
        if name in self.known:
            self.fail(f"'{name}' is defined twice")
        self.known.add(name)
        self.type(value.type)
        self.live[name] = value.type

    def type_of(self, name: str) -> Type:
        if name in self.live:
            return self.live[name]
        if name in self.freed:
            self.fail(f"'{name}' is used after it was freed")
        self.fail(f"'{name}' is used before it is defined")

    def tensor(self, name: Operand) -> TensorType:
        found = self.type_of(name) if isinstance(name, str) else None
        if not isinstance(found, TensorType):
            self.fail(f"'{name}' is a number, and a tensor is needed")
        return found

    def number(self, operand: Operand) -> None:
        if isinstance(operand, str) and not isinstance(self.type_of(operand), str):
            self.fail(f"'{operand}' is a tensor, and a number is needed")

    def operand(self, operand: Operand) -> None:
        if isinstance(operand, str):
            self.type_of(operand)

    def sizes(self, parts: Iterable[Expr | None]) -> None:
        for e in parts:
            for name in () if e is None else sorted(e.symbols()):
                self.number(name)

    def type(self, type_: Type) -> None:
        if isinstance(type_, str):
            if type_ not in NUMBERS:
                self.fail(f"'{type_}' is no type of a number")
            return
        if type_.element not in _ELEMENTS:
            self.fail(f"'{type_.element}' is no type of elements")
        if len(type_.sizes) != len(type_.strides):
            self.fail(f"a type has {len(type_.sizes)} sizes and {len(type_.strides)} strides")
        if not DEVICE.fullmatch(type_.device):
            self.fail(f"'{type_.device}' is no device of a tensor")

    def layout(self, type_: Type) -> None:
        if not isinstance(type_, TensorType):
            self.fail(f"'{type_}' is no type of a tensor")
        self.type(type_)
        for name in type_.symbols:
            self.number(name)

    # --- steps

    def align(self, step: steps.Align) -> None:
        self.tensor(step.name)
        if step.name not in self.parameters and (step.written or step.name not in self.torchs):
            self.fail(f"'{step.name}' is no argument that can be aligned")
        if step.written:
            self.kept.add(step.name)
        self.results(step)

    def copy_back(self, step: steps.CopyBack) -> None:
        self.tensor(step.name)
        if step.name not in self.kept:
            self.fail(f"'{step.name}' was not aligned to be copied back")
        self.kept.remove(step.name)

    def alloc(self, step: steps.Alloc) -> None:
        self.layout(step.result.type)
        self.define(step.result)

    def reuse(self, step: steps.Reuse) -> None:
        self.tensor(step.donor)
        self.layout(step.result.type)
        if step.result.name != step.donor:
            self.define(step.result)

    def view(self, step: steps.View) -> None:
        self.tensor(step.base)
        self.layout(step.result.type)
        self.sizes((step.offset,))
        self.define(step.result)

    def free(self, step: steps.Free) -> None:
        if not step.names:
            self.fail("a free names no variable")
        for name in step.names:
            if name in self.freed:
                self.fail(f"'{name}' is freed twice")
            if name in self.kept:
                self.fail(f"'{name}' is freed before it is copied back")
            self.tensor(name)
            self.freed.add(name)
            del self.live[name]

    def size(self, step: steps.Size) -> None:
        if not 0 <= step.dim < len(self.tensor(step.tensor).sizes):
            self.fail(f"'{step.tensor}' has no dim {step.dim}")
        self.results(step)

    def compute(self, step: steps.Compute) -> None:
        self.sizes((step.value,))
        self.results(step)

    def draw(self, step: steps.DrawNumbers) -> None:
        if len(step.names) != 2 or not DEVICE.fullmatch(step.device):
            self.fail(f"a seed and an offset are drawn on a device, got {len(step.names)} on '{step.device}'")
        self.results(step)

    def results(self, step: Step) -> None:
        for value in defined(step):
            self.define(value)

    def launch(self, step: steps.LaunchKernel) -> None:
        parameters = self.of.kernels.get(step.kernel)
        if parameters is None:
            self.fail(f"there is no kernel '{step.kernel}'")
        self.count("kernel", step.kernel, len(parameters), len(step.arguments))
        self.sizes(step.grid)
        for kind, argument in zip(parameters, step.arguments, strict=True):
            if kind == "ptr":
                self.tensor(argument)
            else:
                self.number(argument)
        if any(not 0 <= n < len(parameters) or parameters[n] != "ptr" for n in step.written):
            self.fail(f"the kernel '{step.kernel}' writes to arguments that are no tensors")

    def tune(self, step: steps.LaunchTuned) -> None:
        self.sizes(step.key)
        if not step.launches:
            self.fail("there is no form of a kernel to choose from")
        for each in step.launches:
            self.launch(each)
        first = {str(step.launches[0].arguments[n]) for n in step.launches[0].written}
        if any({str(each.arguments[n]) for n in each.written} != first for each in step.launches):
            self.fail(f"the forms of the kernel '{step.name}' write to different tensors")

    def count(self, kind: str, name: str, takes: int, given: int) -> None:
        if takes != given:
            self.fail(f"the {kind} '{name}' takes {takes} arguments, and {given} are given")

    def extern(self, step: steps.CallExtern) -> None:
        extern = self.of.externs.get(step.extern)
        if extern is None:
            self.fail(f"there is no extern op '{step.extern}'")
        self.count("extern op", step.extern, extern.operands, len(step.arguments))
        if len(step.results) != extern.results:
            self.fail(
                f"the extern op '{step.extern}' gives {extern.results} results, not {len(step.results)}"
            )
        for argument in step.arguments:
            self.operand(argument)
        for number in extern.mutated:
            self.tensor(step.arguments[number])
        self.results(step)
        self.torchs.update(value.name for value in step.results)

    def check(self, step: steps.Check) -> None:
        rank = len(self.tensor(step.name).sizes)
        if len(step.sizes) != rank or len(step.strides) != rank:
            self.fail(f"'{step.name}' has {rank} dims")
        self.sizes((*step.sizes, *step.strides))

    def call(self, step: steps.CallFunction) -> None:
        function = self.of.functions[step.function]
        self.count("function", step.function, len(function.parameters), len(step.arguments))
        for value, argument in zip(function.parameters, step.arguments, strict=True):
            if value.is_tensor:
                self.tensor(argument)
            else:
                self.number(argument)
        last = function.steps[-1]
        given = len(last.values) if isinstance(last, steps.Return) else 0
        if given != len(step.results):
            self.fail(f"the function '{step.function}' gives {given} results, not {len(step.results)}")
        self.results(step)

    def lay_out(self, step: steps.LayOut) -> None:
        self.tensor(step.name)
        self.layout(step.type)

    def watch(self, step: steps.Watch) -> None:
        for name in (*step.read, *(step.written or ())):
            self.tensor(name)

    def recorded(self, step: steps.Recorded) -> None:
        """Inside only the inputs are known; what is freed there is gone outside only where it is released."""
        if self.function.name != MAIN or not _PART.fullmatch(step.name):
            self.fail(f"'{step.name}' is no part of '{MAIN}'")
        inside = _Scope(self.of, self.function)
        inside.known, inside.depth = self.known, self.depth + 1
        for name in step.inputs:
            inside.live[name] = self.type_of(name)
        positions = range(len(step.inputs))
        if any(n not in positions for n in (*step.static, *step.mutated)):
            self.fail(f"the part '{step.name}' has {len(step.inputs)} inputs")
        for name in step.released:
            self.type_of(name)
        inside.each(step.steps)
        self.at = step
        for name in step.released:
            del self.live[name]
            self.freed.add(name)
        for name in step.results:
            inside.at = step
            self.live[name] = inside.type_of(name)
            self.freed.discard(name)

    # --- control flow

    def constant(self, step: steps.Constant) -> None:
        self.results(step)

    def arithmetic(self, step: steps.HostArithmetic) -> None:
        self.number(step.left)
        self.number(step.right)
        self.results(step)

    def block(self, block: StepBlock, at: Step) -> dict[str, Type]:
        """Checks a block; its variables are not known behind it.  They are given."""
        before = dict(self.live)
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"blocks nest deeper than {DEEPEST}")
        self.each(block.steps)
        self.depth -= 1
        self.at = at
        for operand in block.values:
            self.operand(operand)
        made = {name: type_ for name, type_ in self.live.items() if name not in before}
        self.live = {name: type_ for name, type_ in before.items() if name not in self.freed}
        return made

    def branch(self, step: steps.Branch) -> None:
        self.number(step.condition)
        for block in (step.then, step.otherwise):
            values = 0
            if block is not None:
                values = len(block.values)
                self.block(block, step)
            if values != len(step.results):
                self.fail(f"a branch ends with {values} values and has {len(step.results)} results")
        self.results(step)

    def repeat(self, step: steps.While) -> None:
        self.enter(step, step.carried, step.initial)
        if len(step.before.values) != 1 + len(step.results) or len(step.after.values) != len(step.carried):
            self.fail("the blocks of a loop do not end with what it carries and gives")
        around = dict(self.live)
        self.live |= self.block(step.before, step)
        self.block(step.after, step)
        self.live = around
        self.leave(step.carried)
        self.results(step)

    def loop(self, step: steps.For) -> None:
        for operand in (step.first, step.end, step.step):
            self.number(operand)
        self.enter(step, step.carried, step.initial)
        self.define(step.number)
        if len(step.body.values) != len(step.carried):
            self.fail("the body of a loop does not end with what it carries")
        self.block(step.body, step)
        self.leave((step.number,))

    def enter(
        self, step: steps.While | steps.For, carried: tuple[Value, ...], initial: tuple[Operand, ...]
    ) -> None:
        if len(carried) != len(initial):
            self.fail("a loop does not begin with what it carries")
        for value, operand in zip(carried, initial, strict=True):
            self.operand(operand)
            self.define(value)

    def leave(self, values: Iterable[Value]) -> None:
        for value in values:
            self.live.pop(value.name, None)


_RULES: dict[type, Callable[[_Scope, Any], None]] = {
    steps.Align: _Scope.align,
    steps.Alloc: _Scope.alloc,
    steps.HostArithmetic: _Scope.arithmetic,
    steps.Branch: _Scope.branch,
    steps.CallExtern: _Scope.extern,
    steps.CallFunction: _Scope.call,
    steps.Check: _Scope.check,
    steps.Compute: _Scope.compute,
    steps.Constant: _Scope.constant,
    steps.CopyBack: _Scope.copy_back,
    steps.DrawNumbers: _Scope.draw,
    steps.For: _Scope.loop,
    steps.Free: _Scope.free,
    steps.LaunchKernel: _Scope.launch,
    steps.LaunchTuned: _Scope.tune,
    steps.LayOut: _Scope.lay_out,
    steps.Recorded: _Scope.recorded,
    steps.Reuse: _Scope.reuse,
    steps.Size: _Scope.size,
    steps.View: _Scope.view,
    steps.Watch: _Scope.watch,
    steps.While: _Scope.repeat,
}
