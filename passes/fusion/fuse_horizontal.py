"""``fuse-horizontal``: puts kernels that read the same tensors into one group."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import ClassVar

from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.memory import GroupLiveBytes
from ...compiler.analysis.fusion.plan import Refusal
from ...compiler.analysis.fusion.rules import Candidate
from ...compiler.analysis.kernel.accesses import points
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.ir.contractions import PRODUCTS
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, hardware_of
from .fusing import Fuser, groups_of, measurements_of


@dataclass(frozen=True)
class FuseHorizontal(AnalysisPass):
    """Sets the same ``fuse.group = n`` on calls of kernels that do not need each other's results and read one
    tensor at corresponding points.

    Before::

        %a = call @row_sum(%x, %o0)
        %b = call @scale(%x, %o1)

    After::

        %a = call @row_sum(%x, %o0) {fuse.group = 0 : i64}
        %b = call @scale(%x, %o1) {fuse.group = 0 : i64}

    There may be a write-after-read dependence between the two: one reads what the other overwrites.  They
    still become one kernel where each point reads the element that it overwrites.

    Runs after ``fuse-vertical``, whose groups it starts from and only merges.  The pair that saves most
    time goes first.

    ``fusions`` is a table of measured pairs, as that of ``fuse-vertical``.

    Does not fire where a rule of ``compiler/analysis/fusion/rules.py`` refuses; where one group needs what
    the other makes; under the rule ``little-shared`` where the bytes that both read are less than a 64th of
    what either moves (what is left to save is a launch, and ``combine-launches`` saves it without holding the
    values of both at once); under the rule ``products`` where both have one product that fills the GPU with
    blocks of 128 x 128; nor under the rule ``memory`` where running the later one early, or the earlier
    one late, would raise the peak of memory.  Groups at most ``near`` operations apart may raise it by as
    much as they save in traffic.

    Remarks: as those of ``fuse-vertical``, with the rules ``little-shared`` and ``memory`` besides.

    Raises PassError on a table that cannot be read.
    """

    name: ClassVar[str] = "fuse-horizontal"
    preserves: ClassVar[Analyses] = (Program, GroupGraph)
    max_accesses: Count = Limits.accesses
    max_stores: Count = Limits.stores
    max_ops: Count = Limits.ops
    near: Count = 8
    hardware: str = "generic"
    fusions: str = ""

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        fuser = self.fused(module, analyses)
        fuser.report(sharing_pairs, remarks)
        fuser.graph.assign()

    def fused(self, module: ir.Module, analyses: AnalysisManager) -> Fuser:
        """What has merged the groups; the calls do not say so yet."""
        hardware = hardware_of(self.hardware, self, module)
        limits = Limits.of(hardware, accesses=self.max_accesses, stores=self.max_stores, ops=self.max_ops)
        graph = groups_of(analyses)
        live = GroupLiveBytes(graph)
        fuser = Fuser(
            self.name,
            graph,
            limits,
            hardware,
            lambda c: little_shared(c) or whole_products(c, hardware) or memory(c, live, self.near),
            live.merge,
            measurements_of(self.name, self.fusions, module),
        )
        fuser.run(sharing_pairs)
        return fuser


#: Two kernels share little where one moves more than so many times the bytes that both read.
FEW = 64

#: Rows and columns of a block of a product.
_BLOCK = 128

#: A kernel is tried with so many readers before it and after it of each tensor that it reads.
NEIGHBOURS = 4


def sharing_pairs(graph: GroupGraph, groups: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Pairs of groups that read a same tensor, neighbours in the order of its readers, and do not need each
    other's results.
    """
    for group in groups:
        for other in _neighbours(graph, group):
            a, b = min(group, other), max(group, other)
            if not (graph.must_precede(a, b) or graph.must_precede(b, a)) or graph.only_ordered(a, b):
                yield a, b


def _neighbours(graph: GroupGraph, group: int) -> set[int]:
    """The groups that read a tensor next to where ``group`` does."""
    found: set[int] = set()
    for node in graph.members[group]:
        for value in dict.fromkeys(graph.deps.nodes[node].reads):
            readers = graph.readers(value)
            if len(readers) < 2:
                continue
            at = bisect_left(readers, node)
            if at == len(readers) or readers[at] != node:
                continue
            near = {graph.group_of[r] for r in readers[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]}
            near -= found
            found.update([g for g in near if g != group and value in graph.contents(g).read])
    return found


def little_shared(c: Candidate) -> Refusal | None:
    """Refuses two groups that read few bytes in common beside what each moves, such as the 64 updates of an
    optimiser that share a scalar.
    """
    saved = c.graph.saved_bytes(c.first, c.second)
    moved = min(c.graph.touched_bytes(c.first), c.graph.touched_bytes(c.second))
    if moved <= FEW * saved:
        return None
    numbers = (("shared_bytes", saved), ("moved_bytes", moved))
    return Refusal(
        "little-shared", "both read few bytes in common: one kernel would only hold more values", numbers
    )


def whole_products(c: Candidate, hardware: Hardware) -> Refusal | None:
    """Refuses two groups of one product each, where each fills the GPU with blocks of its own: what both read
    comes from the L2 cache anyway, and a kernel of both has blocks half as large.  Two products of 2048 x
    4096 x 2048 take 162 us as one kernel, 111 apart (H200).
    """
    blocks = [_blocks(c.graph, group) for group in (c.first, c.second)]
    if min(blocks) < hardware.sm_count:
        return None
    numbers = (("blocks", min(blocks)), ("multiprocessors", hardware.sm_count))
    return Refusal("products", "each product fills the GPU: a kernel of both would have small tiles", numbers)


def _blocks(graph: GroupGraph, group: int) -> int:
    """Into how many blocks the result of the one product of a group is cut; 0 where it has none, or more."""
    products = [
        (graph.summaries[node], crossing)
        for node in graph.members[group]
        if node in graph.summaries
        for crossing in graph.summaries[node].crossings
        if crossing.op in PRODUCTS
    ]
    if len(products) != 1 or products[0][1].op != "fuse.dot":
        return 0
    (summary, crossing), free = products[0], frozenset(products[0][1].over)
    left, right = (dims - free for dims in crossing.operands)
    rows, columns, batch = (
        graph.sizes.estimate(points(summary.dims, dims))
        for dims in (left - right, right - left, left & right)
    )
    return batch * -(-rows // _BLOCK) * -(-columns // _BLOCK)


def memory(c: Candidate, live: GroupLiveBytes, near: int) -> Refusal | None:
    """Refuses two groups that would raise the peak of memory if they ran together; of neighbours, by more
    than the traffic that they save.
    """
    rise, distance = live.rise(c.first, c.second), live.distance(c.first, c.second)
    saved = c.graph.saved_bytes(c.first, c.second)
    if rise <= (saved if distance <= near else 0):
        return None
    numbers = (
        ("rise_bytes", rise),
        ("peak_bytes", live.peak),
        ("saved_bytes", saved),
        ("distance", distance),
    )
    return Refusal(
        "memory", "running them together would raise the peak of memory: move them closer", numbers
    )
