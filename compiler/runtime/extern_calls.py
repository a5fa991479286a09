"""Runs extern declarations: resolves ``fuse.extern`` to a callable and rebuilds its arguments from
``fuse.args`` and ``fuse.kwargs``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..ir.dialects import fuse
from ..ir.kernel import attribute_items, extern_arguments, string
from ..ir.storage import operand_number
from ..mlir import ir
from .errors import RunError
from .torch_names import flatten, resolve, torch_object
from .torch_types import TORCH_DTYPES

#: A rebuilt argument: from the operands of one call to the Python object.
Getter = Callable[[Sequence[Any]], Any]


class ExternCall:
    """One extern declaration, resolved once.  Call it with the operands of a ``func.call``.

    ``device`` replaces all devices named in arguments; ``float64`` turns float dtypes into float64 (shadow
    evaluation).
    """

    def __init__(
        self,
        declaration: ir.Operation,
        objects: Mapping[str, Any],
        *,
        device: str | None = None,
        float64: bool = False,
    ) -> None:
        attributes = declaration.attributes
        self._declaration = declaration
        self.name = string(attributes["fuse.extern"])
        self.location = declaration.location
        self.function = resolve(self.name, self.location)
        self._objects, self._device, self._float64 = objects, device, float64
        given, named = extern_arguments(attributes)
        self._args = [self._getter(a) for a in given]
        self._kept = (
            list(ir.DenseI64ArrayAttr(attributes["fuse.returns"])) if "fuse.returns" in attributes else None
        )
        self._kwargs = {name: self._getter(a) for name, a in named.items()}

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Runs the operator.  Returns the leaves of what it returns that ``fuse.returns`` names, else those
        that are not None."""
        args = [get(operands) for get in self._args]
        kwargs = {name: get(operands) for name, get in self._kwargs.items()}
        leaves = flatten(self.function(*args, **kwargs))
        return (
            [leaf for leaf in leaves if leaf is not None]
            if self._kept is None
            else [leaves[i] for i in self._kept]
        )

    def with_declared_types(self) -> "ExternCall":
        """The same op on the types that the module declares, for operators that have no float64 form."""
        return ExternCall(self._declaration, self._objects, device=self._device)

    def _getter(self, attribute: ir.Attribute) -> Getter:
        if isinstance(attribute, fuse.Arg):
            position = operand_number(attribute)
            return lambda operands: operands[position]
        if isinstance(attribute, ir.ArrayAttr):
            parts = [self._getter(a) for a in attribute]
            return lambda operands: [part(operands) for part in parts]
        if isinstance(attribute, fuse.Tuple):
            elements = self._getter(ir.ArrayAttr(attribute.params[0]))
            return lambda operands: tuple(elements(operands))
        if isinstance(attribute, ir.DictAttr):
            entries = {name: self._getter(a) for name, a in attribute_items(attribute)}
            return lambda operands: {name: entry(operands) for name, entry in entries.items()}
        constant = self.constant(attribute)
        return lambda operands: constant

    def constant(self, attribute: ir.Attribute) -> Any:
        """The Python object of an argument without operands in it.  Raises RunError where there is none."""
        named = torch_name(attribute)
        if named is None:
            return literal(attribute, self.name, self.location)
        found = torch_object(named, self._objects, self._device, self.location)
        return self._dtype(found) if isinstance(found, torch.dtype) else found

    def _dtype(self, dtype: torch.dtype) -> torch.dtype:
        return torch.float64 if self._float64 and dtype.is_floating_point else dtype


def torch_name(attribute: ir.Attribute) -> str | None:
    """``kind:name`` of an argument that ``torch_object`` finds; None for one that is a ``literal``."""
    if isinstance(attribute, fuse.Torch):
        return ir.StringAttr(attribute.params[0]).value
    if isinstance(attribute, ir.TypeAttr):
        return str(TORCH_DTYPES[str(attribute.value)]).replace("torch.", "dtype:")
    return None


def literal(attribute: ir.Attribute, op: str, location: ir.Location) -> Any:
    """The number, text or list of numbers that an argument of the op is.  Raises RunError for any other."""
    if isinstance(attribute, ir.UnitAttr):
        return None
    for kind in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr):
        if isinstance(attribute, kind):
            return attribute.value
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseF64ArrayAttr, ir.DenseBoolArrayAttr)):
        return list(attribute)
    raise RunError(f"an argument of extern op {op} cannot be rebuilt: {attribute}", location)
