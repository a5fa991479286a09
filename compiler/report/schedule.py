"""The schedule of ``@main`` as plain data: its launches in order, and the memory that each reads and writes.

A buffer is a storage: an argument, an allocation, or a new result of a torch op.  It is alive from the first
launch that reads or writes it to the last one, or to the end if it is returned.  The launches of a sub-graph
name the buffers of that sub-graph, including its arguments.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ..analysis.program.provenance import launch_calls, node_names
from ..base.dataclass import dataclass
from ..base.launch import Launch
from ..base.strides import span
from ..ir.layout import TensorSpec
from ..ir.nesting import nested_modules
from ..ir.sizes import estimate, hints_of
from ..ir.storage import Storage, aliased_operands, callee_name, functions_of
from ..mlir import ir


@dataclass(eq=False)
class Buffer:
    """A storage.  bytes: with every size at its hint.  first, last: numbers of rows, both inclusive."""

    name: str
    kind: Literal["argument", "temporary", "result"]
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Row:
    """A launch and the buffers that it touches, each once in each list."""

    launch: Launch
    reads: list[Buffer] = field(default_factory=list)
    writes: list[Buffer] = field(default_factory=list)


@dataclass(frozen=True)
class Schedule:
    """The rows in execution order."""

    rows: list[Row]
    buffers: list[Buffer]

    def held(self, row: int) -> int:
        """Bytes that the program itself has allocated while a row runs; arguments do not count."""
        own = (b for b in self.buffers if b.kind != "argument")
        return sum(b.bytes for b in own if b.first <= row <= b.last)


def schedule_of(module: ir.Module) -> Schedule:
    """The schedule of a module at any level."""
    graphs = {part.operation: _Graph.of(part) for part in (module, *nested_modules(module))}
    reader = _Reader()
    for op, launch in launch_calls(module):
        reader.read(op, launch, graphs[_module_of(op)])
    whole = graphs[module.operation]
    for value in list(whole.functions["main"].regions[0].blocks[0].operations)[-1].operands:
        root = whole.storage.root(value)
        if root in reader.buffers:
            reader.returned(reader.buffers[root])
    return Schedule(reader.rows, list(reader.buffers.values()))


@dataclass(frozen=True)
class _Graph:
    """A module: the whole program or a sub-graph."""

    functions: Mapping[str, ir.Operation]
    storage: Storage
    hints: Mapping[str, int]

    @staticmethod
    def of(module: ir.Module) -> "_Graph":
        functions = functions_of(module)
        return _Graph(functions, Storage(functions["main"], module), hints_of(functions["main"]))


def _module_of(op: ir.Operation) -> ir.Operation:
    while op.name != "builtin.module":
        op = op.parent.operation
    return op


class _Reader:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.buffers: dict[ir.Value, Buffer] = {}

    def read(self, op: ir.Operation, launch: Launch, graph: _Graph) -> None:
        callee = graph.functions[callee_name(op)]
        shared = aliased_operands(callee)
        written = {op.operands[n] for n in shared.values()} if launch.kind == "kernel" else set()
        if "fuse.mutated" in callee.attributes:
            written |= {op.operands[n] for n in ir.DenseI64ArrayAttr(callee.attributes["fuse.mutated"])}
        fresh = [value for n, value in enumerate(op.results) if n not in shared]
        row = Row(launch)
        for values, touched in (
            ([v for v in op.operands if v not in written], row.reads),
            ([*(v for v in op.operands if v in written), *fresh], row.writes),
        ):
            for value in values:
                if isinstance(value.type, ir.RankedTensorType):
                    buffer = self.buffer(value, launch, graph)
                    buffer.last = len(self.rows)
                    if buffer not in touched:
                        touched.append(buffer)
        self.rows.append(row)

    def buffer(self, value: ir.Value, launch: Launch, graph: _Graph) -> Buffer:
        """The buffer behind a value; a new one starts at the current row, with the name of the FX node that
        it was made for.
        """
        root = graph.storage.root(value)
        if root not in self.buffers:
            argument = isinstance(root, ir.BlockArgument)
            if argument:
                name = f"argument {ir.BlockArgument(root).arg_number}"
            else:
                name = next(iter(node_names(root.owner.location)), launch.name)
            row = len(self.rows)
            self.buffers[root] = Buffer(
                name, "argument" if argument else "temporary", _bytes(root, graph.hints), row, row
            )
        return self.buffers[root]

    def returned(self, buffer: Buffer) -> None:
        """Marks a buffer as returned, so that it is alive to the end."""
        buffer.last = max(len(self.rows) - 1, 0)
        if buffer.kind == "temporary":
            buffer.kind = "result"


def _bytes(root: ir.Value, hints: Mapping[str, int]) -> int:
    spec = TensorSpec.of(root.type)
    sizes, strides = ([estimate(n, hints) for n in found] for found in (spec.sizes, spec.strides))
    return span(sizes, strides) * spec.element_bytes
