"""Sub-graphs of higher-order ops.  Each becomes a ``builtin.module`` inside the module around it, with a
``@main`` and kernels of its own, so that every pass treats it as it treats the whole program.

``Subgraphs.of(importer, gm, ..)`` imports one; ``Subgraph.declare`` gives the private function
``{fuse.graph = @name}`` through which the graph around it is called with it.  The arguments of its ``@main``:
the sizes that it takes from around it, the placeholders that have a value when it runs, and the tensors that
it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import fx

from ...analysis.program.dependences import Dependences
from ...base.errors import ImportGraphError, UnboundSymbol, UnsupportedOp
from ...fx.table import Refused
from ...index import Expr, const, sym
from ...ir.layout import TensorSpec
from ...mlir import ir
from ...rewrites.graph.gathers import sink_gathers
from ...rewrites.rewriting import Rewriting
from .builder import KernelBuilder
from .call import Call
from .values import HostObject, Number, Tensor

if TYPE_CHECKING:
    from .importer import ImportedGraph, Importer


@dataclass(frozen=True)
class Wanted:
    """A leaf of a sub-graph's output that it returns, and how it is to be laid out, where that is known."""

    number: int
    layout: TensorSpec | None = None


@dataclass(frozen=True)
class Carried:
    """Stands for value number ``number`` of what a loop hands to a sub-graph in each round, of ``type``."""

    number: int
    type: ir.Type


@dataclass(frozen=True)
class Subgraph:
    """A nested module.

    name: its symbol.  symbols: sizes of the graph around it that it takes, first.  taken: the placeholders
    that are arguments, with the types of the arguments.  constants: names of the tensors that it takes last,
    as the importer of the graph around it knows them.  results: the types of what it returns.  effect:
    whether it does something besides its results.
    """

    name: str
    symbols: tuple[str, ...]
    taken: tuple[tuple[int, ir.Type], ...]
    constants: tuple[str, ...]
    results: tuple[ir.Type, ...]
    effect: bool

    def operands(self, importer: "Importer", given: Sequence[Any], location: ir.Location) -> list[Any]:
        """What a call takes, values and ``Carried``: ``given`` are the placeholders' values in the graph
        around it.
        """
        sizes = [importer.symbols.value(sym(name), location) for name in self.symbols]
        values = [operand(importer, given[number], type_, location) for number, type_ in self.taken]
        return [
            *sizes,
            *values,
            *(importer.arguments.constant_tensors[name].value for name in self.constants),
        ]

    def declare(
        self,
        importer: "Importer",
        inputs: Sequence[ir.Type],
        results: Sequence[ir.Type],
        location: ir.Location,
    ) -> str:
        """The function that runs it, for operands and results of these types."""
        builder = importer.builder
        with importer.context:
            attributes: dict[str, ir.Attribute] = {"fuse.graph": ir.FlatSymbolRefAttr.get(self.name)}
            if self.effect:
                attributes["fuse.effect"] = builder.unit
            return builder.declare(f"run_{self.name}", inputs, results, attributes, location)


def subgraph_of(call: Call, argument: Any) -> tuple[fx.GraphModule, str]:
    """The graph that an argument of a higher-order op is, and its path; refuses anything else."""
    held = call.importer.resolve(argument)
    if not isinstance(held, HostObject) or not isinstance(held.object, fx.GraphModule):
        call.refuse("what it runs is no graph")
    return held.object, held.name


def import_subgraph(
    call: Call, gm: fx.GraphModule, path: str, given: Sequence[Any], wanted: Sequence[Wanted] | None = None
) -> Subgraph:
    """Imports ``gm``, which the graph around it holds as ``path``, for the placeholders' values ``given``.

    It returns the leaves of its output that are ``wanted``, all by default.  The same graph is imported once.
    Refuses what cannot be a module.
    """
    importer = call.importer
    key = (id(gm), None if wanted is None else tuple(wanted))
    if key in importer.subgraphs:
        known: Subgraph = importer.subgraphs[key]
        return known
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    if len(placeholders) != len(given):
        call.refuse(f"its sub-graph takes {len(placeholders)} arguments and gets {len(given)}")
    Rewriting(gm, importer.remarks).run(sink_gathers, gm)
    nesting, imported = _import(call, gm, key[1])
    importer.fallbacks.extend(imported.fallbacks)
    importer.remarks.items.extend(imported.remarks.items)
    importer.objects.update(imported.objects)
    main = imported.module.body.operations[0].operation
    types = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs)
    subgraph = importer.subgraphs[key] = Subgraph(
        importer.builder.nest(path.replace(".", "_"), imported.module),
        nesting.outer,
        tuple(zip(imported.inputs, types[len(nesting.outer) :], strict=False)),
        tuple(importer.arguments.constant(f"{path}.{n}", t) for n, t in imported.constants.items()),
        tuple(nesting.types),
        _has_effect(imported.module),
    )
    return subgraph


def _import(
    call: Call, gm: fx.GraphModule, wanted: tuple[Wanted, ...] | None
) -> tuple["Nesting", "ImportedGraph"]:
    """Imports once more for each size that only the graph around it has."""
    importer, outer = call.importer, list[str]()
    while True:
        nesting = Nesting(importer, tuple(outer), wanted)
        nested = type(importer)(
            gm, (), importer.context, importer.device, importer.strict,
            objects=dict(importer.objects), nesting=nesting, failed=importer.failed,
        )  # fmt: skip
        try:
            return nesting, nested.run()
        except UnboundSymbol as error:
            missing = error.fields["symbol"]
            if missing in outer:
                call.refuse(str(error))
            if missing not in importer.builder.symbol_values:
                raise  # perhaps the graph around this one has it
            outer.append(missing)
        except UnsupportedOp:
            raise
        except ImportGraphError as error:
            call.refuse(str(error))


def _has_effect(module: ir.Module) -> bool:
    """Whether a graph does something besides its results.  Refuses one that writes to its arguments."""
    graph = Dependences.of(module)
    for node in graph.nodes:
        if any(graph.is_argument(v) for v in (*node.mutated, *node.destinations)):
            raise Refused("its sub-graph writes to its arguments")
    return any(node.effect for node in graph.nodes)


@dataclass
class Nesting:
    """What the import of a sub-graph does otherwise.

    around: the importer of the graph that it is part of.  outer: the sizes that it takes from there.  wanted:
    the leaves of its output that it returns, all where it is None.  types: of what it returns, once it is
    imported.
    """

    around: "Importer"
    outer: tuple[str, ...]
    wanted: tuple[Wanted, ...] | None
    types: list[ir.Type] = field(default_factory=list)

    def sizes(self) -> dict[str, dict[str, ir.Attribute]]:
        """The outer sizes with their bounds."""
        return {name: self.around.builder.symbol_attributes[name] for name in self.outer}

    def results(self, importer: "Importer", leaves: Sequence[Any]) -> list[ir.Value]:
        """One result for each wanted leaf, in order."""
        if importer.mutated:
            raise Refused("its sub-graph writes to its arguments")
        wanted = [Wanted(i) for i in range(len(leaves))] if self.wanted is None else self.wanted
        if any(leaf.number >= len(leaves) for leaf in wanted):
            raise Refused(f"its sub-graph returns {len(leaves)} values, which are not enough")
        values = [_returned(importer, importer.resolve(leaves[w.number]), w.layout) for w in wanted]
        self.types = [v.type for v in values]
        return values


def _returned(importer: "Importer", value: Any, layout: TensorSpec | None) -> ir.Value:
    if isinstance(value, Tensor) and layout is not None and importer.symbols.defines(layout.numel):
        return laid_out(importer, value, layout, importer.builder.unknown)
    if isinstance(value, (Tensor, Number)):
        return value.value
    if isinstance(value, bool):
        return constant(importer, value, importer.builder.element_type("i1"), importer.builder.unknown)
    if isinstance(value, (int, Expr)):
        return operand(importer, value, importer.builder.index_type, importer.builder.unknown)
    raise Refused(f"its sub-graph returns {value}")


def operand(importer: "Importer", value: Any, type_: ir.Type, location: ir.Location) -> Any:
    """The value of the graph that stands for ``value`` where ``type_`` is expected, or ``value`` itself where
    it is ``Carried``; refuses another kind.
    """
    if isinstance(value, Carried):
        return _carried(value, type_)
    if isinstance(value, Tensor) and isinstance(type_, ir.RankedTensorType):
        return laid_out(importer, value, TensorSpec.of(type_), location)
    if isinstance(value, Number) and value.value.type == type_:
        return value.value
    if isinstance(type_, ir.IndexType) and isinstance(value, (int, Expr)) and not isinstance(value, bool):
        return importer.symbols.value(const(value) if isinstance(value, int) else value, location)
    if isinstance(value, (bool, int, float)) and not isinstance(type_, ir.RankedTensorType):
        return constant(importer, value, type_, location)
    raise Refused(f"its sub-graph takes {type_} where it is given {type(value).__name__}")


def _carried(value: Carried, type_: ir.Type) -> Carried:
    """Refuses what has another layout each round than the sub-graph was traced with."""
    if isinstance(type_, ir.RankedTensorType) and isinstance(value.type, ir.RankedTensorType):
        spec, own = TensorSpec.of(value.type), TensorSpec.of(type_)
        if (spec.element, spec.device, spec.rank) == (own.element, own.device, own.rank) and (
            spec.strides == own.strides or (spec.is_contiguous and own.is_contiguous)
        ):
            return value
    elif value.type == type_:
        return value
    raise Refused(f"its sub-graph takes {type_} where a loop carries {value.type}")


def laid_out(
    importer: "Importer",
    tensor: Tensor,
    expected: TensorSpec,
    location: ir.Location,
    *,
    exact: bool = False,
) -> ir.Value:
    """The tensor with the strides of ``expected``: itself, or a copy.  Unless it has to be ``exact``, its
    offset may be another, and so may the names of its sizes: a sub-graph has its own.  Refuses another kind
    of tensor.
    """
    spec = tensor.spec
    if (spec.element, spec.device, spec.rank) != (expected.element, expected.device, expected.rank):
        raise Refused(f"its sub-graph has {expected.type()} where there is {tensor.value.type}")
    pairs = zip(spec.sizes, spec.strides, expected.strides, strict=True)
    alike = spec == expected if exact else all(n.constant == 1 or a == b for n, a, b in pairs)
    if alike or (spec.sizes != expected.sizes and not exact):
        return tensor.value
    if spec.sizes != expected.sizes:
        raise Refused(f"the sizes of {tensor.value.type} change to those of {expected.type()}")
    if spec.device is not None or spec.element.startswith("complex"):
        raise Refused(f"its sub-graph has {expected.type()} where there is {tensor.value.type}")
    fresh = TensorSpec(expected.sizes, expected.strides, const(0), expected.element)
    kernel = KernelBuilder(importer.builder, "relaid", location, [tensor], [fresh])
    at = kernel.iterate(fresh.sizes)
    kernel.store(0, at, kernel.load_raw(tensor, at))
    return kernel.finish()[0]


def constant(importer: "Importer", value: float, type_: ir.Type, location: ir.Location) -> ir.Value:
    """``arith.constant``: a number of the host."""
    with importer.context:
        number = (
            ir.FloatAttr.get(type_, float(value), loc=location)
            if isinstance(type_, ir.F64Type)
            else ir.IntegerAttr.get(type_, int(value))
        )
    return importer.builder.op("arith.constant", [type_], [], {"value": number}, location).result
