"""A planned module as straight-line Python: one line per allocation, launch, extern call and view; no
look-ups while it runs.

``write_plan`` prints the source of ``run(args)`` from ``@main`` at the planned level; ``bound_plan.py``
compiles and binds it.  A sub-graph, and the control flow around some, is a function of its own beside
``run``.  Sizes are Python integers named like their symbols; a tensor argument, an allocation or an extern
result is a ``torch.Tensor``; kernels get addresses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import torch

from ...analysis.program.dependences import returned_operands
from ...analysis.program.provenance import launch_numbers
from ...base.products import default_overloads
from ...index import parse
from ...ir.kernel import named_sizes, string, strings
from ...ir.layout import TensorSpec
from ...ir.nesting import graph_of, modules_in
from ...ir.storage import Storage, callee_name, functions_of
from ...mlir import ir
from .bound_plan import BoundPlan, identifier
from .control_flow_source import control_flow_source
from .extern_function import ExternFunction
from .extern_source import extern_function
from .plan_arguments import last_uses, launched_storage, written_storage
from .plan_tensors import PlanTensors, same_elements, wanted_layouts
from .plan_text import empty_text, layout_text, python_text, tuple_of_texts

#: Ops whose result is a new row-major tensor whatever computes it: torch allocates it before it chooses that.
_ROW_MAJOR = default_overloads(lambda op: op.row_major)


@dataclass
class WrittenPlan:
    """A plan and how it was written.  run: the text of ``run`` alone, which the source ends with.  starts:
    its line where each op of ``@main`` begins.  names: the variables of ``@main``'s arguments.  holders: all
    that ever hold a storage, by its root.
    """

    plan: BoundPlan
    run: str
    starts: list[int]
    names: Mapping[ir.Value, str]
    holders: Mapping[ir.Value, set[str]]


@dataclass
class _Writer:
    """State of one printing: variables of values."""

    main: ir.Operation
    module: ir.Module
    lines: list[str] = field(default_factory=list)
    names: dict[ir.Value, str] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)
    externs: dict[str, ExternFunction] = field(default_factory=dict)
    regions: Sequence[int] = ()  #: of every op, by position: storage is not taken over from another region
    starts: list[int] = field(default_factory=list)
    region: int = -1
    defined: int = 0  #: how many variables there are
    made_in: dict[ir.Value, int] = field(default_factory=dict)  #: region of each storage, by its root
    prefix: str = ""  #: of the names of a sub-graph
    beside: dict[str, str] = field(default_factory=dict)  #: the functions beside ``run``, by name
    waiting: list[tuple[TensorSpec, str]] = field(default_factory=list)  #: lines until their sizes are known
    watched: Mapping[ir.Operation, int] = field(default_factory=dict)  #: calls that ``watch`` follows

    def __post_init__(self) -> None:
        self.functions = functions_of(self.module)
        self.storage = Storage(self.main, self.module)
        self.tensors = PlanTensors(self.storage)
        self.wanted = wanted_layouts(self.main, self.storage, self.functions)
        self.arguments = list(self.main.regions[0].blocks[0].arguments)
        attributes = self.module.operation.attributes
        self.device = string(attributes["fuse.device"]) if "fuse.device" in attributes else "cpu"

    # --- values

    def define(self, value: ir.Value, name: str, spec: TensorSpec | None = None) -> str:
        """Binds a variable to a value; a tensor may have another layout than the value's type (``spec``)."""
        self.names[value] = name
        self.defined += 1
        if isinstance(value.type, ir.RankedTensorType):
            self.made_in.setdefault(self.storage.root(value), self.region)
            self.tensors.define(value, name, spec)
        return name

    def fresh(self) -> str:
        return f"t{self.defined}"

    def use(self, value: ir.Value) -> str:
        """The variable of a value.  A view is made at its first use: most are folded into kernels or into
        other views.
        """
        if not isinstance(value.type, ir.RankedTensorType):
            return self.names[value]
        return self.tensors.of(value) or self._view(value)

    def pointer(self, value: ir.Value) -> str:
        """A variable with the address of a tensor's first element, computed once."""
        origin = self.storage.origin(value)
        at_start = TensorSpec.of(value.type).offset == TensorSpec.of(origin.type).offset
        name = self.tensors.first(value) if at_start else self.use(value)
        if name not in self.pointers:
            self.pointers[name] = f"{name}_p"
            self.emit(f"{name}_p = {name}.data_ptr()")
        return self.pointers[name]

    def emit(self, line: str) -> None:
        self.lines.append("    " + line)

    # --- ops

    def write(self, function: str = "run") -> str:
        """The text of ``function``, of the list of ``@main``'s arguments."""
        block = self.main.regions[0].blocks[0]
        self._prologue()
        done = last_uses(self.main, self.storage)
        for position, op in enumerate(block.operations):
            op = op.operation
            self.starts.append(len(self.lines) + 1)
            self.region = self.regions[position] if self.regions else 0
            handler = _HANDLERS.get(op.name)
            if handler is None:
                raise NotImplementedError(f"{op.location}: no launch plan for the op {op.name} in @main")
            handler(self, op)
            if op in self.watched:
                self._watch(op)
            for argument in done.get(position, ()):
                if self.names[argument] not in self.realigned:  # that is brought back at the end
                    self._release(argument)
        return f"def {function}(args):\n" + "\n".join(self.lines) + "\n"

    def _watch(self, op: ir.Operation) -> None:
        read, written = (
            [self.use(v) for v in values if isinstance(v.type, ir.RankedTensorType)]
            for values in (op.operands, op.results)
        )
        read = [v for v in read if v not in written]
        self.emit(f"watch({self.watched[op]}, {tuple_of_texts(read)}, {tuple_of_texts(written)})")

    def _prologue(self) -> None:
        """Unpacks the arguments; those that kernels address are brought to 16-byte alignment (and brought
        back if written).
        """
        launched = launched_storage(self.main, self.storage, self.functions)
        written = written_storage(self.main, self.storage, self.functions)
        sizes = {number: name for name, number in named_sizes(self.main).items()}
        names = [self.define(a, sizes.get(i, f"a{i}")) for i, a in enumerate(self.arguments)]
        if names:
            self.emit(f"{', '.join(names)}{',' if len(names) == 1 else ''} = args")
        self.emit("args.clear()")
        self.realigned: list[str] = []
        for argument, name in zip(self.arguments, names, strict=True):
            if isinstance(argument.type, ir.RankedTensorType) and argument in launched:
                self.emit(f"{name}_p = {name}.data_ptr()")
                if argument in written:
                    self.emit(f"{name}_caller = {name}")
                    self.realigned.append(name)
                self.emit(f"if {name}_p & 15: {name} = aligned({name}); {name}_p = {name}.data_ptr()")
                self.pointers[name] = f"{name}_p"
        if any("fuse.launch" in f.attributes for f in self.functions.values()):
            self.emit("stream = current_stream(device)" if self.device.startswith("cuda") else "stream = 0")

    def alloc(self, op: ir.Operation) -> None:
        spec = self._layout(op.results[0])
        name = self.define(op.results[0], self.fresh(), spec)
        self.emit(f"{name} = {empty_text(spec, self.device)}")

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
            self._release(donor, kept[0])
            self.define(value, *kept)
            return
        name, made = self.fresh(), empty_text(spec, self.device)
        if here:
            made = f"reinterpret({self.tensors.first(self.storage.root(donor))}, {layout_text(spec)}, 0)"
        self.emit(f"{name} = {made}")
        self._release(donor)
        self.define(value, name, spec)

    def free(self, op: ir.Operation) -> None:
        self._release(op.operands[0])

    def _release(self, value: ir.Value, kept: str = "") -> None:
        names = self.tensors.release(value, kept)
        if names:
            self.emit("del " + ", ".join(names))

    def _view(self, value: ir.Value) -> str:
        spec, origin = TensorSpec.of(value.type), self.storage.origin(value)
        base, offset = self.tensors.first(value), spec.offset - TensorSpec.of(origin.type).offset
        name = self.define(value, self.fresh())
        self.emit(f"{name} = reinterpret({base}, {layout_text(spec)}, {python_text(offset)})")
        return name

    def size(self, op: ir.Operation) -> None:
        name = self.define(op.results[0], string(op.attributes["symbol"]))
        self.emit(f"{name} = {self.use(op.operands[0])}.size({ir.IntegerAttr(op.attributes['dim']).value})")
        self._sizes_known()

    def sym(self, op: ir.Operation) -> None:
        name = self.define(op.results[0], string(op.attributes["symbol"]))
        self.emit(f"{name} = {python_text(parse(string(op.attributes['expr'])))}")
        self._sizes_known()

    def rng(self, op: ir.Operation) -> None:
        names = [self.define(r, self.fresh()) for r in op.results]
        count = ir.IntegerAttr(op.attributes["count"]).value
        self.emit(f"{', '.join(names)} = draw({string(op.attributes['device'])!r}, {count})")

    def nothing(self, op: ir.Operation) -> None:
        """``fuse.after``: order is program order.  ``fuse.view``: made where it is used."""

    def constant(self, op: ir.Operation) -> None:
        value = op.attributes["value"]
        self.define(
            op.results[0],
            str(
                ir.FloatAttr(value).value if isinstance(value, ir.FloatAttr) else ir.IntegerAttr(value).value
            ),
        )

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
        arguments = []
        for parameter in strings(callee.attributes["fuse.params"]):
            number, kind = parameter.split(":")
            operand = op.operands[int(number)]
            arguments.append(self.pointer(operand) if kind == "ptr" else self.use(operand))
        grid = [python_text(parse(g)) for g in strings(callee.attributes["fuse.grid"])]
        grid += ["1"] * (3 - len(grid))
        name = self.prefix + name
        self.emit(f"launch_{identifier(name)}(stream, {', '.join([*grid, *arguments])})")
        if name not in self.kernels:
            self.kernels.append(name)

    def _extern(self, op: ir.Operation, name: str, callee: ir.Operation) -> None:
        operands = [self.use(v) for v in op.operands if str(v.type) != "!fuse.token"]
        results = self._results(op, callee)
        self.emit(self._extern_text(name, callee, operands, results))
        what = string(callee.attributes["fuse.extern"])
        known = returned_operands(op, callee)
        for result, variable in zip(op.results, results, strict=True):
            if isinstance(result.type, ir.RankedTensorType) and result not in known:
                spec = TensorSpec.of(result.type)
                if not (what in _ROW_MAJOR and spec.is_contiguous):
                    self._check(variable, spec, what)

    def _results(self, op: ir.Operation, callee: ir.Operation) -> list[str]:
        """Variables for the results of a call: sizes have their names."""
        sizes = {number: name for name, number in named_sizes(callee, "res_attrs").items()}
        return [self.define(r, sizes.get(i) or self.fresh()) for i, r in enumerate(op.results)]

    def _extern_text(
        self, name: str, callee: ir.Operation, operands: Sequence[str], results: Sequence[str]
    ) -> str:
        name = self.prefix + name
        if name not in self.externs:
            self.externs[name] = extern_function(callee)
        left = f"{', '.join(results)} = " if results else ""
        return f"{left}extern_{identifier(name)}({', '.join(operands)})"

    def _when_known(self, spec: TensorSpec, line: str) -> None:
        """Emits a line that needs the sizes of ``spec``, now or where the last of them is read."""
        self.waiting.append((spec, line))
        self._sizes_known()

    def _sizes_known(self) -> None:
        if not self.waiting:
            return
        known = set(self.names.values())
        for entry in list(self.waiting):
            if set(entry[0].symbols) <= known:
                self.emit(entry[1])
                self.waiting.remove(entry)

    def _nested(self, op: ir.Operation, name: str, callee: ir.Operation) -> None:
        """A call of a sub-graph or of control flow: what it gives has storage of its own, laid out as the
        types say.
        """
        given = [v for v in op.operands if str(v.type) != "!fuse.token"]
        operands = [self.use(v) for v in given]
        tensors = [self.use(v) for v in given if isinstance(v.type, ir.RankedTensorType)]
        if "fuse.graph" in callee.attributes:
            text = f"{self._graph(callee)}([{', '.join(operands)}])"
        else:
            text = f"{self._control_flow(name, callee)}({', '.join(operands)})"
        results = self._results(op, callee)
        left = f"[{', '.join(results)}] = " if results else ""
        inside = _own_results(self.module, callee)
        self.emit(left + (text if inside else f"own_storage({text}, [{', '.join(tensors)}])"))
        for number, (result, variable) in enumerate(zip(op.results, results, strict=True)):
            if isinstance(result.type, ir.RankedTensorType) and not (
                inside and inside[number] == result.type
            ):
                spec = TensorSpec.of(result.type)
                self._when_known(spec, f"{variable} = laid_out({variable}, {layout_text(spec)})")

    def _graph(self, callee: ir.Operation) -> str:
        """The function of a sub-graph, written at the first call."""
        name = graph_of(callee)
        function = f"graph_{identifier(self.prefix + name)}"
        if function not in self.beside:
            self.beside[function] = ""
            module = modules_in(self.module)[name]
            writer = _Writer(
                functions_of(module)["main"], module, kernels=self.kernels, externs=self.externs,
                prefix=f"{self.prefix}{name}.", beside=self.beside, watched=self.watched,
            )  # fmt: skip
            self.beside[function] = writer.write(function)
        return function

    def _control_flow(self, name: str, callee: ir.Operation) -> str:
        """The function of control flow, written at the first call."""
        function = f"control_flow_{identifier(self.prefix + name)}"
        if function not in self.beside:
            self.beside[function] = control_flow_source(callee, function, self._call_text)
        return function

    def _call_text(self, op: ir.Operation, operands: list[str], results: list[str]) -> str:
        """A call in control flow as a statement."""
        name = callee_name(op)
        callee = self.functions[name]
        if "fuse.extern" in callee.attributes:
            return self._extern_text(name, callee, operands, results)
        left = f"[{', '.join(results)}] = " if results else ""
        return f"{left}{self._graph(callee)}([{', '.join(operands)}])"

    def _check(self, variable: str, spec: TensorSpec, made_by: str) -> None:
        """The layout that an extern op promised; a size that only its result tells stands for itself."""
        named = set(self.names.values())
        sizes, strides = (
            tuple_of_texts(
                python_text(e) if named.issuperset(e.symbols()) else f"{variable}.{what}({d})"
                for d, e in enumerate(parts)
            )
            for what, parts in (("size", spec.sizes), ("stride", spec.strides))
        )
        self.emit(f"check({variable}, {sizes}, {strides}, {made_by!r})")

    def finish(self, op: ir.Operation) -> None:
        handed: list[str] = []
        taken = {self.names[a] for a in self.arguments}
        for value in op.operands:
            name = self.use(value)
            if value not in self.arguments and value.owner.name == "fuse.view" and name in taken:
                name = self._view(value)  # a view is a tensor of its own to the caller
            handed.append(name)
            taken.add(name)
        for name in self.realigned:
            self.emit(f"if {name} is not {name}_caller: {name}_caller.copy_({name}); {name} = {name}_caller")
        self.emit(f"return [{', '.join(handed)}]")


def _own_results(module: ir.Module, callee: ir.Operation) -> list[ir.Type]:
    """The types of a sub-graph's results, if each is plainly in storage of its own; else none."""
    if "fuse.graph" not in callee.attributes:
        return []
    inner = modules_in(module)[graph_of(callee)]
    block = functions_of(inner)["main"].regions[0].blocks[0]
    storage = Storage(block.owner.operation, inner)
    results = list(block.operations)[-1].operands
    roots = [storage.root(v) for v in results if isinstance(v.type, ir.RankedTensorType)]
    own = len(set(roots)) == len(roots) and not set(roots) & set(block.arguments)
    return [v.type for v in results] if own else []


_HANDLERS: dict[str, Callable[[_Writer, ir.Operation], None]] = {
    "fuse.alloc": _Writer.alloc,
    "fuse.reuse": _Writer.reuse,
    "fuse.free": _Writer.free,
    "fuse.view": _Writer.nothing,
    "fuse.size": _Writer.size,
    "fuse.sym": _Writer.sym,
    "fuse.rng": _Writer.rng,
    "fuse.after": _Writer.nothing,
    "arith.constant": _Writer.constant,
    "func.call": _Writer.call,
    "func.return": _Writer.finish,
}


def write_plan(module: ir.Module, watched: bool = False) -> BoundPlan:
    """The Python source that executes ``@main`` of a planned module.  Raises NotImplementedError naming an op
    that has no place there.  ``watched``: it calls ``watch`` after every launch (``launch_watch.py``).
    """
    return write_in_regions(module, (), launch_numbers(module) if watched else {}).plan


def write_in_regions(
    module: ir.Module, regions: Sequence[int], watched: Mapping[ir.Operation, int] = MappingProxyType({})
) -> WrittenPlan:
    """``write_plan`` for a plan that will be cut.  ``regions``: a number for each op of ``@main``; storage
    that was made in one is not taken over in another.  ``watched``: the number of each call that is.
    """
    writer = _Writer(functions_of(module)["main"], module, regions=regions, watched=watched)
    run = writer.write()
    source = "\n".join([*writer.beside.values(), run])
    plan = BoundPlan(source, writer.kernels, writer.externs, torch.device(writer.device).index or 0)
    return WrittenPlan(plan, run, writer.starts, writer.names, writer.tensors.holders)
