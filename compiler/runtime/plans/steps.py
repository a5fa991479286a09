"""What a launch plan does, step by step, as plain data.

A step defines variables, each once.  A tensor variable is a ``torch.Tensor`` while the plan runs, any other a
Python number.  Sizes, strides and grids are index expressions over the size variables of the function.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

from ...base.dataclass import dataclass
from ...base.launch import Line
from ...index import Expr, contiguous_strides


@dataclass(frozen=True)
class TensorType:
    """element: as MLIR spells it ("f32").  sizes, strides: in elements.  device: "cpu", "cuda:0"."""

    element: str
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    device: str

    @staticmethod
    def row_major(element: str, sizes: tuple[Expr, ...], device: str) -> "TensorType":
        """With the strides that a row-major tensor of these sizes has in torch."""
        return TensorType(element, sizes, contiguous_strides(sizes), device)

    @property
    def is_row_major(self) -> bool:
        return self.strides == contiguous_strides(self.sizes)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The size variables in sizes and strides, in order, each once."""
        found = (name for e in (*self.sizes, *self.strides) for name in sorted(e.symbols()))
        return tuple(dict.fromkeys(found))


#: The types of numbers of the host: sizes, and what extern ops and control flow compute with.
NUMBERS = ("index", "i1", "i8", "i16", "i32", "i64", "f32", "f64")

Type: TypeAlias = TensorType | str
#: A variable by name, or a constant number.
Operand: TypeAlias = str | bool | int | float


@dataclass(frozen=True)
class Value:
    """A variable that is defined: its name and its type."""

    name: str
    type: Type

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.type, TensorType)


@dataclass(frozen=True)
class Origin:
    """The FX nodes that a step computes and the lines of the user's program where they were written."""

    nodes: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()


NOWHERE = Origin()


@dataclass(frozen=True)
class Align:
    """Brings an argument or a result of torch that kernels address to a 16-byte boundary: ``name`` becomes
    a copy where it is at none.  ``written``: the program writes to the argument, so that a ``CopyBack``
    follows.  ``given``: stays what the caller or torch gave.
    """

    word: ClassVar[str] = "align"
    name: str
    written: bool = False
    given: Value | None = None


@dataclass(frozen=True)
class Alloc:
    """Takes memory of torch."""

    word: ClassVar[str] = "alloc"
    result: Value


@dataclass(frozen=True)
class Reuse:
    """A new buffer in the memory of ``donor``, whose contents are dead.  ``result`` may be ``donor`` itself,
    where that has the layout already.
    """

    word: ClassVar[str] = "reuse"
    result: Value
    donor: str


@dataclass(frozen=True)
class View:
    """A tensor in the storage of ``base``, ``offset`` elements behind where ``base`` begins."""

    word: ClassVar[str] = "view"
    result: Value
    base: str
    offset: Expr


@dataclass(frozen=True)
class Free:
    """Lets variables of one storage go."""

    word: ClassVar[str] = "free"
    names: tuple[str, ...]


@dataclass(frozen=True)
class Size:
    """A size that only the tensor tells."""

    word: ClassVar[str] = "size"
    name: str
    tensor: str
    dim: int


@dataclass(frozen=True)
class Compute:
    """A size computed from others."""

    word: ClassVar[str] = "compute"
    name: str
    value: Expr


@dataclass(frozen=True)
class DrawNumbers:
    """Seed and offset of ``count`` random numbers on a device."""

    word: ClassVar[str] = "draw"
    names: tuple[str, ...]
    device: str
    count: int


@dataclass(frozen=True)
class LaunchKernel:
    """Launches a kernel on a grid.  ``arguments``: for a parameter ``ptr`` the tensor whose first element is
    addressed, for any other a number.  ``written``: which of the arguments it writes to, by position.
    """

    word: ClassVar[str] = "launch"
    kernel: str
    grid: tuple[Expr, Expr, Expr]
    arguments: tuple[Operand, ...]
    written: tuple[int, ...]
    origin: Origin = NOWHERE


@dataclass(frozen=True)
class LaunchTuned:
    """Launches one of several forms of a kernel, of which the first runs where nothing is measured.

    key: the values that the choice belongs to; the forms are measured once for each.  launches: one for each
    form; all write the same tensors.
    """

    word: ClassVar[str] = "tune"
    key: tuple[Expr, ...]
    launches: tuple[LaunchKernel, ...]

    @property
    def name(self) -> str:
        """The name of the first form."""
        return self.launches[0].kernel

    @property
    def origin(self) -> Origin:
        return self.launches[0].origin

    @property
    def written(self) -> tuple[str, ...]:
        """The tensors that the forms write to."""
        return tuple(dict.fromkeys(str(each.arguments[n]) for each in self.launches for n in each.written))


@dataclass(frozen=True)
class CallExtern:
    """Calls a torch op, with the operands of its declaration (``externs.Extern``)."""

    word: ClassVar[str] = "extern"
    extern: str
    arguments: tuple[Operand, ...]
    results: tuple[Value, ...]
    origin: Origin = NOWHERE


@dataclass(frozen=True)
class Check:
    """Copies a tensor that ``made_by`` gave where its strides are others, if its storage is its own; raises
    where its sizes or its dtype are.  None: any.
    """

    word: ClassVar[str] = "check"
    name: str
    sizes: tuple[Expr | None, ...]
    strides: tuple[Expr | None, ...]
    made_by: str


@dataclass(frozen=True)
class CallFunction:
    """Calls another function of the plan.  ``separated``: results that share storage with an argument or with
    each other are copied.
    """

    word: ClassVar[str] = "run"
    function: str
    arguments: tuple[Operand, ...]
    results: tuple[Value, ...]
    separated: bool = False
    origin: Origin = NOWHERE


@dataclass(frozen=True)
class LayOut:
    """Copies a result of a function where its strides are others than those of its type; raises where its
    sizes are.
    """

    word: ClassVar[str] = "layout"
    name: str
    type: TensorType


@dataclass(frozen=True)
class Watch:
    """Shows launch ``number`` of the program to who watches: after it the tensors that it read and wrote,
    before it the arguments that it writes over, as read.
    """

    word: ClassVar[str] = "watch"
    number: int
    read: tuple[str, ...]
    written: tuple[str, ...] | None  #: None before it


@dataclass(frozen=True)
class CopyBack:
    """Writes an aligned copy back into the caller's tensor, which ``name`` is from here on."""

    word: ClassVar[str] = "copyback"
    name: str


@dataclass(frozen=True)
class Return:
    """Hands the results to the caller; the last step of a function."""

    word: ClassVar[str] = "return"
    values: tuple[Operand, ...]


@dataclass(frozen=True)
class Recorded:
    """Steps that a CUDA graph holds.

    inputs: the variables that they take from before.  static: positions of inputs whose address never
    changes.  mutated: positions of inputs that they write to.  results: the variables that later steps take.
    released: variables that nothing needs any more once the inputs are handed over.
    """

    word: ClassVar[str] = "recorded"
    name: str
    inputs: tuple[str, ...]
    static: tuple[int, ...]
    mutated: tuple[int, ...]
    results: tuple[str, ...]
    released: tuple[str, ...]
    steps: tuple["Step", ...]


# --- control flow


@dataclass(frozen=True)
class Constant:
    """A number that is known."""

    word: ClassVar[str] = "constant"
    result: Value
    value: bool | int | float


@dataclass(frozen=True)
class HostArithmetic:
    """A sum, difference or product of two numbers, or whether the left one is less."""

    word: ClassVar[str] = "arithmetic"
    result: Value
    operator: Literal["+", "-", "*", "<"]
    left: Operand
    right: Operand


@dataclass(frozen=True)
class StepBlock:
    """Steps inside another one, and the values that they end with."""

    steps: tuple["Step", ...]
    values: tuple[Operand, ...]


@dataclass(frozen=True)
class Branch:
    """Runs one of two blocks; ``results`` are its values.  ``otherwise``: None without results."""

    word: ClassVar[str] = "if"
    condition: Operand
    results: tuple[Value, ...]
    then: StepBlock
    otherwise: StepBlock | None


@dataclass(frozen=True)
class While:
    """Runs ``before``, whose first value says whether to go on and whose others are handed on, and while it
    is true ``after``, whose values are carried to the next round.  ``results``: what ``before`` handed on
    last.  ``after`` knows the variables of ``before``.
    """

    word: ClassVar[str] = "while"
    carried: tuple[Value, ...]
    initial: tuple[Operand, ...]
    before: StepBlock
    after: StepBlock
    results: tuple[Value, ...]


@dataclass(frozen=True)
class For:
    """Runs ``body`` for every ``number`` from ``first`` to ``end`` (exclusive); its values are carried to the
    next round, and are there afterwards.
    """

    word: ClassVar[str] = "for"
    number: Value
    first: Operand
    end: Operand
    step: Operand
    carried: tuple[Value, ...]
    initial: tuple[Operand, ...]
    body: StepBlock


Step: TypeAlias = (
    Align | Alloc | Reuse | View | Free | Size | Compute | DrawNumbers | LaunchKernel | LaunchTuned
    | CallExtern | Check | CallFunction | LayOut | Watch | CopyBack | Return | Recorded | Constant
    | HostArithmetic | Branch | While | For
)  # fmt: skip


def defined(step: Step) -> tuple[Value, ...]:
    """The variables that a step defines for the steps after it, with their types; those of ``Recorded`` are
    defined inside it.
    """
    match step:
        case Alloc() | Reuse() | View() | Constant() | HostArithmetic():
            return (step.result,)
        case Align():
            return () if step.given is None else (step.given,)
        case Size() | Compute():
            return (Value(step.name, "index"),)
        case DrawNumbers():
            return tuple(Value(name, "i64") for name in step.names)
        case CallExtern() | CallFunction() | Branch() | While():
            return step.results
        case For():
            return step.carried
        case Recorded():
            inside = {v.name: v for inner in step.steps for v in defined(inner)}
            return tuple(inside[name] for name in step.results if name in inside)
        case _:
            return ()


def used(step: Step) -> tuple[str, ...]:
    """The variables that a step takes from before it, in order, each once; not those that it lets go."""
    return tuple(dict.fromkeys(_used(step)))


def _used(step: Step) -> Iterator[str]:
    match step:
        case Align() | CopyBack():
            yield step.name
        case Alloc():
            yield from _symbols(step.result.type)
        case Reuse():
            yield step.donor
            yield from _symbols(step.result.type)
        case View():
            yield step.base
            yield from _symbols(step.result.type)
            yield from sorted(step.offset.symbols())
        case Size():
            yield step.tensor
        case Compute():
            yield from sorted(step.value.symbols())
        case LaunchKernel():
            for extent in step.grid:
                yield from sorted(extent.symbols())
            yield from _variables(step.arguments)
        case LaunchTuned():
            for value in step.key:
                yield from sorted(value.symbols())
            for each in step.launches:
                yield from _used(each)
        case CallExtern() | CallFunction():
            yield from _variables(step.arguments)
        case Check():
            yield step.name
            for e in (*step.sizes, *step.strides):
                yield from () if e is None else sorted(e.symbols())
        case LayOut():
            yield step.name
            yield from _symbols(step.type)
        case Watch():
            yield from (*step.read, *(step.written or ()))
        case Return():
            yield from _variables(step.values)
        case Recorded():
            yield from step.inputs
        case HostArithmetic():
            yield from _variables((step.left, step.right))
        case Branch():
            yield from _variables((step.condition,))
        case While():
            yield from _variables(step.initial)
        case For():
            yield from _variables((step.first, step.end, step.step, *step.initial))
    for block in blocks(step):
        inside = {v.name for v in entered(step)}
        for inner in block.steps:
            yield from (name for name in _used(inner) if name not in inside)
            inside.update(v.name for v in defined(inner))
        yield from (name for name in _variables(block.values) if name not in inside)


def _variables(operands: tuple[Operand, ...]) -> Iterator[str]:
    yield from (operand for operand in operands if isinstance(operand, str))


def _symbols(type_: Type) -> Iterator[str]:
    if isinstance(type_, TensorType):
        yield from type_.symbols


def entered(step: Step) -> tuple[Value, ...]:
    """The variables that a loop defines for the steps inside it."""
    match step:
        case While():
            inside = tuple(v for inner in step.before.steps for v in defined(inner))
            return (*step.carried, *inside)
        case For():
            return (step.number, *step.carried)
        case _:
            return ()


def blocks(step: Step) -> tuple[StepBlock, ...]:
    """The blocks of control flow inside a step."""
    match step:
        case Branch():
            return (step.then,) if step.otherwise is None else (step.then, step.otherwise)
        case While():
            return (step.before, step.after)
        case For():
            return (step.body,)
        case _:
            return ()


def walk(steps: tuple[Step, ...]) -> Iterator[Step]:
    """All steps, each before those inside it."""
    for step in steps:
        yield step
        yield from walk(step.steps if isinstance(step, Recorded) else ())
        yield from step.launches if isinstance(step, LaunchTuned) else ()
        for block in blocks(step):
            yield from walk(block.steps)
