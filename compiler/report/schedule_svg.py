"""A picture of a schedule: ``CompiledGraph.schedule_svg()``, and ``schedule.svg`` in a dump folder.

A row is a launch; time goes from top to bottom.  The bar of a row is its share of the estimated time, its
text the bytes that it moves.  A column is memory: a bar reaches from the first launch that accesses a buffer
to the last one.  A full dot marks a write, a ring a read.  Buffers that are never alive together share a
column.  The strip beside the columns shows what the program has allocated while the row runs.  Pointing at a
part shows its description.
"""

from collections.abc import Iterator, Sequence
from html import escape

from ..base.hardware import Hardware
from ..base.launch import line_text
from .schedule import Buffer, Row, Schedule

ROW, COLUMN, TOP = 18, 11, 56
NAMES, TIMES, HELD = 330, 150, 90

COLORS = {
    "kernel": "#4c78a8",
    "torch": "#f58518",
    "group": "#79706e",
    "argument": "#bab0ac",
    "temporary": "#72b7b2",
    "result": "#54a24b",
    "held": "#e45756",
}


def draw_schedule(schedule: Schedule, hardware: Hardware, title: str = "schedule") -> str:
    """The picture as SVG.  Times are roofline estimates on ``hardware``."""
    seconds = [_seconds(row, hardware) for row in schedule.rows]
    held = [schedule.held(number) for number in range(len(schedule.rows))]
    columns = _columns(schedule.buffers)
    left = NAMES + TIMES + HELD + 3 * COLUMN
    width = left + COLUMN * (max(columns, default=0) + 2)
    height = TOP + ROW * len(schedule.rows) + ROW
    moved = sum(row.launch.estimate.bytes for row in schedule.rows if row.launch.estimate)
    summary = (
        f"{len(schedule.rows)} launches, {amount(moved)} moved, at least {sum(seconds) * 1e6:.1f} us on "
        f"{hardware.name}, at most {amount(max(held, default=0))} allocated"
    )
    body = [
        f'<text x="8" y="18" class="title">{escape(title)}</text>',
        f'<text x="8" y="34">{escape(summary)}</text>',
        *_heads(left),
        *_legend(),
        *(_stripe(number) for number in range(1, len(schedule.rows), 2)),
    ]
    for number, buffer in zip(columns, schedule.buffers, strict=True):
        body.append(_bar(buffer, left + COLUMN * number))
    x = {id(b): left + COLUMN * number for number, b in zip(columns, schedule.buffers, strict=True)}
    for number, row in enumerate(schedule.rows):
        share = seconds[number] / max(seconds, default=0) if any(seconds) else 0.0
        most = max(held) or 1
        body.append(f'<g class="row" id="launch{number}">')
        body += _row(number, row, share, seconds[number], held[number], held[number] / most)
        y = _middle(number)
        body += [_dot(x[id(b)], y, "#222", b) for b in row.writes]
        body += [_dot(x[id(b)], y, "#fff", b) for b in row.reads if b not in row.writes]
        body.append("</g>")
    style = "text{font:11px sans-serif;fill:#222}.title{font-weight:bold;font-size:13px}.small{fill:#666}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, 700)}" height="{height}">',
            f"<style>{style}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def amount(count: int) -> str:
    """Bytes in readable form: three digits and a unit."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def _seconds(row: Row, hardware: Hardware) -> float:
    return row.launch.estimate.seconds(hardware) if row.launch.estimate else 0.0


def _columns(buffers: Sequence[Buffer]) -> list[int]:
    """A column for each buffer: the first that is free when its life begins."""
    free_from: list[int] = []
    found = [0] * len(buffers)
    for number in sorted(range(len(buffers)), key=lambda n: (buffers[n].first, n)):
        buffer = buffers[number]
        column = next((c for c, row in enumerate(free_from) if row <= buffer.first), len(free_from))
        if column == len(free_from):
            free_from.append(0)
        free_from[column] = buffer.last + 1
        found[number] = column
    return found


def _middle(row: int) -> float:
    return TOP + ROW * row + ROW / 2


def _row(number: int, row: Row, share: float, seconds: float, held: int, held_share: float) -> Iterator[str]:
    launch, y = row.launch, _middle(number)
    cost = f"{amount(launch.estimate.bytes)}, {seconds * 1e6:.2f} us" if launch.estimate else "not estimated"
    where = "\n".join(map(line_text, launch.lines)) or "no line of the program"
    tip = f"{launch.name}\n{', '.join(launch.nodes)}\n{where}\n{cost}"
    name = launch.name if len(launch.name) <= 44 else launch.name[:43] + "…"
    yield f'<text x="8" y="{y + 4}">{number} {escape(name)}<title>{escape(tip)}</title></text>'
    color = COLORS.get(launch.kind, COLORS["group"])
    bar = f'x="{NAMES}" y="{y - 6}" width="{max(1.0, share * TIMES):.1f}" height="12"'
    yield f'<rect {bar} fill="{color}" fill-opacity="0.5"/>'
    yield f'<text x="{NAMES + 4}" y="{y + 4}">{escape(cost)}<title>{escape(tip)}</title></text>'
    x = NAMES + TIMES + COLUMN
    yield (
        f'<rect x="{x}" y="{y - 6}" width="{held_share * HELD:.1f}" height="12" fill="{COLORS["held"]}" '
        f'fill-opacity="0.35"><title>{amount(held)} allocated</title></rect>'
    )


def _bar(buffer: Buffer, x: float) -> str:
    y, height = TOP + ROW * buffer.first + 3, ROW * (buffer.last - buffer.first + 1) - 6
    return (
        f'<rect class="buffer" x="{x - 2}" y="{y}" width="5" height="{max(height, 4)}" rx="2" '
        f'fill="{COLORS[buffer.kind]}"><title>{escape(_told(buffer))}</title></rect>'
    )


def _dot(x: float, y: float, fill: str, buffer: Buffer) -> str:
    return (
        f'<circle cx="{x + 0.5}" cy="{y}" r="3.2" fill="{fill}" stroke="#222"><title>{escape(_told(buffer))}'
        "</title></circle>"
    )


def _told(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.kind}, {amount(buffer.bytes)}, launches {buffer.first} to {buffer.last}"


def _heads(left: float) -> Iterator[str]:
    heads = ((8, "launch"), (NAMES, "bytes moved, estimated time"), (NAMES + TIMES + COLUMN, "allocated"))
    for x, text in (*heads, (left, "memory")):
        yield f'<text x="{x}" y="{TOP - 6}" class="small">{text}</text>'


def _stripe(row: int) -> str:
    return f'<rect x="0" y="{TOP + ROW * row}" width="100%" height="{ROW}" fill="#f4f4f4"/>'


def _legend() -> Iterator[str]:
    x = 8.0 + NAMES
    for name in ("kernel", "torch", "argument", "temporary", "result"):
        yield f'<rect x="{x}" y="9" width="9" height="9" fill="{COLORS[name]}"/>'
        yield f'<text x="{x + 12}" y="18" class="small">{name}</text>'
        x += 74
