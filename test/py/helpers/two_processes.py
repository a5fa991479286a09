"""What each of two processes runs for ``test_two_processes.py``: collectives in graphs, and models that are
split over processes, compiled and by eager.
"""

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from compiling import assert_no_worse
from made_up_gpu import made_up_gpu
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import fuse_mlir
from fuse_mlir.bench.models.case import named_tensors
from fuse_mlir.compiler.driver.program import CompiledGraph
from fuse_mlir.compiler.runtime.checks.schedule_check import SchedulesDiffer

SIZE = 2


def start(rank: int, store: str, device_type: str) -> None:
    """Runs all of it as process ``rank`` of two that meet in the file ``store``."""
    device = torch.device(device_type, rank if device_type == "cuda" else 0)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=dist.FileStore(store, SIZE), rank=rank, world_size=SIZE)
    try:
        functional_collectives(device)
        buckets(device)
        if device.type == "cpu":
            joined_waits(device)
        compared_schedules(device)
        one_from_the_cache(device, Path(store).parent / f"cache-{rank}")
        other_hints(device)
        training(device)
        if device.type == "cpu":
            a_process_that_is_gone(device)
    finally:
        dist.destroy_process_group()


def functional_collectives(device: torch.device) -> None:
    """Collectives between kernels, products and reductions; results that are kept and used again."""
    group = dist.group.WORLD

    def mixed(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        total = collectives.all_reduce(x.relu() * 2, "sum", group)
        beside = (y * 3 + 1) @ y
        whole = collectives.all_gather_tensor(beside.sin() + total, 0, group)
        part = collectives.reduce_scatter_tensor(whole * 2, "sum", 0, group)
        swapped = collectives.all_to_all_single(part - part.amax(), None, None, group)
        return total, (total * 3).sum(), whole.cos() + 1, part, swapped.exp() @ y

    generator = torch.Generator().manual_seed(dist.get_rank())
    x, y = (torch.randn(64, 64, generator=generator).to(device) for _ in range(2))
    with torch.no_grad():
        reference, eager = mixed(x.double(), y.double()), mixed(x, y)
        graphs: list[CompiledGraph] = []
        options = {"on_compiled": graphs.append}
        found = torch.compile(mixed, backend=fuse_mlir.backend, fullgraph=True, options=options)(x, y)
    assert_no_worse(*map(named_tensors, (reference, eager, found)))
    decided = [r for graph in graphs for r in graph.remarks.items if r.pass_name == "overlap-collectives"]
    assert [r.rule for r in decided] == ["overlapped"], "the product runs beside a collective"
    schedules: list[Any] = [None] * SIZE
    dist.all_gather_object(schedules, [launch.name for graph in graphs for launch in graph.launches])
    assert schedules.count(schedules[0]) == SIZE, "processes run other orders"


def buckets(device: torch.device) -> None:
    """Collectives that start as one call, all-gathers and reduce-scatters in turns, and all-reduces."""
    group = dist.group.WORLD

    def mixed(x: Tensor, wide: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        whole, x = [], x @ wide @ wide.T  # room above what buckets hold
        for w in weights:
            whole.append(collectives.all_gather_tensor(w * 2, 0, group))
            x = (x @ whole[-1]).sin()
        parts = [collectives.reduce_scatter_tensor(x @ w.T, "sum", 0, group) for w in whole]
        sums = [collectives.all_reduce(p.amax(n), "avg", group) for n, p in enumerate(parts)]
        return *(p + 1 for p in parts), *sums

    generator = torch.Generator().manual_seed(dist.get_rank())
    x = torch.randn(64, 64, generator=generator).to(device)
    shapes = ((64, 4096), (64 // SIZE, 64), (64 // SIZE, 64))
    weights = [torch.randn(shape, generator=generator).to(device) / 64 for shape in shapes]
    graphs: list[CompiledGraph] = []
    options = {"on_compiled": graphs.append, "collectives": "bucket"}
    with torch.no_grad():
        reference = mixed(x.double(), *(w.double() for w in weights))
        eager = mixed(x, *weights)
        found = torch.compile(mixed, backend=fuse_mlir.backend, fullgraph=True, options=options)(x, *weights)
    assert_no_worse(*map(named_tensors, (reference, eager, found)))
    bucketed = [r for graph in graphs for r in graph.remarks.items if r.rule == "bucketed"]
    assert len(bucketed) == 3, "two all-gathers, two reduce-scatters, two all-reduces"


def joined_waits(device: torch.device) -> None:
    """Waits for several tensors at once, and tensors that are received in place.  Memory is planned."""
    group, other = dist.group.WORLD, 1 - dist.get_rank()

    def summed(x: Tensor) -> Tensor:
        first, second = collectives.all_reduce_coalesced([x.sin(), x * 2], "sum", group)
        return (first + 1).cos() * second + x.exp()

    def exchanged(x: Tensor, into: Tensor) -> tuple[Tensor, Tensor]:
        given = [x * 2, into]
        sent, got = torch.ops._c10d_functional.batch_p2p_ops(
            ["isend", "irecv"], [other, other], [0, 0], given, group.group_name
        )
        torch.ops._c10d_functional.wait_tensor(sent)
        got = torch.ops._c10d_functional.wait_tensor(got)
        return (got + 1).sin() * x.exp(), got * 3

    x = torch.arange(256.0, device=device) / 256 + dist.get_rank()
    options = {"interpret_level": "planned"}
    with torch.no_grad():
        received = [(exchanged, (torch.zeros_like(x),))]
        if not hasattr(torch.ops._c10d_functional, "batch_p2p_ops"):  # before torch 2.12
            received.clear()
        for run, given in ((summed, ()), *received):
            mine, theirs = [g.clone() for g in given], [g.clone() for g in given]
            expected = run(x, *mine)
            compiled = torch.compile(run, backend=fuse_mlir.backend, fullgraph=True, options=options)
            torch.testing.assert_close(compiled(x, *theirs), expected)
            assert all(map(torch.equal, mine, theirs)), "what is received is written in place"


def compared_schedules(device: torch.device) -> None:
    """Processes that come at different times agree; of others, both say what differs before they wait."""
    group, rank = dist.group.WORLD, dist.get_rank()

    def reduced(x: Tensor) -> Tensor:
        return collectives.all_reduce(x * 2, "sum", group) + 1

    def gathered(x: Tensor) -> Tensor:
        return collectives.all_gather_tensor(x * 2, 0, group) + 1

    def checked(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        options = {"check_schedules": 60.0}
        return torch.compile(function, backend=fuse_mlir.backend, fullgraph=True, options=options)

    x = torch.ones(8, device=device)
    with torch.no_grad():
        call = checked(reduced)
        time.sleep(0.3 * (1 - rank))
        assert all(torch.equal(call(x), 2.0 * SIZE * x + 1) for _ in range(2))
        torch._dynamo.reset()
        here, there = "all_reduce of 32 bytes", "all_gather_into_tensor of 64 bytes"
        mine, theirs = (there, here) if rank else (here, there)
        lines = [r".* among 2 processes \(.*two_processes.py:\d+\)"] * 2
        told = f"collective 0 is {mine}{lines[0]} here and {theirs}{lines[1]} there"
        with pytest.raises(SchedulesDiffer, match=told) as raised:
            checked(gathered if rank else reduced)(x)
        assert raised.value.rank == 1 - rank


def one_from_the_cache(device: torch.device, folder: Path) -> None:
    """One process finds the program in its cache, the other compiles it: they start the same collectives."""
    group, found = dist.group.WORLD, []

    def gathered(x: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        for w in weights:
            x = x @ collectives.all_gather_tensor(w, 0, group)
        return x, collectives.all_reduce(x, "max", group)

    generator = torch.Generator().manual_seed(dist.get_rank())
    x, *weights = (torch.randn(s, 64, generator=generator).to(device) / 8 for s in (64, 32, 32))
    reference = gathered(x.double(), *(w.double() for w in weights))
    for run in range(2):
        cache = folder if run == 0 or dist.get_rank() == 0 else folder / "empty"
        graphs: list[CompiledGraph] = []
        options = {"on_compiled": graphs.append, "cache_dir": str(cache), "check_schedules": 60.0}
        torch._dynamo.reset()
        with torch.no_grad(), made_up_gpu() if device.type == "cpu" else contextlib.nullcontext():
            call = torch.compile(
                gathered,
                backend=fuse_mlir.backend,
                fullgraph=True,
                options={**options, "collectives": "bucket"},
            )
            for mine, wide in zip(call(x, *weights), reference, strict=True):
                torch.testing.assert_close(mine.double(), wide, rtol=1e-4, atol=1e-4)
        found += [graph.cached for graph in graphs]
    assert found == [False, dist.get_rank() == 0]


def other_hints(device: torch.device) -> None:
    """Processes whose symbolic sizes have other hints: nothing is decided by them that others wait for."""
    group, rank = dist.group.WORLD, dist.get_rank()

    def statistics(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        mean = collectives.all_reduce(x.sum(0), "sum", group)
        square = collectives.all_reduce((x * x).sum(0), "sum", group)
        return (x - mean) @ collectives.all_gather_tensor(w, 0, group), square

    generator = torch.Generator().manual_seed(rank)
    x, w = (torch.randn(s, 64, generator=generator).to(device) for s in (16 if rank else 4096, 32))
    torch._dynamo.mark_dynamic(x, 0)
    graphs: list[CompiledGraph] = []
    options = {"on_compiled": graphs.append, "collectives": "bucket", "check_schedules": 60.0}
    with torch.no_grad():
        reference, eager = statistics(x.double(), w.double()), statistics(x, w)
        found = torch.compile(statistics, backend=fuse_mlir.backend, fullgraph=True, options=options)(x, w)
    assert_no_worse(*map(named_tensors, (reference, eager, found)))
    (graph,) = graphs
    rules = {r.pass_name: r.rule for r in graph.remarks.items if "collectives" in r.pass_name}
    assert rules == dict.fromkeys(("bucket-collectives", "overlap-collectives"), "symbolic-sizes")


def a_process_that_is_gone(device: torch.device) -> None:
    """What is left says so, and does not wait for ever."""

    def reduced(x: Tensor) -> Tensor:
        return collectives.all_reduce(x * 2, "sum", dist.group.WORLD) + 1

    compiled, x = (
        torch.compile(reduced, backend=fuse_mlir.backend, fullgraph=True),
        torch.ones(8, device=device),
    )
    with torch.no_grad():
        assert torch.equal(compiled(x), 2.0 * SIZE * x + 1)
        dist.barrier()
        if dist.get_rank():
            os._exit(0)
        with pytest.raises(RuntimeError, match=r"[Cc]onnection|closed|reset|gloo"):
            while True:  # the other one may answer as long as it has not ended
                compiled(x)
        torch._dynamo.reset()
        options = {"check_schedules": 0.2}
        with pytest.raises(SchedulesDiffer, match=r"rank 1 has not come to graph \d+ .* within 0.2 s"):
            torch.compile(reduced, backend=fuse_mlir.backend, fullgraph=True, options=options)(x)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def in_buckets(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Several buckets of gradients, so that dynamo cuts the graph where they end."""
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1024  # type: ignore[attr-defined]
    return DistributedDataParallel(model, bucket_cap_mb=0.01)


def in_shards(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    for block in model.children():
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def in_columns(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    for block in model.children():
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def training(device: torch.device) -> None:
    """Losses and parameters of three steps, data parallel, fully sharded and tensor parallel."""
    mesh = init_device_mesh(device.type, (SIZE,))
    for split in (in_buckets, in_shards, in_columns):
        shared_data = split is in_columns  # all processes work on the same rows
        run = partial(_trained, split, mesh, device, shared_data)
        reference, eager = run(torch.float64), run(torch.float32)
        assert_no_worse(reference, eager, run(torch.float32, compiled=True))


def _trained(
    split: Callable[[nn.Module, DeviceMesh], nn.Module],
    mesh: DeviceMesh,
    device: torch.device,
    shared_data: bool,
    dtype: torch.dtype,
    compiled: bool = False,
) -> dict[str, Tensor]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model: Any = split(nn.Sequential(Block(), Block()).to(device, dtype), mesh)
    call = torch.compile(model, backend=fuse_mlir.backend) if compiled else model
    # one tensor at a time: in parallel over columns some parameters are split and some are not
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    generator = torch.Generator().manual_seed(0 if shared_data else dist.get_rank())
    losses = []
    for _ in range(3):
        x = torch.randn(16, 32, generator=generator).to(device, dtype)
        loss = call(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    whole = {n: p.full_tensor() if isinstance(p, DTensor) else p for n, p in model.named_parameters()}
    found = {f"parameter:{split.__name__}.{name}": p.detach() for name, p in whole.items()}
    return found | {f"output:{split.__name__}": torch.stack(losses)}
