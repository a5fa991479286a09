"""What passes that compute a producer again in its readers ask of a program.  Not a pass."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.measured import Measurements, PairKeys
from ...compiler.analysis.fusion.rules import Candidate, judge
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import kernel_ties
from ...compiler.mlir import ir
from ..base.program import Program
from ..base.results import drop_results


class Recomputed(ABC):
    """A tensor that the readers of a producer compute themselves."""

    #: The rule of the remark, and what it says of the producer and so many readers.
    RULE: ClassVar[str]
    SAYS: ClassVar[str]

    graph: GroupGraph
    producer: int
    readers: Collection[int]

    @abstractmethod
    def saved_bytes(self) -> int:
        """Traffic that goes, less what comes for it."""

    @abstractmethod
    def gain(self, hardware: Hardware) -> float:
        """Microseconds saved."""

    def report(self, name: str, remarks: Remarks, hardware: Hardware) -> None:
        """One remark of the pass ``name``: what is computed again, and what that saves."""
        nodes = [self.graph.deps.nodes[n] for n in (self.producer, *sorted(self.readers))]
        remarks.add(
            name, "passed", self.RULE, self.SAYS.format(nodes[0].name, len(self.readers)),
            ops=tuple(n.name for n in nodes), locations=tuple(n.location for n in nodes),
            saved_bytes=self.saved_bytes(), microseconds=round(self.gain(hardware), 2),
        )  # fmt: skip


class RecomputedValue(Recomputed):
    """A result of the producer, by its number, for which each reader gets its own call of the producer."""

    value: int


class StorageHistory:
    """Who writes each storage, and who uses it last."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self.writers: dict[int, list[int]] = {}
        self.last: dict[int, int] = {}
        self.changing: set[int] = set()  #: storages that an extern op writes to
        self.callers: set[int] = set()  #: storages that the caller keeps
        roots = graph.deps.roots
        for node in graph.deps.nodes:
            for value in (*node.destinations, *node.mutated):
                self.writers.setdefault(roots[value], []).append(node.index)
            for value in node.operands:
                self.last[roots[value]] = node.index
            for value in node.mutated:
                self.changing.add(roots[value])

        if "fuse.given" not in graph.deps.main.attributes:
            self.callers = {n for n, v in enumerate(graph.deps.values) if isinstance(v.owner, ir.Block)}

    def stays(self, value: int, node: int) -> bool:
        """Whether nothing writes to the storage of a value from ``node`` on."""
        return max(self.writers.get(self.graph.deps.roots[value], ()), default=-1) < node

    def ending(self, values: tuple[int, ...], reader: int) -> int:
        """Bytes of the values whose last use comes before a reader, and that nobody keeps."""
        roots = [(v, self.graph.deps.roots[v]) for v in values]
        own = [(v, root) for v, root in roots if root not in self.callers]
        return sum(self.graph.bytes_of(v) for v, root in own if self.last[root] < reader)


def merge_pairs(graph: GroupGraph, pairs: Sequence[tuple[int, int]], limits: Limits) -> bool:
    """Merges the groups of each pair of nodes, if the rules of fusion let all of them be one kernel each;
    whether they do.
    """
    for pair in pairs:
        first, last = sorted(graph.group_of[node] for node in pair)
        if judge(Candidate(graph, first, last, limits)).refusal is not None:
            return False
    for a, b in pairs:
        graph.merge(graph.group_of[a], graph.group_of[b])
    return True


def measured_apart(graph: GroupGraph, measured: Measurements) -> Callable[[int, Iterable[int]], bool]:
    """Whether a producer and one of its readers were measured to be better apart."""
    keys = PairKeys(graph)
    apart = {key for key, found in measured.items() if found.refusal is not None}

    def kept(producer: int, readers: Iterable[int]) -> bool:
        return bool(apart) and any(keys((producer,), (reader,)) in apart for reader in readers)

    return kept


@dataclass(frozen=True)
class RecomputedCall:
    """A call of the producer for one reader, in front of it."""

    original: ir.Value
    call: ir.Operation
    reader: ir.Operation

    @staticmethod
    def make(program: Program, tensor: RecomputedValue, reader: int) -> "RecomputedCall":
        graph = tensor.graph
        producer, user = graph.deps.nodes[tensor.producer], graph.deps.nodes[reader].op
        here = ir.InsertionPoint(user)
        call = producer.op.clone(here)
        for tie in producer.ties:
            empty = defining_op(call.operands[tie], fuse.Empty)
            if empty is not None:  # what else the producer stores into goes with the results that go
                call.operands[tie] = empty.clone(ir.InsertionPoint(call)).results[0]
        program.callers[producer.name] += 1
        live = [value == tensor.value for value in producer.results]
        if not all(live):
            call = drop_results(program, call, program.callee(call), live, asserts=False)
        copy = RecomputedCall(graph.deps.values[tensor.value], call, user)
        copy._read(copy.original, call.results[0])
        return copy

    def _read(self, old: ir.Value, new: ir.Value) -> None:
        for number, operand in enumerate(self.reader.operands):
            if operand == old:
                self.reader.operands[number] = new

    def undo(self, program: Program) -> None:
        """The reader reads the stored tensor again."""
        self._read(self.call.results[0], self.original)
        [tie] = kernel_ties(program.callee(self.call))
        empty = self.call.operands[tie].owner.operation
        program.erase_call(self.call)
        empty.erase()


def compute_again(
    module: ir.Module, program: Program, tensors: Iterable[RecomputedValue], limits: Limits
) -> list[RecomputedValue]:
    """Gives each reader of each tensor its own call of the producer, and one ``fuse.group`` with it; those of
    the tensors of which the rules of fusion allow it.
    """
    copies = [(t, [RecomputedCall.make(program, t, r) for r in sorted(t.readers)]) for t in tensors]
    judged = GroupGraph.of(module)  # the one of the analysis manager knows nothing of the copies
    node_of = {node.op: node.index for node in judged.deps.nodes}
    done, refused = list[RecomputedValue](), list[RecomputedCall]()
    for tensor, mine in copies:
        if merge_pairs(judged, [(node_of[c.call], node_of[c.reader]) for c in mine], limits):
            done.append(tensor)
        else:
            refused += mine
    judged.assign()
    for copy in refused:
        copy.undo(program)
    return done
