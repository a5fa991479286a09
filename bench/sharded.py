"""Training over several processes of one host: `python -m fuse_mlir.bench.sharded --out sharded.json`.

Two cases (`sharded_models.py`): a Llama of 8 layers whose parameters are sharded (`fsdp`), and two layers
of tensor parallelism (`tensor`), in bfloat16. A step is a forward and a backward. Each way to run it is timed
in all processes at once; the record holds, of rank 0:

    {"case": "fsdp", "way": "fuse", "ms": .., "p10": .., "p90": .., "host_ms": .., "peak_mb": ..,
     "error": .., what `sharded_profile.py` measures}

`ms` is the median of the device time of a step, among steps that follow each other; `host_ms` what the host
takes to issue one. `error` is the distance of the gradients from those of float32, relative to their norm.
Besides, the record has the times of single collectives (`sharded_links.py`). `--small` tries the machinery on
the CPU, with gloo, and profiles nothing.
"""

import argparse
import contextlib
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn

from .sharded_links import links
from .sharded_models import SMALL, Sharded, Sizes, Split, Whole, drawn
from .sharded_profile import profiled

#: Steps that follow each other without waiting for the device.
STEPS = 4

#: Where Inductor reorders and buckets collectives.
REORDER = {"reorder_for_compute_comm_overlap": True}
BUCKET = {**REORDER, "bucket_all_gathers_fx": "all", "bucket_reduce_scatters_fx": "all"}
PLANNER = {
    "aten_distributed_optimizations.enable_overlap_scheduling": True,
    "aten_distributed_optimizations.collective_bucketing": True,
    "aten_distributed_optimizations.insert_overlap_deps": True,
}


@dataclass(frozen=True)
class Way:
    """How a case runs. backend: None is eager. options: of fuse. config: of Inductor. wrapped: by
    `fully_shard`.
    """

    backend: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    wrapped: bool = False


WAYS = {
    "eager": Way(),
    "fuse": Way("fuse"),
    "fuse-bucket": Way("fuse", {"collectives": "bucket"}),
    "fuse-keep": Way("fuse", {"collectives": "keep"}),
    "fully_shard": Way(wrapped=True),
    "inductor": Way("inductor"),
    "inductor-reorder": Way("inductor", config=REORDER),
    "inductor-bucket": Way("inductor", config=BUCKET),
    "inductor-planner": Way("inductor", config=PLANNER),
}
CASES: dict[str, tuple[type[nn.Module], Callable[[Sizes], Sizes]]] = {
    "fsdp": (Sharded, lambda sizes: sizes),
    "tensor": (Split, lambda sizes: replace(sizes, layers=2)),
}


def built(case: str, way: Way, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """The network of a case, compiled as the way says."""
    kind, of = CASES[case]
    weights = drawn(of(sizes), device, dtype)
    if way.wrapped:
        from torch.distributed.fsdp import fully_shard

        whole = Whole(of(sizes), weights)
        for block in whole.children():
            fully_shard(block)
        return fully_shard(whole)
    model = kind(of(sizes), weights)
    if way.backend is None:
        return model
    if way.backend == "fuse":
        from ..compiler.backend import fuse  # eager and Inductor run where this cannot be imported

        return torch.compile(model, backend=fuse, fullgraph=True, dynamic=False, options=dict(way.options))
    return torch.compile(model, backend=way.backend, fullgraph=True, dynamic=False)


def given(case: str, sizes: Sizes, device: torch.device, dtype: torch.dtype) -> Tensor:
    """What a process reads: rows of its own."""
    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    whole = (sizes.batch, sizes.length, sizes.width)
    rows = (sizes.length // dist.get_world_size(), sizes.width)
    return torch.randn(whole if case == "fsdp" else rows, generator=generator).to(device, dtype)


def loss_of(model: nn.Module, x: Tensor) -> Tensor:
    return model(x).float().square().mean() / dist.get_world_size()


def gradients(model: nn.Module) -> list[Tensor]:
    """Of what this process keeps of the parameters."""
    found = []
    for p in model.parameters():
        grad = p.grad
        assert grad is not None
        found.append(grad.to_local() if hasattr(grad, "to_local") else grad)
    return found


def distance(found: Sequence[Tensor], reference: Sequence[Tensor]) -> float:
    """Of two lists of tensors, relative to the norm of the second."""
    apart = sum(
        float((a.double() - b.double()).square().sum()) for a, b in zip(found, reference, strict=True)
    )
    return (apart / sum(float(b.double().square().sum()) for b in reference)) ** 0.5


def timed(step: Callable[[], object], device: torch.device, seconds: float) -> dict[str, float]:
    """The device time of steps, one after the other, and what the host takes to issue one, in milliseconds.
    Every process takes as many.
    """
    cuda = device.type == "cuda"
    times: list[float] = []
    issued: list[float] = []
    for turn in range(20 if cuda else 2):
        dist.barrier()
        if cuda:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            first.record()
        began = time.perf_counter()
        for _ in range(STEPS):
            step()
        issued.append((time.perf_counter() - began) * 1e3 / STEPS)
        if cuda:
            last.record()
            torch.cuda.synchronize()
            times.append(first.elapsed_time(last) / STEPS)
        else:
            times.append(issued[-1])
        stop = torch.tensor(float(turn > 5 and sum(times) * STEPS > seconds * 1e3), device=device)
        dist.broadcast(stop, 0)
        if stop.item():
            break
    tenths = quantiles(times, n=10)
    return {"ms": median(times), "p10": tenths[0], "p90": tenths[-1], "host_ms": median(issued)}


def measure(
    found: dict[str, Any],
    case: str,
    way: Way,
    sizes: Sizes,
    device: torch.device,
    reference: Sequence[Tensor],
    seconds: float,
) -> None:
    """One way to run a case; enters into `found` what it finds."""
    with contextlib.ExitStack() as stack:
        if way.config:
            from torch._inductor import config

            stack.enter_context(config.patch(dict(way.config)))
        torch._dynamo.reset()
        began = time.perf_counter()
        model = built(case, way, sizes, device, torch.bfloat16)
        x = given(case, sizes, device, torch.bfloat16)

        def step(between: Callable[[], None] = lambda: None) -> None:
            model.zero_grad(set_to_none=True)
            loss = loss_of(model, x)
            between()
            loss.backward()

        step()
        scale = dist.get_world_size() if way.wrapped else 1  # fully_shard averages
        found["first_seconds"] = time.perf_counter() - began
        found["error"] = distance([g * scale for g in gradients(model)], reference)
        step()
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        found |= timed(step, device, seconds)
        if device.type == "cuda":
            found["peak_mb"] = torch.cuda.max_memory_allocated() / 2**20
            found |= profiled(step)


def reference_of(case: str, sizes: Sizes, device: torch.device) -> list[Tensor]:
    """The gradients that float32 gives, from the same parameters and inputs as bfloat16 has."""
    kind, of = CASES[case]
    weights = [{n: w.float() for n, w in block.items()} for block in drawn(of(sizes), device, torch.bfloat16)]
    model = kind(of(sizes), weights)
    loss_of(model, given(case, sizes, device, torch.bfloat16).float()).backward()
    return gradients(model)


def process(rank: int, arguments: argparse.Namespace, store: str) -> None:
    """All that one process runs."""
    cuda = not arguments.small
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if cuda else "gloo", store=dist.FileStore(store, arguments.processes), rank=rank,
        world_size=arguments.processes, timeout=timedelta(seconds=120),
    )  # fmt: skip
    sizes, began = SMALL if arguments.small else Sizes(), time.perf_counter()
    record: dict[str, Any] = {
        "command": sys.argv[1:], "torch": torch.__version__, "processes": arguments.processes,
        "device": torch.cuda.get_device_name() if cuda else "cpu", "commit": arguments.commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "links": links(device), "cases": [],
    }  # fmt: skip
    for case in arguments.cases.split(","):
        reference = reference_of(case, sizes, device)
        for name in arguments.ways.split(","):
            way = WAYS[name]
            if way.wrapped and case != "fsdp":
                continue
            late = torch.tensor(float(time.perf_counter() - began > arguments.time_limit), device=device)
            dist.broadcast(late, 0)
            entry: dict[str, Any] = {"case": case, "way": name}
            if late.item():
                entry["skipped"] = "the time limit"
            else:
                try:
                    measure(entry, case, way, sizes, device, reference, arguments.seconds)
                except Exception as error:  # the others are worth having
                    entry["failed"] = f"{type(error).__name__}: {error}"[:2000]
            gc.collect()
            if cuda:
                torch.cuda.empty_cache()
            if rank == 0:
                record["cases"].append(entry)
                print(line(entry), flush=True)
                Path(arguments.out).write_text(json.dumps(record, indent=1) + "\n")
    dist.destroy_process_group()


def line(entry: Mapping[str, Any]) -> str:
    """An entry as one line of text."""
    told = [entry[key] for key in ("failed", "skipped") if key in entry]
    numbers = " ".join(f"{k}={v:.4g}" for k, v in entry.items() if isinstance(v, float))
    return f"{entry['case']:7} {entry['way']:18} {' '.join([numbers, *told])}"


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser("fuse_mlir.bench.sharded", description="Training over several processes.")
    found.add_argument("--out", default="sharded.json")
    found.add_argument("--processes", type=int, default=2)
    found.add_argument("--cases", default=",".join(CASES))
    found.add_argument("--ways", default=",".join(WAYS))
    found.add_argument("--seconds", type=float, default=2.0, help="of timing, for each way")
    found.add_argument("--time-limit", type=float, default=400.0, help="starts nothing after so many seconds")
    found.add_argument("--commit", default="", help="what is measured, for the record")
    found.add_argument("--small", action="store_true", help="tiny sizes, on the CPU")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status."""
    arguments = parser().parse_args(argv)
    os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    with tempfile.TemporaryDirectory() as folder:
        spawn(process, (arguments, str(Path(folder) / "store")), arguments.processes)
    failed = [e for e in json.loads(Path(arguments.out).read_text())["cases"] if "failed" in e]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
