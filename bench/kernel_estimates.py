"""Estimates of single kernels beside their times: `python -m fuse_mlir.bench.kernel_estimates --out FILE`.

Every workload of the suites `wild2` and `wild` is compiled for this GPU and profiled once, behind a flushed
L2 cache; the profiler's time of each generated kernel is written down beside what the compiler counts of it,
with its kind.  `bench/estimates.py` makes a table of the record.
"""

import argparse
import fcntl
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..compiler.backend import fuse
from ..compiler.mlir import ir
from .graph import Graph
from .host import describe_host
from .kernel_profile import profile_kernels
from .wild import WILD
from .wild2 import WILD2

GRAPHS = {**WILD2, **WILD}
#: Bytes that are written between two calls, so that nothing of the first is in the L2 cache.
FLUSHED = 256 * 2**20
#: What an op of tile code makes of a kernel, the first that it has.
_KINDS = {"tt.atomic_rmw": "adds at places", "tt.scan": "scans", "tt.dot": "multiplies"}
#: Ops of tile code that are one of the kinds ``reduces``.
_REDUCES = ("tt.reduce",)


def kind_of(kernel: ir.Operation) -> str:
    """The kind of a kernel of tile code: by what it does at places, or else by its reductions."""
    ops = list(_inside(kernel))
    names = {op.name for op in ops}
    for name, kind in _KINDS.items():
        if name in names:
            return kind
    looks = any(op.name == "tt.load" and _depends_on_a_load(op) for op in ops)
    if looks:
        return "looks rows up"
    return "reduces" if names.intersection(_REDUCES) else "pointwise"


def _inside(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _inside(inner.operation)


def _depends_on_a_load(load: ir.Operation) -> bool:
    """Whether the address of a load is computed from what another load gives."""
    waiting, seen = [load.operands[0]], set[ir.Operation]()
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, ir.Block) or owner in seen:
            continue
        seen.add(owner)
        if owner.operation.name == "tt.load":
            return True
        waiting += owner.operation.operands
    return False


def kernels(name: str, lock: str, device: torch.device) -> list[dict[str, Any]]:
    """A record for each generated kernel of a workload that was launched, of those that nothing else launches
    under its name.  ``lock``: a file that one process at a time has while it profiles.
    """
    graph: Graph = GRAPHS[name]
    torch._dynamo.reset()
    graphs: list[Any] = []
    built = graph.new(graph.dtypes[0], device)
    step = graph.step(torch.compile(built.fn, backend=fuse, options={"on_compiled": graphs.append}))
    context = torch.enable_grad() if graph.trains else torch.no_grad()
    with context:
        step(*built.args)
        step(*built.args)
        flushed = torch.empty(FLUSHED, dtype=torch.uint8, device=device)
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            profiles = []
            for _ in range(3):
                flushed.zero_()
                profiles.append(profile_kernels(partial(step, *built.args), torch.cuda.synchronize))
    found = []
    for compiled in graphs:
        functions = {
            str(op.attributes["sym_name"]).strip('"'): op.operation
            for op in compiled.module.body.operations
            if "sym_name" in op.attributes
        }
        for launch in compiled.launches:
            if launch.kind != "kernel" or launch.estimate is None:
                continue
            own = next((functions[n] for n in (f"{launch.name}_tt", launch.name) if n in functions), None)
            names = (launch.name, f"{launch.name}_tt")
            times = sorted(p.times[n] / p.names[n] for p in profiles for n in names if n in p.names)
            if own is None or not times:
                continue
            work = launch.estimate
            found.append(
                {
                    "case": name, "graph": compiled.name, "kernel": launch.name, "kind": kind_of(own),
                    "read": work.read, "written": work.written, "slots": work.slots, "flops": work.flops,
                    "microseconds": round(times[len(times) // 2], 2),
                }
            )  # fmt: skip
    return found


def _task(lock: str, name: str) -> list[dict[str, Any]]:
    try:
        return kernels(name, lock, torch.device("cuda:0"))
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
        return []


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="parts of names, with commas between them")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=600, help="what is not there by then is left out")
    parser.add_argument("--commit", default=None)
    asked = parser.parse_args(arguments)
    names = [n for n in GRAPHS if any(part in n for part in asked.only.split(","))]
    end = time.monotonic() + asked.seconds
    record = {**describe_host(torch.device("cuda:0")), "kernels": []}
    record["commit"] = asked.commit or record["commit"]
    with tempfile.NamedTemporaryFile() as lock, multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        waiting = pool.imap_unordered(partial(_task, lock.name), names)
        for _ in names:
            try:
                record["kernels"] += waiting.next(max(0.1, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                break
            asked.out.write_text(json.dumps(record, indent=1))
        pool.terminate()
    print(f"{len(record['kernels'])} kernels of {len({k['case'] for k in record['kernels']})} workloads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
