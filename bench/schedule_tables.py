"""Records of the suite `schedule` as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .tables import failure_lines, flag, geometric_mean, grid

Record = Mapping[str, Any]
_HEADER = ("case", "mode", "launches", "MB moved", "MB by its own count", "moved vs", "peak MB", "peak vs")


def schedule_line(record: Record) -> str:
    """Progress of one case."""
    cells = [f"{name} {_launches(entry)} {_bytes(entry, 'bytes')} MB" for name, entry in _entries(record)]
    reason = [record["unavailable"]] if "unavailable" in record else []
    failed = [" ".join(record["failures"][0].split())[:160]] if record.get("failures") else []
    return f"{record['key']}: {', '.join([*cells, *reason, *failed])}"


def schedule_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows; each cell has the backends in turn, ratios are of the last to each of the others."""
    rows = [[*_HEADER[:2], *(f"{h} {'/'.join(backends)}" if " vs" not in h else h for h in _HEADER[2:])]]
    for record in records:
        entries = [record.get("backends", {}).get(name) for name in backends]
        case, _, mode = record["key"].partition("/")
        rows.append(
            [
                case,
                mode,
                "/".join(map(_launches, entries)),
                *("/".join(_bytes(e, field) for e in entries) for field in ("bytes", "own_bytes")),
                _ratios(entries, "bytes"),
                "/".join(_bytes(e, "peak") for e in entries),
                _ratios(entries, "peak"),
            ]
        )
    return rows


def schedule_summary(records: Sequence[Record], backends: Sequence[str]) -> Iterator[str]:
    """The last backend against each other one: geometric means over the models, and where it is higher."""
    *others, subject = backends
    models = [r for r in records if not r["key"].startswith("graphs/")]
    for other in others:
        for field in ("launches", "bytes", "peak"):
            pairs = [(r["key"], _number(r, subject, field), _number(r, other, field)) for r in models]
            known = [(key, mine / theirs) for key, mine, theirs in pairs if mine and theirs]
            mean = geometric_mean(ratio for _, ratio in known)
            if mean is not None:
                above = [f"{key} {ratio:.3f}" for key, ratio in known if ratio > 1]
                yield (
                    f"{field} of {subject} over {other}: {mean:.3f} (geometric mean of {len(known)} models); "
                    f"higher: {', '.join(above) or 'none'}"
                )


def schedule_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table, the summary and what failed."""
    parts = [grid(schedule_rows(records, backends))] if records else []
    return "\n".join([*parts, *schedule_summary(records, backends), *failure_lines(records)])


def _entries(record: Record) -> list[tuple[str, Mapping[str, Any]]]:
    return list(record.get("backends", {}).items())


def _number(record: Record, backend: str, field: str) -> float | None:
    entry = record.get("backends", {}).get(backend) or {}
    if field == "launches":
        return entry["kernels"] + entry["externs"] if "kernels" in entry else None
    return entry.get(field)


def _launches(entry: Mapping[str, Any] | None) -> str:
    """ "generated+library"."""
    if not entry or "error" in entry:
        return flag(entry)
    return f"{entry['kernels']}+{entry['externs']}" if "kernels" in entry else "-"


def _bytes(entry: Mapping[str, Any] | None, field: str) -> str:
    if not entry or entry.get(field) is None:
        return "-"
    return f"{entry[field] / 1e6:.1f}"


def _ratios(entries: Sequence[Mapping[str, Any] | None], field: str) -> str:
    *others, subject = [(entry or {}).get(field) for entry in entries]
    return "/".join(f"{subject / other:.3f}" if subject and other else "-" for other in others)
