"""The data of the page of ``options={"report": ..}``: what a graph became, as JSON has it.

``VERSION`` is written into the page and grows when a name below changes its meaning.
"""

import linecache
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...base.launch import Launch, Line, line_text
from ...base.remarks import Remark, Remarks, remark_lines
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...ir.kernel import strings
from ...ir.nesting import modules_in
from ...ir.storage import functions_of
from ...ir.tile import Tile
from ...mlir import ir
from ..schedule import Schedule, schedule_of
from .levels import function_texts

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
    levels: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """One graph.  name: "inference", "forward" or "backward", or a file.  module: at any level.  timing: as
    ``Timing.tree``.  source: the plan's Python.  kernels: as ``kernel_facts``.  levels: as ``LevelTexts`` has
    them.  Times are microseconds by estimate on ``hardware``.
    """
    # a graph that torch runs as a whole has an empty module
    schedule = schedule_of(module) if "main" in functions_of(module) else Schedule([], [])
    functions = _functions(module, "")
    return {
        "name": name,
        "hardware": hardware.name,
        "cached": cached,
        "launches": [_launch(number, schedule, hardware, functions) for number in range(len(schedule.rows))],
        "buffers": [
            {"name": b.name, "kind": b.kind, "bytes": b.bytes, "first": b.first, "last": b.last}
            for b in schedule.buffers
        ],
        "missed": [_missed(remark) for remark in remarks.worst().items],
        "remarks": [_remark(remark) for remark in remarks.items],
        "timing": timing,
        "functions": function_texts(module),
        "levels": {**levels} or {"result": function_texts(module, locations=True)},
        "sources": _sources(line for row in schedule.rows for line in row.launch.lines),
        "source": source,
        "kernels": {**kernels},
    }


def _functions(module: ir.Module, prefix: str) -> dict[str, ir.Operation]:
    """All functions, those of sub-graphs, too, by the names that launches have."""
    found = {prefix + name: function for name, function in functions_of(module).items()}
    for name, inner in modules_in(module).items():
        found |= _functions(inner, f"{prefix}{name}.")
    return found


def _launch(
    number: int, schedule: Schedule, hardware: Hardware, functions: Mapping[str, ir.Operation]
) -> dict[str, Any]:
    row = schedule.rows[number]
    launch, numbers = row.launch, {id(b): n for n, b in enumerate(schedule.buffers)}
    return {
        "name": launch.name,
        "kind": launch.kind,
        "nodes": launch.nodes,
        "lines": [line_text(line) for line in launch.lines],
        "us": _microseconds(launch, hardware),
        "tile": _tile(functions.get(launch.name)),
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


def _tile(function: ir.Operation | None) -> str:
    """How a kernel is tiled; "" above the level of tiles."""
    if function is None or "fuse.tile" not in function.attributes:
        return ""
    tile = Tile.of(function.attributes["fuse.tile"])
    axes = [f"{axis.block} of {'*'.join(axis.dims) or 'one'} ({axis.kind})" for axis in tile.axes]
    grid = strings(function.attributes["fuse.grid"]) if "fuse.grid" in function.attributes else ()
    programs = f"; grid {' x '.join(grid)}" if grid else ""
    return f"{', '.join(axes)}; warps {tile.num_warps}, stages {tile.num_stages}{programs}"


def _sources(lines: Iterable[Line]) -> dict[str, str]:
    """The text of each file of the program that can be read."""
    files = {file for file, line in lines if line}
    known = [file for file in sorted(files) if file in linecache.cache or os.path.isfile(file)]
    texts = {file: "".join(linecache.getlines(file)) for file in known}
    return {file: text for file, text in texts.items() if text}
