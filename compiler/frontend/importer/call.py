"""One FX node being imported, as the builders of ``ops/`` see it."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import torch
from torch import fx

from ...fx.roundings import rounds_implicitly
from ...fx.table import Refused
from ...index import Expr
from ...ir.layout import TensorSpec
from ...mlir import ir
from .builder import Destination, KernelBuilder
from .dtypes import BY_ELEMENT, BY_TORCH
from .state import ImportState
from .values import Number, Tensor

_MISSING = object()


@cache
def _signature(overload: torch._ops.OpOverload) -> tuple[tuple[str, Any], ...]:
    """(name, default) of every argument, in schema order."""
    return tuple(
        (a.name, a.default_value if a.has_default_value() else _MISSING) for a in overload._schema.arguments
    )


class Call:
    """A node, its arguments by schema name, and what a builder needs to make ops.

    ``call["alpha"]`` is a ``Tensor``, ``Number``, ``Expr`` (a symbolic size), a plain Python value, or a
    list of them.
    """

    def __init__(self, state: ImportState, node: fx.Node, location: ir.Location) -> None:
        self.state = state
        self.node = node
        self.location = location
        self.builder = state.builder
        self.symbols = state.symbols
        self.arguments = self._by_name() if isinstance(node.target, torch._ops.OpOverload) else {}
        self._kernels: list[KernelBuilder] = []

    @property
    def value(self) -> Any:
        """``meta["val"]``: a fake tensor, a number, or a list of them."""
        return self.state.meta(self.node)

    @property
    def result(self) -> TensorSpec:
        """The spec of the one tensor that the node returns: fresh storage."""
        return self.fresh(self.value)

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def resolve(self, argument: Any) -> Any:
        """The value of an argument of the FX node, for an op that has no schema: nodes become their values,
        sequences lists.
        """
        return self.state.resolve(argument)

    def tensor(self, name: str) -> Tensor:
        """An argument that must be a tensor."""
        value = self.arguments[name]
        assert isinstance(value, Tensor), f"{self.node.name}: {name} is {value}"
        return value

    def expr(self, size: Any) -> Expr:
        """A size (int, SymInt or already an expression) as an expression."""
        return size if isinstance(size, Expr) else self.symbols.expr(size, self.node.name)

    def fresh(self, fake: torch.Tensor) -> TensorSpec:
        """Layout of ``fake`` in storage of its own: offset 0."""
        return self.state.spec(fake, self.node.name)

    def refuse(self, reason: str) -> NoReturn:
        """Gives the node up: it becomes an extern call."""
        raise Refused(reason)

    def kernel(
        self,
        inputs: Sequence[Tensor] = (),
        outputs: Sequence[Destination] | None = None,
        numbers: Sequence[Number] = (),
        name: str | None = None,
    ) -> KernelBuilder:
        """A kernel for this node; refuses dtypes and devices that a kernel of this module cannot touch.

        ``outputs`` None means the node's one result.
        """
        outputs = [self.result] if outputs is None else outputs
        if any(t.fake.is_neg() for t in inputs):
            self.refuse("a tensor is a view whose elements are negated when they are read")
        for spec in [t.spec for t in inputs] + [o.spec if isinstance(o, Tensor) else o for o in outputs]:
            if spec.device is not None:
                self.refuse(f"a tensor is on {spec.device}, not on {self.builder.device}")
            if spec.element.startswith("complex"):
                self.refuse(f"arithmetic on {spec.element} is not generated")
            if self.state.capability < BY_ELEMENT[spec.element].capability:
                self.refuse(f"a GPU of this capability does not convert {spec.element}")
        kernel = KernelBuilder(
            self.builder,
            name or self.node.name,
            self.location,
            inputs,
            outputs,
            numbers,
            implicit=rounds_implicitly(self.node),
        )
        self._kernels.append(kernel)
        return kernel

    def finish(
        self, kernel: KernelBuilder, fakes: Sequence[torch.Tensor] | None = None
    ) -> Tensor | list[Tensor]:
        """Closes ``kernel``; one tensor for one destination, else a list.  ``fakes`` None means the node's
        value.
        """
        self._kernels.remove(kernel)
        values = kernel.finish()
        if fakes is None:
            fakes = [self.value] if isinstance(self.value, torch.Tensor) else list(self.value)
        tensors = [
            self.made(value, fake, output.spec if isinstance(output, Tensor) else output)
            for value, fake, output in zip(values, fakes, kernel.outputs, strict=True)
        ]
        return tensors[0] if len(tensors) == 1 else tensors

    def copied(self, source: Tensor, fake: torch.Tensor) -> Tensor:
        """A copy of ``source``, which broadcasts to the shape of ``fake``, in its dtype and layout."""
        kernel = self.kernel([source], [self.fresh(fake)])
        at = kernel.iterate(kernel.outputs[0].sizes)
        kernel.store(0, at, kernel.load_raw(source, kernel.broadcast(source, at)))
        copy = self.finish(kernel, [fake])
        assert isinstance(copy, Tensor)
        return copy

    def made(self, value: ir.Value, fake: torch.Tensor, spec: TensorSpec) -> Tensor:
        """A tensor in fresh storage."""
        return Tensor(value, spec, fake.dtype, fake, self.symbols.spell(fake.storage_offset()))

    def view(self, source: Tensor, coordinates: Sequence[Expr], fake: torch.Tensor | None = None) -> Tensor:
        """A ``fuse.view`` of ``source`` with the layout of ``fake`` (None: the node's value)."""
        fake = self.value if fake is None else fake
        spec = self.state.spec(fake, self.node.name, begin=self._begin(source, coordinates, fake))
        value = self.builder.view(source.value, spec, coordinates, self.location)
        return Tensor(value, spec, fake.dtype, fake, source.origin, source.root)

    def _begin(self, source: Tensor, coordinates: Sequence[Expr], fake: torch.Tensor) -> Expr:
        """Where a view begins in the storage of its root.  A symbolic offset is computed from the layout of
        ``source``, so that both spell a stride in one way (``SymbolTable.strides``).
        """
        if type(fake.storage_offset()) is int:
            return self.symbols.spell(fake.storage_offset()) - source.origin
        first = {f"v{i}": 0 for i in range(fake.dim())}
        begin = source.spec.offset
        for coordinate, stride in zip(coordinates, source.spec.strides, strict=True):
            begin = begin + coordinate.subs(first) * stride
        return begin

    def host_number(self, tensor: Tensor) -> Number:
        """The element of a 0-d CPU tensor as a scalar of ``@main``: ``f64`` or ``i64``."""
        return self.state.host_number(tensor, self.location)

    def abandon(self) -> None:
        """Removes what a builder that refused had begun."""
        for kernel in self._kernels:
            kernel.discard()
        self._kernels.clear()

    def _by_name(self) -> dict[str, Any]:
        node, resolve = self.node, self.state.resolve
        named: dict[str, Any] = {}
        for position, (name, default) in enumerate(_signature(node.target)):
            if position < len(node.args):
                named[name] = resolve(node.args[position])
            elif name in node.kwargs:
                named[name] = resolve(node.kwargs[name])
            elif default is not _MISSING:
                named[name] = default
        return named


def computes(dtype: torch.dtype) -> torch.dtype:
    """The dtype that arithmetic on ``dtype`` is done in."""
    return BY_TORCH[dtype].compute
