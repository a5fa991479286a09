"""Higher-order ops that run sub-graphs: calls of them, and functions of ``scf`` around such calls, see
``frontend/importer/control_flow.py`` and ``frontend/importer/subgraphs.py``.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ....fx.table import lowers
from ....index import Expr, const
from ....ir.layout import TensorSpec
from ....mlir import ir
from ...importer.call import Call
from ...importer.control_flow import ControlFlow, outside_value
from ...importer.extern import Results
from ...importer.subgraph_calls import Carried, constant, laid_out, operand
from ...importer.subgraphs import Wanted, import_subgraph, subgraph_of
from ...importer.values import Tensor


@lowers("higher_order.cond", view=True, sizes=True)
def cond(call: Call) -> Any:
    """``scf.if``: its results are those of the branch that runs."""
    predicate, true, false, operands = call.node.args
    branches = _Branches(call, (true, false), call.resolve(operands))
    chosen = call.resolve(predicate)
    if isinstance(chosen, (bool, int)):
        outer = constant(call.builder, bool(chosen), call.builder.element_type("i1"), call.location)
    else:
        outer = outside_value(call, chosen)
    with ControlFlow(call, branches.results) as flow:
        truth = flow.truth(flow.take(outer))
        return flow.finish(
            branches.either(flow, truth, lambda: branches.run(flow, 0), lambda: branches.run(flow, 1))
        )


@lowers("higher_order.switch", view=True, sizes=True)
def switch(call: Call) -> Any:
    """``scf.if`` in ``scf.if``, which halve the branches that are left.  An index outside of them chooses the
    first or the last one, as ``torch.switch`` does in eager mode.
    """
    index, graphs, operands = call.node.args
    branches = _Branches(call, graphs, call.resolve(operands))
    chosen = call.resolve(index)
    if isinstance(chosen, (int, Expr)) and not isinstance(chosen, bool):
        outer = call.symbols.value(const(chosen) if isinstance(chosen, int) else chosen, call.location)
    else:
        outer = outside_value(call, chosen)
    with ControlFlow(call, branches.results) as flow:
        number = flow.number(flow.take(outer))

        def among(first: int, end: int) -> list[ir.Value]:
            if end - first == 1:
                return branches.run(flow, first)
            middle = (first + end) // 2
            less = flow.less(number, middle)
            return branches.either(flow, less, lambda: among(first, middle), lambda: among(middle, end))

        return flow.finish(among(0, len(graphs)))


@lowers("higher_order.while_loop", view=True, sizes=True)
def while_loop(call: Call) -> Any:
    """``scf.while``.  The carried values have the types of the results, even if the initial values differ."""
    test, body, initial, additional = call.node.args
    first = list(call.resolve(initial))
    results = _all_results(call, len(first))
    types = results.types()
    given = [*(Carried(i, t) for i, t in enumerate(types)), *call.resolve(additional)]
    condition = import_subgraph(call, *subgraph_of(call, test), given, [Wanted(0)])
    step = import_subgraph(call, *subgraph_of(call, body), given, _wanted(results))
    tested, stepped = (graph.operands(call.symbols, given, call.location) for graph in (condition, step))
    start = [_start(call, v, t) for v, t in zip(first, types, strict=True)]
    with ControlFlow(call, results) as flow:
        op = flow.emit("scf.while", types, [flow.take(v) for v in start], regions=2)

        def before(arguments: list[ir.Value]) -> None:
            (found,) = flow.run(condition, flow.fill(tested, arguments), condition.results)
            flow.emit("scf.condition", [], [flow.truth(found), *arguments])

        def after(arguments: list[ir.Value]) -> None:
            flow.emit("scf.yield", [], flow.run(step, flow.fill(stepped, arguments), types))

        flow.region(op, 0, before, *types)
        flow.region(op, 1, after, *types)
        return flow.finish(list(op.results))


@lowers("higher_order.scan", view=True, sizes=True)
def scan(call: Call) -> Any:
    """``scf.for`` over the first dim.  Each iteration reads a row of each input, carries values on, and
    writes a row of each stacked result.
    """
    combine, initial, inputs, additional = call.node.args
    first, rows = list(call.resolve(initial)), list(call.resolve(inputs))
    if not rows or not all(isinstance(v, Tensor) for v in (*first, *rows)):
        call.refuse("it carries or reads something that is no tensor")
    results = _all_results(call)
    types, layouts = results.types(), results.layouts()
    count = len(first)
    if any(layout is None for layout in layouts):
        call.refuse("it gives something that is no tensor")
    rows = [_by_rows(call, v) for v in rows]
    slices = [call.builder.tensor_type(_row(v.spec)) for v in rows]
    carried = [Carried(i, t) for i, t in enumerate((*types[:count], *slices))]
    given = [*carried, *call.resolve(additional)]
    wanted = [Wanted(i, layout if i < count else None) for i, layout in enumerate(layouts)]
    step = import_subgraph(call, *subgraph_of(call, combine), given, wanted)
    stepped = step.operands(call.symbols, given, call.location)
    start = [_start(call, v, t) for v, t in zip(first, types[:count], strict=True)]
    length = call.symbols.value(rows[0].sizes[0], call.location)
    with ControlFlow(call, results) as flow:
        stacked = [flow.empty(layout) for layout in layouts[count:] if layout is not None]
        bounds = [flow.index(0), flow.take(length), flow.index(1)]
        op = flow.emit("scf.for", types[:count], [*bounds, *(flow.take(v) for v in start)], regions=1)

        def body(arguments: list[ir.Value]) -> None:
            number, *kept = arguments
            read = [flow.row(flow.take(v.value), number, t) for v, t in zip(rows, slices, strict=True)]
            gives = [*types[:count], *step.results[count:]]
            made = flow.run(step, flow.fill(stepped, [*kept, *read]), gives)
            for target, source in zip(stacked, made[count:], strict=True):
                flow.write(flow.row(target, number, source.type), source)
            flow.emit("scf.yield", [], made[:count])

        flow.region(op, 0, body, call.builder.index_type, *types[:count])
        return flow.finish([*op.results, *stacked])


@lowers("higher_order.invoke_subgraph", view=True, sizes=True)
def invoke_subgraph(call: Call) -> Any:
    """A call.  The region is not inlined, as the user marked it to be compiled once."""
    graph, _, *operands = call.node.args
    return _run(call, graph, [call.resolve(v) for v in operands])


@lowers("higher_order.flex_gemm", view=True, sizes=True)
def flex_gemm(call: Call) -> Any:
    """A call of the body, which holds the product and what the user has computed of it.  The other arguments
    name the product and choose among Inductor's kernels.
    """
    _, graph, operands, _, _ = call.node.args
    return _run(call, graph, call.resolve(operands))


def _run(call: Call, graph: Any, given: Sequence[Any]) -> Any:
    """A call of a sub-graph."""
    results = Results(call.state, call.node, every=True)
    results.announce()
    types = results.types()
    region = import_subgraph(call, *subgraph_of(call, graph), given, _wanted(results))
    values = region.operands(call.symbols, given, call.location)
    callee = region.declare(call.builder, [v.type for v in values], types, call.location)
    return results.accept(callee, call.builder.call(callee, values, types, call.location), call.location)


#: Emits ops into a branch; the branch's results.
_Way: TypeAlias = Callable[[], list[ir.Value]]


class _Branches:
    """Sub-graphs of which one runs, on the same operands, and which give the results of the call."""

    def __init__(self, call: Call, graphs: Sequence[Any], given: Sequence[Any]) -> None:
        self.results = Results(call.state, call.node)
        self.results.announce()
        self.types = self.results.types()
        wanted = _wanted(self.results)
        self.graphs = [import_subgraph(call, *subgraph_of(call, graph), given, wanted) for graph in graphs]
        self.inputs = [graph.operands(call.symbols, given, call.location) for graph in self.graphs]

    def run(self, flow: ControlFlow, number: int) -> list[ir.Value]:
        return flow.run(self.graphs[number], flow.fill(self.inputs[number], []), self.types)

    def either(self, flow: ControlFlow, truth: ir.Value, first: _Way, second: _Way) -> list[ir.Value]:
        """An ``scf.if``: its results are those of the first or of the second way."""
        op = flow.emit("scf.if", self.types, [truth], regions=2)
        flow.region(op, 0, lambda _: flow.emit("scf.yield", [], first()))
        flow.region(op, 1, lambda _: flow.emit("scf.yield", [], second()))
        return list(op.results)


def _all_results(call: Call, number: int | None = None) -> Results:
    """The results of a call; refuses if it does not have ``number`` of them."""
    results = Results(call.state, call.node, every=True)
    if len(results.kept) != len(results.leaves) or number not in (None, len(results.leaves)):
        call.refuse("it gives something besides tensors and numbers")
    results.announce()
    return results


def _wanted(results: Results) -> list[Wanted]:
    """The leaves of a sub-graph's output that are the results of the call."""
    return [Wanted(i, layout) for i, layout in zip(results.kept, results.layouts(), strict=True)]


def _start(call: Call, value: Any, type_: ir.Type) -> ir.Value:
    """The initial value of a carried value, converted to exactly the type that is carried."""
    if isinstance(value, Tensor) and isinstance(type_, ir.RankedTensorType):
        return laid_out(call.builder, value, TensorSpec.of(type_), call.location, exact=True)
    return operand(call.symbols, value, type_, call.location)


def _row(spec: TensorSpec) -> TensorSpec:
    """One row of a tensor, in a storage of its own."""
    return TensorSpec(spec.sizes[1:], spec.strides[1:], const(0), spec.element, spec.device)


def _by_rows(call: Call, tensor: Tensor) -> Tensor:
    """A tensor with contiguous rows, as torch traces them."""
    if _row(tensor.spec).is_contiguous:
        return tensor
    spec = TensorSpec.contiguous(tensor.sizes, tensor.spec.element, tensor.spec.device)
    value = laid_out(call.builder, tensor, spec, call.location)
    return Tensor(value, spec, tensor.dtype, tensor.fake, const(0))
