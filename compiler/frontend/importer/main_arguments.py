"""The arguments of ``@main``: placeholders, sizes that none of them is, and tensors that the module holds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from ...fx.graph_text import held
from ...mlir import ir
from .dtypes import BY_TORCH
from .locations import location_of
from .values import PassedOn, Tensor

if TYPE_CHECKING:
    from .importer import Importer


class MainArguments:
    """Arguments in order: ``attributes`` of each, ``positions`` of the tensors among them, ``constants`` that
    the module holds, by name, and the tensor arguments that they are.
    """

    def __init__(self, importer: "Importer") -> None:
        self._importer, self._gm, self._context = importer, importer.gm, importer.context
        self._builder, self._symbols, self._values = importer.builder, importer.symbols, importer.values
        self.attributes: list[dict[str, ir.Attribute]] = []
        self.positions: dict[ir.Value, int] = {}
        self._fakes: dict[int, torch.Tensor] = {}
        self.constants: dict[str, torch.Tensor] = {}
        self.constant_tensors: dict[str, Tensor] = {}

    def placeholders(self) -> tuple[int, ...]:
        """The arguments of ``@main``, in the placeholders' order; returns the placeholders' numbers."""
        nodes = [n for n in self._gm.graph.nodes if n.op == "placeholder"]
        examples = [*self._importer.example_inputs, *[None] * len(nodes)]
        fakes = [n.meta.get("val", example) for n, example in zip(nodes, examples, strict=False)]
        nesting = self._importer.nesting
        for name, bounds in ({} if nesting is None else nesting.sizes()).items():
            attributes = {"fuse.sym": self._builder.string(name), **bounds}
            value = self._add(self._builder.index_type, attributes, self._builder.unknown)
            self._builder.define(name, value, bounds)
        self._symbols.announce(fake for fake in fakes if not is_jagged(fake))
        inputs: list[int] = []
        for position, (node, fake) in enumerate(zip(nodes, fakes, strict=True)):
            if fake is None or isinstance(fake, (int, float, bool, str)):
                self._values[node] = fake
                continue
            if is_jagged(fake):
                self._values[node] = PassedOn(position, "size of a jagged dim")
                continue
            location = location_of(node, self._context)
            if isinstance(fake, torch.Tensor):
                self._values[node] = self._tensor(node.name, fake, {}, location)
            elif isinstance(fake, torch.SymInt):
                value = self._add(self._builder.index_type, {}, location)
                self._values[node], self.attributes[-1] = self._symbols.argument(fake, value)
            elif isinstance(fake, (torch.SymFloat, torch.SymBool)):
                dtype = torch.float64 if isinstance(fake, torch.SymFloat) else torch.bool
                value = self._add(self._builder.element_type(BY_TORCH[dtype].value), {}, location)
                self._values[node] = self._symbols.number(fake, value, dtype)
            else:
                self._values[node] = PassedOn(position, type(fake).__name__)
                continue
            inputs.append(position)
        self._bind_symbols(nodes, fakes)
        return tuple(inputs)

    def _tensor(
        self, name: str, fake: torch.Tensor, attributes: dict[str, ir.Attribute], location: ir.Location
    ) -> Tensor:
        """A tensor argument is the root of its storage: its offset counts from its own first element."""
        spec = self._importer.spec(fake, name, fresh=True, argument=True)
        number = len(self.attributes)
        value = self._add(self._builder.tensor_type(spec), attributes, location)
        self.positions[value], self._fakes[number] = number, fake
        return Tensor(value, spec, fake.dtype, fake, self._symbols.spell(fake.storage_offset()), number)

    def say_storage(self, number: int) -> None:
        """Gives argument ``number`` the attribute ``fuse.storage``: the element of its storage where the
        example began, and how many elements that had.  Something counts from where the storage begins, so an
        input that is made for a check has to lie in such a one.
        """
        fake = self._fakes[number]
        numbers = (fake.storage_offset(), fake.untyped_storage().nbytes())
        known = [n.node.hint if isinstance(n, torch.SymInt) else n for n in numbers]
        if self._importer.nesting is None and None not in known:
            place = (known[0], known[1] // fake.element_size())
            self.attributes[number]["fuse.storage"] = self._builder.int64s(place)

    def _bind_symbols(self, nodes: Sequence[fx.Node], fakes: Sequence[Any]) -> None:
        """Sizes that no SymInt argument is are read off the arguments that have them."""
        for node, fake in zip(nodes, fakes, strict=True):
            if isinstance(fake, torch.SymInt) and not is_jagged(fake):
                self._symbols.bind_number(fake, str(self._values[node]), location_of(node, self._context))
        for node, fake in zip(nodes, fakes, strict=True):
            if isinstance(fake, torch.Tensor):
                self._symbols.bind(fake, self._values[node].value, location_of(node, self._context))
        self._symbols.settle("the graph")

    def hold_constants(self) -> None:
        """Tensors that the module holds become arguments after the placeholders."""
        for node in self._gm.graph.nodes:
            tensor = held(self._gm, str(node.target)) if node.op == "get_attr" else None
            if not isinstance(tensor, torch.Tensor):
                continue
            fake = node.meta.get("val", tensor)
            name = self.constant(str(node.target), tensor, fake, location_of(node, self._context))
            self._values[node] = self.constant_tensors[name]

    def constant(
        self, name: str, tensor: torch.Tensor, fake: torch.Tensor | None = None, location: Any = None
    ) -> str:
        """The name under which ``tensor`` is an argument of ``@main``: ``name``, its path in ``gm``, or what
        it has as one already; a new one comes after the others.
        """
        known = next((n for n, t in self.constants.items() if t is tensor), None)
        if known is not None:
            return known
        self.constants[name] = tensor
        attributes = {"fuse.constant": self._builder.string(name)}
        self.constant_tensors[name] = self._tensor(
            name, tensor if fake is None else fake, attributes, location or self._builder.unknown
        )
        return name

    def _add(self, type_: ir.Type, attributes: dict[str, ir.Attribute], location: ir.Location) -> ir.Value:
        self.attributes.append(attributes)
        return self._builder.main_block.add_argument(type_, location)


def is_jagged(size: Any) -> bool:
    """Whether a SymInt is the size of a nested tensor's jagged dim: equal to itself, and no number."""
    return isinstance(size, torch.SymInt) and size.node.is_nested_int()
