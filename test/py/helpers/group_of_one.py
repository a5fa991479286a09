"""A process group of this process alone, in which collectives copy: shared by tests, no test itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor


@contextmanager
def group_of_one(folder: Path) -> Iterator[str]:
    """The name of the group, which ends with the context; its store is a file in ``folder``."""
    dist.init_process_group("gloo", store=dist.FileStore(str(folder / "file"), 1), rank=0, world_size=1)
    try:
        yield dist.group.WORLD.group_name
    finally:
        dist.destroy_process_group()


def random(*sizes: int) -> Tensor:
    """The same float32 numbers from 0 to 1 for the same sizes."""
    return torch.rand(sizes, generator=torch.Generator().manual_seed(sum(sizes)))
