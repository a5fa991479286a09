"""What a rewrite of FX graphs is, and how rewrites are run: each that fires leaves a remark, as a pass does.

``stages.py`` says which rewrites run, in which order, and what switches each one on.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from torch.fx import Graph, GraphModule, Node

from ..base.dataclass import dataclass
from ..base.launch import line_text
from ..base.remarks import Remarks
from ..fx.frames import user_line

#: What a rewrite changes: a ``GraphModule``, or a ``Relayout`` of one.
Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Rewrite(Generic[Subject]):
    """A rewrite of FX graphs.  A call changes a graph in place and says how often the rewrite fired.

    name: in kebab-case, that of its file, test and section in ``docs/rewrites.md``.  remark: the message of
    its remark, without a capital or a full stop.
    """

    name: str
    remark: str
    apply: Callable[[Subject], int]

    def __call__(self, subject: Subject, /) -> int:
        return self.apply(subject)


class Weighed(int):
    """How often a rewrite fired that weighs times, or says why it does not fire, and what it says of nodes:
    times of those that it changed (``passed``) or left as slower (``missed``), and why others are ``kept``.
    """

    passed: tuple[tuple[Node, Mapping[str, float]], ...] = ()
    missed: tuple[tuple[Node, Mapping[str, float]], ...] = ()
    kept: tuple[tuple[Node, str], ...] = ()

    def fired(self, node: Node, times: Mapping[str, float]) -> "Weighed":
        """Once more, with these times in microseconds."""
        return self._with(self + 1, (*self.passed, (node, times)), self.missed, self.kept)

    def refused(self, node: Node, times: Mapping[str, float]) -> "Weighed":
        """As often as before."""
        return self._with(self, self.passed, (*self.missed, (node, times)), self.kept)

    def stays(self, node: Node, reason: str) -> "Weighed":
        """As often as before, for a reason: a sentence without a capital or a full stop."""
        return self._with(self, self.passed, self.missed, (*self.kept, (node, reason)))

    def counted(self, count: int) -> "Weighed":
        """So often, with what was said before."""
        return self._with(count, self.passed, self.missed, self.kept)

    @property
    def times(self) -> dict[str, float]:
        """Of all that fired, together."""
        found = dict[str, float]()
        for name, time in (item for _, times in self.passed for item in times.items()):
            found[name] = found.get(name, 0.0) + time
        return found

    @staticmethod
    def _with(
        count: int, passed: tuple[Any, ...], missed: tuple[Any, ...], kept: tuple[Any, ...]
    ) -> "Weighed":
        made = Weighed(count)
        made.passed, made.missed, made.kept = passed, missed, kept
        return made


def rewrite(name: str, remark: str) -> Callable[[Callable[[Subject], int]], Rewrite[Subject]]:
    """Makes a function, which changes a graph in place and returns how often it fired, a ``Rewrite``."""

    def named(apply: Callable[[Subject], int]) -> Rewrite[Subject]:
        return Rewrite(name, remark, apply)

    return named


class Rewriting:
    """A graph, and the graphs inside it, while rewrites change it."""

    def __init__(self, gm: GraphModule, remarks: Remarks) -> None:
        self._gm, self._remarks = gm, remarks
        self._known = self._state()

    def run(self, rewrite: Rewrite[Subject], subject: Subject) -> None:
        """Calls ``rewrite`` with ``subject``: the graph, or the ``Relayout`` of it.

        Where it fires the remark names the new nodes; where there is none, the nodes with other arguments;
        else the nodes with another value, such as other strides.  It has the lines of the nodes it names.
        """
        count = rewrite(subject)
        weighed = count if isinstance(count, Weighed) else Weighed(count)
        for node, times in weighed.missed:
            message = f"not so: {rewrite.remark}; it is estimated to take longer"
            ops, where = (node.name,), _lines(node)
            self._remarks.add(rewrite.name, "missed", "slower", message, ops=ops, locations=where, **times)
        for node, reason in weighed.kept:
            ops, where = (node.name,), _lines(node)
            self._remarks.add(
                rewrite.name, "missed", "stays", f"{node.name} stays: {reason}", ops=ops, locations=where
            )
        if not count:
            return
        changed = self._changed()
        lines = dict.fromkeys(line_text(line) for node in changed if (line := user_line(node)) is not None)
        self._remarks.add(
            rewrite.name,
            "passed",
            "rewritten",
            rewrite.remark,
            ops=tuple(node.name for node in changed),
            locations=tuple(lines),
            count=int(count),
            **weighed.times,
        )

    def _changed(self) -> list[Node]:
        known, self._known = self._known, self._state()
        new = [node for node in self._known if node not in known]
        if new:
            return new
        for part in range(2):
            changed = [node for node, state in self._known.items() if known[node][part] is not state[part]]
            if changed:
                return changed
        return []

    def _state(self) -> dict[Node, tuple[Any, Any]]:
        """The arguments and the value of each node."""
        return {node: (node.args, node.meta.get("val")) for node in self._nodes()}

    def _nodes(self) -> Iterator[Node]:
        graphs: list[Graph] = [m.graph for m in self._gm.modules() if isinstance(m, GraphModule)]
        return (node for graph in graphs for node in graph.nodes)


def _lines(node: Node) -> tuple[str, ...]:
    line = user_line(node)
    return () if line is None else (line_text(line),)


__all__ = ["Rewrite", "Rewriting", "Weighed", "rewrite"]
