"""Groups of kernels that a pass leaves to the next one, which need not read the module again.

Only a pass that changed nothing but ``fuse.group`` may leave them.  The pass manager opens the table for one
run of a pipeline; without it nothing is left, and every pass reads the module.  Not a pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..compiler.analysis.fusion_graph import GroupGraph
from ..compiler.mlir import ir


@dataclass
class _Table:
    """By module: what the pass before left, and what this one leaves."""

    before: dict[ir.Operation, GroupGraph] = field(default_factory=dict)
    left: dict[ir.Operation, GroupGraph] = field(default_factory=dict)

    def next_pass(self) -> None:
        self.before, self.left = self.left, {}


_table: ContextVar[_Table | None] = ContextVar("left groups", default=None)


@contextmanager
def groups_left() -> Iterator[Callable[[], None]]:
    """Inside, passes leave groups to the next; the function that this gives says that the next begins."""
    table = _Table()
    token = _table.set(table)
    try:
        yield table.next_pass
    finally:
        _table.reset(token)


def leave_groups(module: ir.Module, graph: GroupGraph) -> None:
    """``graph`` describes the module, which this pass does not change any more."""
    table = _table.get()
    if table is not None:
        table.left[module.operation] = graph


def groups_before(module: ir.Module) -> GroupGraph | None:
    """What the pass before left."""
    table = _table.get()
    return None if table is None else table.before.get(module.operation)
