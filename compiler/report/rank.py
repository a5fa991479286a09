"""The number of this process in a job of several."""

import os

import torch


def rank_in_job() -> int | None:
    """The number of this process among those of a job; None where it is alone."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() if distributed.get_world_size() > 1 else None
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return int(rank) if rank.isdecimal() and size.isdecimal() and int(size) > 1 else None
