"""Models that launch Triton kernels of their own: each beside Inductor and beside the kernel fused by hand.

What is compared: Inductor, this compiler without and with fusion into users' kernels, and ``by-hand``, the
kernel with the ops of the model written into it, launched by Triton.  On the CPU there is no Inductor, as it
cannot launch Triton kernels there, and ``by-hand`` is run by this compiler's interpreter.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..backends import BACKENDS, Spec
from ..session import Task
from ..tables import kernel_line, user_kernel_table
from ..timing import Stopwatch
from .settings import Settings
from .side_by_side import Way, compare, tasks_of

line, table = kernel_line, user_kernel_table

BY_HAND = "by-hand"
COMPARED = {"cuda": ("inductor", "fuse-apart", BY_HAND, "fuse"), "cpu": ("fuse-apart", BY_HAND, "fuse")}


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each workload."""
    from ..user_kernels import WORKLOADS  # imports Triton, which no other suite needs

    return tasks_of(WORKLOADS.values(), run, settings)


def run(
    workload: Any, settings: Settings, watch: Callable[[], Stopwatch], stage: Callable[[str], None]
) -> dict[str, Any]:
    """Check and time all that is compared on one workload."""
    stage("build")
    built = workload.new(settings.device, small=settings.small, seed=settings.seed)
    ways = {name: _way(name, built, settings.device) for name in COMPARED[settings.device.type]}
    return compare(workload, built, ways, settings, watch, stage)


def _way(name: str, built: Any, device: torch.device) -> Way:
    if name != BY_HAND:
        return Way(BACKENDS[name], built.model)
    return Way(Spec(name, None) if device.type == "cuda" else BACKENDS["fuse-apart"], built.by_hand)
