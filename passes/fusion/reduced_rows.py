"""Tensors that a kernel makes of inputs and of reductions of them.  Helper of ``store-reductions``."""

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.score import Gain
from ...compiler.analysis.kernel.accesses import Summary, Write, points
from ...compiler.analysis.kernel.info import KernelInfo
from ...compiler.base.dataclass import dataclass
from ...compiler.cost.hardware import Hardware
from ...compiler.cost.slots import slots
from ...compiler.ir.kernel import REDUCTIONS, Kernel, natural
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import ir
from ..base.kernels import kernel_body
from .recomputing import Recomputed, StorageHistory

#: Reductions take at most this share of the bytes of what is computed of them.
_SHARE = 1 / 8
#: What is not computed again: it crosses points, or gives other numbers.
_ONCE = ("fuse.scan", "fuse.rand")
#: Operands of a load at no computed index: a tensor, a guard, and what is read where that is false.
_PLAIN_LOAD = 3


@dataclass(frozen=True, eq=False)
class ReducedRows(Recomputed):
    """A tensor that a kernel makes of inputs and of reductions, and kernels alone read.

    reductions: the values of the kernel that would be stored, ``stored`` bytes in all.  inputs: the values of
    ``@main`` that the rest reads.  weight: issue slots of a point of the rest.  ending: bytes of inputs whose
    last use comes before the last reader.
    """

    RULE = "stored"
    SAYS = "{} stores its reductions, of which {} readers compute its result"

    graph: GroupGraph
    kernel: Kernel
    producer: int
    result: int
    readers: frozenset[int]
    reductions: tuple[ir.Value, ...]
    inputs: tuple[int, ...]
    stored: int
    weight: int
    ending: int

    @property
    def value(self) -> int:
        return self.graph.deps.nodes[self.producer].results[self.result]

    def loaded(self, reader: int) -> int:
        """How many elements a reader loads, where each load of one counts."""
        graph, summary = self.graph, self.graph.summaries[reader]
        operands = graph.deps.nodes[reader].operands
        found = {
            (number if read.indirect else read.coords): read
            for number, read in enumerate(summary.reads)
            if operands[read.argument] == self.value
        }
        return sum(graph.sizes.estimate(points(summary.dims, read.dims)) for read in found.values())

    def saved_bytes(self) -> int:
        """Traffic that goes, less what comes for it."""
        graph, size = self.graph, self.graph.bytes_of(self.value)
        elements = graph.sizes.estimate(graph.types[self.value].spec.numel)
        saved = size - self.stored
        for reader in self.readers:
            there = set(graph.deps.nodes[reader].reads)
            new = sum(graph.bytes_of(v) for v in self.inputs if v not in there)
            saved += round(min(1.0, self.loaded(reader) / elements) * (size - new - self.stored))
        return saved

    def gain(self, hardware: Hardware) -> float:
        """Microseconds saved; none where inputs would live longer by more than the tensor takes."""
        graph = self.graph
        if self.ending > graph.bytes_of(self.value):
            return 0.0
        elements = graph.sizes.estimate(graph.types[self.value].spec.numel)
        runs = sum(map(self.loaded, self.readers)) - elements
        return Gain(self.saved_bytes(), slots=runs * self.weight).microseconds(hardware)


class RowUses(StorageHistory):
    """Which tensors are made of inputs and reductions, and read by kernels alone."""

    def rows(self) -> list[ReducedRows]:
        """By producer."""
        found = []
        for node, summary in self.graph.summaries.items():
            for write in summary.writes if summary.crossings else ():
                rows = self._rows(node, summary, write)
                if rows is not None:
                    found.append(rows)
        return found

    def _rows(self, node: int, summary: Summary, write: Write) -> ReducedRows | None:
        graph, deps = self.graph, self.graph.deps
        made = deps.nodes[node]
        value = made.results[write.result]
        users = [deps.nodes[u] for u in deps.users[value] if deps.nodes[u].kind != "fuse.after"]
        readers = frozenset([user.index for user in users])
        if not readers or not readers <= graph.summaries.keys() or made.callee is None:
            return None
        if not write.is_plain or not graph.is_fresh(made.operands[write.argument]):
            return None
        if [u for u in users if value in u.destinations] or deps.roots[value] in self.changing:
            return None
        if [v for v in made.op.operands if not isinstance(v.type, ir.RankedTensorType)]:
            return None
        needed, _ = KernelInfo.of(made.callee).body.needed(write.result)
        if needed.keys().isdisjoint(REDUCTIONS) or not needed.keys().isdisjoint(_ONCE):
            return None
        kernel = Kernel.of(made.callee)
        rest = _rest_of(kernel, write.argument)
        if rest is None:
            return None
        reductions, ops = rest
        stored = sum(stored_value(kernel, v, kernel.spec(write.argument)).bytes for v in reductions)
        loaded = {a.argument for a in kernel.loads if a.op in ops}
        inputs = tuple(dict.fromkeys(made.operands[a] for a in sorted(loaded)))
        if stored > _SHARE * graph.bytes_of(value) or not all(self.stays(v, node) for v in inputs):
            return None
        weight = sum(slots(op.name) for op in ops)
        ending = self.ending(inputs, max(readers))
        return ReducedRows(
            graph, kernel, node, write.result, readers, tuple(reductions), inputs, stored, weight, ending
        )


def _rest_of(kernel: Kernel, argument: int) -> tuple[list[ir.Value], set[ir.Operation]] | None:
    """What a kernel computes behind its reductions for the store into an argument: the values that it needs
    of them, in order, and the operations.  A value that is computed of reductions and does not vary along all
    dims of the store is needed in place of these.  None where the store needs no reduction, or what runs
    once.
    """
    [store] = [a.op for a in kernel.stores if a.argument == argument]
    body, made, whole = kernel_body(kernel.func), set[ir.Value](), kernel.op_dims[store]
    for op in body:
        if op.name in REDUCTIONS or not made.isdisjoint(op.operands):
            made.update(op.results)
    waiting, cut, ops = list(store.operands)[1:], set[ir.Value](), set[ir.Operation]()
    while waiting:
        value = waiting.pop()
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        fewer = kernel.value_dims[value] < whole and isinstance(value.type, ir.FloatType)
        if op.name in REDUCTIONS or (value in made and fewer):
            cut.add(value)
        elif op.name in _ONCE or (op.name == "fuse.load" and len(op.operands) > _PLAIN_LOAD):
            return None
        elif op not in ops:
            ops.add(op)
            waiting += op.operands
    if not cut or not all(isinstance(value.type, ir.FloatType) for value in cut):
        return None
    order = {op: number for number, op in enumerate(body)}
    return sorted(cut, key=lambda v: (order[v.owner.operation], ir.OpResult(v).result_number)), ops


@dataclass(frozen=True)
class StoredValue:
    """The tensor of a reduction: its dims in order, and its layout."""

    dims: tuple[str, ...]
    spec: TensorSpec

    @property
    def bytes(self) -> int:
        elements = self.spec.numel.constant
        return 1 << 62 if elements is None else elements * self.spec.element_bytes


def stored_value(kernel: Kernel, value: ir.Value, like: TensorSpec) -> StoredValue:
    """Where a reduction would be stored, on the device of a tensor ``like``."""
    dims = tuple(sorted(kernel.value_dims[value], key=natural))
    sizes = tuple(kernel.dims[name] for name in dims)
    return StoredValue(dims, TensorSpec.contiguous(sizes, str(value.type), like.device))
