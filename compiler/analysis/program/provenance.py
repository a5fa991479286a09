"""Where the launches of a module come from: FX nodes and lines of the user's program, read from locations.

They are read from the call, not from its function: equal kernels share one function, and each call keeps its
own location.
"""

from collections.abc import Collection, Iterator

from ...base.launch import Launch, Line
from ...ir.choices import choices_of
from ...ir.kernel import string
from ...ir.nesting import graph_of, modules_in, nested_modules
from ...ir.storage import callee_name, functions_of
from ...mlir import ir
from ..cost.estimate import estimates

#: What a callee's attribute makes of a call.
_KINDS = {
    "fuse.kernel": "kernel",
    "fuse.launch": "kernel",
    "fuse.extern": "torch",
    "fuse.control_deps": "group",
}


def kernel_calls(module: ir.Module) -> int:
    """How many calls of ``@main``, and of the sub-graphs that it calls, run a kernel."""
    return sum(_kind(callee) == "kernel" for _, callee, _ in _calls(module, ""))


def launches(module: ir.Module) -> tuple[Launch, ...]:
    """The launches of ``@main`` in the order in which they run; those of a sub-graph where it is called, once
    for each place that calls it.
    """
    return tuple(launch for _, launch in launch_calls(module))


def launch_numbers(module: ir.Module) -> dict[ir.Operation, int]:
    """The position in ``launches`` of what a call runs; the first one, for a call in a sub-graph that runs
    in several places.
    """
    found: dict[ir.Operation, int] = {}
    for number, (op, _) in enumerate(launch_calls(module)):
        found.setdefault(op, number)
    return found


def launch_calls(module: ir.Module) -> Iterator[tuple[ir.Operation, Launch]]:
    """The calls that run something, each with what it runs, in the order of ``launches``."""
    counted = {
        op: estimate for part in (module, *nested_modules(module)) for op, estimate in estimates(part).items()
    }
    for op, callee, prefix in _calls(module, ""):
        kind = _kind(callee)
        if kind is None:
            continue
        name = string(callee.attributes["fuse.extern"]) if kind == "torch" else prefix + callee_name(op)
        yield op, Launch(name, kind, *origin(op), counted.get(op), choices_of(op))


def origin(op: ir.Operation) -> tuple[tuple[str, ...], tuple[Line, ...]]:
    """The FX nodes and the user's lines that a call comes from, each once."""
    nodes, where = dict.fromkeys(node_names(op.location)), dict.fromkeys(lines(op.location))
    return tuple(nodes), tuple(where)


def _kind(callee: ir.Operation) -> str | None:
    return next((kind for mark, kind in _KINDS.items() if mark in callee.attributes), None)


def _calls(module: ir.Module, prefix: str) -> Iterator[tuple[ir.Operation, ir.Operation, str]]:
    """Every call with its callee and what the names of its graph start with, in program order; control flow
    and sub-graphs are gone into.
    """
    functions, modules = functions_of(module), modules_in(module)
    waiting = _operations(functions["main"].regions[0])
    while waiting:
        op = waiting.pop()
        for region in op.regions:
            waiting += _operations(region)
        if op.name != "func.call":
            continue
        callee = functions[callee_name(op)]
        yield op, callee, prefix
        if "fuse.graph" in callee.attributes:
            graph = graph_of(callee)
            yield from _calls(modules[graph], f"{prefix}{graph}.")
        elif "fuse.control_flow" in callee.attributes:
            waiting += _operations(callee.regions[0])


def _operations(region: ir.Region) -> list[ir.Operation]:
    """Its operations, the last one first."""
    return [op.operation for block in region.blocks for op in block.operations][::-1]


def node_names(location: ir.Location) -> Iterator[str]:
    """Every name inside a location."""
    if isinstance(location, ir.NameLoc):
        yield location.name_str
    for part in _parts(location):
        yield from node_names(part)


def comes_from(op: ir.Operation, nodes: Collection[str]) -> bool:
    """Whether one of the FX ``nodes`` is what an operation comes from."""
    return any(name in nodes for name in node_names(op.location))


def lines(location: ir.Location) -> Iterator[Line]:
    """Every (file, line) inside a location."""
    if isinstance(location, ir.FileLineColLoc):
        yield location.filename, location.start_line
    for part in _parts(location):
        yield from lines(part)


def _parts(location: ir.Location) -> list[ir.Location]:
    """The locations directly inside one."""
    if isinstance(location, ir.NameLoc):
        return [location.child_loc]
    if isinstance(location, ir.FusedLoc):
        return list(location.locations)
    if isinstance(location, ir.CallSiteLoc):
        return [location.callee, location.caller]
    return []
