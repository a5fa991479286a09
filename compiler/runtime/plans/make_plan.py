"""The launch plan of a planned module: steps (``steps.py``) for the operations of ``@main``, of its
sub-graphs and of control flow.

A view is made at its first use, and not at all where kernels and other views have folded it.  A tensor
variable may show its storage in another layout of the same elements than the value's type says
(``plan_tensors.py``); kernels need addresses only.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from ...analysis.program.dependences import returned_operands
from ...analysis.program.provenance import launch_numbers, origin
from ...base.dataclass import dataclass
from ...base.products import default_overloads
from ...index import const, parse
from ...ir.kernel import argument_attributes, further_configurations, named_sizes, string, strings
from ...ir.layout import TensorSpec
from ...ir.nesting import graph_of, modules_in
from ...ir.storage import Storage, aliased_operands, callee_name, device_of, functions_of
from ...mlir import ir
from . import steps
from .externs import Extern
from .make_control_flow import control_flow
from .make_extern import extern_of
from .plan import MAIN, KernelParameters, Plan, PlanFunction
from .plan_storage import (
    last_uses,
    launched_storage,
    mutated_storage,
    own_results,
    returned_storage,
    watched_tensors,
    written_storage,
)
from .plan_tensors import PlanTensors, same_elements, tensor_type, wanted_layouts
from .python_text import identifier
from .steps import Operand, Origin, Step, Type, Value

#: Ops whose result is a new row-major tensor whatever computes it: torch allocates it before it chooses that.
_ROW_MAJOR = default_overloads(lambda op: op.row_major)


def make_plan(module: ir.Module, watched: bool = False) -> Plan:
    """The plan that executes ``@main`` of a planned module.  Raises NotImplementedError naming an op that has
    no place there.  ``watched``: it has a ``Watch`` after every launch (``launch_watch.py``).
    """
    return plan_in_regions(module, (), launch_numbers(module) if watched else {}).plan


@dataclass(frozen=True)
class PlanInRegions:
    """A plan that will be cut.  regions: the region of each step of ``run``, -1 for what comes before all.
    arguments: the variables of ``@main``'s arguments.
    """

    plan: Plan
    regions: tuple[int, ...]
    arguments: tuple[str, ...]


def plan_in_regions(
    module: ir.Module, regions: Sequence[int], watched: Mapping[ir.Operation, int] = MappingProxyType({})
) -> PlanInRegions:
    """``make_plan`` for a plan that will be cut.  ``regions``: a number for each op of ``@main``; storage
    that was made in one is not taken over in another.  ``watched``: the number of each call that is.
    """
    parts = _Parts(watched)
    maker = _Maker(functions_of(module)["main"], module, parts, regions=regions)
    main = maker.function(MAIN)
    functions = (*(f for f in parts.functions.values() if f is not None), main)
    plan = Plan(maker.device, tuple(parts.kernels.values()), tuple(parts.externs.values()), functions)
    arguments = tuple(maker.names[a] for a in maker.arguments)
    return PlanInRegions(plan, tuple(maker.step_regions), arguments)


@dataclass
class _Parts:
    """What the functions of one plan share; a function that is being made is None."""

    watched: Mapping[ir.Operation, int]
    kernels: dict[str, KernelParameters] = field(default_factory=dict)
    externs: dict[str, Extern] = field(default_factory=dict)
    functions: dict[str, PlanFunction | None] = field(default_factory=dict)


class _Maker:
    """Makes one function: of ``@main`` or of a sub-graph."""

    def __init__(
        self,
        main: ir.Operation,
        module: ir.Module,
        parts: _Parts,
        *,
        prefix: str = "",
        regions: Sequence[int] = (),
    ) -> None:
        self.main, self.module, self.parts = main, module, parts
        self.prefix = prefix  #: of the names of a sub-graph
        self.regions = regions  #: of every op, by position: storage is not taken over from another region
        self.functions = functions_of(module)
        self.storage = Storage(main, module)
        self.tensors = PlanTensors(self.storage)
        self.wanted = wanted_layouts(main, self.storage, self.functions)
        self.arguments = list(main.regions[0].blocks[0].arguments)
        self.are_arguments = frozenset(self.arguments)
        self.device = device_of(module)
        self.steps: list[Step] = []
        self.step_regions: list[int] = []
        self.names: dict[ir.Value, str] = {}
        self.constants: dict[ir.Value, int | float] = {}
        self.addressed = launched_storage(main, self.storage, self.functions)
        self.copied_back: list[str] = []  #: aligned arguments that are written
        self.given: dict[ir.Value, str] = {}  #: of aligned arguments: the caller's tensor
        self.region = -1
        self.defined = 0  #: how many variables there are
        self.made_in: dict[ir.Value, int] = {}  #: region of each storage, by its root
        self.waiting: list[tuple[TensorSpec, Step]] = []  #: steps until their sizes are known

    def function(self, name: str) -> PlanFunction:
        """Of the list of ``@main``'s arguments."""
        parameters = self._prologue()
        done = last_uses(self.main, self.storage)
        for position, op in enumerate(self.main.regions[0].blocks[0].operations):
            op = op.operation
            self.region = self.regions[position] if self.regions else 0
            handler = _HANDLERS.get(op.name)
            if handler is None:
                raise NotImplementedError(f"{op.location}: no launch plan for the op {op.name} in @main")
            self._watch(op, before=True)
            handler(self, op)
            self._watch(op)
            for argument in done.get(position, ()):
                if self.names[argument] not in self.copied_back:  # at the end
                    self._release(argument)
        return PlanFunction(name, "graph", parameters, tuple(self.steps))

    # --- values

    def type_of(self, value: ir.Value, spec: TensorSpec | None = None) -> Type:
        """The type of the variable of a value; a tensor may lie otherwise than it says, as ``spec``."""
        if not isinstance(value.type, ir.RankedTensorType):
            return str(value.type)
        return tensor_type(spec or TensorSpec.of(value.type), self.device)

    def define(self, value: ir.Value, name: str, spec: TensorSpec | None = None) -> Value:
        """Binds a variable to a value; a tensor may have another layout than the value's type (``spec``)."""
        self.names[value] = name
        self.defined += 1
        if isinstance(value.type, ir.RankedTensorType):
            self.made_in.setdefault(self.storage.root(value), self.region)
            self.tensors.define(value, name, spec)
        return Value(name, self.type_of(value, spec))

    def fresh(self) -> str:
        return f"t{self.defined}"

    def use(self, value: ir.Value) -> str:
        """The variable of a value that is no constant.  A view is made at its first use."""
        if not isinstance(value.type, ir.RankedTensorType):
            return self.names[value]
        return self.tensors.of(value) or self._view(value)

    def operand(self, value: ir.Value) -> Operand:
        """A value as an argument of a call."""
        return self.constants[value] if value in self.constants else self.use(value)

    def address(self, value: ir.Value) -> str:
        """A variable that begins where a tensor does: kernels need no more of it."""
        origin = self.storage.origin(value)
        at_start = TensorSpec.of(value.type).offset == TensorSpec.of(origin.type).offset
        return self.tensors.first(value) if at_start else self.use(value)

    def emit(self, step: Step) -> None:
        self.steps.append(step)
        self.step_regions.append(self.region)

    # --- ops

    def _watch(self, op: ir.Operation, *, before: bool = False) -> None:
        """Shows what a call read and wrote; ``before`` it, what of the arguments it writes over."""
        if op not in self.parts.watched:
            return
        number, (read, written) = self.parts.watched[op], watched_tensors(op, self.functions)
        if not before:
            names = tuple(map(self.use, written))
            others = tuple(name for name in map(self.use, read) if name not in names)
            self.emit(steps.Watch(number, others, names))
        elif over := {self.storage.root(v) for v in written} & self.are_arguments:
            names = tuple(self.use(v) for v in read if self.storage.root(v) in over)
            self.emit(steps.Watch(number, names, None))

    def _prologue(self) -> tuple[Value, ...]:
        """The parameters; those that kernels address are brought to 16-byte alignment."""
        stored = written_storage(self.main, self.storage, self.functions)
        mutated = mutated_storage(self.main, self.storage, self.functions)
        sizes = {number: name for name, number in named_sizes(self.main).items()}
        values = [self.define(a, sizes.get(i, f"a{i}")) for i, a in enumerate(self.arguments)]
        declared, returned = argument_attributes(self.main), returned_storage(self.main, self.storage)
        for argument, value, attributes in zip(self.arguments, values, declared, strict=True):
            if value.is_tensor and argument in self.addressed and not self.storage.begins_anywhere(argument):
                written = argument in stored or argument in mutated
                needed = "fuse.storage" in attributes or (argument in returned and not written)
                given = self._apart(argument) if needed else None
                if given is not None:
                    self.given[argument] = given.name
                self.emit(steps.Align(value.name, written, given))
                if written:
                    self.copied_back.append(value.name)
        return tuple(values)

    def _apart(self, value: ir.Value) -> Value:
        """A new variable that holds the storage of a tensor, but of which kernels take no address."""
        result = Value(self.fresh(), self.type_of(value))
        self.defined += 1
        self.tensors.hold(value, result.name)
        return result

    def alloc(self, op: ir.Operation) -> None:
        self.emit(steps.Alloc(self.define(op.results[0], self.fresh(), self._layout(op.results[0]))))

    def _layout(self, buffer: ir.Value) -> TensorSpec:
        """The layout to take a buffer in: kernels need none, so that in which torch sees it first."""
        own = TensorSpec.of(buffer.type)
        wanted = self.wanted.get(buffer, own)
        return wanted if same_elements(own, wanted) else own

    def reuse(self, op: ir.Operation) -> None:
        """Takes over the tensor that shows the donor's storage in the layout that is needed, if one does."""
        donor, value = op.operands[0], op.results[0]
        spec, own = self._layout(value), TensorSpec.of(value.type)
        here = self.made_in[self.storage.root(donor)] == self.region
        kept = self.tensors.to_take_over(donor, own, spec if value in self.wanted else None)
        if here and kept is not None:
            name, shown = kept
            self._release(donor, name)
            self.emit(steps.Reuse(self.define(value, name, shown), name))
            return
        result = Value(self.fresh(), self.type_of(value, spec))
        first = self.tensors.first(self.storage.root(donor))
        self.emit(steps.Reuse(result, first) if here else steps.Alloc(result))
        self._release(donor)
        self.define(value, result.name, spec)

    def free(self, op: ir.Operation) -> None:
        self._release(op.operands[0])

    def _release(self, value: ir.Value, kept: str = "") -> None:
        names = self.tensors.release(value, kept)
        if names:
            self.emit(steps.Free(tuple(names)))

    def _view(self, value: ir.Value) -> str:
        spec, origin = TensorSpec.of(value.type), self.storage.origin(value)
        base, offset = self.tensors.first(value), spec.offset - TensorSpec.of(origin.type).offset
        result = self.define(value, self.fresh())
        self.emit(steps.View(result, base, offset))
        return result.name

    def _view_of_given(self, value: ir.Value) -> str | None:
        """An argument or a view of it as one of the caller's tensor; None where that is not kept."""
        source = value
        while not isinstance(source.owner, ir.Block) and source.owner.name == "fuse.view":
            source = source.owner.operands[0]
        base = self.given.get(source)
        if base is None or source == value:
            return base
        result = self._apart(value)
        offset = TensorSpec.of(value.type).offset - TensorSpec.of(source.type).offset
        self.emit(steps.View(result, base, offset))
        return result.name

    def size(self, op: ir.Operation) -> None:
        name = self.define(op.results[0], string(op.attributes["symbol"])).name
        self.emit(steps.Size(name, self.use(op.operands[0]), ir.IntegerAttr(op.attributes["dim"]).value))
        self._sizes_known()

    def sym(self, op: ir.Operation) -> None:
        name = self.define(op.results[0], string(op.attributes["symbol"])).name
        self.emit(steps.Compute(name, parse(string(op.attributes["expr"]))))
        self._sizes_known()

    def rng(self, op: ir.Operation) -> None:
        names = [self.define(r, self.fresh()).name for r in op.results]
        count = ir.IntegerAttr(op.attributes["count"]).value
        self.emit(steps.DrawNumbers(tuple(names), string(op.attributes["device"]), count))

    def nothing(self, op: ir.Operation) -> None:
        """``fuse.after``: order is program order.  ``fuse.view``: made where it is used."""

    def constant(self, op: ir.Operation) -> None:
        self.constants[op.results[0]] = op.attributes["value"].value
        self.defined += 1

    def call(self, op: ir.Operation) -> None:
        name = callee_name(op)
        callee = self.functions[name]
        if "fuse.launch" in callee.attributes:
            self._launch(op, name, callee)
        elif "fuse.extern" in callee.attributes:
            self._extern(op, name, callee)
        elif "fuse.graph" in callee.attributes or "fuse.control_flow" in callee.attributes:
            self._nested(op, name, callee)
        else:
            raise NotImplementedError(
                f"{op.location}: @{name} is neither a launch, extern nor a sub-graph at the planned level"
            )

    def _launch(self, op: ir.Operation, name: str, callee: ir.Operation) -> None:
        first = self._launch_of(op, name, callee)
        others = further_configurations(callee)
        if not others:
            self.emit(first)
            return
        launches = (first, *(self._launch_of(op, other, self.functions[other]) for other in others))
        key = tuple(parse(e) for e in strings(callee.attributes["fuse.tuned_by"]))
        self.emit(steps.LaunchTuned(key, launches))

    def _launch_of(self, op: ir.Operation, name: str, callee: ir.Operation) -> steps.LaunchKernel:
        """The launch of ``callee`` with the operands of the call ``op``."""
        arguments: list[Operand] = []
        kinds: list[str] = []
        written: list[int] = []
        stored_to = set(aliased_operands(callee).values())
        for position, parameter in enumerate(strings(callee.attributes["fuse.params"])):
            number, kind = parameter.split(":")
            operand = op.operands[int(number)]
            arguments.append(self.address(operand) if kind == "ptr" else self.operand(operand))
            kinds.append(kind)
            if int(number) in stored_to:
                written.append(position)
        x, y, z = (*(parse(g) for g in strings(callee.attributes["fuse.grid"])), const(1), const(1))[:3]
        name = self.prefix + name
        self.parts.kernels.setdefault(name, KernelParameters(name, tuple(kinds)))
        return steps.LaunchKernel(name, (x, y, z), tuple(arguments), tuple(written), Origin(*origin(op)))

    def _extern(self, op: ir.Operation, name: str, callee: ir.Operation) -> None:
        taken = [v for v in op.operands if str(v.type) != "!fuse.token"]
        operands = tuple(self._taken(v, op, callee) for v in taken)
        results = self._results(op, callee)
        what = string(callee.attributes["fuse.extern"])
        self.emit(steps.CallExtern(self._declared(name, callee), operands, results, Origin(*origin(op))))
        known = returned_operands(op, callee)
        for result, variable in zip(op.results, results, strict=True):
            if isinstance(result.type, ir.RankedTensorType) and result not in known:
                spec = TensorSpec.of(result.type)
                if not (what in _ROW_MAJOR and spec.is_contiguous):
                    self._check(variable.name, spec, what)
                    if result in self.addressed:
                        self.emit(steps.Align(variable.name))

    def _taken(self, value: ir.Value, call: ir.Operation, callee: ir.Operation) -> Operand:
        """An operand of a torch op, which may count from where the storage of an argument begins; a view that
        begins where its operand does need not.  What an op writes to has no other tensor beside it.
        """
        views = [r for r, i in aliased_operands(callee).items() if call.operands[i] == value]
        alike = any(not self.storage.begins_anywhere(call.results[r]) for r in views)
        given = None if alike else self._view_of_given(value)
        return self.operand(value) if given is None else given

    def _results(self, op: ir.Operation, callee: ir.Operation) -> tuple[Value, ...]:
        """Variables for the results of a call: sizes have their names."""
        sizes = {number: name for name, number in named_sizes(callee, "res_attrs").items()}
        return tuple([self.define(r, sizes.get(i) or self.fresh()) for i, r in enumerate(op.results)])

    def _declared(self, name: str, callee: ir.Operation) -> str:
        """The name of an extern op in the plan, which has its declaration then."""
        name = self.prefix + name
        if name not in self.parts.externs:
            self.parts.externs[name] = extern_of(name, callee)
        return name

    def _when_known(self, spec: TensorSpec, step: Step) -> None:
        """Emits a step that needs the sizes of ``spec``, now or where the last of them is read."""
        self.waiting.append((spec, step))
        self._sizes_known()

    def _sizes_known(self) -> None:
        if not self.waiting:
            return
        known = set(self.names.values())
        for entry in list(self.waiting):
            if known.issuperset(entry[0].symbols):
                self.emit(entry[1])
                self.waiting.remove(entry)

    def _nested(self, op: ir.Operation, name: str, callee: ir.Operation) -> None:
        """A call of a sub-graph or of control flow: what it gives has storage of its own, laid out as the
        types say.
        """
        operands = tuple(self.operand(v) for v in op.operands if str(v.type) != "!fuse.token")
        function = self._graph(callee) if "fuse.graph" in callee.attributes else self._control(name, callee)
        results = self._results(op, callee)
        inside = own_results(self.module, callee)
        self.emit(steps.CallFunction(function, operands, results, not inside, Origin(*origin(op))))
        for number, (result, variable) in enumerate(zip(op.results, results, strict=True)):
            if isinstance(result.type, ir.RankedTensorType) and not (
                inside and inside[number] == result.type
            ):
                spec = TensorSpec.of(result.type)
                self._when_known(spec, steps.LayOut(variable.name, tensor_type(spec, self.device)))

    def _graph(self, callee: ir.Operation) -> str:
        """The function of a sub-graph, made at the first call."""
        name = graph_of(callee)
        function = f"graph_{identifier(self.prefix + name)}"
        if function not in self.parts.functions:
            self.parts.functions[function] = None
            module = modules_in(self.module)[name]
            maker = _Maker(functions_of(module)["main"], module, self.parts, prefix=f"{self.prefix}{name}.")
            self.parts.functions[function] = maker.function(function)
        return function

    def _control(self, name: str, callee: ir.Operation) -> str:
        """The function of control flow, made at the first call."""
        function = f"control_flow_{identifier(self.prefix + name)}"
        if function not in self.parts.functions:
            self.parts.functions[function] = control_flow(callee, function, self._inside, self.device)
        return function

    def _inside(self, op: ir.Operation, operands: tuple[Operand, ...], results: tuple[Value, ...]) -> Step:
        """A call in control flow."""
        name = callee_name(op)
        callee = self.functions[name]
        if "fuse.extern" in callee.attributes:
            return steps.CallExtern(self._declared(name, callee), operands, results, Origin(*origin(op)))
        return steps.CallFunction(self._graph(callee), operands, results, origin=Origin(*origin(op)))

    def _check(self, variable: str, spec: TensorSpec, made_by: str) -> None:
        """The layout that an extern op promised; a size that only its result tells stands for itself."""
        named = {*self.names.values()}
        sizes, strides = (
            tuple(e if named.issuperset(e.symbols()) else None for e in parts)
            for parts in (spec.sizes, spec.strides)
        )
        self.emit(steps.Check(variable, sizes, strides, made_by))

    def finish(self, op: ir.Operation) -> None:
        for name in self.copied_back:
            self.emit(steps.CopyBack(name))
        handed: list[Operand] = []
        taken: set[Operand] = {self.names[a] for a in self.arguments}
        for value in op.operands:
            handed.append(self._handed(value, taken))
            taken.add(handed[-1])
        self.emit(steps.Return(tuple(handed)))

    def _handed(self, value: ir.Value, taken: Collection[Operand]) -> Operand:
        """A result as the caller gets it.  A view is a tensor of its own, of the caller's own argument."""
        if value in self.are_arguments or not isinstance(value.type, ir.RankedTensorType):
            return self.operand(value)
        given = self._view_of_given(value)
        if given is not None and given not in taken:
            return given
        known, origin = self.tensors.of(value), self.storage.origin(value)
        name = self.names[origin] if origin in self.are_arguments else None
        copied = name in self.copied_back and known != name
        again = known in taken and value.owner.name == "fuse.view"
        return self._view(value) if known is None or copied or again else known


_HANDLERS: dict[str, Callable[[_Maker, ir.Operation], None]] = {
    "fuse.alloc": _Maker.alloc,
    "fuse.reuse": _Maker.reuse,
    "fuse.free": _Maker.free,
    "fuse.view": _Maker.nothing,
    "fuse.size": _Maker.size,
    "fuse.sym": _Maker.sym,
    "fuse.rng": _Maker.rng,
    "fuse.after": _Maker.nothing,
    "arith.constant": _Maker.constant,
    "func.call": _Maker.call,
    "func.return": _Maker.finish,
}
