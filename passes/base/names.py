"""What a kernel is called and said to compute, once it was merged with others or lost a part.  Helpers, not a
pass.
"""

import re
from collections.abc import Iterable

from ...compiler.analysis.program.provenance import node_names
from ...compiler.mlir import ir

#: Longest part of a kernel's name that lists what it does.
NAME_LENGTH = 64


def bare(name: str) -> str:
    """The name of a node or a kernel without its numbers, and without what says that a kernel is fused."""
    return re.sub(r"(_\d+)+$", "", name).removeprefix("fused_")


def listed(names: Iterable[str]) -> str:
    """What a kernel of these nodes or kernels does: "_mul_sum"."""
    text, last = "", ""
    for part in map(bare, names):
        if part == last:
            continue
        if text and len(text) + len(part) >= NAME_LENGTH:
            break
        text, last = f"{text}_{part}", part
    return text


def without(location: ir.Location, nodes: frozenset[str]) -> ir.Location:
    """A location less the parts that name only ``nodes``; all of it where none would be left."""
    if not nodes:
        return location
    parts = list(location.locations) if isinstance(location, ir.FusedLoc) else [location]
    kept = [part for part in parts if not (names := frozenset(node_names(part))) or not names <= nodes]
    return ir.Location.fused(kept) if kept and len(kept) < len(parts) else location


def nodes_of(ops: Iterable[ir.Operation]) -> frozenset[str]:
    """The nodes that operations of a kernel came from.  Constants and loads are left out: nodes share them,
    and one gave its location.  So is the return, which names them all.
    """
    ours = [op for op in ops if op.name not in ("arith.constant", "fuse.load", "func.return")]
    return frozenset(name for op in ours for name in node_names(op.location))
