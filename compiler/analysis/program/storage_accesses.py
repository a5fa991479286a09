"""Which operations of ``@main`` read, and which overwrite, each storage."""

from dataclasses import field
from typing import Self

from ...base.dataclass import dataclass
from ...mlir import ir
from .dependences import Dependences, Node


@dataclass
class StorageAccesses:
    """By root, the numbers of the operations.

    maker:   of each value, the number of the operation whose result it is.
    read:    what reads the contents; a ``func.return`` does.
    written: what overwrites them.
    """

    deps: Dependences
    maker: dict[int, int]
    read: dict[int, set[int]] = field(default_factory=dict)
    written: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, deps: Dependences) -> Self:
        """Of the program as it is now."""
        found = cls(deps, {value: node.index for node in deps.nodes for value in node.results})
        for node in deps.nodes:
            for value in _read(node):
                found.read.setdefault(deps.roots[value], set()).add(node.index)
            for value in (*node.destinations, *node.mutated):
                found.written.setdefault(deps.roots[value], set()).add(node.index)
        return found

    def root(self, value: ir.Value) -> int:
        """The root of a value that was there before."""
        return self.deps.roots[self.deps.numbers[value]]

    def place(self, op: ir.Operation) -> int:
        """The number of an operation with results that was there before."""
        return self.maker[self.deps.numbers[op.results[0]]]


def _read(node: Node) -> set[int]:
    """The values whose contents an operation reads, the results of the graph included; a view reads nothing,
    nor does a kernel read what it overwrites."""
    if node.kind in ("fuse.view", "fuse.empty", "fuse.size"):
        return set()
    return set(node.reads) if node.ties else set(node.operands)
