"""Where ``@main`` begins and ends: its arguments, which are placeholders, sizes that no placeholder is, and
tensors that the FX module holds; and its return.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from ...fx.graph_text import held
from ...fx.saved_strides import DONATED
from ...mlir import ir
from .dtypes import BY_TORCH
from .locations import location_of
from .state import ImportState
from .values import PassedOn, Tensor


def take_placeholders(state: ImportState, example_inputs: Sequence[Any] = ()) -> tuple[int, ...]:
    """The placeholders become arguments of ``@main``, in order, behind the sizes that a sub-graph takes; the
    numbers of those that do.  ``example_inputs`` stand for placeholders without ``meta["val"]``.
    """
    builder, symbols = state.builder, state.symbols
    nodes = [n for n in state.gm.graph.nodes if n.op == "placeholder"]
    examples = [*example_inputs, *[None] * len(nodes)]
    fakes = [n.meta.get("val", example) for n, example in zip(nodes, examples, strict=False)]
    for name, bounds in (state.outer_sizes or {}).items():
        attributes = {"fuse.sym": builder.string(name), **bounds}
        value = _argument(state, builder.index_type, attributes, builder.unknown)
        builder.define(name, value, bounds)
    symbols.announce(fake for fake in fakes if not is_jagged(fake))
    inputs: list[int] = []
    for position, (node, fake) in enumerate(zip(nodes, fakes, strict=True)):
        if fake is None or isinstance(fake, (int, float, bool, str)):
            state.values[node] = fake
            continue
        if is_jagged(fake):
            state.values[node] = PassedOn(position, "size of a jagged dim")
            continue
        location = location_of(node, state.context)
        if isinstance(fake, torch.Tensor):
            attributes = {"fuse.donated": builder.unit} if DONATED in node.meta else {}
            state.values[node] = _tensor_argument(state, node.name, fake, attributes, location)
        elif isinstance(fake, torch.SymInt):
            value = _argument(state, builder.index_type, {}, location)
            state.values[node], state.arguments.attributes[-1] = symbols.argument(fake, value)
        elif isinstance(fake, (torch.SymFloat, torch.SymBool)):
            dtype = torch.float64 if isinstance(fake, torch.SymFloat) else torch.bool
            value = _argument(state, builder.element_type(BY_TORCH[dtype].value), {}, location)
            state.values[node] = symbols.number(fake, value, dtype)
        else:
            state.values[node] = PassedOn(position, type(fake).__name__)
            continue
        inputs.append(position)
    _bind_symbols(state, nodes, fakes)
    return tuple(inputs)


def is_jagged(size: Any) -> bool:
    """Whether a SymInt is the size of a nested tensor's jagged dim: equal to itself, and no number."""
    return isinstance(size, torch.SymInt) and size.node.is_nested_int()


def _bind_symbols(state: ImportState, nodes: Sequence[fx.Node], fakes: Sequence[Any]) -> None:
    """Sizes that no SymInt argument is are read off the arguments that have them."""
    for node, fake in zip(nodes, fakes, strict=True):
        if isinstance(fake, torch.SymInt) and not is_jagged(fake):
            state.symbols.bind_number(fake, str(state.values[node]), location_of(node, state.context))
    for node, fake in zip(nodes, fakes, strict=True):
        if isinstance(fake, torch.Tensor):
            state.symbols.bind(fake, state.values[node].value, location_of(node, state.context))
    state.symbols.settle("the graph")
    for node, fake in zip(nodes, fakes, strict=True):
        if isinstance(fake, torch.SymInt) and not is_jagged(fake):
            known = state.symbols.plain(fake.node.expr)
            if known is not None and state.symbols.defines(known):
                state.values[node] = known  # as types spell it, where a guard has made it another size's


def hold_constants(state: ImportState) -> None:
    """The tensors that the FX module holds become arguments behind the placeholders."""
    for node in state.gm.graph.nodes:
        tensor = held(state.gm, str(node.target)) if node.op == "get_attr" else None
        if not isinstance(tensor, torch.Tensor):
            continue
        fake = node.meta.get("val", tensor)
        location = location_of(node, state.context)
        state.values[node] = constant_argument(state, str(node.target), tensor, fake, location)


def constant_argument(
    state: ImportState,
    name: str,
    tensor: torch.Tensor,
    fake: torch.Tensor | None = None,
    location: ir.Location | None = None,
) -> Tensor:
    """The argument of ``@main`` that is ``tensor``, which the FX module holds at the path ``name``: the one
    that it is already under any path, or a new one behind the others.  ``fake`` None: ``tensor`` itself has
    the layout.
    """
    arguments = state.arguments
    known = next((n for n, t in arguments.constants.items() if t is tensor), None)
    if known is not None:
        return arguments.constant_tensors[known]
    arguments.constants[name] = tensor
    attributes = {"fuse.constant": state.builder.string(name)}
    made = _tensor_argument(
        state, name, tensor if fake is None else fake, attributes, location or state.builder.unknown
    )
    arguments.constant_tensors[name] = made
    return made


def _tensor_argument(
    state: ImportState,
    name: str,
    fake: torch.Tensor,
    attributes: dict[str, ir.Attribute],
    location: ir.Location,
) -> Tensor:
    """A tensor argument is the root of its storage: its offset counts from its own first element."""
    spec = state.spec(fake, name, argument=True)
    number = len(state.arguments.attributes)
    value = _argument(state, state.builder.tensor_type(spec), attributes, location)
    state.arguments.positions[value], state.arguments.fakes[number] = number, fake
    return Tensor(value, spec, fake.dtype, fake, state.symbols.spell(fake.storage_offset()), number)


def _argument(
    state: ImportState, type_: ir.Type, attributes: dict[str, ir.Attribute], location: ir.Location
) -> ir.Value:
    state.arguments.attributes.append(attributes)
    return state.builder.main_block.add_argument(type_, location)


def say_storage(state: ImportState, number: int) -> None:
    """Gives the tensor argument ``number`` the attribute ``fuse.storage``: the element of its storage where
    the example began, and how many elements that had.  An extern call counts from where the storage begins,
    so an input that is made for a check has to lie in such a one.
    """
    fake = state.arguments.fakes[number]
    numbers = (fake.storage_offset(), fake.untyped_storage().nbytes())
    known = [n.node.hint if isinstance(n, torch.SymInt) else n for n in numbers]
    if state.outer_sizes is None and None not in known:
        place = (known[0], known[1] // fake.element_size())
        state.arguments.attributes[number]["fuse.storage"] = state.builder.int64s(place)


def close_main(
    state: ImportState, results: Sequence[ir.Value], mutates: Mapping[str, ir.Attribute] | None = None
) -> None:
    """Writes the return and the signature of ``@main``.  ``mutates``: see ``fuse.mutates`` in
    docs/architecture.md.
    """
    builder = state.builder
    with state.context:
        attributes = {"fuse.mutates": ir.DictAttr.get(dict(mutates))} if mutates else {}
        builder.op("func.return", [], list(results), attributes, builder.unknown)
        main = builder.main.attributes
        main["function_type"] = builder.function_type(
            [a.type for a in builder.main_block.arguments], [v.type for v in results]
        )
        if any(state.arguments.attributes):
            main["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in state.arguments.attributes])
