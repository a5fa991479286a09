"""How the graph around a sub-graph calls it: through a private function ``{fuse.graph = @name}``, with values
of exactly the types that the sub-graph's ``@main`` takes.
"""

from collections.abc import Sequence
from typing import Any

from ...base.dataclass import dataclass
from ...fx.table import Refused
from ...index import Expr, const, sym
from ...ir.layout import TensorSpec
from ...mlir import ir
from .builder import KernelBuilder
from .module_builder import ModuleBuilder
from .symbols import SymbolTable
from .values import Number, Tensor


@dataclass(frozen=True)
class Carried:
    """Stands for value number ``number`` of what a loop hands to a sub-graph in each round, of ``type``."""

    number: int
    type: ir.Type


@dataclass(frozen=True)
class Subgraph:
    """A nested module, imported by ``subgraphs.py``.

    name: its symbol.  symbols: sizes of the graph around it that it takes, first.  taken: the placeholders
    that are arguments, with the types of the arguments.  constants: the tensors that it takes last, as
    arguments of the ``@main`` around it.  results: the types of what it returns.  effect: whether it does
    something besides its results.
    """

    name: str
    symbols: tuple[str, ...]
    taken: tuple[tuple[int, ir.Type], ...]
    constants: tuple[ir.Value, ...]
    results: tuple[ir.Type, ...]
    effect: bool

    def operands(self, symbols: SymbolTable, given: Sequence[Any], location: ir.Location) -> list[Any]:
        """What a call takes, values and ``Carried``: ``given`` are the placeholders' values in the graph
        around it, ``symbols`` its sizes.
        """
        sizes = [symbols.value(sym(name), location) for name in self.symbols]
        values = [operand(symbols, given[number], type_, location) for number, type_ in self.taken]
        return [*sizes, *values, *self.constants]

    def declare(
        self,
        builder: ModuleBuilder,
        inputs: Sequence[ir.Type],
        results: Sequence[ir.Type],
        location: ir.Location,
    ) -> str:
        """The function that runs it, for operands and results of these types."""
        with builder.context:
            attributes: dict[str, ir.Attribute] = {"fuse.graph": ir.FlatSymbolRefAttr.get(self.name)}
            if self.effect:
                attributes["fuse.effect"] = builder.unit
            return builder.declare(f"run_{self.name}", inputs, results, attributes, location)


def operand(symbols: SymbolTable, value: Any, type_: ir.Type, location: ir.Location) -> Any:
    """The value of the graph that stands for ``value`` where ``type_`` is expected, or ``value`` itself where
    it is ``Carried``; refuses another kind.
    """
    if isinstance(value, Carried):
        return _carried(value, type_)
    if isinstance(value, Tensor) and isinstance(type_, ir.RankedTensorType):
        return laid_out(symbols.builder, value, TensorSpec.of(type_), location)
    if isinstance(value, Number) and value.value.type == type_:
        return value.value
    if isinstance(type_, ir.IndexType) and isinstance(value, (int, Expr)) and not isinstance(value, bool):
        return symbols.value(const(value) if isinstance(value, int) else value, location)
    if isinstance(value, (bool, int, float)) and not isinstance(type_, ir.RankedTensorType):
        return constant(symbols.builder, value, type_, location)
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
    builder: ModuleBuilder,
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
    kernel = KernelBuilder(builder, "relaid", location, [tensor], [fresh])
    at = kernel.iterate(fresh.sizes)
    kernel.store(0, at, kernel.load_raw(tensor, at))
    return kernel.finish()[0]


def constant(builder: ModuleBuilder, value: float, type_: ir.Type, location: ir.Location) -> ir.Value:
    """``arith.constant``: a number of the host."""
    with builder.context:
        number = (
            ir.FloatAttr.get(type_, float(value), loc=location)
            if isinstance(type_, ir.F64Type)
            else ir.IntegerAttr.get(type_, int(value))
        )
    return builder.op("arith.constant", [type_], [], {"value": number}, location).result
