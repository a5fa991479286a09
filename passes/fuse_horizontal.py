"""``fuse-horizontal``: puts kernels that read the same tensors into one group."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ..compiler.analysis.fusion_graph import GroupGraph
from ..compiler.analysis.fusion_rules import Candidate, Limits, Refusal
from ..compiler.analysis.remarks import Remarks
from ..compiler.mlir import ir
from ._fusing import Fuser, read_groups
from .pass_base import Pass


@dataclass(frozen=True)
class FuseHorizontal(Pass):
    """Sets ``fuse.group = n`` on calls of kernels that do not depend on each other and read a tensor at
    corresponding points.

    Before::

        %a = call @row_sum(%x, %o0)
        %b = call @scale(%x, %o1)

    After::

        %a = call @row_sum(%x, %o0) {fuse.group = 0 : i64}
        %b = call @scale(%x, %o1) {fuse.group = 0 : i64}

    Runs after ``fuse-vertical``, whose groups it starts from and only merges.  The pair that shares most
    bytes goes first.

    Does not fire where a rule of ``compiler/analysis/fusion_rules.py`` refuses, where one group must run
    before the other, nor (rule ``memory``) where running the later one early, or the earlier one late, keeps
    more bytes alive for longer than are saved.
    """

    name: ClassVar[str] = "fuse-horizontal"
    max_accesses: int = 64
    max_ops: int = 512
    near: int = 8

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        limits = Limits(accesses=self.max_accesses, ops=self.max_ops)
        fuser = Fuser(self.name, read_groups(module), limits, lambda c: memory(c, self.near))
        fuser.run(sharing_pairs)
        fuser.report(sharing_pairs, remarks)
        fuser.graph.assign()


#: A kernel is tried with so many readers before it and after it of each tensor that it reads.
NEIGHBOURS = 4


def sharing_pairs(graph: GroupGraph, nodes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Pairs of independent groups that read a same tensor, neighbours in the order of its readers."""
    for node in nodes:
        for value in dict.fromkeys(graph.deps.nodes[node].reads):
            readers = graph.readers(value)
            at = bisect_left(readers, node)
            if at == len(readers) or readers[at] != node:
                continue
            for other in readers[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]:
                a, b = sorted((graph.group_of[node], graph.group_of[other]))
                if a == b or graph.must_precede(a, b) or graph.must_precede(b, a):
                    continue
                if value in graph.common_inputs(a, b):
                    yield a, b


def memory(c: Candidate, near: int) -> Refusal | None:
    """Live ranges do not grow by more than is saved: results of the part that moves, and inputs that die in
    between.
    """
    graph = c.graph
    first, second = graph.members[c.first], graph.members[c.second]
    low, high = max(first), min(second)
    distance = abs(high - low)
    if distance <= near:
        return None
    made = [v for n in second for v in graph.deps.nodes[n].results if v in graph.escaping(second)]
    held = [
        v
        for n in first
        for v in graph.deps.nodes[n].reads
        if v not in graph.common_inputs(c.first, c.second) and max(graph.deps.users[v]) <= high
    ]
    extended = min(sum(map(graph.bytes_of, made)), sum(map(graph.bytes_of, dict.fromkeys(held))) or 1 << 62)
    saved = graph.saved_bytes(c.first, c.second)
    if extended <= saved:
        return None
    numbers = (("extended_bytes", extended), ("saved_bytes", saved), ("distance", distance))
    return Refusal(
        "memory", "more memory would stay in use for longer than traffic is saved: move them closer", numbers
    )
