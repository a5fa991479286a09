"""Which values of ``@main`` may stand for each other.  Helpers of ``deduplicate-calls`` and
``deduplicate-results``, not a pass.
"""

from collections.abc import Sequence

from ...compiler.analysis.program.dependences import Dependences
from ...compiler.base.dataclass import dataclass
from ...compiler.mlir import ir


@dataclass(frozen=True)
class Sharing:
    """Which values must not be shared.

    ``kept``: values in storage that several operations write.  ``moving``: values that an extern op changes
    in place.  ``roots``: the number of the storage of each value.  ``returned``: the storages that ``@main``
    returns.
    """

    kept: frozenset[ir.Value]
    moving: frozenset[ir.Value]
    roots: dict[ir.Value, int]
    returned: set[int]

    def returned_apart(self, first: Sequence[ir.Value], again: Sequence[ir.Value]) -> bool:
        """Whether the caller gets both and may write into one.  If not, ``first`` is handed out for both."""
        pairs = [(self.roots[a], self.roots[b]) for a, b in zip(first, again, strict=True)]
        if any(a != b and a in self.returned and b in self.returned for a, b in pairs):
            return True
        self.returned.update(a for a, b in pairs if b in self.returned)
        return False

    @staticmethod
    def of(module: ir.Module) -> "Sharing":
        graph = Dependences.of(module)
        writers: dict[int, set[int]] = {}
        mutated: set[int] = set()
        for node in graph.nodes:
            for value in (*node.destinations, *node.mutated):
                writers.setdefault(graph.roots[value], set()).add(node.index)
            mutated.update(graph.roots[v] for v in node.mutated)
        kept, moving = set(), set()
        for number, value in enumerate(graph.values):
            if len(writers.get(graph.roots[number], ())) > 1:
                kept.add(value)
            if graph.roots[number] in mutated:
                moving.add(value)
        roots = {value: graph.roots[number] for number, value in enumerate(graph.values)}
        returned = {roots[v] for v in graph.nodes[-1].op.operands}
        return Sharing(frozenset(kept), frozenset(moving), roots, returned)
