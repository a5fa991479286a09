"""The kernel that the calls of a group become.  Not a pass: ``materialize-fusion`` and ``derive-cascades``
say which calls.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...compiler.analysis.fusion.graph import GroupGraph
from ...compiler.analysis.fusion.placement import plan_group
from ...compiler.analysis.fusion.plan import FusionPlan, Refusal
from ...compiler.base.dataclass import dataclass
from ...compiler.index import sym
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import LOOPED, argument_attributes
from ...compiler.mlir import ir
from ..base.kernels import dims_attribute
from .fused_body import Body, Rewrites


@dataclass(frozen=True)
class GroupKernel:
    """``inputs``: the values that a call of the kernel takes; ``kept``: those that it gives, both as numbers
    of ``Dependences``.
    """

    kernel: ir.Operation
    inputs: tuple[int, ...]
    kept: tuple[int, ...]


def plan_of_group(graph: GroupGraph, nodes: Sequence[int], escaping: frozenset[int]) -> FusionPlan | Refusal:
    """How calls become one kernel over dims d0, d1, ..  ``escaping``: as of ``GroupGraph.escaping``."""
    plan = plan_group([graph.member(n) for n in nodes], escaping, graph.sizes.facts)
    if isinstance(plan, Refusal):
        return plan
    names = {d: sym(f"d{i}") for i, d in enumerate(plan.extents)}
    extents = {f"d{i}": e for i, e in enumerate(plan.extents.values())}
    instances = tuple(
        [replace(i, dims={d: e.subs(names) for d, e in i.dims.items()}) for i in plan.instances]
    )
    return FusionPlan(plan.members, extents, instances, graph.sizes.facts.with_extents(extents), plan.loaded)


def group_kernel(
    graph: GroupGraph,
    plan: FusionPlan,
    escaping: frozenset[int],
    name: str,
    after: ir.Operation,
    rewrites: Rewrites,
) -> GroupKernel:
    """Builds the kernel ``name`` of a plan behind the function ``after``.  Nothing calls it yet."""
    nodes = [graph.deps.nodes[member.node] for member in plan.members]
    inputs = _Inputs.of(graph, plan, escaping)
    kept = [r for n in nodes for r in n.results if r in escaping]
    types = [graph.deps.values[r].type for r in kept]
    location = ir.Location.fused([n.op.location for n in nodes])
    arguments = [graph.deps.values[v].type for v in inputs.values]
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, types)),
        "fuse.kernel": ir.UnitAttr.get(),
        "fuse.dims": dims_attribute(plan.extents),
    }
    if any(n.callee is not None and LOOPED in n.callee.attributes for n in nodes):
        attributes[LOOPED] = ir.UnitAttr.get()
    if any(inputs.attributes):
        attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in inputs.attributes])
    kernel = ir.Operation.create(
        "func.func", [], [], attributes, regions=1, loc=location, ip=ir.InsertionPoint(after)
    )
    kernel.move_after(after)
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
    return GroupKernel(kernel, tuple(inputs.values), tuple(kept))


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
