"""Runs rewrites of FX graphs, and leaves a remark of each that changed something, as passes leave them.

The remark has the name of the rewrite's file, and says what that file's first sentence says.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch.fx import Graph, GraphModule, Node

from ..base.launch import line_text
from ..base.remarks import Remarks
from ..fx.frames import user_line


class Rewriting:
    """A graph, with those inside it, while rewrites change it."""

    def __init__(self, gm: GraphModule, remarks: Remarks) -> None:
        self._gm, self._remarks = gm, remarks
        self._arguments = {node: node.args for node in self._nodes()}

    def run(self, rewrite: Callable[..., int], subject: Any = None, /) -> None:
        """Calls ``rewrite`` with the graph, or with what stands for it; it returns how often it fired.

        The remark names the nodes that are new, or else those that read something new, and their lines.
        """
        count = rewrite(self._gm if subject is None else subject)
        if not count:
            return
        known = self._arguments
        self._arguments = {node: node.args for node in self._nodes()}
        changed = [node for node in self._arguments if node not in known]
        changed = changed or [node for node, args in self._arguments.items() if known[node] is not args]
        module = sys.modules[rewrite.__module__]
        lines = dict.fromkeys(line_text(line) for node in changed if (line := user_line(node)) is not None)
        self._remarks.add(
            module.__name__.rpartition(".")[2].replace("_", "-"),
            "passed",
            "rewritten",
            _first_sentence(module.__doc__ or ""),
            ops=tuple(node.name for node in changed),
            locations=tuple(lines),
            count=count,
        )

    def _nodes(self) -> Iterator[Node]:
        graphs: list[Graph] = [m.graph for m in self._gm.modules() if isinstance(m, GraphModule)]
        return (node for graph in graphs for node in graph.nodes)


def _first_sentence(text: str) -> str:
    """The first paragraph of a docstring as a message: in one line, without a capital or a full stop."""
    sentence = " ".join(text.partition("\n\n")[0].split()).removesuffix(".")
    return sentence[:1].lower() + sentence[1:]
