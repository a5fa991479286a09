"""Writes a ``{fuse.control_flow}`` function: what the host does around sub-graphs.

Its body is ``scf`` over numbers of the host and calls: of sub-graphs (``{fuse.graph}``) and of extern ops.
The graph around it sees one call, with everything that the body needs among its operands.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ...fx.table import Refused
from ...ir.dialects import fuse
from ...ir.layout import TensorSpec
from ...mlir import ir
from .call import Call
from .dtypes import BY_ELEMENT, BY_TORCH
from .extern import Encoder, Results
from .subgraph_calls import Carried, Subgraph
from .values import Number, Tensor

Values = list[ir.Value]
#: Element types of tensors that hold an index.
_INTEGERS = frozenset(
    BY_TORCH[dtype].element for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
)


class ControlFlow:
    """The function of one node while it is made.  Values outside are those of the graph around it."""

    def __init__(self, call: Call, results: Results) -> None:
        self.call, self.builder, self.results = call, call.builder, results
        self.name = self.builder.unique(call.node.name)
        self.function = self.builder.function(self.name, call.location)
        self.builder.declarations[self.name] = self.function
        self.block = self.function.regions[0].blocks.append()
        self.point = ir.InsertionPoint(self.block)
        self.outside: Values = []
        self.effect = False
        self._inside: dict[ir.Value, ir.Value] = {}

    def take(self, value: ir.Value) -> ir.Value:
        """A value from outside as the function's argument."""
        if value not in self._inside:
            self.outside.append(value)
            self._inside[value] = self.block.add_argument(value.type, self.call.location)
        return self._inside[value]

    def fill(self, operands: Sequence[Any], carried: Values) -> Values:
        """The operands of a sub-graph (``Subgraph.operands``) as values of the function."""
        return [carried[v.number] if isinstance(v, Carried) else self.take(v) for v in operands]

    def finish(self, results: Values) -> Any:
        """Returns ``results`` and calls the function; the node's value."""
        builder, location = self.builder, self.call.location
        self.emit("func.return", [], results)
        types = [v.type for v in results]
        self.function.attributes["function_type"] = builder.function_type(
            [a.type for a in self.block.arguments], types
        )
        self.function.attributes["fuse.control_flow"] = builder.unit
        if self.effect:
            self.function.attributes["fuse.effect"] = builder.unit
        values = builder.call(self.name, self.outside, types, location)
        return self.results.accept(self.name, values, location)

    def __enter__(self) -> "ControlFlow":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Leaves no trace of a function that was not finished."""
        if kind is not None:
            del self.builder.declarations[self.name]
            self.builder.release(self.name)
            self.function.erase()

    # Ops of the body.
    def emit(
        self,
        name: str,
        types: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        return ir.Operation.create(
            name,
            types,
            operands,
            dict(attributes or {}),
            regions=regions,
            loc=self.call.location,
            ip=self.point,
        )

    def region(
        self, op: ir.Operation, number: int, write: Callable[[Values], object], *types: ir.Type
    ) -> None:
        """Fills a region: ``write`` gets the block's arguments and emits into it."""
        block = op.regions[number].blocks.append(*types, arg_locs=[self.call.location] * len(types))
        around, self.point = self.point, ir.InsertionPoint(block)
        write(list(block.arguments))
        self.point = around

    def run(self, graph: Subgraph, operands: Values, types: Sequence[ir.Type]) -> Values:
        """Runs a sub-graph on values of the function."""
        self.effect |= graph.effect
        callee = graph.declare(self.builder, [v.type for v in operands], types, self.call.location)
        return self._call(callee, operands, types)

    def extern(
        self,
        name: str,
        target: str,
        operands: Values,
        arguments: Sequence[ir.Attribute],
        types: Sequence[ir.Type],
        extra: Mapping[str, ir.Attribute] | None = None,
    ) -> Values:
        """Runs a torch op on values of the function; ``arguments`` are its ``fuse.args``."""
        with self.builder.context:
            attributes = {
                "fuse.extern": self.builder.string(target),
                "fuse.args": ir.ArrayAttr.get(list(arguments)),
                **(extra or {}),
            }
            inputs = [v.type for v in operands]
            callee = self.builder.declare(name, inputs, types, attributes, self.call.location)
        return self._call(callee, operands, types)

    def empty(self, spec: TensorSpec) -> ir.Value:
        """Storage for a tensor of the type of a result."""
        encoder = Encoder(self.call.state, self.call.location)
        with self.builder.context:
            arguments = [encoder.encode(list(spec.sizes)), encoder.encode(list(spec.strides))]
            device = torch.device(spec.device or self.builder.device)
            given = {
                "dtype": encoder.encode(BY_ELEMENT[spec.element].torch),
                "device": encoder.encode(device),
            }
            extra = {"fuse.kwargs": ir.DictAttr.get(given)}
            operands = [self.take(v) for v in encoder.operands]
            types = [self.builder.tensor_type(spec)]
        return self.extern("empty", "aten.empty_strided.default", operands, arguments, types, extra)[0]

    def row(self, tensor: ir.Value, number: ir.Value, type_: ir.Type) -> ir.Value:
        """``tensor[number]``, a view."""
        arguments = [self.argument(0), self.builder.int64(0), self.argument(1)]
        return self.extern("row", "aten.select.int", [tensor, number], arguments, [type_])[0]

    def write(self, target: ir.Value, source: ir.Value) -> None:
        """Copies into a tensor of the function's own."""
        with self.builder.context:
            extra = {"fuse.mutated": self.builder.int64s([0]), "fuse.returns": self.builder.int64s([])}
        arguments = [self.argument(0), self.argument(1)]
        self.extern("write", "aten.copy_.default", [target, source], arguments, [], extra)

    def argument(self, number: int) -> ir.Attribute:
        """``#fuse.arg`` of an operand."""
        with self.builder.context:
            return fuse.Arg.get(self.builder.int64(number))

    def index(self, value: int) -> ir.Value:
        """A constant size."""
        return self.integer(value, self.builder.index_type)

    def integer(self, value: int, type_: ir.Type) -> ir.Value:
        """A constant of a type of integers."""
        return self.emit("arith.constant", [type_], [], {"value": ir.IntegerAttr.get(type_, value)}).result

    def less(self, value: ir.Value, bound: int) -> ir.Value:
        """Whether an integer of the host is less than ``bound``."""
        signed_less = {"predicate": self.builder.int64(2)}  # slt
        operands = [value, self.integer(bound, value.type)]
        return self.emit("arith.cmpi", [self.builder.element_type("i1")], operands, signed_less).result

    def truth(self, value: ir.Value) -> ir.Value:
        """What the host makes of a predicate: an ``i1``, or a tensor with one bool, which it waits for."""
        bit = self.builder.element_type("i1")
        if value.type == bit:
            return value
        tensor = isinstance(value.type, ir.RankedTensorType)
        if not tensor or TensorSpec.of(value.type).element != BY_TORCH[torch.bool].element:
            raise Refused(f"its predicate is of type {value.type}")
        return self._read("predicate", value, bit)

    def number(self, value: ir.Value) -> ir.Value:
        """What the host makes of an index: an integer, or a tensor with one, which it waits for."""
        if isinstance(value.type, (ir.IndexType, ir.IntegerType)):
            return value
        tensor = isinstance(value.type, ir.RankedTensorType)
        if not tensor or TensorSpec.of(value.type).element not in _INTEGERS:
            raise Refused(f"its index is of type {value.type}")
        return self._read("index", value, self.builder.element_type("i64"))

    def _read(self, name: str, tensor: ir.Value, type_: ir.Type) -> ir.Value:
        """The one element of a tensor, as a number of the host."""
        target = "aten._local_scalar_dense.default"
        return self.extern(name, target, [tensor], [self.argument(0)], [type_])[0]

    def _call(self, callee: str, operands: Values, types: Sequence[ir.Type]) -> Values:
        symbol = ir.FlatSymbolRefAttr.get(callee, context=self.builder.context)
        return list(self.emit("func.call", types, operands, {"callee": symbol}).results)


def outside_value(call: Call, value: Any) -> ir.Value:
    """A tensor or a number of the graph around a node; refuses anything else."""
    if not isinstance(value, (Tensor, Number)):
        call.refuse(f"it takes {value}")
    return value.value
