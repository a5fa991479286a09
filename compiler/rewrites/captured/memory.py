"""Which nodes of a graph that Dynamo captured share memory, and which of them write to it.

Such a graph is not functional: a mask may be written through a row, a transposed view or ``out=``, and
``scores += mask`` is a call like any other.  A rewrite that computes something earlier, later, or not at all,
has to know who writes what.

Two nodes share memory where the tensors that Dynamo computed them with (``meta["example_value"]``) share a
storage: a view, by whatever function or method, has that of its base.  What an op writes is said by its
schema, found by the name of the function or method; by the name of an in-place method or operator; by
``out=``, ``inplace=`` and ``max_norm=``.  Everything else (higher-order ops, functions that are not torch's,
modes) is *opaque*: it may write all that it is given, and what it gives may share memory with that.  So may
what replaces the storage of a tensor, ``set_`` or ``resize_``.  All that the caller hands over is one memory,
as arguments may overlap.
"""

import functools
import inspect
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Graph, Node
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from ...base.dataclass import dataclass

_IN_PLACE = frozenset({
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
    operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
    operator.imatmul, operator.setitem, operator.delitem,
})  # fmt: skip
_IN_PLACE_METHODS = frozenset(f"__{f.__name__}__" for f in _IN_PLACE)

#: Methods without a schema of their name that only read.
_READING_METHODS = frozenset({
    "float", "half", "bfloat16", "double", "int", "long", "short", "char", "byte", "bool", "to", "type",
    "type_as", "cpu", "cuda", "size", "dim", "ndimension", "numel", "nelement", "item", "tolist", "stride",
    "new_tensor", "is_contiguous", "storage_offset", "element_size", "get_device", "view_as", "reshape_as",
    "expand_as", "split", "unflatten", "norm", "stft", "istft", "unique", "T", "H", "is_floating_point",
    "is_complex", "is_signed",
})  # fmt: skip

#: Functions without a schema of their name that only read.
_READING = frozenset(
    {getattr, len, int, float, bool, abs, max, min, round, torch._C._autograd._get_data_attr}
)

#: What gives a tensor another storage; what shares memory is not known in a graph that does that.
_REBINDING = frozenset(
    {"set_", "set_data", "shallow_copy_data_", "resize_", "resize_as_", "resize_storage_bytes_"}
)

#: Methods with a schema that does not say what they change.
_OPAQUE_METHODS = _REBINDING | {"backward", "numpy"}

#: Functions that return their operand where they have nothing to do, though Dynamo computes a copy: torch's
#: decomposition of ``dropout`` clones.
_RETURNING = ("dropout",)

#: Functions that update statistics, which their schemas do not say.
_STATISTICS = ("batch_norm", "instance_norm")


@dataclass(frozen=True)
class Effect:
    """What running a node changes.  writes: the operands that it writes to.  opaque: it may write to all of
    them, or change a mode.
    """

    writes: tuple[Node, ...] = ()
    opaque: bool = False


_READS = Effect()
_OPAQUE = Effect(opaque=True)


def effect(node: Node) -> Effect:
    """What running the node changes; opaque where nothing says it."""
    if node.op in ("placeholder", "get_attr", "output"):
        return _READS
    if node.op not in ("call_function", "call_method"):
        return _OPAQUE
    found = _effect_of_method(node, str(node.target)) if node.op == "call_method" else _function_effect(node)
    destinations = tuple(_nodes(node.kwargs.get("out")))
    return Effect((*found.writes, *destinations), found.opaque) if destinations else found


def _effect_of_method(node: Node, name: str) -> Effect:
    if name in _OPAQUE_METHODS or any(part in name for part in _STATISTICS):
        return _OPAQUE
    if name in _IN_PLACE_METHODS:
        return Effect(tuple(_nodes(node.args[:1])))
    if name.startswith("__") and name.endswith("__"):
        known = hasattr(operator, name) or name.replace("__r", "__", 1) in vars(operator)
        return _READS if known else _OPAQUE
    if name in _READING_METHODS:
        return _READS
    return _by_schema(node, name)


def _rebinds(node: Node) -> bool:
    target: Any = node.target
    packet = target.overloadpacket if isinstance(target, torch._ops.OpOverload) else target
    return node.op.startswith("call") and getattr(packet, "__name__", packet) in _REBINDING


def _function_effect(node: Node) -> Effect:
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        if any(part in target.name() for part in _STATISTICS) or _rebinds(node):
            return _OPAQUE
        return _written(node, [target._schema])
    if isinstance(target, torch._ops.OpOverloadPacket):  # `x.T` and the like, from torch 2.14 on
        known = str(target).startswith("aten.") and not _rebinds(node)
        return _effect_of_method(node, target.__name__) if known else _OPAQUE
    name, module = getattr(target, "__name__", ""), getattr(target, "__module__", None) or ""
    if target in _IN_PLACE:
        return Effect(tuple(_nodes(node.args[:1])))
    if target in _READING or module in ("_operator", "math") or name.startswith("sym_"):
        return _READS
    if any(part in name for part in _STATISTICS):
        return _OPAQUE
    if inspect.isfunction(target) and (target in _of_torch(F) or target in _of_torch(torch.functional)):
        return _python_effect(node)
    if getattr(torch.Tensor, name, None) is target:
        return _effect_of_method(node, name)
    return _by_schema(node, name) if _is_builtin_of_torch(target) else _OPAQUE


@functools.cache
def _of_torch(module: Any) -> frozenset[Any]:
    return frozenset(f for f in vars(module).values() if inspect.isfunction(f))


def _is_builtin_of_torch(target: Any) -> bool:
    """Whether it is one of torch's functions that call an op of their name, and nothing else."""
    places = (torch, torch._C._nn, torch._C._linalg, torch._C._fft, torch._C._special, torch._VF, F)
    name = getattr(target, "__name__", "")
    return not inspect.isfunction(target) and any(getattr(place, name, None) is target for place in places)


def _python_effect(node: Node) -> Effect:
    """Functions that torch writes in Python write where an argument says so, to their operands."""
    try:
        given = inspect.signature(node.target).bind(*node.args, **node.kwargs).arguments  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return _OPAQUE
    names = [n for n in ("inplace", "max_norm") if given.get(n) not in (None, False)]
    if "args" in given:  # a choice of two functions by a flag: its names are not those of the arguments
        return _READS if not any(a is True for a in node.args) and not node.kwargs.get("inplace") else _OPAQUE
    return Effect(tuple(node.all_input_nodes)) if names else _READS


def _by_schema(node: Node, name: str) -> Effect:
    return _written(node, _schemas(name)) if _schemas(name) else _OPAQUE


@functools.cache
def _schemas(name: str) -> tuple[Any, ...]:
    """Those of the ATen ops of a name, of all overloads but such with ``out=``."""
    found = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return tuple(s for s in found if not any(a.is_out for a in s.arguments))


def _written(node: Node, schemas: Iterable[Any]) -> Effect:
    """The operands that one of the schemas writes to."""
    written: dict[Node, None] = {}
    for schema in schemas:
        for place, argument in enumerate(schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            given = node.kwargs.get(argument.name)
            if given is None and place < len(node.args):
                given = node.args[place]
            written |= dict.fromkeys(_nodes(given))
    return Effect(tuple(written))


def _nodes(value: Any) -> Iterator[Node]:
    return (leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Node))


def _may_return_operand(node: Node) -> bool:
    return any(part in getattr(node.target, "__name__", str(node.target)) for part in _RETURNING)


class SharedMemory:
    """What shares memory in a graph, and who writes to it.  It describes the graph as it was when this was
    made.
    """

    #: What the caller handed over, and everything that nobody can say anything of.
    _CALLERS = "caller's"

    def __init__(self, graph: Graph) -> None:
        self._parents: dict[Any, Any] = {}
        self._values: dict[Node, frozenset[Any]] = {}
        self.effects = {node: effect(node) for node in graph.nodes}
        for node in graph.nodes:
            self._values[node] = self._keys(node)
            if node.op in ("placeholder", "get_attr"):
                self._join((self._CALLERS, *self._values[node]))
            elif self.effects[node].opaque or _may_return_operand(node):
                operands = (key for n in node.all_input_nodes for key in self._values[n])
                self._join((*operands, *self._values[node]))
        if any(_rebinds(node) for node in graph.nodes):
            self._join(key for keys in self._values.values() for key in keys)
        self._writers: dict[Any, list[Node]] = {}
        for node, found in self.effects.items():
            written = node.all_input_nodes if found.opaque else found.writes
            for root in {root for operand in written for root in self._roots(operand)}:
                self._writers.setdefault(root, []).append(node)

    def shares(self, left: Node, right: Node) -> bool:
        """Whether two nodes may have memory in common."""
        return not self._roots(left).isdisjoint(self._roots(right))

    def writers(self, node: Node) -> list[Node]:
        """The nodes that may write to memory of ``node``, at any time."""
        return [writer for root in self._roots(node) for writer in self._writers.get(root, ())]

    def sharing(self, node: Node) -> list[Node]:
        """All nodes that may have memory in common with ``node``, itself too."""
        roots = self._roots(node)
        return [other for other in self._values if not roots.isdisjoint(self._roots(other))]

    def _roots(self, node: Node) -> frozenset[Any]:
        return frozenset(self._root(key) for key in self._values[node])

    def _keys(self, node: Node) -> frozenset[Any]:
        """The storages of what the node gives; those of its operands where no example says it."""
        if "example_value" not in node.meta:
            operands = frozenset(key for n in node.all_input_nodes for key in self._values[n])
            return operands | {node} if node.op != "output" else frozenset()
        leaves = pytree.tree_leaves(node.meta["example_value"])
        return frozenset(self._storage(leaf) for leaf in leaves if isinstance(leaf, Tensor))

    def _storage(self, value: Tensor) -> Any:
        plain = type(value) in (FakeTensor, Tensor, torch.nn.Parameter) and value.layout is torch.strided
        plain = plain and not torch._C._functorch.is_functorch_wrapped_tensor(value)
        return value.untyped_storage()._cdata if plain else self._CALLERS

    def _root(self, key: Any) -> Any:
        while self._parents.get(key, key) != key:
            key = self._parents[key]
        return key

    def _join(self, keys: Iterable[Any]) -> None:
        roots = list(dict.fromkeys(self._root(key) for key in keys))
        for root in roots[1:]:
            self._parents[root] = roots[0]


__all__ = ["Effect", "SharedMemory", "effect"]
