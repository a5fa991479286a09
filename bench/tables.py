"""Records of the suites as text: one line of progress per record, and a table for the end of a run.

Every function takes the plain dicts of the JSON file, so that old files can be printed too.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .peaks import LIMIT, peak_ratio, peaks_above
from .timing import Timing, compare_timings

Record = Mapping[str, Any]
#: Backends that are compared in the summary, whichever is judged.
_GENERATED = ("fuse-generated", "fuse-library")
#: Elements of the sums of products that are compared by themselves, too: such products store much for what
#: they multiply, so that what is around them counts most.
SHORT_SUMS = 1024
#: As much as one case may count for in the mean of `loser_lines`.
MOST = 4.0
SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def timing_of(entry: Mapping[str, Any] | None) -> Timing | None:
    """The `Timing` of a backend's entry in a record, None if it was not timed."""
    if not entry or "timing" not in entry:
        return None
    return Timing(**{name: value for name, value in entry["timing"].items() if name != "device"})


def flag(entry: Mapping[str, Any] | None) -> str:
    """ "" for a right answer, "wrong" or "error" otherwise, "-" for a backend that was not run."""
    if entry is None:
        return "-"
    if "error" in entry:
        return "error"
    return "" if entry.get("passed", True) else "wrong"


def verdict(subject: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> tuple[float, str] | None:
    """(time of other / time of subject, "faster", "same" or "slower"); None unless right and timed."""
    if flag(subject) or flag(other):
        return None
    mine, theirs = timing_of(subject), timing_of(other)
    if mine is None or theirs is None or not mine.device:
        return None
    return theirs.device / mine.device, compare_timings(mine, theirs)


def geometric_mean(values: Iterable[float]) -> float | None:
    """None for no values."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def grid(rows: Sequence[Sequence[str]], left: int = 2) -> str:
    """Rows as aligned columns; the first `left` columns flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligned = (
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(aligned)


def failure_lines(records: Sequence[Record], width: int = 220, most: int = 25) -> Iterator[str]:
    """A line for every failure, cut to `width`; at most `most`, then their number."""
    found = [f"{record['key']}: {failure}" for record in records for failure in record.get("failures", ())]
    for text in found[:most]:
        text = " ".join(text.split())
        yield f"FAIL {text if len(text) <= width else text[: width - 3] + '...'}"
    if len(found) > most:
        yield f"... and {len(found) - most} more failures, see the JSON file"


def summary(records: Sequence[Record], backends: Sequence[str]) -> Iterator[str]:
    """The last backend against each other one: geometric mean of the ratios, and how often it is faster.
    Generated products are held against the library's, too, and products with short sums by themselves.
    """
    *others, subject = backends
    pairs = [(subject, other) for other in others]
    pairs += [_GENERATED] if set(_GENERATED) <= set(others) else []
    short = [record for record in records if 0 < record.get("summed", 0) <= SHORT_SUMS]
    for first, second in pairs:
        yield _against(records, first, second)
        if short and len(short) < len(records):
            yield f"with sums of at most {SHORT_SUMS} elements, {_against(short, first, second)}"
    yield from _error_lines(records, backends)
    yield from _peak_lines(records, backends)


def _peak_lines(records: Sequence[Record], backends: Sequence[str]) -> Iterator[str]:
    """The last backend's peak of memory over each other one's, and where it is above the limit."""
    *others, subject = backends
    above = list(peaks_above(records, backends))
    for other in others:
        ratios = (_peak_ratio_of(record, subject, other) for record in records)
        known = [ratio for ratio in ratios if ratio is not None]
        mean = geometric_mean(known)
        if mean is not None:
            higher = ", ".join(f"{key} {ratio:.2f}" for key, name, ratio in above if name == other)
            of = f"geometric mean of {len(known)} of {len(records)}"
            yield f"peak of {subject} over {other}: {mean:.3f} ({of}); above {LIMIT}: {higher or 'none'}"


def loser_lines(records: Sequence[Record], backends: Sequence[str]) -> Iterator[str]:
    """Where the last backend is slower than another one, worst first, and the geometric mean of its ratios
    with no single one counted above `MOST`.
    """
    *others, subject = backends
    for other in others:
        found = {record["key"]: _verdict_of(record, subject, other) for record in records}
        known = {key: pair for key, pair in found.items() if pair is not None}
        mean = geometric_mean(min(ratio, MOST) for ratio, _ in known.values())
        if mean is None:
            continue
        yield f"{subject} against {other}, none counted above {MOST:.0f}: {mean:.3f} times as fast"
        slower = sorted((ratio, key) for key, (ratio, word) in known.items() if word == "slower")
        for ratio, key in slower:
            yield f"slower than {other}: {key} {ratio:.2f}"


def _verdict_of(record: Record, subject: str, other: str) -> tuple[float, str] | None:
    entries = record.get("backends", {})
    return verdict(entries.get(subject), entries.get(other))


def _against(records: Sequence[Record], subject: str, other: str) -> str:
    verdicts = [_verdict_of(record, subject, other) for record in records]
    known = [pair for pair in verdicts if pair is not None]
    mean = geometric_mean(ratio for ratio, _ in known)
    if mean is None:
        return f"{subject} against {other}: nothing to compare"
    counts = Counter(word for _, word in known)
    tally = ", ".join(f"{counts[word]} {word}" for word in ("faster", "same", "slower"))
    of = f"geometric mean of {len(known)} of {len(records)}"
    return f"{subject} against {other}: {mean:.3f} times as fast ({of}): {tally}"


def _error_lines(records: Sequence[Record], backends: Sequence[str]) -> Iterator[str]:
    """The backends' errors against float64, of each dtype: geometric means over what all answered, not
    exactly.
    """
    for dtype in dict.fromkeys(record["dtype"] for record in records if "dtype" in record):
        entries = [record.get("backends", {}) for record in records if record.get("dtype") == dtype]
        errors = [[(entry.get(name) or {}).get("norm_error") for name in backends] for entry in entries]
        known = [row for row in errors if all(row)]
        means = [geometric_mean(column) for column in zip(*known, strict=True)]
        if means:
            cells = ", ".join(f"{name} {mean:.2e}" for name, mean in zip(backends, means, strict=True))
            yield f"error against float64 in {dtype} (geometric mean of {len(known)}): {cells}"


# Kernels


def kernel_line(record: Record) -> str:
    """Progress of one graph."""
    return _timed_line(record, "us", 1.0)


def kernel_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows: device times in microseconds; in brackets the speed as a fraction of the copy's."""
    return _graph_rows(records, backends, "us", _kernel_cell, megabytes=True)


def _graph_rows(
    records: Sequence[Record], backends: Sequence[str], unit: str, cell: Callable[..., str], megabytes: bool
) -> list[list[str]]:
    """Header and rows of graphs: ``cell`` writes a backend's time from its entry and the copy's timing."""
    *others, subject = backends
    counted = [name for name in backends if any(_generated(record, name) is not None for record in records)]
    header = ["case", "dtype", *(["MB"] if megabytes else []), "copy us"]
    header += [f"{name} {unit}" for name in backends]
    header += [f"vs {name}" for name in others]
    weighed = [name for name in others if any(_peak_ratio_of(r, subject, name) is not None for r in records)]
    header += [f"peak vs {name}" for name in weighed] + [f"kernels {'/'.join(counted)}".strip(), "note"]
    rows = [header]
    for record in records:
        entries = record.get("backends", {})
        if not entries:
            rows.append([record["key"], *("-" for _ in header[1:-1]), "failed"])
            continue
        copy = timing_of(entries.get("copy"))
        cells = [record["case"], SHORT.get(record["dtype"], record["dtype"])]
        cells += [f"{record['bytes'] / 1e6:.1f}"] if megabytes else []
        cells.append(f"{copy.device:.1f}" if copy else "-")
        cells += [cell(entries.get(name), copy) for name in backends]
        cells += [_ratio_cell(verdict(entries.get(subject), entries.get(name))) for name in others]
        peaks = (_peak_ratio_of(record, subject, name) for name in weighed)
        cells += ["-" if ratio is None else f"{ratio:.2f}" for ratio in peaks]
        cells.append("/".join(_count(_generated(record, name)) for name in counted) or "-")
        rows.append([*cells, _kernel_note(record, subject)])
    return rows


def _peak_ratio_of(record: Record, subject: str, other: str) -> float | None:
    entries = record.get("backends", {})
    return peak_ratio(entries.get(subject), entries.get(other))


def kernel_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table, the summary, and what failed."""
    parts = [grid(kernel_rows(records, backends))] if records else []
    return "\n".join([*parts, *summary(records, backends), *failure_lines(records)])


def _generated(record: Record, name: str) -> int | None:
    compiled = (record.get("backends", {}).get(name) or {}).get("compiled") or {}
    return compiled.get("generated")


def _kernel_cell(entry: Mapping[str, Any] | None, copy: Timing | None) -> str:
    timing = timing_of(entry)
    if timing is None:
        return flag(entry) or "-"
    fraction = f" ({copy.device / timing.device:.2f})" if copy and timing.device else ""
    return f"{timing.device:.1f}{fraction}{'!' if flag(entry) else ''}"


def _kernel_note(record: Record, subject: str) -> str:
    entries = record["backends"]
    notes = list(record.get("throttled", ()))
    read = timing_of(entries.get("read"))
    mine = timing_of(entries.get(subject))
    if read and mine and mine.device:
        notes.append(f"{read.device / mine.device:.2f} of read")
    if (entries.get(subject) or {}).get("repeatable") is False:
        notes.append("bits vary")
    fallbacks = ((entries.get(subject) or {}).get("compiled") or {}).get("fallbacks")
    if fallbacks:
        notes.append(f"{fallbacks} fallbacks")
    if mine and mine.kernels is not None:
        notes.append("profiler")
    return ", ".join(notes)


# Workloads from outside


def wild_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows: device time in microseconds, wall time in brackets; the ratios are of device times."""
    return _graph_rows(
        records, backends, "us (wall)", lambda entry, copy: _wall_cell(entry, 1.0, 1), megabytes=False
    )


def wild_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table, the summary, and what failed."""
    parts = [grid(wild_rows(records, backends))] if records else []
    told = (*summary(records, backends), *loser_lines(records, backends))
    return "\n".join([*parts, *told, *failure_lines(records)])


# Models that launch Triton kernels of their own


def user_kernel_names(records: Sequence[Record]) -> list[str]:
    """What a run of the suite compared, the compiler last."""
    names = dict.fromkeys(name for record in records for name in record.get("backends", {}))
    return [name for name in names if name != "copy"]


def user_kernel_rows(records: Sequence[Record]) -> list[list[str]]:
    """Header and rows: device times in microseconds, how many times as fast the compiler is as the others,
    and launches (with memory copies behind a +) in the order of the columns.
    """
    names = user_kernel_names(records)
    *others, subject = names
    header = ["case", "dtype", "MB", "copy us", *(f"{name} us" for name in names)]
    header += [f"vs {name}" for name in others] + ["launches", "note"]
    rows = [header]
    for record in records:
        entries = record.get("backends", {})
        if not entries:
            rows.append([record["key"], *("-" for _ in header[1:-1]), "failed"])
            continue
        copy = timing_of(entries.get("copy"))
        cells = [record["case"], SHORT.get(record["dtype"], record["dtype"]), f"{record['bytes'] / 1e6:.1f}"]
        cells.append(f"{copy.device:.1f}" if copy else "-")
        cells += [_kernel_cell(entries.get(name), copy) for name in names]
        cells += [_ratio_cell(verdict(entries.get(subject), entries.get(name))) for name in others]
        cells.append(" ".join(_launches(entries.get(name)) for name in names))
        rows.append([*cells, _kernel_note(record, subject)])
    return rows


def user_kernel_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table, the summary, and what failed.  ``backends`` are not asked: the suite has its own."""
    timed = [record for record in records if record.get("backends")]
    if not timed:
        return "\n".join(failure_lines(records))
    told = summary(records, user_kernel_names(timed))
    return "\n".join([grid(user_kernel_rows(records)), *told, *failure_lines(records)])


def _launches(entry: Mapping[str, Any] | None) -> str:
    if not entry or "launches" not in entry:
        return "-"
    copies = entry["copies"]
    return f"{entry['launches']}+{copies}" if copies else f"{entry['launches']}"


# Models


def model_line(record: Record) -> str:
    """Progress of one model."""
    return _timed_line(record, "ms", 1e-3)


def model_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows: device time and wall time of a step in milliseconds."""
    *others, subject = backends
    header = ["case", "mode", "dtype", "batch", *(f"{name} ms (wall)" for name in backends)]
    header += [f"vs {name}" for name in others] + ["note"]
    rows = [header]
    for record in records:
        entries = record.get("backends", {})
        if not entries:
            reason = record.get("unavailable") or "failed"
            rows.append([record["key"], *("-" for _ in header[1:-1]), reason[:60]])
            continue
        dtype = SHORT.get(record["dtype"], record["dtype"])
        cells = [record["case"], record["mode"], dtype, str(record["batch"])]
        cells += [_wall_cell(entries.get(name), 1e-3, 2) for name in backends]
        cells += [_ratio_cell(verdict(entries.get(subject), entries.get(name))) for name in others]
        rows.append([*cells, ", ".join(record.get("throttled", ()))])
    return rows


def model_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table, the summary, and what failed."""
    parts = [grid(model_rows(records, backends))] if records else []
    return "\n".join([*parts, *summary(records, backends), *failure_lines(records)])


# Accuracy


def accuracy_line(record: Record) -> str:
    """The report's own line."""
    if "unavailable" in record:
        return f"SKIP   {record['key']}: {record['unavailable']}"
    return record.get("text") or f"ERROR  {record['key']}: {' '.join(record['failures'])[:200]}"


def accuracy_rows(records: Sequence[Record]) -> list[list[str]]:
    """Header and one row for each case and backend; columns are the kinds of run."""
    kinds = list(dict.fromkeys(record["key"].split("/", 2)[2] for record in records))
    table: dict[tuple[str, str], dict[str, str]] = {}
    for record in records:
        backend, case, kind = record["key"].split("/", 2)
        table.setdefault((case, backend), {})[kind] = accuracy_cell(record)
    rows = [["case", "backend", *kinds]]
    for (case, backend), cells in table.items():
        rows.append([case, backend, *(cells.get(kind, "") for kind in kinds)])
    return rows


def accuracy_cell(record: Record) -> str:
    """ "ok", "FAIL", "ERROR" (an exception) or "n/a" (a missing library)."""
    if "unavailable" in record:
        return "n/a"
    if not record.get("failures"):
        return "ok"
    return "FAIL" if "report" in record else "ERROR"


def accuracy_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The grid, how many passed, and what failed."""
    counts = Counter(accuracy_cell(record) for record in records)
    tally = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
    parts = [grid(accuracy_rows(records))] if records else []
    result = f"accuracy of {', '.join(backends)}: {tally or 'nothing was run'}"
    return "\n".join([*parts, *failure_lines(records), result])


# Launches


def launch_line(record: Record) -> str:
    """Progress of one block and mode."""
    cells = ", ".join(f"{name} {launch_cell(entry)}" for name, entry in record.get("backends", {}).items())
    return f"{record['key']}: {cells}{_failed(record)}"


def launch_cell(entry: Mapping[str, Any] | None) -> str:
    """ "generated + library calls -> kernels that ran"."""
    if not entry or "error" in entry:
        return flag(entry)
    compiled = entry["compiled"]
    parts = [_count(compiled["generated"])]
    if compiled["externs"] is not None:
        parts.append(f"+{compiled['externs']}")
    return f"{''.join(parts)} -> {_count(entry['kernels'])}"


def launch_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows of `launch_cell`s."""
    rows = [["case", "mode", *backends]]
    for record in records:
        entries = record.get("backends", {})
        case, _, mode = record["key"].partition("/")
        rows.append([case, mode, *(launch_cell(entries.get(name)) for name in backends)])
    return rows


def launch_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table and what failed."""
    title = "generated kernels (+ library calls, where known) -> kernels of one call (on the CPU: ATen calls)"
    parts = [title, grid(launch_rows(records, backends))] if records else []
    return "\n".join([*parts, *failure_lines(records)])


def host_line(record: Record) -> str:
    """Progress of one case."""
    cells = ", ".join(f"{name} {host_cell(entry)}" for name, entry in record.get("backends", {}).items())
    return f"{record['key']}: {cells}{_failed(record)}"


def host_cell(entry: Mapping[str, Any] | None) -> str:
    """Microseconds that a call takes to be issued."""
    if not entry or "microseconds" not in entry:
        return flag(entry) or "-"
    return f"{entry['microseconds']['p50']:.1f}"


def host_rows(records: Sequence[Record], backends: Sequence[str]) -> list[list[str]]:
    """Header and rows; the last columns are a call whose graph does nothing, and one launch of the driver."""
    rows = [["case", *backends, "dynamo alone", "one driver launch"]]
    for record in records:
        entries = record.get("backends", {})
        rows.append(
            [record["key"], *(host_cell(entries.get(name)) for name in (*backends, "dynamo", "driver"))]
        )
    return rows


def host_table(records: Sequence[Record], backends: tuple[str, ...]) -> str:
    """The table and what failed."""
    title = "microseconds to issue one call (median of bursts)"
    parts = [title, grid(host_rows(records, backends), left=1)] if records else []
    return "\n".join([*parts, *failure_lines(records)])


# Cells


def _timed_line(record: Record, unit: str, factor: float) -> str:
    cells = []
    for name, entry in record.get("backends", {}).items():
        timing = timing_of(entry)
        time = f" {timing.device * factor:.2f}" if timing else ""
        cells.append(f"{name}{time}{' ' + flag(entry) if flag(entry) else ''}")
    reason = f" {record['unavailable']}" if "unavailable" in record else ""
    return f"{record['key']}: {', '.join(cells)} {unit}{reason}{_failed(record)}"


def _failed(record: Record) -> str:
    if not record.get("failures"):
        return ""
    return " FAIL " + " ".join(record["failures"][0].split())[:160]


def _wall_cell(entry: Mapping[str, Any] | None, factor: float, digits: int) -> str:
    """Device time, and wall time in brackets."""
    timing = timing_of(entry)
    if timing is None:
        return flag(entry) or "-"
    device, wall = (f"{time * factor:.{digits}f}" for time in (timing.device, timing.wall))
    return f"{device} ({wall}){'!' if flag(entry) else ''}"


def _ratio_cell(found: tuple[float, str] | None) -> str:
    if found is None:
        return "-"
    ratio, word = found
    return f"{ratio:.2f}{'=' if word == 'same' else ''}"


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)
