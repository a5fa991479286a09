"""A picture of why the calls of ``@main`` run in their order: ``CompiledGraph.dependences_svg()``, and
``dependences.svg`` in a dump folder.

A row is a call, in program order.  A column is what other calls wait for: a line begins at a call, which a
ring marks, and has a dot at each call that has to follow it, in the color of the reason.  The text of a row
says the same: ``3: data; 1: war of argument 0``.  Reasons are those of ``analysis/program/dependences.py``.
Views, allocations and other operations that launch nothing have no row.  What follows a call through them
follows the call itself, for the reason that the first of them has.
"""

from collections.abc import Iterator
from html import escape

from ..analysis.program.dependences import Dependences, Node
from ..analysis.program.provenance import lines
from ..base.dataclass import dataclass
from ..base.launch import line_text
from ..mlir import ir
from .svg_rows import COLUMN, clipped, columns, dot, heads, legend, legend_width, middle, page

NAMES, WHY, GAP = 330, 320, 12
COLORS = {
    "data": "#4c78a8",
    "size": "#72b7b2",
    "war": "#e45756",
    "waw": "#e45756",
    "raw": "#e45756",
    "token": "#b279a2",
    "effect": "#79706e",
    "wait": "#f58518",
}
#: The ring where a line begins.
BEGIN = "#fff"
SIGNS = (
    (dot(0, 0, BEGIN), "others wait for this"),
    (dot(0, 0, COLORS["data"]), "reads the result"),
    (dot(0, 0, COLORS["size"]), "uses a size"),
    (dot(0, 0, COLORS["war"]), "memory is written again (war, waw, raw)"),
    (dot(0, 0, COLORS["token"]), "ordered by a token"),
    (dot(0, 0, COLORS["effect"]), "both have effects"),
    (dot(0, 0, COLORS["wait"]), "beside a collective"),
)


@dataclass(frozen=True)
class Before:
    """A call that has to come first: its row, and why, as ``data`` and ``war of argument 0``."""

    row: int
    why: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.row}: {', '.join(self.why)}"


def calls_and_order(module: ir.Module) -> tuple[list[Node], list[list[Before]]]:
    """The calls of ``@main`` in program order, and what each has to follow, the latest call first.

    Raises ValueError when the module has no ``@main``.
    """
    deps = Dependences.of(module)
    calls = [node for node in deps.nodes if node.callee is not None or node.effect]
    rows = {node.index: row for row, node in enumerate(calls)}
    incoming: dict[int, dict[int, dict[str, None]]] = {}  # by node, the rows before it and the reasons
    for edge in deps.edges:  # by the later node, so what an earlier one follows is known
        found = incoming.setdefault(edge.after, {})
        if edge.before in rows:
            storage = f" of {_storage(deps, edge.storage)}" if edge.storage >= 0 else ""
            found.setdefault(rows[edge.before], {})[edge.reason + storage] = None
        elif deps.nodes[edge.before].kind != "fuse.reuse":  # which takes over memory that nobody needs
            for row, why in incoming.get(edge.before, {}).items():
                found.setdefault(row, {}).update(why)
    order = [
        [Before(row, tuple(why)) for row, why in sorted(incoming.get(node.index, {}).items(), reverse=True)]
        for node in calls
    ]
    return calls, order


def draw_dependences(module: ir.Module, title: str = "dependences") -> str:
    """The picture of ``@main`` as SVG.  Raises ValueError when the module has none."""
    calls, order = calls_and_order(module)
    last = {b.row: row for row, before in enumerate(order) for b in before}
    begun = sorted(last)
    placed = columns([(row, last[row]) for row in begun])
    left = NAMES + WHY + 2 * GAP
    x = {row: left + COLUMN * column for row, column in zip(begun, placed, strict=True)}
    free = sum(not before for before in order)
    summary = f"{len(calls)} calls in the order in which they run, {free} of which may run first"
    body = [*heads(((8, "call"), (NAMES, "has to run after"), (left - 4, "order"))), *legend(SIGNS)]
    for row in begun:
        y, end = middle(row), middle(last[row])
        body.append(f'<path class="line" d="M{x[row]} {y}V{end}" stroke="#bab0ac" stroke-width="2"/>')
        body.append(f'<text x="{x[row] + 7}" y="{y + 3}" class="mark">{row}</text>')
    for row, (node, before) in enumerate(zip(calls, order, strict=True)):
        body.append(f'<g class="row" id="call{row}">')
        body += _row(row, node, before)
        if row in x:
            body.append(dot(x[row], middle(row), BEGIN, f"{node.name} begins"))
        for b in before:
            tip = f"{row} {node.name} after {b.row} {calls[b.row].name}: {', '.join(b.why)}"
            body.append(dot(x[b.row], middle(row), COLORS[b.why[0].partition(" ")[0]], tip))
        body.append("</g>")
    width = max(left + COLUMN * (max(placed, default=0) + 1), legend_width(SIGNS))
    return page(title, summary, body, width, len(calls), ())


def _row(row: int, node: Node, before: list[Before]) -> Iterator[str]:
    y = middle(row) + 4
    where = ", ".join(map(line_text, lines(node.op.location))) or "no line of the program"
    yield (
        f'<text x="8" y="{y}">{escape(clipped(f"{row} {node.name}", NAMES - 12))}'
        f"<title>{escape(where)}</title></text>"
    )
    why = "; ".join(map(str, before)) or "nothing"
    yield (
        f'<text x="{NAMES}" y="{y}" class="small">{escape(clipped(why, WHY))}'
        f"<title>{escape(why)}</title></text>"
    )


def _storage(deps: Dependences, root: int) -> str:
    """What a storage is called: by the number of the argument, or by the call that made it."""
    if root < deps.arguments:
        return f"argument {root}"
    maker = next(node for node in deps.nodes if root in node.results)
    return maker.name if maker.callee is not None else maker.kind


__all__ = ["Before", "calls_and_order", "draw_dependences"]
