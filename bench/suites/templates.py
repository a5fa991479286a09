"""Custom ops with templates, between other ops: each beside Inductor, and without what the templates give.

What is compared: Inductor, which calls the op as it is; this compiler without fusion into the template's
kernel, and with it.  Where the op runs a Helion kernel, two ways more: Inductor and this compiler on the same
model with a plain call of the Helion kernel, which they see in the graph.  On the CPU nothing can launch the
kernels but this compiler's interpreter, so that Inductor is left out.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ..backends import BACKENDS
from ..session import Task
from ..tables import kernel_line, user_kernel_table
from ..timing import Stopwatch
from .settings import Settings
from .side_by_side import Way, compare, tasks_of

line, table = kernel_line, user_kernel_table

#: Name in the table -> the backend, and whether the Helion kernel is called directly.
COMPARED = {
    "inductor": ("inductor", False),
    "inductor-direct": ("inductor", True),
    "fuse-apart": ("fuse-apart", False),
    "fuse-direct": ("fuse", True),
    "fuse": ("fuse", False),
}


def tasks(settings: Settings) -> Iterator[Task]:
    """One task for each workload."""
    from ..templates import WORKLOADS  # imports Helion, which no other suite needs

    return tasks_of(WORKLOADS.values(), run, settings)


def run(
    workload: Any, settings: Settings, watch: Callable[[], Stopwatch], stage: Callable[[str], None]
) -> dict[str, Any]:
    """Check and time all that is compared on one workload."""
    stage("build")
    built = workload.new(settings.device, small=settings.small, seed=settings.seed)
    ways = {
        name: Way(BACKENDS[backend], built.direct if direct else built.model)
        for name, (backend, direct) in COMPARED.items()
        if not (direct and built.direct is None)
        and not (settings.device.type == "cpu" and backend == "inductor")
    }
    return compare(workload, built, ways, settings, watch, stage)
