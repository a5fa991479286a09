"""Models around custom ops that have templates: `WORKLOADS[name]`, the suite `templates`.  Needs helion.

Each has ops in front of the op's kernel and ops behind it.  The ops run kernels of Helion, and one runs the
kernel of `examples/norm_template.py`.
"""

from .workloads import ALL

WORKLOADS = {workload.name: workload for workload in ALL}
assert len(WORKLOADS) == len(ALL), "two workloads have one name"

__all__ = ["WORKLOADS"]
