"""``fuse-vertical``: puts producers and consumers into one group."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import ClassVar

from ...compiler.analysis.fusion.chains import long_chains
from ...compiler.analysis.fusion.form import Limits
from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.plan import Refusal
from ...compiler.analysis.fusion.score import loss_of
from ...compiler.analysis.program.dependences import Node
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.kernel import string
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, hardware_of
from .fusing import Fuser, groups_of, measurements_of

#: Namespaces of what torch and Python bring.  Other ops are a user's, or another library's.
_TORCHS_OWN = frozenset(
    {"aten", "prims", "higher_order", "operator", "math", "_c10d_functional", "c10d", "symm_mem"}
    | {"inductor", "inductor_prims", "rngprims", "mkl", "mkldnn", "onednn", "quantized", "sparse"}
)


@dataclass(frozen=True)
class FuseVertical(AnalysisPass):
    """Sets the same ``fuse.group = n`` on calls of a producer and a consumer that are to become one kernel;
    changes nothing else.

    Before::

        %m = call @row_max(%x, %o0)
        %e = call @exp_sub(%x, %m, %o1)

    After::

        %m = call @row_max(%x, %o0) {fuse.group = 0 : i64}
        %e = call @exp_sub(%x, %m, %o1) {fuse.group = 0 : i64}

    Pairs of groups of which one reads what the other made are tried until none is left: the pair that saves
    most time first (``compiler/analysis/fusion/score.py``), then the nearest, then program order.  Calls that
    already have the same ``fuse.group`` are one group from the start.  So are chains of at least
    ``long_chain`` pointwise kernels at the same points (``compiler/analysis/fusion/chains.py``): a recurrence
    over time that a loop spells out keeps its state in registers.  One that would exceed ``max_ops`` is cut
    in halves.

    ``fusions`` is a table of measured pairs (``compiler/analysis/fusion/measured.py``), which the search of
    ``mode="max-autotune"`` writes: a pair that it names as better apart stays apart (rule ``measured``).
    This pass measures nothing: the same table gives the same groups.

    Does not fire where a rule of ``compiler/analysis/fusion/rules.py`` refuses.  Extern ops and tile code
    (users' Triton kernels) are never grouped: ``fuse-user-epilogues`` and ``fuse-user-prologues`` fuse with
    users' kernels.

    Remarks: ``passed: fused`` for each group that merged, with what it saves; ``missed`` for each pair of
    groups that is still apart at the end, with the name of the rule, what it compared and two locations:
    those of the last call of the first group and of the first call of the second; ``missed: extern`` for an
    extern op and a scalar kernel of which one reads what the other made.  Each ``missed`` has what it would
    save at most (``--sort=cost``).

    Raises PassError on a table that cannot be read, ``fuse-vertical: FILE is no table: ..``.
    """

    name: ClassVar[str] = "fuse-vertical"
    preserves: ClassVar[Analyses] = (Program, GroupGraph)
    max_accesses: Count = 1024
    max_tensors: Count = Limits.tensors
    max_stores: Count = 256
    max_ops: Count = 1536
    long_chain: Count = 128
    hardware: str = "generic"
    fusions: str = ""

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        fuser = self.fused(module, analyses)
        for pair, refusal, moved in pairs_with_extern_calls(fuser.graph):
            fuser.missed(pair, refusal, remarks, loss_of(moved, fuser.hardware))
        fuser.report(producer_consumer_pairs, remarks)
        fuser.graph.assign()

    def fused(self, module: ir.Module, analyses: AnalysisManager) -> Fuser:
        """What has merged the groups; the calls do not say so yet."""
        hardware = hardware_of(self.hardware, self, module)
        limits = Limits.of(
            hardware,
            accesses=self.max_accesses,
            tensors=self.max_tensors,
            stores=self.max_stores,
            ops=self.max_ops,
        )
        measured = measurements_of(self.name, self.fusions, module)
        fuser = Fuser(self.name, groups_of(analyses), limits, hardware, measured=measured)
        for chain in long_chains(fuser.graph, limits, self.long_chain):
            fuser.join(chain)
        fuser.run(producer_consumer_pairs)
        return fuser


def producer_consumer_pairs(graph: GroupGraph, groups: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The pairs of groups, one of them in ``groups``, where one group makes a tensor that the other reads.
    The first in program order comes first.
    """
    for group in groups:
        for other in graph.partners.get(group, ()):
            yield min(group, other), max(group, other)


def pairs_with_extern_calls(graph: GroupGraph) -> list[tuple[tuple[Node, Node], Refusal, int]]:
    """The pairs of a scalar kernel and an extern op of which one reads what the other made, or a view of it.
    Each comes with why they stay apart, and the bytes of that tensor that are read, and written where nothing
    else reads them.  They are in program order, one for each extern call and group.
    """
    nodes = graph.deps.nodes
    maker = {value: node for node in nodes for value in node.results}
    readers = Counter(value for node in nodes for value in set(node.reads))
    found: dict[tuple[int, int], tuple[tuple[Node, Node], Refusal, int]] = {}
    for node in nodes:
        for value in node.reads:
            made = maker.get(value)
            while made is not None and made.kind == "fuse.view":
                made = maker.get(made.operands[0])
            if made is None:
                continue
            for one, other in ((made, node), (node, made)):
                refusal = _extern(one) if other.index in graph.summaries else None
                if refusal is not None:
                    groups = (graph.group_of[made.index], graph.group_of[node.index])
                    moved = graph.bytes_of(value) * (2 if readers[value] == 1 else 1)
                    found.setdefault(groups, ((made, node), refusal, moved))
    return [found[groups] for groups in sorted(found)]


def _extern(node: Node) -> Refusal | None:
    """Why a call of an extern op fuses with nothing; None for what is none."""
    if node.callee is None or node.kind != "extern":
        return None
    op = string(node.callee.attributes["fuse.extern"])
    what = "a call of torch's libraries runs as it is"
    if op.partition(".")[0] not in _TORCHS_OWN:
        what = f"{op} is a custom op, into which the compiler cannot see"
    return Refusal("extern", f"{what}: only generated kernels fuse", (("op", op),))
