"""``fuse-components``: kernels of the components of a vector fuse with what computes their length."""

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.memory import GroupLiveBytes
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import REDUCTIONS, Kernel, attribute_items, is_kernel, is_tiled, string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..base.unrolling import few_points, repeats, unrolled
from ..pass_base import AnalysisPass, Count, Numerics, hardware_of
from .fuse_horizontal import little_shared, memory, sharing_pairs
from .fuse_vertical import producer_consumer_pairs
from .fusing import Candidates, Fuser, Pair, measurements_of

#: Groups at most so many operations apart may raise the peak of memory by what they save, as in
#: ``fuse-horizontal``.
_NEAR = 8


@dataclass(frozen=True)
class FuseComponents(AnalysisPass):
    """In a kernel that reads what another made, a dim of at most ``max_points`` points is unrolled as by
    ``unroll-rows``, if most of what runs at each reduced point does without it.  Calls of these kernels then
    get one ``fuse.group`` with calls that read or make what they read.

    Before, with ``fuse.dims = {d0 = "64", d1 = "32", d2 = "3"}`` of the first and the last::

        %v = call @apart(%x, %o)                // [64, 32, 3]: a vector for each pair
        %e = call @energy(%v, %p)               // sums over d1 of what depends on its length
        %f = call @force(%v, %q)                // sums over d1, of each component times as much

    After (``materialize-fusion`` makes one kernel of it, and nothing stores %v)::

        %v = call @apart(%x, %o) {fuse.group = 0 : i64}
        %e = call @energy(%v, %p) {fuse.group = 0 : i64}
        %f = call @force(%v, %q) {fuse.group = 0 : i64}  // of 64 x 32 points, each with three components

    The lengths are computed of all components, and were no part of a kernel that has each component at a
    point of its own.  Runs behind the passes that fuse, so that it sees only what stayed apart.  Of a pair,
    one group has a kernel that was unrolled here; the rules are those of ``fuse-horizontal``, then of
    ``fuse-vertical``.

    Does not fire on a kernel with a scan or an assertion, on one that reduces nothing, nor along a dim along
    which a kernel reads what it stores.

    Remarks: ``passed: unrolled``, and those of the two passes.  Raises PassError on a module without
    ``@main``, and on a table that cannot be read.
    """

    name: ClassVar[str] = "fuse-components"
    numerics: ClassVar[Numerics] = "reassociates"
    preserves: ClassVar[Analyses] = (Program,)
    max_points: Count = 4
    hardware: str = "generic"
    fusions: str = ""

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        readers = [func for func in _readers(program) if self._may_unroll(func)]
        found = [func for func in readers if self._unroll(program, func, remarks)]
        if not found:
            return
        graph = GroupGraph.of(module)  # the one of the analysis manager knows the kernels as they were
        names = {string(func.attributes["sym_name"]) for func in found}
        nodes = {index for index in graph.summaries if graph.deps.nodes[index].name in names}
        hardware = hardware_of(self.hardware, self, module)
        limits, live = Limits.of(hardware), GroupLiveBytes(graph)
        measured = measurements_of(self.name, self.fusions, module)
        sharing = Fuser(
            self.name, graph, limits, hardware,
            lambda c: little_shared(c) or memory(c, live, _NEAR), live.merge, measured,
        )  # fmt: skip
        making = Fuser(self.name, graph, limits, hardware, measured=measured)
        for fuser, pairs in ((sharing, sharing_pairs), (making, producer_consumer_pairs)):
            some = _with_one_of(pairs, nodes)
            fuser.run(some)
            fuser.report(some, remarks)
        graph.assign()

    def _may_unroll(self, func: ir.Operation) -> bool:
        """Asked before a kernel is read: whether it reduces, and has a dim that may be unrolled."""
        if {op.name for op in kernel_body(func)}.isdisjoint(REDUCTIONS):
            return False
        extents = [string(extent) for _, extent in attribute_items(func.attributes["fuse.dims"])]
        return any(extent.isdigit() and 1 < int(extent) <= self.max_points for extent in extents)

    def _unroll(self, program: Program, func: ir.Operation, remarks: Remarks) -> bool:
        """Whether dims of a kernel were unrolled."""
        done = False
        while (dim := self._dim(kernel := Kernel.of(func))) is not None:
            unrolled(program, kernel, dim, self.name, remarks)
            done = True
        return done

    def _dim(self, kernel: Kernel) -> str | None:
        if not kernel.reduced or kernel.scans or kernel.asserts:
            return None
        stored = {a.argument for a in kernel.stores}
        old = [kernel.op_dims[a.op] for a in kernel.loads if a.argument in stored]
        dims = [d for d in kernel.dims if few_points(kernel, d, self.max_points)]
        return next((d for d in dims if not any(d in o for o in old) and repeats(kernel, d)), None)


def _readers(program: Program) -> list[ir.Operation]:
    """The scalar kernels that are called with a tensor that another made."""
    calls = program.kernel_calls()
    made = {result for call, _ in calls for result in call.results}
    found = {
        kernel: None
        for call, kernel in calls
        if any(operand in made for operand in call.operands) and is_kernel(kernel) and not is_tiled(kernel)
    }
    return list(found)


def _with_one_of(pairs: Candidates, nodes: set[int]) -> Callable[[GroupGraph, Iterable[int]], Iterator[Pair]]:
    """Those of the pairs in which a group has one of the nodes."""

    def some(graph: GroupGraph, groups: Iterable[int]) -> Iterator[Pair]:
        for pair in pairs(graph, groups):
            if any(not nodes.isdisjoint(graph.members[group]) for group in pair):
                yield pair

    return some
