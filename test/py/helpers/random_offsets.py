"""Ends of segments of rows, drawn: the tokens of each expert, as routing counts them."""

import random
from collections.abc import Iterator


def ends(rows: int, segments: int, draw: random.Random) -> list[int]:
    """Ends of so many segments, each at least the one before; the last one may leave rows behind it.  Drawn:
    equal shares, skewed ones, empty segments, one segment with all rows, none with any.
    """
    kind = draw.choice(("any", "any", "skewed", "one", "equal", "none", "short"))
    if kind == "one":
        first = draw.randrange(segments)
        return [0] * first + [rows] * (segments - first)
    if kind == "none":
        return [0] * segments
    if kind == "equal":
        return [rows * (n + 1) // segments for n in range(segments)]
    last = rows if kind != "short" else draw.randint(0, rows)
    power = 4 if kind == "skewed" else 1
    cuts = sorted(int(last * draw.random() ** power) for _ in range(segments - 1))
    return [*cuts, last]


def drawn(rows: int, segments: int, count: int, seed: int) -> Iterator[list[int]]:
    """So many drawn ends; the same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        yield ends(rows, segments, draw)
