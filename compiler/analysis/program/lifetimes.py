"""How many bytes are allocated while each operation of ``@main`` runs.

Storage that the module allocates lives from the operation that takes it, or first touches it, to the one that
last uses it.  Arguments belong to the caller and do not count.  Sizes are estimated by hints: a plan may be
chosen by these numbers, but must be right without them.
"""

from collections.abc import Iterable
from itertools import accumulate

from ...base.dataclass import dataclass
from ...ir.kernel import string
from ...ir.layout import TensorSpec
from ...ir.sizes import estimate, hints_of
from ...ir.storage import Storage
from ...mlir import func, ir


@dataclass(frozen=True)
class Lifetime:
    """A storage of ``bytes`` that is allocated at positions ``first`` to ``last``, both included."""

    first: int
    last: int
    bytes: int


class LiveBytes:
    """``at[n]``: bytes allocated while operation *n* of so many runs."""

    def __init__(self, positions: int, lifetimes: Iterable[Lifetime]) -> None:
        change = [0] * (positions + 1)
        for life in lifetimes:
            change[life.first] += life.bytes
            change[life.last + 1] -= life.bytes
        self.at = list(accumulate(change[:-1]))
        self.peak = max(self.at, default=0)

    def has_room(self, first: int, end: int, amount: int) -> bool:
        """Whether so many bytes more, from ``first`` up to but not at ``end``, leave the peak as it is."""
        return max(self.at[first:end], default=0) + amount <= self.peak or first >= end

    def hold(self, first: int, end: int, amount: int) -> None:
        """Keeps so many bytes more allocated from ``first`` up to but not at ``end``."""
        self.at[first:end] = [live + amount for live in self.at[first:end]]
        self.peak = max(self.peak, max(self.at[first:end], default=0))


def storage_bytes(value: ir.Value, hints: dict[str, int]) -> int:
    """Bytes of the storage that a root value owns."""
    spec = TensorSpec.of(value.type)
    if not all(estimate(size, hints) for size in spec.sizes):
        return 0
    return estimate(spec.storage_elements, hints) * spec.element_bytes


def planned_peak(module: ir.Module) -> int | None:
    """The most bytes that a planned module allocates at a time; None where that depends on sizes that only
    the program knows, or on other modules inside.
    """
    types = [v.type for op in _main(module).regions[0].blocks[0].operations for v in op.operation.results]
    specs = [TensorSpec.of(t) for t in types if isinstance(t, ir.RankedTensorType)]
    nested = any("fuse.graph" in f.attributes for f in module.body.operations)
    return None if nested or any(s.symbols for s in specs) else planned_bytes(module).peak


def _main(module: ir.Module) -> ir.Operation:
    (main,) = (
        op.operation
        for op in module.body.operations
        if isinstance(op, func.FuncOp) and string(op.attributes["sym_name"]) == "main"
    )
    return main


def planned_bytes(module: ir.Module) -> LiveBytes:
    """What a planned module has allocated: by its ``fuse.alloc``, ``fuse.reuse``, ``fuse.free``, and by the
    results of its torch ops.  What it never gives back lives to the end.
    """
    positions, owned = _planned(module)
    return LiveBytes(positions, [life for life, _ in owned])


@dataclass(frozen=True)
class Peak:
    """The operation of ``@main`` at which a planned module has most bytes allocated, and the storages that it
    then has, the largest first, each with its bytes.
    """

    bytes: int
    at: ir.Operation
    live: tuple[tuple[int, ir.Value], ...]


def has_memory_plan(module: ir.Module) -> bool:
    """Whether memory is planned, so that ``peak_of`` is what is allocated."""
    return not any("fuse.kernel" in f.attributes for f in module.body.operations)


def peak_of(module: ir.Module) -> Peak | None:
    """None where the module is not planned, or allocates nothing."""
    if not has_memory_plan(module):
        return None
    positions, owned = _planned(module)
    live = LiveBytes(positions, [life for life, _ in owned])
    if not live.peak:
        return None
    at = live.at.index(live.peak)
    found = [(life.bytes, root) for life, root in owned if life.first <= at <= life.last and life.bytes]
    found.sort(key=lambda pair: -pair[0])
    operations = list(_main(module).regions[0].blocks[0].operations)
    return Peak(live.peak, operations[at].operation, tuple(found))


def _planned(module: ir.Module) -> tuple[int, list[tuple[Lifetime, ir.Value]]]:
    """How many operations ``@main`` has, and each storage that it allocates."""
    main = _main(module)
    block = main.regions[0].blocks[0]
    hints, storage = hints_of(main), Storage(main, module)
    arguments = set(block.arguments)
    began: dict[ir.Value, int] = {}
    owned = []
    position = -1
    for position, op in enumerate(block.operations):
        op = op.operation
        if op.name in ("fuse.free", "fuse.reuse"):
            root = storage.root(op.operands[0])
            if root in began:  # what is taken over goes on under another name
                end = position if op.name == "fuse.free" else position - 1
                owned.append((Lifetime(began.pop(root), end, storage_bytes(root, hints)), root))
        for value in op.results:
            is_root = isinstance(value.type, ir.RankedTensorType) and storage.root(value) == value
            if is_root and op.name != "fuse.empty" and value not in arguments:
                began[value] = position
    owned += [(Lifetime(first, position, storage_bytes(r, hints)), r) for r, first in began.items()]
    return position + 1, owned
