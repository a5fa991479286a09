"""Records of the suite `compile` as text: seconds above `aot_eager`, and their share of Inductor's."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from .tables import failure_lines, geometric_mean, grid

Record = Mapping[str, Any]
BASELINE, PEER, SUBJECT = "aot_eager", "inductor", "fuse"


def compile_line(record: Record) -> str:
    """Progress: the medians of one model."""
    if record["failures"]:
        return f"{record['key']}: {record['failures'][0][-300:]}"
    parts = [
        f"{name} {median(times['cold']):.2f} / {median(times['warm']):.2f} s"
        for name, times in record["backends"].items()
    ]
    return f"{record['key']}: cold / warm: {', '.join(parts)}"


def above(record: Record, name: str, state: str) -> float | None:
    """Median seconds of a backend above the baseline's; None where one of them was not measured."""
    found = record.get("backends", {})
    if not (found.get(name, {}).get(state) and found.get(BASELINE, {}).get(state)):
        return None
    return median(found[name][state]) - median(found[BASELINE][state])


def share(record: Record, state: str = "cold") -> float | None:
    """The subject's seconds above the baseline over the peer's."""
    ours, theirs = above(record, SUBJECT, state), above(record, PEER, state)
    return None if ours is None or not theirs or theirs <= 0 else max(ours, 0.0) / theirs


def compile_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header, and a row for each model."""
    others = [name for name in backends if name != BASELINE]
    header = ["model", "cores", *(f"{name} cold / warm" for name in backends)]
    header += [f"{name} above, cold" for name in others]
    header += [f"{name} above, warm" for name in others] + ["share of Inductor's, cold"]
    rows = [header]
    for record in records:
        times = record.get("backends", {})
        row = [record["key"], str(record.get("cores", "-"))]
        row += [
            f"{median(times[n]['cold']):.2f} / {median(times[n]['warm']):.2f}" if n in times else "-"
            for n in backends
        ]
        row += [_seconds(above(record, n, state)) for state in ("cold", "warm") for n in others]
        part = share(record)
        rows.append([*row, "-" if part is None else f"{part:.2f}"])
    return rows


def compile_summary(records: Sequence[Record]) -> Iterator[str]:
    """The geometric mean and the largest share."""
    shares = [part for part in map(share, records) if part is not None]
    mean = geometric_mean(shares)
    if mean is not None:
        yield (
            f"time above {BASELINE}, cold: {mean:.2f} of Inductor's in the geometric mean of {len(shares)}, "
            f"{max(shares):.2f} at most"
        )


def compile_table(records: list[dict[str, Any]], backends: tuple[str, ...]) -> str:
    """Everything for the terminal, with the tree of the slowest graphs' time."""
    lines = [grid(compile_rows(records, backends)), *compile_summary(records), *failure_lines(records)]
    for record in records:
        for graph in record.get("backends", {}).get(SUBJECT, {}).get("cold_graphs", ()):
            lines += ["", f"{record['key']}, {graph['name']}: {graph['seconds']:.2f} s", *_tree(graph, 1)]
    return "\n".join(lines)


def _tree(part: Mapping[str, Any], depth: int, least: float = 0.01) -> Iterator[str]:
    """Parts that took ten milliseconds; single kernels are left out."""
    for name, inner in part.items():
        if isinstance(inner, Mapping) and inner["seconds"] >= least and depth < 3:
            yield f"{'  ' * depth}{inner['seconds']:7.3f}  {name}"
            yield from _tree(inner, depth + 1)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
