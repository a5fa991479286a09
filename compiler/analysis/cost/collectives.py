"""Collectives among the calls of ``@main``: which calls start one, what it does with the bytes, among how
many ranks.  Torch's ops of the namespace ``_c10d_functional``; ``cost/transfers.py`` says how long they
take.
"""

from ...cost.transfers import Pattern
from ...mlir import ir

_NAMESPACE = "_c10d_functional."
#: The op that waits for a collective, whose result it gives back.
WAIT = f"{_NAMESPACE}wait_tensor.default"
#: By the beginning of an op's name, without its namespace.
_PATTERNS: tuple[tuple[str, Pattern], ...] = (
    ("all_gather_into_tensor", "all-gather"),
    ("all_reduce", "all-reduce"),
    ("all_to_all", "all-to-all"),
    ("broadcast", "broadcast"),
    ("reduce_scatter_tensor", "reduce-scatter"),
)
#: Functional collectives of one tensor, and the ops that start several as one.
COALESCED = {
    f"{_NAMESPACE}{op}.default": f"{_NAMESPACE}{op}_coalesced.default"
    for op in ("all_gather_into_tensor", "all_reduce", "reduce_scatter_tensor")
}
#: Ranks of a group whose size no attribute says: the GPUs of a host.
_UNKNOWN_RANKS = 8


def is_start(name: str) -> bool:
    """Whether the torch op of this name ("_c10d_functional.all_reduce.default") starts a collective."""
    return name.startswith(_NAMESPACE) and name != WAIT


def pattern_of(name: str) -> Pattern | None:
    """What a torch op does as a collective; None for an op that is none, and for one that is not known."""
    if not is_start(name):
        return None
    op = name.removeprefix(_NAMESPACE)
    return next((pattern for start, pattern in _PATTERNS if op.startswith(start)), None)


def ranks_of(callee: ir.Operation) -> int:
    """How many processes take part in a collective, by its declaration (``fuse.ranks``)."""
    if "fuse.ranks" in callee.attributes:
        return ir.IntegerAttr(callee.attributes["fuse.ranks"]).value
    return _UNKNOWN_RANKS
