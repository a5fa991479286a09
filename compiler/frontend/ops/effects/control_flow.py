"""Higher-order ops that run sub-graphs: calls of them, and functions of ``scf`` around such calls, see
``frontend/importer/control_flow.py`` and ``frontend/importer/subgraphs.py``.
"""

from typing import Any

from ....fx.table import lowers
from ....index import const
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
    given = call.resolve(operands)
    results = Results(call.state, call.node)
    results.announce()
    types = results.types()
    branches = [
        import_subgraph(call, *subgraph_of(call, branch), given, _wanted(results)) for branch in (true, false)
    ]
    inputs = [branch.operands(call.symbols, given, call.location) for branch in branches]
    chosen = call.resolve(predicate)
    if isinstance(chosen, (bool, int)):
        outer = constant(call.builder, bool(chosen), call.builder.element_type("i1"), call.location)
    else:
        outer = outside_value(call, chosen)
    with ControlFlow(call, results) as flow:
        op = flow.emit("scf.if", types, [flow.truth(flow.take(outer))], regions=2)

        def branch(number: int) -> None:
            made = flow.run(branches[number], flow.fill(inputs[number], []), types)
            flow.emit("scf.yield", [], made)

        flow.region(op, 0, lambda _: branch(0))
        flow.region(op, 1, lambda _: branch(1))
        return flow.finish(list(op.results))


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
    given = [call.resolve(v) for v in operands]
    results = Results(call.state, call.node, every=True)
    results.announce()
    types = results.types()
    region = import_subgraph(call, *subgraph_of(call, graph), given, _wanted(results))
    values = region.operands(call.symbols, given, call.location)
    callee = region.declare(call.builder, [v.type for v in values], types, call.location)
    return results.accept(callee, call.builder.call(callee, values, types, call.location), call.location)


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
