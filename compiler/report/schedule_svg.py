"""A picture of a schedule: ``CompiledGraph.schedule_svg()``, and ``schedule.svg`` in a dump folder.

A row is a launch; time goes from top to bottom.  The bar of a row is its share of the estimated time, its
text the bytes that it moves.  A column is memory: a bar reaches from the first launch that accesses a buffer
to the last one, and bears the number of the buffer.  A full dot marks a write, a ring a read.  Buffers that
are never alive together share a column; a list below the rows says what each is.  The strip beside the
columns shows what the program has allocated while the row runs.  Pointing at a part shows its description.
"""

from collections.abc import Iterator
from html import escape

from ..base.launch import line_text
from ..cost.clock import seconds as seconds_of
from ..cost.hardware import Hardware
from .schedule import Buffer, Row, Schedule
from .svg_rows import (
    COLUMN,
    ROW,
    TOP,
    clipped,
    columns,
    dot,
    heads,
    legend,
    legend_width,
    middle,
    page,
    square,
)

NAMES, TIMES, HELD, GAP = 330, 190, 90, 12

COLORS = {
    "kernel": "#4c78a8",
    "torch": "#f58518",
    "group": "#79706e",
    "argument": "#bab0ac",
    "temporary": "#72b7b2",
    "result": "#54a24b",
    "held": "#e45756",
}
WRITTEN, READ = "#222", "#fff"
SIGNS = (
    (square(COLORS["kernel"]), "kernel"),
    (square(COLORS["torch"]), "torch op"),
    (square(COLORS["group"]), "ordered group"),
    (square(COLORS["argument"]), "memory of the caller"),
    (square(COLORS["temporary"]), "memory of the program"),
    (square(COLORS["result"]), "memory that is returned"),
    (dot(0, 0, WRITTEN), "written"),
    (dot(0, 0, READ), "read"),
)


def draw_schedule(schedule: Schedule, hardware: Hardware, title: str = "schedule") -> str:
    """The picture as SVG.  Times are roofline estimates on ``hardware``."""
    seconds = [_seconds(row, hardware) for row in schedule.rows]
    held = [schedule.held(number) for number in range(len(schedule.rows))]
    placed = columns([(b.first, b.last) for b in schedule.buffers])
    left = NAMES + TIMES + HELD + 3 * GAP
    numbers = {id(b): number for number, b in enumerate(schedule.buffers)}
    x = {id(b): left + COLUMN * c for c, b in zip(placed, schedule.buffers, strict=True)}
    moved = sum(row.launch.estimate.bytes for row in schedule.rows if row.launch.estimate)
    summary = (
        f"{len(schedule.rows)} launches, {amount(moved)} moved, at least {duration(sum(seconds))} on "
        f"{hardware.name}, at most {amount(max(held, default=0))} allocated"
    )
    body = [
        *heads(
            (
                (8, "launch"),
                (NAMES, "bytes moved, least time"),
                (NAMES + TIMES + GAP, "allocated"),
                (left - 2, "memory"),
            )
        ),
        *legend(SIGNS),
        *(part for b in schedule.buffers for part in _bar(numbers[id(b)], b, x[id(b)])),
    ]
    most, longest = max(held, default=0) or 1, max(seconds, default=0) or 1.0
    for number, row in enumerate(schedule.rows):
        body.append(f'<g class="row" id="launch{number}">')
        body += _row(
            number, row, seconds[number] / longest, seconds[number], held[number], held[number] / most
        )
        y = middle(number)
        for touched, fill in ((row.writes, WRITTEN), ([b for b in row.reads if b not in row.writes], READ)):
            body += [dot(x[id(b)] + 0.5, y, fill, _told(numbers[id(b)], b)) for b in touched]
        body.append("</g>")
    notes = [_told(numbers[id(b)], b) for b in schedule.buffers]
    width = max(left + COLUMN * (max(placed, default=0) + 1), legend_width(SIGNS))
    return page(title, summary, body, width, len(schedule.rows), notes)


def amount(count: int) -> str:
    """Bytes in readable form: three digits and a unit."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def duration(seconds: float) -> str:
    """A time in readable form: three digits and a unit."""
    value, unit = seconds * 1e9, "ns"
    for unit in ("ns", "us", "ms", "s"):
        if value < 999.5 or unit == "s":
            break
        value /= 1000
    return f"{value:.3g} {unit}"


def _seconds(row: Row, hardware: Hardware) -> float:
    work = row.launch.estimate
    return seconds_of(work, hardware, hardware.rates.streaming.peak) if work else 0.0


def _row(number: int, row: Row, share: float, seconds: float, held: int, held_share: float) -> Iterator[str]:
    launch, y = row.launch, middle(number)
    cost = f"{amount(launch.estimate.bytes)}, {duration(seconds)}" if launch.estimate else "not estimated"
    where = "\n".join(map(line_text, launch.lines)) or "no line of the program"
    told = "\n".join([launch.name, ", ".join(launch.nodes), where, cost, *map(str, launch.choices)])
    tip = f"<title>{escape(told)}</title>"
    yield f'<text x="8" y="{y + 4}">{escape(clipped(f"{number} {launch.name}", NAMES - 12))}{tip}</text>'
    color = COLORS.get(launch.kind, COLORS["group"])
    bar = f'x="{NAMES}" y="{y - 6}" width="{max(1.0, share * TIMES):.1f}" height="12"'
    yield f'<rect {bar} fill="{color}" fill-opacity="0.5"/>'
    yield f'<text x="{NAMES + 4}" y="{y + 4}">{escape(cost)}{tip}</text>'
    x = NAMES + TIMES + GAP
    yield (
        f'<rect x="{x}" y="{y - 6}" width="{held_share * HELD:.1f}" height="12" fill="{COLORS["held"]}" '
        f'fill-opacity="0.35"><title>{amount(held)} allocated</title></rect>'
    )


def _bar(number: int, buffer: Buffer, x: float) -> Iterator[str]:
    y, height = TOP + ROW * buffer.first + 3, ROW * (buffer.last - buffer.first + 1) - 6
    told = f"<title>{escape(_told(number, buffer))}</title>"
    yield (
        f'<rect class="buffer" x="{x - 2}" y="{y}" width="5" height="{max(height, 4)}" rx="2" '
        f'fill="{COLORS[buffer.kind]}">{told}</rect>'
    )
    yield f'<text x="{x + 6}" y="{y + 9}" class="mark">{_name(number)}{told}</text>'


def _name(number: int) -> str:
    """What a buffer is called beside its bar."""
    return f"m{number}"


def _told(number: int, buffer: Buffer) -> str:
    what = {"argument": "of the caller", "temporary": "of the program", "result": "returned"}[buffer.kind]
    first, last = buffer.first, buffer.last
    used = f"launch {first}" if first == last else f"launches {first} to {last}"
    return f"{_name(number)}: {buffer.name}, {what}, {amount(buffer.bytes)}, {used}"
