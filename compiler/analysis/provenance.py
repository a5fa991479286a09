"""Where the launches of a module come from: FX nodes and lines of the user's program, read from locations.

The call says it, and not the function: equal kernels share a function, their calls keep apart.
"""

from collections.abc import Iterator

from ..mlir import ir
from .estimate import estimates
from .kernel import string
from .launch import Launch, Line
from .storage import callee_name, callees

#: What a callee's attribute makes of a call.
_KINDS = {
    "fuse.kernel": "kernel",
    "fuse.launch": "kernel",
    "fuse.extern": "torch",
    "fuse.control_deps": "group",
}


def kernel_calls(module: ir.Module) -> int:
    """How many calls of ``@main`` run a kernel."""
    functions = callees(module)
    calls = (op.operation for op in functions["main"].regions[0].blocks[0].operations)
    marks = [mark for mark, kind in _KINDS.items() if kind == "kernel"]
    return sum(
        any(mark in functions[callee_name(call)].attributes for mark in marks)
        for call in calls
        if call.name == "func.call"
    )


def launches(module: ir.Module) -> tuple[Launch, ...]:
    """The launches of ``@main`` in the order in which they run."""
    functions = callees(module)
    counted = estimates(module)
    found = []
    for op in functions["main"].regions[0].blocks[0].operations:
        if op.operation.name != "func.call":
            continue
        name = callee_name(op.operation)
        attributes = functions[name].attributes
        kind = next((kind for mark, kind in _KINDS.items() if mark in attributes), None)
        if kind is None:
            continue
        if kind == "torch":
            name = string(attributes["fuse.extern"])
        location = op.operation.location
        nodes, where = dict.fromkeys(node_names(location)), dict.fromkeys(lines(location))
        found.append(Launch(name, kind, tuple(nodes), tuple(where), counted.get(op.operation)))
    return tuple(found)


def node_names(location: ir.Location) -> Iterator[str]:
    """Every name inside a location."""
    if isinstance(location, ir.NameLoc):
        yield location.name_str
    for part in _parts(location):
        yield from node_names(part)


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
