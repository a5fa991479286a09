"""``materialize-fusion``: makes one kernel of each group."""

import heapq
from dataclasses import replace
from typing import ClassVar

from ..compiler.analysis.fusion.graph import GroupGraph
from ..compiler.analysis.fusion.placement import plan_group
from ..compiler.analysis.fusion.plan import FusionPlan, Refusal
from ..compiler.base.dataclass import dataclass
from ..compiler.base.remarks import Remarks
from ..compiler.index import sym
from ..compiler.ir.dialects import fuse
from ..compiler.ir.kernel import argument_attributes
from ..compiler.ir.storage import functions_of
from ..compiler.mlir import ir
from .analysis_manager import Analyses, AnalysisManager
from .helpers.fused_body import Body, Rewrites
from .helpers.kernels import dims_attribute
from .helpers.names import listed
from .helpers.program import Program
from .pass_base import AnalysisPass, Numerics, PassError


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
    piece of a concatenation is loaded, and asserted, once for the row.  A store stays only if something
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
    nodes = graph.members[group]
    plan = plan_group([graph.member(n) for n in nodes], graph.escaping(group, group), graph.sizes.facts)
    if isinstance(plan, Refusal):
        raise PassError(
            f"the calls of this group cannot become one kernel: {plan.message}",
            graph.deps.nodes[nodes[0]].op.location,
        )
    names = {d: sym(f"d{i}") for i, d in enumerate(plan.extents)}
    extents = {f"d{i}": e for i, e in enumerate(plan.extents.values())}
    instances = tuple(
        [replace(i, dims={d: e.subs(names) for d, e in i.dims.items()}) for i in plan.instances]
    )
    return FusionPlan(plan.members, extents, instances, graph.sizes.facts.with_extents(extents), plan.loaded)


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
    escaping = graph.escaping(group, group)
    inputs = _Inputs.of(graph, plan, escaping)
    kept = [r for n in nodes for r in n.results if r in escaping]
    types = [graph.deps.values[r].type for r in kept]
    location = ir.Location.fused([n.op.location for n in nodes])
    arguments = [graph.deps.values[v].type for v in inputs.values]
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(place.name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, types)),
        "fuse.kernel": ir.UnitAttr.get(),
        "fuse.dims": dims_attribute(plan.extents),
    }
    if any(inputs.attributes):
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in inputs.attributes])
    kernel = ir.Operation.create(
        "func.func", [], [], attributes, regions=1, loc=location, ip=ir.InsertionPoint(place.after)
    )
    kernel.move_after(place.after)
    block = kernel.regions[0].blocks.append(*arguments, arg_locs=[location] * len(arguments))
    body = Body(
        graph,
        plan,
        escaping,
        dict(zip(inputs.values, block.arguments, strict=True)),
        ir.InsertionPoint(block),
        rewrites,
    )
    for index, instance in enumerate(plan.instances):
        if instance.guard is None:  # the others are copied where their reader has computed its guard
            body.emit(index)
    assert len(body.done) == len(plan.instances), "an instance is read by none"
    ir.Operation.create("func.return", [], [body.results[r] for r in kept], loc=location, ip=body.ip)
    position = {v: i for i, v in enumerate(inputs.values)}
    destination = {r: d for n in nodes for r, d in zip(n.results, n.destinations, strict=True)}
    kernel.attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([position[destination[r]] for r in kept])
    program.functions[place.name] = kernel
    call = ir.Operation.create(
        "func.call",
        types,
        [graph.deps.values[v] for v in inputs.values],
        {"callee": ir.FlatSymbolRefAttr.get(place.name)},
        loc=location,
        ip=ir.InsertionPoint(place.end),
    )
    program.callers[place.name] = 1
    _replace(program, graph, nodes, dict(zip(kept, call.results, strict=True)), call)
    return kernel


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
                if use.owner.operation.name == "fuse.after":
                    if not new:
                        raise PassError(
                            "something is ordered after a value that fusion removes with all others",
                            node.op.location,
                        )
                    use.owner.operation.operands[0] = call.results[0]
    for node in reversed(nodes):
        program.erase_call(node.op)


@dataclass
class _Inputs:
    """Arguments of the new kernel, as numbers of values: tensors, other values, sizes, tokens, each in order
    of first use.
    """

    values: list[int]
    attributes: list[dict[str, ir.Attribute]]

    @staticmethod
    def of(graph: GroupGraph, plan: FusionPlan, escaping: frozenset[int]) -> "_Inputs":
        made = {r for m in plan.members for r in m.results}
        found: dict[int, dict[str, ir.Attribute]] = {}
        for member in plan.members:
            node = graph.deps.nodes[member.node]
            dropped = {
                t for t, r in zip(member.summary.ties, member.results, strict=True) if r not in escaping
            }
            read = {r.argument for r in member.summary.reads}
            for position, (value, attributes) in enumerate(
                zip(member.operands, argument_attributes(node.callee), strict=True)
            ):
                tensor = isinstance(graph.deps.values[value].type, ir.RankedTensorType)
                unused = position in dropped or not (position in read or position in member.summary.ties)
                if value in made or (tensor and unused and position not in read):
                    continue
                found.setdefault(value, attributes)
        order = sorted(found, key=lambda v: _rank(graph.deps.values[v].type))
        return _Inputs(order, [found[v] for v in order])


def _rank(type_: ir.Type) -> int:
    if isinstance(type_, ir.RankedTensorType):
        return 0
    if isinstance(type_, fuse.Token):
        return 3
    return 2 if isinstance(type_, ir.IndexType) else 1
