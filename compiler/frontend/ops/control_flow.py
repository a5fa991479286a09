"""Higher-order ops with control flow: functions of ``scf`` that call their sub-graphs, see
``frontend/control_flow.py`` and ``frontend/subgraphs.py``.
"""

from typing import Any

from ..call import Call
from ..control_flow import ControlFlow, outside_value
from ..extern import Results
from ..subgraphs import Wanted, constant, import_subgraph, subgraph_of
from ..table import Refused, lowers


@lowers("higher_order.cond", view=True, sizes=True)
def cond(call: Call) -> Any:
    """``scf.if``: the branch that runs gives the results."""
    importer = call.importer
    predicate, true, false, operands = call.node.args
    given = importer.resolve(operands)
    results = Results(importer, call.node)
    results.announce()
    types = results.types()
    wanted = [Wanted(i, layout) for i, layout in zip(results.kept, results.layouts(), strict=True)]
    branches = [import_subgraph(call, *subgraph_of(call, branch), given, wanted) for branch in (true, false)]
    inputs = [branch.operands(importer, given, call.location) for branch in branches]
    chosen = importer.resolve(predicate)
    if isinstance(chosen, (bool, int)):
        outer = constant(importer, bool(chosen), call.builder.element_type("i1"), call.location)
    else:
        outer = outside_value(call, chosen)
    flow = ControlFlow(call, results)
    try:
        test = flow.truth(flow.take(outer))
        arguments = [[flow.take(v) for v in values] for values in inputs]
        op = flow.emit("scf.if", types, [test], regions=2)
        for number, branch in enumerate(branches):
            flow.region(
                op,
                number,
                lambda _, branch=branch, taken=arguments[number]: flow.emit(  # type: ignore[misc]
                    "scf.yield", [], flow.run(branch, taken, types)
                ),
            )
    except Refused:
        flow.discard()
        raise
    return flow.finish(list(op.results))
