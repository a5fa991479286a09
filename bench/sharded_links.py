"""Times of single collectives, beside what `compiler/cost/transfers.py` says of them."""

import time
from collections.abc import Callable
from itertools import product
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

#: Bytes that a process has of a tensor, and how many tensors one call takes.
BYTES = (4 << 10, 1 << 20, 4 << 20, 11 << 20, 44 << 20)
TENSORS = (1, 4)
#: Calls that follow each other, and how often that is repeated.
CALLS, TURNS = 20, 5

ops = torch.ops._c10d_functional


def links(device: torch.device) -> list[dict[str, Any]]:
    """For each collective, in microseconds: `us` of the device, where calls follow each other; `start_us` and
    `wait_us` of the host. `bytes`: of the parts that all processes have, together.
    """
    group, size = dist.group.WORLD.group_name, dist.get_world_size()

    def gather(parts: list[Tensor]) -> list[Tensor]:
        if len(parts) == 1:
            return [ops.all_gather_into_tensor(parts[0], size, group)]
        return ops.all_gather_into_tensor_coalesced(parts, size, group)

    def scatter(wholes: list[Tensor]) -> list[Tensor]:
        if len(wholes) == 1:
            return [ops.reduce_scatter_tensor(wholes[0], "sum", size, group)]
        return ops.reduce_scatter_tensor_coalesced(wholes, "sum", size, group)

    found = []
    kinds: dict[str, Callable[[list[Tensor]], list[Tensor]]] = {
        "all-gather": gather,
        "reduce-scatter": scatter,
    }
    for name, count, part in product(kinds, TENSORS, BYTES if device.type == "cuda" else BYTES[:1]):
        elements = part // 2 * (size if name == "reduce-scatter" else 1)
        given = [torch.ones(elements, dtype=torch.bfloat16, device=device) for _ in range(count)]
        entry = {"pattern": name, "tensors": count, "bytes": part * size * count, "ranks": size}
        found.append(entry | _timed(kinds[name], given, device))
    return found


def _timed(
    call: Callable[[list[Tensor]], list[Tensor]], given: list[Tensor], device: torch.device
) -> dict[str, float]:
    cuda = device.type == "cuda"
    us: list[float] = []
    start_us: list[float] = []
    wait_us: list[float] = []
    for _ in range(TURNS):
        dist.barrier()
        if cuda:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            first.record()
        starts = waits = 0.0
        for _ in range(CALLS):
            began = time.perf_counter()
            made = call(given)
            started = time.perf_counter()
            for tensor in made:
                ops.wait_tensor(tensor)
            waits += time.perf_counter() - started
            starts += started - began
        if cuda:
            last.record()
            torch.cuda.synchronize()
            us.append(first.elapsed_time(last) * 1e3 / CALLS)
        start_us.append(starts * 1e6 / CALLS)
        wait_us.append(waits * 1e6 / CALLS)
    times = {"start_us": median(start_us[1:]), "wait_us": median(wait_us[1:])}
    return times | ({"us": median(us[1:])} if cuda else {})
