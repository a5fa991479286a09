"""The data of the page of ``options={"report": ..}``: what a graph became, as JSON has it.

``VERSION`` is written into the page and grows when a name below changes its meaning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...base.launch import Launch, line_text
from ...base.remarks import Remark, Remarks, remark_lines
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...ir.nesting import modules_in
from ...ir.storage import functions_of
from ...mlir import ir
from ..schedule import Schedule, schedule_of

VERSION = 3


def graph_data(
    name: str,
    module: ir.Module,
    remarks: Remarks,
    timing: Mapping[str, Any],
    hardware: Hardware,
    *,
    cached: bool = False,
    source: str = "",
    kernels: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """One graph.  name: "inference", "forward" or "backward", or a file.  module: at any level.  timing: as
    ``Timing.tree``.  source: the plan's Python.  kernels: of each compiled kernel, by name, warps, bytes of
    shared memory and of stack a thread, and its PTX.  Times are microseconds by estimate on ``hardware``.
    """
    # a graph that torch runs as a whole has an empty module
    schedule = schedule_of(module) if "main" in functions_of(module) else Schedule([], [])
    return {
        "name": name,
        "hardware": hardware.name,
        "cached": cached,
        "launches": [_launch(number, schedule, hardware) for number in range(len(schedule.rows))],
        "buffers": [
            {"name": b.name, "kind": b.kind, "bytes": b.bytes, "first": b.first, "last": b.last}
            for b in schedule.buffers
        ],
        "missed": [_missed(remark) for remark in remarks.worst().items],
        "remarks": [_remark(remark) for remark in remarks.items],
        "timing": timing,
        "functions": dict(_functions(module, "")),
        "source": source,
        "kernels": {**kernels},
    }


def _launch(number: int, schedule: Schedule, hardware: Hardware) -> dict[str, Any]:
    row = schedule.rows[number]
    launch, numbers = row.launch, {id(b): n for n, b in enumerate(schedule.buffers)}
    return {
        "name": launch.name,
        "kind": launch.kind,
        "nodes": launch.nodes,
        "lines": [line_text(line) for line in launch.lines],
        "us": _microseconds(launch, hardware),
        "bytes": launch.estimate.bytes if launch.estimate else None,
        "held": schedule.held(number),
        "reads": [numbers[id(b)] for b in row.reads],
        "writes": [numbers[id(b)] for b in row.writes],
        "choices": [str(choice) for choice in launch.choices],
    }


def _microseconds(launch: Launch, hardware: Hardware) -> float | None:
    if launch.estimate is None:
        return None
    work = replace(launch.estimate, launches=1)  # what a missed fusion would save counts one, too
    return round(microseconds(work, hardware, hardware.rates.streaming.peak), 6)


def _remark(remark: Remark) -> dict[str, Any]:
    return {
        "kind": remark.kind,
        "pass": remark.pass_name,
        "rule": remark.rule,
        "ops": remark.ops,
        "text": Remarks([remark]).render("text"),
    }


def _missed(remark: Remark) -> dict[str, Any]:
    assert remark.loss is not None, "Remarks.worst() gives those that have one"
    return {
        "us": round(remark.loss.microseconds, 3),
        "bytes": remark.loss.bytes,
        "pass": remark.pass_name,
        "rule": remark.rule,
        "message": remark.message,
        "ops": remark.ops,
        "lines": remark_lines(remark),
    }


def _functions(module: ir.Module, prefix: str) -> Iterator[tuple[str, str]]:
    """The text of each function.  Its name begins with those of the sub-graphs that it is in, as that of a
    launch does.
    """
    for name, function in functions_of(module).items():
        yield prefix + name, str(function)
    for name, inner in modules_in(module).items():
        yield from _functions(inner, f"{prefix}{name}.")
