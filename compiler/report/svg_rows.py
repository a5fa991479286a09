"""What pictures of a program in rows share: a row for each launch or call, and columns of bars beside them.

A bar reaches from one row to another.  Bars that share no row share a column.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

#: Pixels: the height of a row, the width of a column, and what is above the first row.
ROW, COLUMN, TOP = 18, 34, 76
#: Pixels that a letter takes at most, of text of 11 pixels.
LETTER = 6.7


def page(title: str, summary: str, body: Iterable[str], width: float, rows: int, notes: Sequence[str]) -> str:
    """The picture as SVG: a title and a line below it, stripes behind ``rows`` rows, what is in ``body``, and
    the lines ``notes`` below the rows.
    """
    bottom = TOP + ROW * rows
    wide = max([width, *(16 + LETTER * len(text) for text in (summary, *notes))])
    style = "text{font:11px sans-serif;fill:#222}.title{font-weight:bold;font-size:13px}.small{fill:#666}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" '
            f'height="{bottom + ROW * (len(notes) + 1)}">',
            f"<style>{style}.mark{{font-size:9px}}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text x="8" y="18" class="title">{escape(title)}</text>',
            f'<text x="8" y="34">{escape(summary)}</text>',
            *(
                f'<rect x="0" y="{TOP + ROW * row}" width="100%" height="{ROW}" fill="#f4f4f4"/>'
                for row in range(1, rows, 2)
            ),
            *body,
            *(
                f'<text x="8" y="{bottom + ROW * (number + 1)}" class="small">{escape(text)}</text>'
                for number, text in enumerate(notes)
            ),
            "</svg>",
            "",
        ]
    )


def heads(texts: Iterable[tuple[float, str]]) -> Iterator[str]:
    """The heads of what stands side by side: (x, text)."""
    for x, text in texts:
        yield f'<text x="{x}" y="{TOP - 6}" class="small">{escape(text)}</text>'


#: What a sign means: the sign, drawn with its middle at 0 and at most 10 pixels wide, and the meaning.
Sign = tuple[str, str]


def legend(signs: Sequence[Sign]) -> Iterator[str]:
    """What signs mean, on one line."""
    for number, (sign, text) in enumerate(signs):
        x = legend_width(signs[:number])
        yield f'<g transform="translate({x + 5:.1f},48)">{sign}</g>'
        yield f'<text x="{x + 14:.1f}" y="52" class="small">{escape(text)}</text>'


def legend_width(signs: Sequence[Sign]) -> float:
    """How many pixels the line of a legend takes."""
    return 8 + sum(24 + LETTER * len(text) for _, text in signs)


def square(color: str) -> str:
    """A sign for the legend."""
    return f'<rect x="-4.5" y="-4.5" width="9" height="9" fill="{color}"/>'


def dot(x: float, y: float, fill: str, tip: str = "") -> str:
    """A dot in a column, which says ``tip`` where one points at it."""
    said = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<circle cx="{x:g}" cy="{y:g}" r="3.2" fill="{fill}" stroke="#222">{said}</circle>'


def middle(row: int) -> float:
    """The y of the middle of a row, in pixels."""
    return TOP + ROW * row + ROW / 2


def clipped(text: str, width: float) -> str:
    """A text that takes at most ``width`` pixels."""
    most = int(width / LETTER)
    return text if len(text) <= most else text[: most - 1] + "…"


def columns(bars: Sequence[tuple[int, int]]) -> list[int]:
    """A column for each bar (its first row, its last row): the first column that is free at its first row."""
    free_from: list[int] = []
    found = [0] * len(bars)
    for number in sorted(range(len(bars)), key=lambda n: (bars[n][0], n)):
        first, last = bars[number]
        column = next((c for c, row in enumerate(free_from) if row <= first), len(free_from))
        if column == len(free_from):
            free_from.append(0)
        free_from[column] = last + 1
        found[number] = column
    return found
