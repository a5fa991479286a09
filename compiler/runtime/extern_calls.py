"""Runs extern declarations: resolves ``fuse.extern`` to a callable and rebuilds its arguments from
``fuse.args`` and ``fuse.kwargs``."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..analysis.kernel import attribute_items, string
from ..dialects import fuse
from ..mlir import ir
from .errors import RunError
from .torch_types import TORCH_DTYPES

#: Python modules whose functions an extern op may name (arithmetic on sizes and scalars).
_MODULES = {"math": "math", "operator": "operator", "_operator": "operator", "torch": "torch"}


def _run_after(dependences: Any, subgraph: Callable[..., Any], *args: Any) -> Any:
    """``control_deps``: in a program that runs in order, operands are complete when it begins."""
    return subgraph(*args)


#: Ops whose meaning is a line of Python.  torch has ``control_deps`` only once Inductor's module was
#: imported, and torch 2.11 has no kernel of it for tensors that autograd may follow.
_DEFINED_HERE: dict[str, Callable[..., Any]] = {"higher_order.control_deps": _run_after}

#: A rebuilt argument: from the operands of one call to the Python object.
Getter = Callable[[Sequence[Any]], Any]


def resolve(name: str, location: ir.Location | None = None) -> Callable[..., Any]:
    """``aten.mm.default``, ``higher_order.cond``, ``mylib.op.overload``, ``math.sqrt`` -> what to call.
    Raises RunError."""
    if name in _DEFINED_HERE:
        return _DEFINED_HERE[name]
    head, _, rest = name.partition(".")
    if head in _MODULES:
        found: Any = importlib.import_module(_MODULES[head])
        parts = rest.split(".")
    else:
        found, parts = torch.ops, name.split(".")
    for part in parts:
        found = getattr(found, part, None)
        if found is None:
            raise RunError(f"no operator is called {name!r}", location)
    return found


def torch_object(
    text: str, objects: Mapping[str, Any], device: str | None, location: ir.Location | None = None
) -> Any:
    """The object behind ``#fuse.torch<"kind:name">``.  ``device``, if given, replaces every device."""
    kind, _, name = text.partition(":")
    if kind == "device":
        return torch.device(device or name)
    if kind == "object":
        if name not in objects:
            raise RunError(
                f"the module names the object {name!r}, which was not handed over with it", location
            )
        return objects[name]
    if kind in ("dtype", "layout", "memory_format"):
        found = getattr(torch, name, None)
        if isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
            return found
    raise RunError(f"#fuse.torch<{text!r}> is no device, dtype, layout, memory format or object", location)


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
        self._args = (
            [self._getter(a) for a in ir.ArrayAttr(attributes["fuse.args"])]
            if "fuse.args" in attributes
            else []
        )
        self._kept = (
            list(ir.DenseI64ArrayAttr(attributes["fuse.returns"])) if "fuse.returns" in attributes else None
        )
        named = dict(attribute_items(attributes["fuse.kwargs"])) if "fuse.kwargs" in attributes else {}
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
            position = ir.IntegerAttr(attribute.params[0]).value
            return lambda operands: operands[position]
        if isinstance(attribute, ir.ArrayAttr):
            parts = [self._getter(a) for a in attribute]
            return lambda operands: [part(operands) for part in parts]
        if isinstance(attribute, ir.DictAttr):
            entries = {name: self._getter(a) for name, a in attribute_items(attribute)}
            return lambda operands: {name: entry(operands) for name, entry in entries.items()}
        constant = self.constant(attribute)
        return lambda operands: constant

    def constant(self, attribute: ir.Attribute) -> Any:
        """The Python object of an argument without operands in it.  Raises RunError where there is none."""
        if isinstance(attribute, ir.UnitAttr):
            return None
        if isinstance(attribute, ir.TypeAttr):
            return self._dtype(TORCH_DTYPES[str(attribute.value)])
        if isinstance(attribute, fuse.Torch):
            found = torch_object(
                ir.StringAttr(attribute.params[0]).value, self._objects, self._device, self.location
            )
            return self._dtype(found) if isinstance(found, torch.dtype) else found
        for kind in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr):
            if isinstance(attribute, kind):
                return attribute.value
        if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseF64ArrayAttr, ir.DenseBoolArrayAttr)):
            return list(attribute)
        raise RunError(f"an argument of extern op {self.name} cannot be rebuilt: {attribute}", self.location)

    def _dtype(self, dtype: torch.dtype) -> torch.dtype:
        return torch.float64 if self._float64 and dtype.is_floating_point else dtype


def flatten(result: Any) -> list[Any]:
    """The leaves of what an operator returns, in order: tuples, lists and dicts opened, None kept."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]
