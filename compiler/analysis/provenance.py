"""Where the launches of a module come from: FX nodes and lines of the user's program, read from locations.

The call says it, and not the function: equal kernels share a function, their calls keep apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..mlir import ir
from .estimate import Estimate, estimates
from .kernel import string

#: What a callee's attribute makes of a call.
_KINDS = {
    "fuse.kernel": "kernel",
    "fuse.launch": "kernel",
    "fuse.extern": "torch",
    "fuse.control_deps": "group",
}

#: A place in the user's program: (file, line).
Line = tuple[str, int]


@dataclass(frozen=True)
class Launch:
    """One call of ``@main``.

    name: the kernel, or the torch op (``aten.mm.default``).  kind: "kernel", "torch", or, at the graph level,
    "group" (what ``control_deps`` orders).  nodes: the FX nodes that it computes.  lines: where the user
    wrote them.  Both in order of first appearance, without repetition.  estimate: bytes and operations; None
    where they are not known.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    lines: tuple[Line, ...]
    estimate: Estimate | None = None

    def __str__(self) -> str:
        where = ", ".join(f"{file}:{line}" for file, line in self.lines) or "no line of the program"
        return f"{self.name} computes {', '.join(self.nodes) or 'no node of the graph'} of {where}"


def launches(module: ir.Module) -> tuple[Launch, ...]:
    """The launches of ``@main`` in the order in which they run."""
    functions = {
        string(op.attributes["sym_name"]): op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    counted = estimates(module)
    found = []
    for op in functions["main"].regions[0].blocks[0].operations:
        if op.operation.name != "func.call":
            continue
        name = ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value
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
