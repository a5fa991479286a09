"""What a pass leaves to the next one, which then need not read the module again.

``GroupGraph`` is left by passes that change nothing but ``fuse.group``, ``Program`` by those that tell it
what they change.  The pass manager opens the table for one run of a pipeline; without it nothing is left,
and every pass reads the module.  Not a pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..compiler.mlir import ir

T = TypeVar("T")


@dataclass
class _Table:
    """By module and type: what the pass before left, and what this one leaves."""

    before: dict[tuple[ir.Operation, type], Any] = field(default_factory=dict)
    left: dict[tuple[ir.Operation, type], Any] = field(default_factory=dict)

    def next_pass(self) -> None:
        self.before, self.left = self.left, {}


_table: ContextVar[_Table | None] = ContextVar("left", default=None)


@contextmanager
def leaving() -> Iterator[Callable[[], None]]:
    """Inside, passes leave things to the next; the function that this gives says that the next begins."""
    table = _Table()
    token = _table.set(table)
    try:
        yield table.next_pass
    finally:
        _table.reset(token)


def leave(module: ir.Module, *things: object) -> None:
    """``things`` describe the module, which this pass does not change any more; None is no thing."""
    table = _table.get()
    if table is not None:
        table.left.update(((module.operation, type(thing)), thing) for thing in things if thing is not None)


def left_before(module: ir.Module, kind: type[T]) -> T | None:
    """What the pass before left of this type."""
    table = _table.get()
    return None if table is None else table.before.get((module.operation, kind))
