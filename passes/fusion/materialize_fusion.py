"""``materialize-fusion``: makes one kernel of each group."""

import heapq
from typing import ClassVar

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.plan import FusionPlan, Refusal
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.choices import join_choices
from ...compiler.ir.dialects import fuse
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.names import listed
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, PassError
from .fused_body import Rewrites
from .group_kernel import group_kernel, plan_of_group


@dataclass(frozen=True)
class MaterializeFusion(AnalysisPass):
    """Merges the calls of each ``fuse.group`` into one call of one new kernel.

    Before::

        %a = call @exp(%x, %o0) {fuse.group = 0 : i64}       // stores exp(x) at ["d0"]
        %b = call @neg(%a, %o1) {fuse.group = 0 : i64}       // loads %a at ["d0"]

    After::

        %b = call @fused_exp_neg_0(%x, %o1)                  // stores -exp(x) at ["d0"]

    The bodies of the kernels are copied over the dims of one iteration space
    (``compiler/analysis/fusion/placement.py``).  A load of a tensor that the group makes is replaced by the
    value that is stored there, ``select``ed by the load's guard.  Where the load may lie outside of the
    tensor, its guard is ANDed into the guards of the copied loads.  It is not ANDed into that of a load
    which lacks dims of the guard and stays inside of its tensor: the index of a row that is looked up for a
    piece of a concatenation is loaded, and asserted, once for the row.  A load that is where the group reads
    the tensor anyway, wherever its value is needed, is put there.  A store stays only if something
    outside the group uses the tensor or owns its storage.  Groups are scheduled in the order of their first
    calls, each after all that it depends on, so operations may move.

    Calls without ``fuse.group``, or alone in theirs, keep their kernel.

    Raises PassError on groups that cannot be carried out:
    ``the calls of this group cannot become one kernel: ..`` with the reason of a fusion rule,
    ``this group must run both before and after another operation``,
    ``a tensor is stored as f32 and loaded as f16``,
    ``something is ordered after a value that fusion removes with all others``.
    """

    name: ClassVar[str] = "materialize-fusion"
    numerics: ClassVar[Numerics] = "reassociates"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        if not any("fuse.group" in call.attributes for call in program.calls()):
            return
        # A graph that no fusing pass has left need not know the kernels that stay as they are.
        graph = analyses.cached(GroupGraph) or GroupGraph.of(module, grouped_only=True)
        plans = {group: _plan(graph, group) for group, nodes in graph.members.items() if len(nodes) > 1}
        end = graph.deps.nodes[-1].op
        made: list[ir.Operation] = []
        rewrites: Rewrites = {}
        places = {name: i for i, name in enumerate(functions_of(module))}
        counts: dict[str, int] = {}
        for group in _schedule(graph):
            nodes = [graph.deps.nodes[n] for n in graph.members[group]]
            if group in plans:
                name = _name(program, graph, group, counts)
                last = max((graph.deps.nodes[n].name for n in graph.members[group]), key=places.__getitem__)
                place = CallPlace(name, program.functions[last], end)
                made.append(_merge(program, graph, group, plans[group], place, rewrites))
            else:
                op = nodes[0].op
                if "fuse.group" in op.attributes:
                    del op.attributes["fuse.group"]
                if op != end:
                    op.move_before(end)
        for op in [o.operation for o in program.block.operations]:
            if op.name == "fuse.empty" and not list(op.results[0].uses):
                op.erase()
        program.erase_unused()
        for kernel in made:
            program.clean(kernel)


def _plan(graph: GroupGraph, group: int) -> FusionPlan:
    plan = plan_of_group(graph, graph.members[group], graph.escaping(group, group))
    if isinstance(plan, Refusal):
        raise PassError(
            f"the calls of this group cannot become one kernel: {plan.message}",
            graph.deps.nodes[graph.members[group][0]].op.location,
        )
    return plan


def _schedule(graph: GroupGraph) -> list[int]:
    """Groups in an order that keeps every dependence: of those that are ready, the one that began first."""
    waiting: dict[int, set[int]] = {g: set() for g in graph.members}
    for edge in graph.deps.edges:
        a, b = graph.group_of[edge.before], graph.group_of[edge.after]
        if a != b:
            waiting[b].add(a)
    followers: dict[int, list[int]] = {g: [] for g in graph.members}
    for group in sorted(waiting):
        for before in sorted(waiting[group]):
            followers[before].append(group)
    ready = [g for g in sorted(waiting) if not waiting[g]]
    heapq.heapify(ready)
    order = []
    while ready:
        group = heapq.heappop(ready)
        order.append(group)
        for follower in followers[group]:
            waiting[follower].discard(group)
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    if len(order) < len(graph.members):
        stuck = min(g for g in graph.members if waiting[g] and len(graph.members[g]) > 1)
        raise PassError(
            "this group must run both before and after another operation", graph.deps.nodes[stuck].op.location
        )
    return order


@dataclass(frozen=True)
class CallPlace:
    """What a fused kernel is called, after which kernel it stands, and in front of what its call."""

    name: str
    after: ir.Operation
    end: ir.Operation


def _name(program: Program, graph: GroupGraph, group: int, counts: dict[str, int]) -> str:
    """A name that says what the kernel does; ``counts``: how many kernels of such a name there are."""
    text = listed(graph.deps.nodes[node].name for node in graph.members[group])
    number = counts.get(text, 0)
    while f"fused{text}_{number}" in program.functions:
        number += 1
    counts[text] = number + 1
    return f"fused{text}_{number}"


def _merge(
    program: Program, graph: GroupGraph, group: int, plan: FusionPlan, place: CallPlace, rewrites: Rewrites
) -> ir.Operation:
    """Builds the group's kernel and its call; erases the old calls."""
    nodes = [graph.deps.nodes[n] for n in graph.members[group]]
    made = group_kernel(graph, plan, graph.escaping(group, group), place.name, place.after, rewrites)
    program.functions[place.name] = made.kernel
    call = ir.Operation.create(
        "func.call",
        [graph.deps.values[r].type for r in made.kept],
        [graph.deps.values[v] for v in made.inputs],
        {"callee": ir.FlatSymbolRefAttr.get(place.name)},
        loc=made.kernel.location,
        ip=ir.InsertionPoint(place.end),
    )
    join_choices(call, (node.op for node in nodes))
    program.callers[place.name] = 1
    _replace(program, graph, nodes, dict(zip(made.kept, call.results, strict=True)), call)
    return made.kernel


def _replace(
    program: Program, graph: GroupGraph, nodes: list, new: dict[int, ir.Value], call: ir.Operation
) -> None:
    """Gives the old calls' uses to the new one and erases them; the numbers of ``graph`` name the new values
    from then on.
    """
    for node in nodes:
        for number in node.results:
            value = graph.deps.values[number]
            if number in new:
                value.replace_all_uses_with(new[number])
                graph.deps.values[number] = new[number]
                continue
            for use in list(value.uses):
                if isinstance(use.owner, fuse.After):
                    if not new:
                        raise PassError(
                            "something is ordered after a value that fusion removes with all others",
                            node.op.location,
                        )
                    use.owner.operation.operands[0] = call.results[0]
    for node in reversed(nodes):
        program.erase_call(node.op)
