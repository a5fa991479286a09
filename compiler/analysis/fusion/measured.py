"""What was measured of pairs of groups: the table that the rule ``measured`` reads, and the name that a pair
has in it.

The search of ``mode="max-autotune"`` (``driver/searches/fusion_search.py``) writes the table, a JSON object:
the key of a pair -> an object with ``why`` (one of ``WHY``) and, where they are known, ``us_together`` and
``us_apart``, the microseconds of the one kernel and of the two, and ``spilled_bytes`` of a thread.  "faster
in all": two kernels were faster, but not what the passes made then of the groups around them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field

from ...base.dataclass import dataclass
from ...ir.kernel import INSTEAD, string
from ...mlir import ir
from .graph import GroupGraph
from .plan import Refusal

#: What a measurement said of a pair -> why the pair stays apart; None where it merges.
WHY: dict[str, str | None] = {
    "faster": None,
    "faster in all": None,
    "slower": "measured, one kernel takes longer than two",
    "first spills": "measured, the first kernel spills registers, and one kernel is not faster than two",
    "second spills": "measured, the second kernel spills registers, and one kernel is not faster than two",
    "fused spills": "measured, the fused kernel spills registers, and it is not faster than two",
    "not compiled": "Triton does not compile the fused kernel",
}


@dataclass(frozen=True)
class Measurement:
    """What was found of a pair: a word of ``WHY``, and the figures, by the names that the table has."""

    why: str
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def refusal(self) -> Refusal | None:
        """Why the pair stays apart."""
        message = WHY[self.why]
        return None if message is None else Refusal("measured", message, self.numbers)


#: By the key of a pair.
Measurements = Mapping[str, Measurement]

_NUMBERS = ("spilled_bytes", "us_together", "us_apart")


def read_measurements(table: Mapping[str, object]) -> dict[str, Measurement]:
    """The measurements of a parsed table.  Raises ValueError with one sentence for an entry that is none."""
    found = {}
    for key, entry in table.items():
        if not isinstance(entry, dict) or entry.get("why") not in WHY:
            expected = ", ".join(f"'{why}'" for why in WHY)
            raise ValueError(f"'{key}' has no \"why\" that is one of {expected}")
        others = {name: value for name, value in entry.items() if name != "why"}
        for name, value in others.items():
            if name not in _NUMBERS or isinstance(value, bool) or not isinstance(value, int | float):
                expected = ", ".join(_NUMBERS)
                raise ValueError(f"'{key}' has \"{name}\": expected numbers {expected}")
        found[key] = Measurement(entry["why"], tuple((n, others[n]) for n in _NUMBERS if n in others))
    return found


def measurements_text(found: Measurements) -> str:
    """The table as text."""
    table = {key: {"why": m.why, **dict(m.numbers)} for key, m in found.items()}
    return json.dumps(table, indent=1, sort_keys=True) + "\n"


@dataclass
class PairKeys:
    """Names pairs of groups of ``graph``."""

    graph: GroupGraph
    _texts: dict[str, str] = field(default_factory=dict)  #: by the kernel's name

    def __call__(self, *groups: Sequence[int]) -> str:
        """The key of groups, two for a pair; each is its nodes in program order.  32 hexadecimal digits.

        Two pairs have one key where they would be the same two kernels, and the same one kernel: their
        kernels are equal but for names and locations, they pass the same values to each other, and the same
        ones are used elsewhere.  The hints of their sizes are part of it.
        """
        deps, hints = self.graph.deps, self.graph.sizes.hints
        named = {s for nodes in groups for n in nodes for s in self.graph.summaries[n].symbols}
        numbers: dict[int, int] = {}
        parts = [f"{name}={hints[name]}" for name in sorted(named & hints.keys())]
        for nodes in groups:
            for n in nodes:
                node = deps.nodes[n]
                values = [numbers.setdefault(v, len(numbers)) for v in (*node.operands, *node.results)]
                roots = [numbers.setdefault(deps.roots[v], len(numbers)) for v in node.operands]
                parts.append(f"{self._text(node.name, node.callee)} {values} {roots}")
            parts.append("")
        escaping = escaping_values(self.graph, frozenset(n for nodes in groups for n in nodes))
        parts.append(str(sorted(numbers[v] for v in escaping)))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def _text(self, name: str, kernel: ir.Operation | None) -> str:
        if name not in self._texts:
            assert kernel is not None, "groups are of kernels"
            self._texts[name] = _kernel_text(kernel)
        return self._texts[name]


def _kernel_text(kernel: ir.Operation) -> str:
    """A kernel without its name and locations, and without the library's op that it is instead of."""
    name, copy = string(kernel.attributes["sym_name"]), None
    if INSTEAD in kernel.attributes:
        copy = kernel.clone()
        del copy.attributes[INSTEAD]
    text = str((copy or kernel).get_asm(enable_debug_info=False))
    return text.replace(f"@{name}(", "@(", 1)


def escaping_values(graph: GroupGraph, nodes: frozenset[int]) -> list[int]:
    """The values that ``nodes`` make and that others use, or whose storage is not a fresh ``fuse.empty``; in
    program order.
    """
    deps = graph.deps
    found = []
    for n in sorted(nodes):
        node = deps.nodes[n]
        for result, destination in zip(node.results, node.destinations, strict=True):
            others = (u for u in deps.users[result] if u not in nodes and deps.nodes[u].kind != "fuse.after")
            if not graph.is_fresh(destination) or any(True for _ in others):
                found.append(result)
    return found
