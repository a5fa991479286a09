"""Extern calls: an op that runs as itself.  The declaration says how to rebuild the call; see
docs/architecture.md.

Results are the leaves of what the op returns (lists and tuples opened in order, dicts in that of their keys,
None dropped) that are tensors or numbers unknown at import.  Where not every leaf is a result (a number that
the import knows, a tensor that nobody takes), ``fuse.returns`` has the positions of those that are, None
counted: what an op really returns may have None where its meta function has a tensor, and the other way
round.
"""

import operator
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ...base.dataclass import dataclass
from ...base.errors import UnsupportedSize, UnsupportedValue
from ...base.product_forms import product_form
from ...base.products import product_op
from ...fx.collectives import ranks_of
from ...fx.frames import describe
from ...fx.in_flight import InFlight, is_collective, is_wait, received
from ...fx.new_node import CASCADE, WRITES
from ...fx.ordered_groups import ordered_graph
from ...fx.torch_state import rounds_float32
from ...index import Expr
from ...ir import kernel
from ...ir.dialects import fuse
from ...ir.layout import TensorSpec
from ...mlir import ir
from .dtypes import BY_TORCH
from .main_function import say_storage
from .state import ImportState
from .values import HostObject, Number, Tensor


@dataclass
class Encoder:
    """Turns Python arguments into attributes; tensors, sizes and numbers into operands of the call."""

    state: ImportState
    location: ir.Location
    operands: list[ir.Value] = field(default_factory=list)
    tensors: dict[int, Tensor] = field(default_factory=dict)  #: operand number -> tensor

    def operand(self, value: ir.Value, tensor: Tensor | None = None) -> ir.Attribute:
        if value in self.operands:
            number = self.operands.index(value)
        else:
            number = len(self.operands)
            self.operands.append(value)
        if tensor is not None:
            self.tensors[number] = tensor
        return fuse.Arg.get(self.state.builder.int64(number))

    def encode(self, value: Any) -> ir.Attribute:
        """The attribute that rebuilds ``value``."""
        if isinstance(value, Tensor):
            return self.operand(value.value, value)
        if isinstance(value, Number):
            return self.operand(value.value)
        if isinstance(value, Expr):
            if value.constant is not None:
                return self.state.builder.int64(value.constant)
            return self.operand(self.state.symbols.value(value, self.location))
        for kind, encode in _ENCODERS:
            if isinstance(value, kind):
                return encode(self, value)
        return self.encode(self.state.host_object(type(value).__name__.lower(), value))

    def named(self, kind: str, text: str) -> ir.Attribute:
        return fuse.Torch.get(self.state.builder.string(f"{kind}:{text}"))

    def integer(self, value: int) -> ir.Attribute:
        if -(2**63) <= value < 2**63:
            return self.state.builder.int64(value)
        return self.encode(self.state.host_object("int", value))

    def dtype(self, value: torch.dtype) -> ir.Attribute:
        row = BY_TORCH.get(value)
        if row is None or not row.generated:
            return self.named("dtype", str(value).removeprefix("torch."))
        return ir.TypeAttr.get(self.state.builder.element_type(row.element))


_ENCODERS: tuple[tuple[type, Any], ...] = (
    (type(None), lambda e, v: ir.UnitAttr.get()),
    (bool, lambda e, v: ir.BoolAttr.get(v)),
    (int, lambda e, v: e.integer(v)),
    (float, lambda e, v: e.state.builder.float64(v)),
    (str, lambda e, v: e.state.builder.string(v)),
    (torch.dtype, lambda e, v: e.dtype(v)),
    (torch.device, lambda e, v: e.named("device", str(v))),
    (torch.layout, lambda e, v: e.named("layout", str(v).removeprefix("torch."))),
    (torch.memory_format, lambda e, v: e.named("memory_format", str(v).removeprefix("torch."))),
    (torch._ops.OpOverload, lambda e, v: e.named("op", str(v))),
    (HostObject, lambda e, v: e.named("object", e.state.host_object(v.name, v.object).name)),
    (list, lambda e, v: ir.ArrayAttr.get([e.encode(x) for x in v])),
    (tuple, lambda e, v: fuse.Tuple.get(ir.ArrayAttr.get([e.encode(x) for x in v]))),
    (dict, lambda e, v: ir.DictAttr.get({str(k): e.encode(x) for k, x in v.items()})),
)


def call_extern(state: ImportState, node: fx.Node, name: str, location: ir.Location) -> Any:
    """Declares and calls ``node``'s target.  Raises UnsupportedValue for a result that is no tensor and no
    number.
    """
    builder = state.builder
    with state.context:
        # An op of C++ takes any sequence for a list.
        in_python = isinstance(node.target, torch._ops.HigherOrderOperator)
        encoder = Encoder(state, location)
        args, kwargs = (state.resolve(a, keeps_tuples=in_python) for a in (node.args, node.kwargs))
        attributes: dict[str, ir.Attribute] = {
            "fuse.extern": builder.string(name),
            "fuse.args": ir.ArrayAttr.get([encoder.encode(a) for a in args]),
            "fuse.kwargs": ir.DictAttr.get({k: encoder.encode(v) for k, v in kwargs.items()}),
        }
        if _counts_from_storage(node):
            for tensor in encoder.tensors.values():
                if tensor.root is not None:
                    say_storage(state, tensor.root)
        taken = len(encoder.operands)
        for read in state.held.get(node, ()):
            encoder.encode(state.resolve(read))
        results = Results(state, node)
        results.announce()
        types = results.types()
        encoder.operands += _computed_sizes(state, types, encoder.operands)
        if len(encoder.operands) > taken:
            attributes["fuse.held"] = builder.int64s(range(taken, len(encoder.operands)))
        if len(results.kept) != len(results.leaves):
            attributes["fuse.returns"] = builder.int64s(results.kept)
        attributes |= _effects(node, encoder, results.kept)
        attributes |= _precision(state, name, encoder)
        if CASCADE in node.meta:
            attributes[kernel.CASCADE] = ir.UnitAttr.get()
        callee = builder.declare(node.name, [v.type for v in encoder.operands], types, attributes, location)
        values = builder.call(callee, encoder.operands, types, location)
    return results.accept(callee, values, location)


def _precision(state: ImportState, name: str, encoder: Encoder) -> dict[str, ir.Attribute]:
    """``fuse.precision`` of a product of float32 that torch may compute in TF32."""
    op = product_op(name)
    if product_form(name) is None or op is None or state.device == "cpu":
        return {}
    float32 = all(TensorSpec.of(t.value.type).element == "f32" for t in encoder.tensors.values())
    if not float32 or not rounds_float32(op.kind == "convolution"):
        return {}
    return {"fuse.precision": state.builder.string("tf32")}


def _counts_from_storage(node: fx.Node) -> bool:
    """Whether a call says where something lies by its distance from where a storage begins."""
    given = dict(node.kwargs)
    if isinstance(node.target, torch._ops.OpOverload):
        given |= zip((a.name for a in node.target._schema.arguments), node.args, strict=False)
    return any(name.endswith("storage_offset") and value is not None for name, value in given.items())


def _computed_sizes(
    state: ImportState, types: Sequence[ir.Type], operands: Sequence[ir.Value]
) -> list[ir.Value]:
    """The sizes that result types name and ``@main`` computes, which have to come first: operands, too."""
    known = state.builder.symbol_values
    names = [n for t in types if isinstance(t, ir.RankedTensorType) for n in TensorSpec.of(t).symbols]
    values = [known[n] for n in dict.fromkeys(names) if n in known]
    return [v for v in values if not isinstance(v.owner, ir.Block) and v not in operands]


class Results:
    """The leaves of a node's value, and those of them (``kept``, by position) that its call returns.

    ``every``: also those that nobody takes.
    """

    def __init__(self, state: ImportState, node: fx.Node, *, every: bool = False) -> None:
        self.state, self.node = state, node
        value = _in_order(node.meta.get("val"))
        self.leaves, self.tree = pytree.tree_flatten(value, is_leaf=lambda x: x is None)
        self.results = [_Result(state, node, leaf) for leaf in self.leaves]
        for position in () if every else _unused(node, self.leaves):
            self.results[position].is_result = False
        self.kept = [i for i, r in enumerate(self.results) if r.is_result]

    def announce(self) -> None:
        """Lets types name the sizes that the call makes."""
        self.state.symbols.announce(self.results[i].leaf for i in self.kept)

    def types(self) -> list[ir.Type]:
        """Of what the call returns."""
        return [self.results[i].type() for i in self.kept]

    def layouts(self) -> list[TensorSpec | None]:
        """Of the tensors that the call returns, None for a number."""
        return [TensorSpec.of(t) if isinstance(t, ir.RankedTensorType) else None for t in self.types()]

    def accept(self, callee: str, values: Sequence[ir.Value], location: ir.Location) -> Any:
        """Takes what a call of ``callee`` returns; the node's value.  Raises UnboundSymbol."""
        state, symbols = self.state, self.state.symbols
        with state.context:
            names = [self.results[i].accept(value) for i, value in zip(self.kept, values, strict=True)]
            if any(names):
                res_attrs = ir.ArrayAttr.get([ir.DictAttr.get(n or {}) for n in names])
                state.builder.declarations[callee].attributes["res_attrs"] = res_attrs
            for i, value in zip(self.kept, values, strict=True):
                if isinstance(self.results[i].leaf, torch.Tensor):
                    symbols.bind(self.results[i].leaf, value, location)
            symbols.settle(describe(self.node))
        return pytree.tree_unflatten([r.value for r in self.results], self.tree)


def _in_order(value: Any) -> Any:
    """The value of a node with dicts in the order of their keys, as ``torch_names.flatten`` opens them."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return type(value)(map(_in_order, value)) if type(value) in (list, tuple) else value


def _unused(node: fx.Node, leaves: list[Any]) -> list[int]:
    """Positions of leaves that no user takes, where the op returns a flat sequence that is only indexed."""
    value = node.meta.get("val")
    indexed = all(u.op == "call_function" and u.target is operator.getitem for u in node.users)
    if not isinstance(value, (tuple, list)) or len(value) != len(leaves) or not indexed or not node.users:
        return []
    taken = {u.args[1] for u in node.users}
    return [i for i in range(len(leaves)) if i not in taken]


class _Result:
    """One leaf of an op's value, and the value that it becomes once the call exists."""

    def __init__(self, state: ImportState, node: fx.Node, leaf: Any) -> None:
        self.state, self.node, self.leaf = state, node, leaf
        self.value: Any = leaf
        self.is_result = isinstance(leaf, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool))
        if isinstance(leaf, torch.SymInt) and not node.meta.get("unbacked_bindings"):
            try:
                self.value = state.symbols.expr(leaf, describe(node))
                self.is_result = False
            except UnsupportedSize:
                pass
        if not self.is_result and not isinstance(leaf, (type(None), int, float, bool, torch.SymInt)):
            raise UnsupportedValue(name=describe(node), kind=type(leaf).__name__)

    def type(self) -> ir.Type:
        builder = self.state.builder
        if isinstance(self.leaf, torch.Tensor):
            return builder.tensor_type(self.state.spec(self.leaf, describe(self.node)))
        if isinstance(self.leaf, torch.SymInt):
            return builder.index_type
        return builder.element_type("f64" if isinstance(self.leaf, torch.SymFloat) else "i1")

    def accept(self, value: ir.Value) -> dict[str, ir.Attribute] | None:
        """Takes the call's result; the result's attributes."""
        if isinstance(self.leaf, torch.SymInt):
            self.value, attributes = self.state.symbols.argument(self.leaf, value)
            return attributes
        if isinstance(self.leaf, torch.Tensor):
            spec = self.state.spec(self.leaf, self.node.name)
            origin = self.state.symbols.spell(self.leaf.storage_offset())
            self.value = Tensor(value, spec, self.leaf.dtype, self.leaf, origin)
        else:
            dtype = torch.float64 if isinstance(self.leaf, torch.SymFloat) else torch.bool
            self.value = self.state.symbols.number(self.leaf, value, dtype)
        return None


def _effects(node: fx.Node, encoder: Encoder, kept: list[int]) -> dict[str, ir.Attribute]:
    """``fuse.mutated``, ``fuse.aliases`` and ``fuse.effect``, from the op's schema; a higher-order op may do
    anything.
    """
    builder = encoder.state.builder
    found: dict[str, ir.Attribute]
    target = node.target
    if isinstance(target, torch._ops.HigherOrderOperator):
        found = {"fuse.effect": builder.unit}
        if WRITES in node.meta:
            tensors = [encoder.state.resolve(n).value for n in node.meta[WRITES]]
            found["fuse.mutated"] = builder.int64s([encoder.operands.index(t) for t in tensors])
        return found | _group_effects(node, encoder, kept)
    if not isinstance(target, torch._ops.OpOverload):
        return {}
    if is_wait(node):
        same = {"0": builder.int64(0)}
        found = {"fuse.mutated": builder.int64s([0]), "fuse.aliases": ir.DictAttr.get(same)}
        return found if node.users else found | {"fuse.effect": builder.unit}
    schema = target._schema
    found = {}
    written: list[int] = []
    alias_of: dict[str, int] = {}
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None:
            continue
        given = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
        for value in pytree.tree_leaves(encoder.state.resolve(given)):
            if not isinstance(value, Tensor):
                continue
            number = encoder.operands.index(value.value)
            if argument.alias_info.is_write:
                written.append(number)
            for name in argument.alias_info.before_set:
                alias_of.setdefault(name, number)
    aliases: dict[str, ir.Attribute] = {}
    for result, tensor in received(node).items():
        written.append(encoder.operands.index(encoder.state.resolve(tensor).value))
        if result in kept:
            aliases[str(kept.index(result))] = builder.int64(written[-1])
    if written:
        found["fuse.mutated"] = builder.int64s(written)
    for position, result in enumerate(schema.returns):
        sets = () if result.alias_info is None else sorted(result.alias_info.before_set)
        operand = next((alias_of[n] for n in sets if n in alias_of), None)
        if operand is None:
            continue
        whole = len(schema.returns) == 1 and len(kept) != 1  # one list of views, or of what was written
        shared = range(len(kept)) if whole else [kept.index(position)] if position in kept else []
        for number in shared:
            each = written[kept[number]] if whole and len(written) > 1 else operand
            aliases[str(number)] = builder.int64(each)
    if aliases:
        found["fuse.aliases"] = ir.DictAttr.get(aliases)
    random = torch.Tag.nondeterministic_seeded in target.tags
    if random or node.is_impure() or is_collective(node) or not kept:
        found["fuse.effect"] = builder.unit
    ranks = ranks_of(node)
    if ranks is not None:
        found["fuse.ranks"] = builder.int64(ranks)
    return found


def _group_effects(node: fx.Node, encoder: Encoder, kept: list[int]) -> dict[str, ir.Attribute]:
    """What an ordered group that runs whole writes, and which operands its results share storage with."""
    graph = ordered_graph(node)
    if graph is None:
        return {}
    state, builder = encoder.state, encoder.state.builder
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    given = {p: state.resolve(a) for p, a in zip(placeholders, node.args[2:], strict=False)}
    numbers = {p: encoder.operands.index(t.value) for p, t in given.items() if isinstance(t, Tensor)}
    inside = InFlight.of(graph)
    found: dict[str, ir.Attribute] = {}
    written = sorted({numbers[p] for p in inside.written if p in numbers})
    if written:
        found["fuse.mutated"] = builder.int64s(written)
    aliases: dict[str, ir.Attribute] = {}
    for position, sources in inside.results():
        shared = sorted(numbers[s] for s in sources if isinstance(s, fx.Node) and s in numbers)
        if shared and (position or 0) in kept:
            aliases[str(kept.index(position or 0))] = builder.int64(shared[0])
    if aliases:
        found["fuse.aliases"] = ir.DictAttr.get(aliases)
    return found
