"""``recompute-rows``: programs of products of one row compute the row that they multiply."""

from math import prod
from typing import ClassVar

from ...compiler.analysis.contraction.few_rows import ComputedRow
from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.score import Gain
from ...compiler.analysis.kernel.accesses import Summary, points
from ...compiler.analysis.kernel.info import KernelInfo
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.cost.slots import slots
from ...compiler.index import const
from ...compiler.ir.contractions import PRODUCTS
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, hardware_of
from .fusing import groups_of, measurements_of
from .recomputing import RecomputedValue, StorageHistory, compute_again, measured_apart

#: Element types of weights that kernels of one row multiply and add.
_FLOATS = ("bf16", "f16", "f32")
#: What is not computed again: it crosses points in order, or gives other numbers.
_ONCE = ("fuse.scan", "fuse.rand")


@dataclass(frozen=True)
class RecomputeRows(AnalysisPass):
    """Each product of a row gets its own call of the kernel that makes the row, and one ``fuse.group`` with
    that call.

    Before (a norm, and two products with a row of a decoding step)::

        %y = call @norm(%x, %g, %o)             // tensor<1x2048xbf16>: one program
        %q = call @product(%y, %a, %p)          // a row of %a for each point
        %k = call @product(%y, %b, %r)

    After (``materialize-fusion`` makes two kernels of it, and nothing stores %y)::

        %y0 = call @norm(%x, %g, %o0) {fuse.group = 0 : i64}
        %q = call @product(%y0, %a, %p) {fuse.group = 0 : i64}
        %y1 = call @norm(%x, %g, %o1) {fuse.group = 1 : i64}
        %k = call @product(%y1, %b, %r) {fuse.group = 1 : i64}

    A number that is reduced of a row (what the row is divided by) is computed again in the same way.

    A launch is saved, for whose one program all others would wait.  Paid is that each program of the products
    reads the row's inputs from the L2 cache and reduces them before it multiplies
    (``compiler/analysis/contraction/few_rows.py``).

    Runs behind ``recompute-producers``, which takes what needs no reduction.  Does not fire on GPUs before
    Hopper, where nothing keeps loads of weights in front of what uses the row (``launch-early``), and waiting
    for one after the other takes as long as the launch; where the estimate says that no time is saved, such
    as of many products of small weights; where something else needs the row in memory; on several rows; on
    rows that are too long for registers; on weights of 8 bits or fewer, or that do not lie along the sum;
    where the row needs a scan, random numbers, a look-up or another product; where it asserts, or is stored
    in pieces; where something later overwrites what it reads; where inputs would live longer by more than the
    row takes; with symbolic sizes; where a rule of ``compiler/analysis/fusion/rules.py`` keeps the two apart;
    nor where ``fusions`` says that they were measured to be better apart.

    Remarks: ``passed: recomputed``, with the bytes and microseconds saved.  Raises PassError on a table that
    cannot be read.
    """

    name: ClassVar[str] = "recompute-rows"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"
    fusions: str = ""

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        hardware = hardware_of(self.hardware, self, module)
        graph = groups_of(analyses)
        apart = measured_apart(graph, measurements_of(self.name, self.fusions, module))
        if not hardware.descriptors:
            return
        limits = Limits.of(hardware, row_again=True)
        found = [r for r in _RowsOfProducts(graph).rows() if r.length <= limits.grouped_row]
        rows = [r for r in found if r.gain(hardware) > 0 and not apart(r.producer, r.readers)]
        if not rows:
            return
        done = compute_again(module, analyses.get(Program), rows, limits)
        for row in done:
            row.report(self.name, remarks, hardware)


@dataclass(frozen=True, eq=False)
class _MultipliedRow(RecomputedValue):
    """A row that products read, or a number that is reduced of one.  ``length``: the row's elements;
    ``weight``: issue slots of each; ``inputs``: what it is made of.
    """

    RULE = "recomputed"
    SAYS = "the programs of {1} products compute the row of {0}"

    graph: GroupGraph
    producer: int
    value: int
    readers: tuple[int, ...]
    inputs: tuple[int, ...]
    length: int
    weight: int

    def saved_bytes(self) -> int:
        graph, size = self.graph, self.graph.bytes_of(self.value)
        saved = size + sum(map(graph.bytes_of, self.inputs))
        for reader in self.readers:
            there = set(graph.deps.nodes[reader].reads)
            saved += size - sum(graph.bytes_of(v) for v in self.inputs if v not in there)
        return saved

    def gain(self, hardware: Hardware) -> float:
        """Microseconds saved: a launch, less what programs of the products take longer."""
        saved = Gain(self.saved_bytes(), launches=1).microseconds(hardware)
        return saved - sum(self._computed(r).microseconds(hardware) for r in self.readers)

    def _computed(self, reader: int) -> ComputedRow:
        graph = self.graph
        summary, node = graph.summaries[reader], graph.deps.nodes[reader]
        outputs = prod(
            graph.sizes.estimate(summary.dims[d]) for d in summary.dims if d not in summary.crossed
        )
        there = set(node.reads)
        read = sum(graph.bytes_of(v) for v in self.inputs if v not in there) - graph.bytes_of(self.value)
        moved = sum(map(graph.bytes_of, dict.fromkeys(node.reads)))
        programs = -(-outputs // Limits.block[0])
        weights = outputs * self.length * len(summary.crossings)
        return ComputedRow(self.length, self.weight, read, programs, weights, moved)


class _RowsOfProducts(StorageHistory):
    """Which rows products read, and nothing else."""

    def rows(self) -> list[_MultipliedRow]:
        """By producer."""
        found = [self._row(node, summary) for node, summary in self.graph.summaries.items()]
        return [row for row in found if row is not None]

    def _row(self, node: int, summary: Summary) -> _MultipliedRow | None:
        graph, deps = self.graph, self.graph.deps
        made = deps.nodes[node]
        over = {c.over for c in summary.crossings}
        if len(over) != 1 or summary.asserts or len(made.results) != 1 or len(summary.writes) != 1:
            return None
        [write], [value] = summary.writes, made.results
        if not write.is_plain or not graph.is_fresh(made.operands[write.argument]):
            return None
        length, size = points(summary.dims, frozenset(*over)), graph.types[value].spec.numel
        if length.constant is None or size.constant not in (1, length.constant) or summary.points != length:
            return None
        users = [deps.nodes[u] for u in deps.users[value] if deps.nodes[u].kind != "fuse.after"]
        readers = tuple(user.index for user in users)
        if not readers or deps.roots[value] in self.changing:
            return None
        if not all(self._multiplies(reader, value, length.constant) for reader in readers):
            return None
        assert made.callee is not None, "what has a summary is a kernel"
        body = KernelInfo.of(made.callee).body
        needed, loaded = body.needed(0)
        if body.looks_up or any(name in needed for name in (*_ONCE, *PRODUCTS)):
            return None
        inputs = tuple(dict.fromkeys(made.operands[a] for a in loaded))
        if not all(self.stays(v, node) for v in inputs):
            return None
        if self.ending(inputs, max(readers)) > graph.bytes_of(value):
            return None
        weight = sum(slots(name) * count for name, count in needed.items())
        return _MultipliedRow(graph, node, value, readers, inputs, length.constant, weight)

    def _multiplies(self, reader: int, value: int, length: int) -> bool:
        """Whether a node is a kernel that sums products of a row with others, which are weights."""
        graph, node = self.graph, self.graph.deps.nodes[reader]
        summary = graph.summaries.get(reader)
        if summary is None or value in node.destinations or not summary.crossings:
            return False
        if any(c.op not in PRODUCTS or c.over != summary.crossings[0].over for c in summary.crossings):
            return False
        over, weights = frozenset(summary.crossings[0].over), 0
        if any(extent.constant is None for extent in summary.dims.values()):
            return False
        if points(summary.dims, over).constant != length:
            return False
        for read in summary.reads:
            crossed = {d for d in read.dims & over if summary.dims[d].constant != 1}
            others = {d for d in read.dims - over if summary.dims[d].constant != 1}
            spec = graph.types[node.operands[read.argument]].spec
            if node.operands[read.argument] == value and others:
                return False
            if crossed and others:
                if read.indirect or read.guarded or spec.element not in _FLOATS:
                    return False
                place = sum((c * s for c, s in zip(read.coords, spec.strides, strict=True)), const(0))
                if all(place.coefficient(d) != const(1) for d in crossed):
                    return False
                weights += 1
        return weights > 0
