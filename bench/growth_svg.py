"""A drawing of how time grows, as SVG: a chart for each family, both axes logarithmic, the copy dashed."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_WIDTH, _HEIGHT, _MARGIN = 380, 300, 52
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b")


def chart(families: Sequence[Mapping[str, Any]], title: str) -> str:
    """The SVG document of `families`, entries of the record of `growth.py`."""
    names = sorted({name for f in families for p in f["points"] for name in p["us"]} - {"copy"})
    colors = {"copy": "#555555", **{name: _COLORS[i % len(_COLORS)] for i, name in enumerate(names)}}
    parts = [_family(family, i * _WIDTH, colors) for i, family in enumerate(families)]
    keys = [
        f'<text x="{_MARGIN + 90 * i}" y="36" fill="{color}">{escape(name)}</text>'
        for i, (name, color) in enumerate(colors.items())
    ]
    size = f'width="{_WIDTH * max(len(families), 1)}" height="{_HEIGHT + 60}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    heading = f'<text x="{_MARGIN}" y="18" font-size="14">{escape(title)}: device time in microseconds</text>'
    return "\n".join([head, heading, *keys, *parts, "</svg>", ""])


def _family(family: Mapping[str, Any], left: int, colors: Mapping[str, str]) -> str:
    points = family["points"]
    sizes = _Scale([p["size"] for p in points], left + _MARGIN, left + _WIDTH - 16)
    times = _Scale([us for p in points for us in p["us"].values()], _HEIGHT + 10, 60)
    lines = [
        f'<text x="{left + _MARGIN}" y="{_HEIGHT + 46}">{escape(family["unit"])}</text>',
        f'<path d="M{sizes.first} 60V{_HEIGHT + 10}H{sizes.last}" fill="none" stroke="#999999"/>',
    ]
    lines += [
        f'<text x="{sizes(p["size"]):.1f}" y="{_HEIGHT + 26}" text-anchor="middle">{p["size"]}</text>'
        for p in points[:: max(1, len(points) // 5)]
    ]
    lines += [
        f'<text x="{sizes.first - 6}" y="{times(t) + 4:.1f}" text-anchor="end">{t:g}</text>'
        for t in times.powers()
    ]
    for name, color in colors.items():
        at = [f"{sizes(p['size']):.1f},{times(p['us'][name]):.1f}" for p in points if name in p["us"]]
        dashes = ' stroke-dasharray="5 4"' if name == "copy" else ""
        lines.append(f'<polyline points="{" ".join(at)}" fill="none" stroke="{color}"{dashes}/>')
    return "\n".join(lines)


class _Scale:
    """Positive numbers on a logarithmic axis from pixel `first` to pixel `last`."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        logs = [math.log10(v) for v in values if v > 0] or [0.0]
        self.low, self.high = min(logs), max(max(logs), min(logs) + 1e-9)
        self.first, self.last = first, last

    def __call__(self, value: float) -> float:
        share = (math.log10(max(value, 1e-9)) - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def powers(self) -> list[float]:
        """Powers of ten on the axis."""
        return [10.0**k for k in range(math.ceil(self.low), math.floor(self.high) + 1)]
