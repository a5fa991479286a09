"""Rules of sub-graphs and of the functions that the host runs around them."""

from collections.abc import Mapping

from ..ir.nesting import graph_of
from ..ir.storage import functions_of
from ..mlir import func, ir
from .rules import Broken, Report, function_type, is_token
from .verify_graph import Callees

#: What a control-flow function is made of, besides calls; ``arith`` ops compute numbers of the host.
_STRUCTURE = frozenset({"scf.if", "scf.while", "scf.for", "scf.condition", "scf.yield", "func.return"})
#: What it may call.
_CALLED = ("sub-graph", "extern")


def verify_subgraph(func: ir.Operation, modules: Mapping[str, ir.Module], report: Report) -> None:
    """All rules of one ``fuse.graph`` declaration."""
    report.check(func, _subgraph, func, modules, report)


def _subgraph(func: ir.Operation, modules: Mapping[str, ir.Module], report: Report) -> None:
    if len(func.regions[0].blocks):
        raise Broken("expected a sub-graph to be a declaration, got a body")
    if not isinstance(func.attributes["fuse.graph"], ir.FlatSymbolRefAttr):
        raise Broken(f"expected fuse.graph to be the name of a module, got {func.attributes['fuse.graph']}")
    name = graph_of(func)
    if name not in modules:
        raise Broken(f"runs @{name}, and no module inside this one has that name")
    main = functions_of(modules[name]).get("main")
    if main is None:
        return  # a complaint at the module
    here, there = function_type(func), function_type(main)
    inputs = [type_ for type_ in here.inputs if not is_token(type_)]
    _agree("arguments", inputs, list(there.inputs), name, report)
    _agree("results", list(here.results), list(there.results), name, report)


def _agree(what: str, here: list[ir.Type], there: list[ir.Type], name: str, report: Report) -> None:
    """Types agree in kind; their layouts may name other symbols, as each module has its own."""
    if len(here) != len(there):
        raise Broken(f"expected the {len(there)} {what} of the @main of @{name}, got {len(here)}")
    for number, (outer, inner) in enumerate(zip(here, there, strict=True)):
        spec, own = report.spec(outer), report.spec(inner)
        same = outer == inner
        if spec is not None and own is not None:
            same = (spec.element, spec.rank) == (own.element, own.rank)
        if not same:
            raise Broken(
                f"expected {what[:-1]} {number} to be like the @main of @{name}, {inner}, got {outer}"
            )


def verify_control_flow(func: ir.Operation, callees: Callees, report: Report) -> None:
    """All rules of one ``fuse.control_flow`` function."""
    _block(func.regions[0], callees, report)


def _block(region: ir.Region, callees: Callees, report: Report) -> None:
    for block in region.blocks:
        for op in block.operations:
            report.check(op, _op, op, callees)
            for inner in op.regions:
                _block(inner, callees, report)


def _op(op: ir.Operation, callees: Callees) -> None:
    if isinstance(op, func.CallOp):
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        kind = callees.known[name].kind
        if kind not in _CALLED:
            raise Broken(f"expected control flow to call a {' or '.join(_CALLED)}, got the {kind} @{name}")
    elif op.name not in _STRUCTURE and not op.name.startswith("arith."):
        raise Broken(
            f"is not allowed in control flow: expected {', '.join(sorted(_STRUCTURE))}, calls, arith"
        )
