"""A picture of collectives beside the other calls: two streams over time, for each of several orders.

The upper lane of an order has the calls, one after the other, and the waits that hold them up; the lower one
has the collectives.  All orders have one scale of time, which is that of the model in
``analysis/program/streams.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from ..analysis.program.streams import Span

LEFT, WIDTH, LANE, HEAD, GAP = 90, 800, 26, 24, 12
#: Pixels that a letter takes.
LETTER = 6.2
COLORS = {"calls": "#4c78a8", "collectives": "#f58518", "wait": "#e45756"}
LEGEND = {"calls": "call", "collectives": "collective", "wait": "nothing runs beside the collective"}


def draw_streams(orders: Mapping[str, Sequence[Span]]) -> str:
    """The picture as SVG.  orders: what runs when, by the title of the order."""
    seconds = max((span.end for spans in orders.values() for span in spans), default=0.0) or 1.0
    one = HEAD + 2 * LANE + GAP
    height = HEAD + one * len(orders) + HEAD
    body = list(_legend())
    for number, (title, spans) in enumerate(orders.items()):
        body += _order(title, spans, seconds, HEAD + one * number)
    body += _axis(seconds, HEAD + one * len(orders))
    style = "text{font:11px sans-serif;fill:#222}.title{font-weight:bold}.bar{fill:#fff}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}">',
            f"<style>{style}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _order(title: str, spans: Sequence[Span], seconds: float, top: int) -> Iterator[str]:
    took = max((span.end for span in spans), default=0.0)
    waited = sum(span.end - span.begin for span in spans if span.stream == "wait")
    told = f"{title}: {took * 1e6:.0f} us, of them {waited * 1e6:.0f} us exposed"
    yield f'<text x="8" y="{top + 16}" class="title">{escape(told)}</text>'
    for lane, name in enumerate(("calls", "collectives")):
        y = top + HEAD + LANE * lane
        yield f'<text x="8" y="{y + 16}">{name}</text>'
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{LANE - 4}" fill="#f4f4f4"/>'
    for span in spans:
        x, width = LEFT + WIDTH * span.begin / seconds, WIDTH * (span.end - span.begin) / seconds
        y = top + HEAD + (LANE if span.stream == "collectives" else 0)
        tip = f"{span.name}: {span.begin * 1e6:.1f} to {span.end * 1e6:.1f} us"
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{max(width, 1):.1f}" height="{LANE - 4}" stroke="#fff" '
            f'fill="{COLORS[span.stream]}"><title>{escape(tip)}</title></rect>'
        )
        name = "wait" if span.stream == "wait" else span.name
        if LETTER * len(name) + 6 <= width:
            yield f'<text x="{x + 4:.1f}" y="{y + 15}" class="bar">{escape(name)}</text>'


def _axis(seconds: float, y: int) -> Iterator[str]:
    """Ticks at 1, 2 or 5 times a power of ten, at most ten of them."""
    us = seconds * 1e6
    step = next(f * 10**e for e in range(-3, 12) for f in (1, 2, 5) if us <= 10 * f * 10**e)
    for number in range(int(us / step) + 1):
        x = LEFT + WIDTH * number * step / us
        yield f'<line x1="{x:.1f}" y1="{HEAD}" x2="{x:.1f}" y2="{y}" stroke="#222" stroke-opacity="0.15"/>'
        unit = " us" if number == int(us / step) else ""
        yield f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle">{number * step:g}{unit}</text>'


def _legend() -> Iterator[str]:
    x = LEFT
    for stream, text in LEGEND.items():
        yield f'<rect x="{x}" y="7" width="10" height="10" fill="{COLORS[stream]}"/>'
        yield f'<text x="{x + 14}" y="16">{text}</text>'
        x += 110
