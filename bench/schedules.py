"""What a compiler schedules for a function: launches, and the bytes that each one moves, by one rule for all.

The rule is that of `compiler/analysis/cost/traffic.py`. An element of a storage counts once for a launch that
reads it, and once for one that writes it. All index maps of one storage together count at most as many
elements as it has. A read at loaded indices counts as a different element at each point. The compiler's own
launches carry this count. For Inductor, its scheduler's nodes are read after fusion, as they hold the index
maps. A node that computes nothing on the device (a view, an output of an op with several) is not a launch.
Inductor's own count, which takes the whole of each buffer that a fused node touches, is given beside it.
"""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.utils._sympy.symbol import SymT, symbol_is_type


@dataclass
class Schedule:
    """Launches of all graphs of one function. kernels: generated. externs: library ops. bytes: by the rule
    above. own_bytes: as the compiler itself counts them. names: (name, bytes) of each launch.
    """

    kernels: int = 0
    externs: int = 0
    bytes: int = 0
    own_bytes: int = 0
    names: list[tuple[str, int]] = field(default_factory=list)

    def add(self, name: str, generated: bool, moved: int, own: int) -> None:
        """Count one launch."""
        self.kernels += generated
        self.externs += not generated
        self.bytes += moved
        self.own_bytes += own
        self.names.append((name, moved))

    def add_compiled(self, compiled: Any) -> None:
        """Count one graph of this project's backend, as `on_compiled` hands it out."""
        for launch in compiled.launches:
            moved = launch.estimate.bytes if launch.estimate is not None else 0
            if launch.kind == "kernel" or moved:
                self.add(launch.name, launch.kind == "kernel", moved, moved)


@contextlib.contextmanager
def scheduled_by_inductor() -> Iterator[Schedule]:
    """Counts what Inductor schedules inside, with its caches off."""
    from torch._inductor import config
    from torch._inductor.scheduler import Scheduler

    schedule = Schedule()
    generate = Scheduler.codegen

    def counting(self: Any) -> Any:
        for node in self.nodes:
            _count_node(schedule, self, node)
        return generate(self)

    Scheduler.codegen = counting  # type: ignore[method-assign]
    try:
        with config.patch(force_disable_caches=True):
            yield schedule
    finally:
        Scheduler.codegen = generate  # type: ignore[method-assign]


def _count_node(schedule: Schedule, scheduler: Any, node: Any) -> None:
    from torch._inductor.ir import MultiOutput
    from torch._inductor.scheduler import ExternKernelSchedulerNode, NopKernelSchedulerNode

    extern = isinstance(node, ExternKernelSchedulerNode)
    if isinstance(node, NopKernelSchedulerNode) or (extern and isinstance(node.node, MultiOutput)):
        return
    own = int(node.get_read_write_buffers_sizes())
    if extern:
        kernel = getattr(node.node, "python_kernel_name", None)
        schedule.add(str(kernel or type(node.node).__name__), False, own, own)
        return
    origins = {o.name for part in node.get_nodes() if part.node is not None for o in part.node.origins}
    schedule.add(",".join(sorted(origins))[:200], True, _moved(scheduler, node), own)


def _moved(scheduler: Any, node: Any) -> int:
    """Bytes of a generated kernel."""
    parts = set(node.get_nodes())
    total = 0
    for written in (False, True):
        by_buffer: dict[str, list[Any]] = {}
        for dependence in node.read_writes.writes if written else node.read_writes.reads:
            by_buffer.setdefault(dependence.name, []).append(dependence)
        for name, dependences in by_buffer.items():
            made = scheduler.name_to_buf.get(name)
            inside = made is not None and made.defining_op in parts
            if inside and (not written or all(user.node in parts for user in made.users)):
                continue  # made in this node: reads of it stay in registers
            total += _bytes_of(name, dependences)
    return total


def _bytes_of(name: str, dependences: list[Any]) -> int:
    from torch._inductor.dependencies import MemoryDep
    from torch._inductor.virtualized import V

    buffer = V.graph.get_buffer(name) if name in V.graph.name_to_buffer else V.graph.graph_inputs.get(name)
    if buffer is None or not hasattr(buffer, "get_size"):
        return 0
    try:
        whole = math.prod(_number(s) for s in buffer.get_size())
    except NotImplementedError:  # an op that only mutates has no result
        return 0
    maps = {d.index if isinstance(d, MemoryDep) else None: d for d in dependences}
    elements = sum(_elements(d) if isinstance(d, MemoryDep) else whole for d in maps.values())
    return min(whole, elements) * buffer.get_dtype().itemsize


def _elements(dependence: Any) -> int:
    """Values of an index map, at most."""
    indirect = any(symbol_is_type(s, (SymT.TMP, SymT.INDIRECT)) for s in dependence.index.free_symbols)
    pairs = zip(dependence.var_names, dependence.size, strict=True)
    return math.prod(_number(n) for v, n in pairs if indirect or v in dependence.index.free_symbols)


def _number(size: Any) -> int:
    from torch._inductor.virtualized import V

    sizes = V.graph.sizevars
    hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint
    return int(size) if isinstance(size, int) else int(hint(size, fallback=1))
