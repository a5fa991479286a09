"""What each of several processes runs that come to their collectives at different times."""

import time

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import Tensor

import fuse_mlir


def start(rank: int, store: str, size: int) -> None:
    """Compiles and runs a graph as process ``rank`` of ``size`` that meet in the file ``store``: collectives
    in buckets beside products.  Each process comes later than the one before it.
    """
    dist.init_process_group("gloo", store=dist.FileStore(store, size), rank=rank, world_size=size)
    group = dist.group.WORLD

    def mixed(x: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        for w in weights:
            x = (x @ collectives.all_gather_tensor(w * 2, 0, group)).sin()
        return x, collectives.all_reduce(x.amax(0), "max", group)

    generator = torch.Generator().manual_seed(rank)
    arguments = [torch.randn(64 * size, 16 * size, generator=generator)]
    arguments += [torch.randn(16, 16 * size, generator=generator) / 16 for _ in range(2)]
    options = {"collectives": "bucket", "check_schedules": 60.0}
    try:
        with torch.no_grad():
            reference = mixed(*(a.double() for a in arguments))
            compiled = torch.compile(mixed, backend=fuse_mlir.backend, fullgraph=True, options=options)
            for _ in range(2):
                time.sleep(0.1 * rank)
                found = compiled(*arguments)
                for mine, wide in zip(found, reference, strict=True):
                    torch.testing.assert_close(mine.double(), wide, rtol=1e-4, atol=1e-4)
    finally:
        dist.destroy_process_group()
