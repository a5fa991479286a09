"""Biases that are looked up for each row and key, such as numbers that a model learned for each distance."""

import math
from collections.abc import Callable, Iterable, Iterator

from torch.fx import Node

from ...base.dataclass import dataclass
from ..captured.matching import example

#: Methods and functions that give the numbers of a tensor in another shape.
MOVED = (
    "view", "reshape", "unsqueeze", "squeeze", "expand", "expand_as", "getitem", "transpose", "permute", "t",
)  # fmt: skip
_LOOK_UPS = ("getitem", "index_select", "embedding")
#: Ops on integers that compute places of a table in a kernel, each in an instruction or two.
_PLACES = ("sub", "add", "neg", "abs", "clamp", "clamp_min", "clamp_max", "minimum", "maximum")
_CAST = ("to", "long", "int")
#: The largest table in bytes: programs of a multiprocessor read it from its cache.
_LARGEST = 128 << 10


@dataclass(frozen=True)
class BiasTable:
    """ops: how many compute a place.  made: numbers of the bias, as a tensor."""

    ops: int
    made: int


def table_of(mask: Node, rows: int, keys: int) -> BiasTable | str | None:
    """What a bias of so many rows and keys is looked up in; None where it is not looked up by what is
    computed of numbers of rows and keys alone, or where its table does not lie in memory.  A reason, a
    sentence without a capital or a full stop, where no such kernel was measured.
    """
    node, shared = mask, False
    while True:
        shared = shared or len(node.users) > 1
        name, inputs = name_of(node), _tensors(node)
        if name in _LOOK_UPS and len(inputs) > 1:
            break
        if name not in MOVED or len(inputs) != 1:
            return None
        [node] = inputs
    tables = [n for n in inputs if (value := example(n)) is not None and value.is_floating_point()]
    if len(tables) != 1 or not lies_in_memory(tables[0]):
        return None
    [table] = tables
    places = [n for n in inputs if n is not table]
    found = [_ops(n, rows, keys) for n in places]
    if any(ops is None for ops in found):
        return None
    ops, value, made = sum(n for n in found if n is not None), example(table), example(node)
    assert value is not None and made is not None, "these are tensors"
    if ops == math.inf:
        return "places of its table are computed by ops that were not measured"
    if value.numel() * value.element_size() > _LARGEST:
        return f"its table has more than {_LARGEST} bytes"
    return "other ops read its bias, too" if shared else BiasTable(int(ops), made.numel())


def is_looked_up(mask: Node, places: int) -> bool:
    """Whether numbers that a mask is computed of are looked up for each row and key: a tensor of floats with
    more elements than ``places``.
    """
    return any(
        name_of(node) in _LOOK_UPS
        and len(_tensors(node)) > 1
        and (value := example(node)) is not None
        and value.is_floating_point()
        and value.numel() > places
        for node in computed_of(mask, _tensors)
    )


def lies_in_memory(node: Node | None) -> bool:
    """Whether a tensor is an argument or an attribute, perhaps in another shape."""
    while node is not None and node.op in ("call_method", "call_function"):
        inputs = _tensors(node)
        if name_of(node) not in MOVED or len(inputs) != 1:
            return False
        [node] = inputs
    return node is not None


def name_of(node: Node) -> str:
    """The name of the function or method that a node calls."""
    return str(node.target) if node.op == "call_method" else getattr(node.target, "__name__", "")


def computed_of(node: Node, inputs: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """The node, its ``inputs``, theirs, and so on: each once."""
    pending, seen = [node], set[Node]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += inputs(node)


def _tensors(node: Node) -> list[Node]:
    return [n for n in node.all_input_nodes if example(n) is not None]


def _ops(place: Node, rows: int, keys: int) -> float | None:
    """How many ops compute a place of each row and key; infinite where one is no sum, difference or extreme
    of integers.  None where a place is data.
    """
    count = 0.0
    for node in computed_of(place, _tensors):
        value, name = example(node), name_of(node)
        if value is None or node.op not in ("call_method", "call_function"):
            return None
        if value.numel() > rows + keys and name not in (*MOVED, *_CAST):
            count += 1 if name in _PLACES and not value.is_floating_point() else math.inf
    return count


__all__ = ["MOVED", "BiasTable", "computed_of", "is_looked_up", "lies_in_memory", "name_of", "table_of"]
