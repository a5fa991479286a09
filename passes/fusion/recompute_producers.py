"""``recompute-producers``: what could not fuse with all its readers is computed again in each of them, where
that moves fewer bytes than storing it.
"""

from collections.abc import Iterator
from typing import ClassVar

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.score import Gain
from ...compiler.analysis.kernel.accesses import Read, Summary
from ...compiler.analysis.kernel.info import PLAIN_LOAD, BodyOps, KernelInfo
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import SECTOR, Hardware
from ...compiler.cost.slots import slots
from ...compiler.index.facts import is_indirect
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, hardware_of
from .fusing import groups_of, measurements_of
from .materialize_fusion import MaterializeFusion
from .recomputing import RecomputedValue, StorageHistory, compute_again, measured_apart

#: Inputs may live longer by this share of a tensor more than it takes: a number, or one for each row.
_BESIDE = 1 / 64


@dataclass(frozen=True)
class RecomputeProducers(AnalysisPass):
    """Each reader of a stored tensor gets its own call of the kernel that makes it, and one ``fuse.group``
    with that call.

    Before::

        %s = call @sin(%x, %o)
        %c = call @cat(%s, %y, %p)              // these two cannot be one kernel
        %d = call @row_sums(%s, %q)

    After (``materialize-fusion`` makes two kernels of it, and nothing stores %s)::

        %s0 = call @sin(%x, %o0) {fuse.group = 0 : i64}
        %c = call @cat(%s0, %y, %p) {fuse.group = 0 : i64}
        %s1 = call @sin(%x, %o1) {fuse.group = 1 : i64}
        %d = call @row_sums(%s1, %q) {fuse.group = 1 : i64}

    It fires where the estimate says that time is saved.  Saved are the reads of the tensor and its store,
    unless something else still needs it in memory.  Paid are the reads of the producer's inputs, but for
    those that the reader reads anyway, and the operations that run once more.

    What is computed again may read what is cheaper to compute again, too: its copies are then merged with
    their readers, and the pass takes one more step.

    Of a kernel with several results, only what the tensor needs runs again, and the copy is named after the
    FX nodes of that alone: the normalised rows of the backward kernel of a layer norm, without its sums.

    Runs after fusion, so that it sees only what stayed apart, and behind ``store-reductions``.
    ``computed-indices``: a second run, behind ``fold-ranges``, of what reads at an index that it computes of
    dims alone (frames at another rate); it does nothing in a program without such a kernel.

    Does not fire where the tensor needs a reduction, a scan or random numbers; on one that is stored into
    anything but a fresh empty; on producers that assert more than that indices are in range, unless they
    have other results, with which they still run, and the tensor needs nothing at loaded indices, which
    its copy would not check; where it needs rows of fewer than 32 bytes at loaded indices, each of which
    takes so many of memory; where something later overwrites what the producer reads, or an extern op
    writes to the tensor; where inputs would live longer by clearly more than the tensor takes; nor where
    a rule of ``compiler/analysis/fusion/rules.py`` keeps the copy and the reader apart, or where
    ``fusions``, the table that the fusing passes read, says that the producer and a reader were measured
    to be better apart.

    Remarks: ``passed: recomputed``, with the bytes and microseconds saved.  Raises PassError on a table that
    cannot be read.
    """

    name: ClassVar[str] = "recompute-producers"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"
    fusions: str = ""
    computed_indices: bool = False

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        if self.computed_indices and not _computes_indices(module):
            return
        while self._leaves_some(module, remarks, analyses):
            analyses.keep_only((Program,))
            MaterializeFusion().run_with(module, remarks, analyses)

    def _leaves_some(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> bool:
        """Makes one step; whether what copies read now may be computed again in the next one."""
        hardware = hardware_of(self.hardware, self, module)
        graph = groups_of(analyses)
        apart = measured_apart(graph, measurements_of(self.name, self.fusions, module))
        gains = {t: t.gain(hardware) for t in _Uses(graph, self.computed_indices).tensors()}
        gaining = [t for t, gain in gains.items() if gain > 0 and not apart(t.producer, t.readers)]
        found = _apart(sorted(gaining, key=lambda t: -gains[t]))
        if not found:
            return False
        done = compute_again(module, analyses.get(Program), found, Limits.of(hardware))
        for tensor in done:
            tensor.report(self.name, remarks, hardware)
        makers = {t.producer for t in found} - {t.producer for t in found if t not in done}
        return any(t not in found and makers & {*t.readers} for t in gaining)


@dataclass(frozen=True, eq=False)
class _Tensor(RecomputedValue):
    """A tensor that a kernel stores and others read.

    ``readers``: nodes that may compute it themselves.  ``stored``: whether it is needed in memory all the
    same.  ``inputs``: what it is made of.  ``weight``: issue slots of a point.
    """

    RULE = "recomputed"
    SAYS = "{} runs in each of {} readers instead of storing its result"

    graph: GroupGraph
    producer: int
    value: int
    readers: tuple[int, ...]
    stored: bool
    inputs: tuple[int, ...]
    weight: int
    ending: int  #: bytes of inputs whose last use comes before the last reader

    def saved_bytes(self) -> int:
        """Traffic that goes: the reads and, where nothing else needs it, the store and the producer's own
        reads; less the new reads.
        """
        size, new = self.graph.bytes_of(self.value), 0
        for reader in self.readers:
            there = set(self.graph.deps.nodes[reader].reads)
            new += sum(self.graph.bytes_of(v) for v in self.inputs if v not in there)
        if not self.stored and len(self.graph.deps.nodes[self.producer].results) == 1:
            new -= sum(map(self.graph.bytes_of, self.inputs))
        return size * (len(self.readers) + (not self.stored)) - new

    def gain(self, hardware: Hardware) -> float:
        """Microseconds saved; none where inputs would live longer by clearly more than the tensor takes."""
        summary = self.graph.summaries[self.producer]
        runs = len(self.readers) - (not self.stored)
        slots = runs * self.weight * self.graph.sizes.estimate(summary.points)
        freed = 0 if self.stored else self.graph.bytes_of(self.value)
        if self.ending > freed * (1 + _BESIDE):
            return 0.0
        return Gain(self.saved_bytes(), slots=slots).microseconds(hardware)


class _Uses(StorageHistory):
    """Which tensors their readers could compute."""

    def __init__(self, graph: GroupGraph, computed_indices: bool) -> None:
        super().__init__(graph)
        self.computed_indices = computed_indices
        self._bodies: dict[str, BodyOps] = {}

    def tensors(self) -> Iterator[_Tensor]:
        """The tensors whose readers could compute them, by producer."""
        graph = self.graph
        for node, summary in graph.summaries.items():
            made = graph.deps.nodes[node]
            for write in summary.writes:
                fresh = write.is_plain and graph.is_fresh(made.operands[write.argument])
                tensor = self._tensor(node, summary, write.result) if fresh else None
                if tensor is not None:
                    yield tensor

    def _tensor(self, node: int, summary: Summary, result: int) -> _Tensor | None:
        graph = self.graph
        deps, made = graph.deps, graph.deps.nodes[node]
        value = made.results[result]
        users = [deps.nodes[u] for u in deps.users[value] if deps.nodes[u].kind != "fuse.after"]
        readers = tuple(u.index for u in users if u.index in graph.summaries)
        if not readers or any(value in u.destinations for u in users):
            return None
        if graph.group_of[node] in [graph.group_of[reader] for reader in readers]:
            return None  # it is in no memory
        if deps.roots[value] in self.changing:  # what it holds later is not what the producer computes
            return None
        assert made.callee is not None, "a kernel"
        if made.name not in self._bodies:
            self._bodies[made.name] = KernelInfo.of(made.callee).body
        body = self._bodies[made.name]
        tables = body.tables(result)
        if self.computed_indices and tables <= body.rows(result):
            return None
        if summary.asserts and not body.checks_indices_alone and (len(made.results) == 1 or tables):
            return None
        rows = body.rows(result) if tables else tables
        looked_up = [r for r in summary.reads if r.indirect and r.argument in rows]
        if any(self._row_bytes(made.operands[r.argument], r) < SECTOR for r in looked_up):
            return None
        needed, loaded = body.needed(result)
        if any(name in needed for name in ("fuse.rand", *(c.op for c in summary.crossings))):
            return None
        inputs = tuple(dict.fromkeys(made.operands[a] for a in loaded))
        if not all(self.stays(v, node) for v in inputs):
            return None
        ending = self.ending(inputs, max(readers))
        weight = sum(slots(name) * count for name, count in needed.items())
        return _Tensor(graph, node, value, readers, len(readers) < len(users), inputs, weight, ending)

    def _row_bytes(self, table: int, read: Read) -> int:
        """Bytes that a read of a table takes side by side, behind its last loaded index."""
        spec, elements = self.graph.types[table].spec, 1
        if not spec.is_contiguous:
            return spec.element_bytes
        for coord, size in reversed(list(zip(read.coords, spec.sizes, strict=True))):
            if any(is_indirect(name) for name in coord.symbols()):
                break
            elements *= self.graph.sizes.estimate(size)
        return elements * spec.element_bytes


def _computes_indices(module: ir.Module) -> bool:
    """Whether a kernel reads at an index that it computes of dims alone."""
    for func in module.body.operations:
        if "fuse.kernel" not in func.operation.attributes or not len(func.regions[0].blocks):
            continue
        for op in func.regions[0].blocks[0].operations:  # most programs look nothing up
            if op.operation.name == "fuse.load" and len(op.operation.operands) > PLAIN_LOAD:
                body = KernelInfo.of(func.operation).body
                if body.lookups - body.scattered:
                    return True
                break
    return False


def _apart(tensors: list[_Tensor]) -> list[_Tensor]:
    """Those of which none is made by a reader of another: one step at a time."""
    chosen: list[_Tensor] = []
    for tensor in tensors:
        makers = {other.producer for other in chosen}
        reading = {reader for other in chosen for reader in other.readers}
        if tensor.producer not in reading and not makers & set(tensor.readers):
            chosen.append(tensor)
    return chosen
