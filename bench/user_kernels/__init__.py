"""Models that launch Triton kernels of their own: `WORKLOADS[name]`, the suite `user-kernels`.

Six have ops behind the kernel, two in front of it.  Sizes make those ops memory-bound: what the kernel
writes, or reads, is at least 64 MB.
"""

from .after import AFTER
from .before import BEFORE

WORKLOADS = {workload.name: workload for workload in (*AFTER, *BEFORE)}
assert len(WORKLOADS) == len(AFTER) + len(BEFORE), "two workloads have one name"

__all__ = ["WORKLOADS"]
