"""Runs a module on the CPU at every level: the oracle of the tests, and what the backend runs where there is
no GPU.

``InterpretedProgram(module)`` translates ``@main`` once into Python closures; calling it runs them on torch
tensors.  ``run_module`` does both. All devices that the module names are the CPU here.  With ``shadow`` every
float is a float64 and nothing is rounded, which gives a reference for numbers.

Memory is checked during the run.  ``fuse.empty`` is filled with NaN, so that reads of unwritten elements
show.  A value is one *version* of a storage.  A call that ties it makes the next version.  A use of an older
version after that, or of any version after ``fuse.free`` or ``fuse.reuse``, raises ``UseAfterFree`` when the
program is built.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from ...ir.kernel import attribute_items, is_kernel, is_tiled, string
from ...ir.nesting import graph_of
from ...mlir import ir
from ..as_torch import without_view
from ..errors import RunError
from ..extern_calls import ExternCall
from ..rng import RngState
from .control_flow import InterpretedControlFlow
from .graph_function import GraphFunction, Nested
from .graph_values import Watch
from .scalar.scalar_kernels import ScalarKernel
from .tile_kernels import InterpretedTileKernel

#: A tensor, a number, or None for a token.
Value = Any


class InterpretedProgram:
    """A module ready to run.

    ``objects``: what ``#fuse.torch<"object:NAME">`` names.  ``shadow``: all floats are float64.  ``watched``:
    by call, the function that is called after it; fresh memory is then zeros.  ``ranges``: by call, the name
    of a range for profilers around it.  ``checked``: it is an error if
    two points of a scalar kernel set one element, at loaded indices, to different values; otherwise one of
    the values stays, as in eager.  Raises RunError for what it cannot run.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        objects: Mapping[str, Any] | None = None,
        shadow: bool = False,
        entry: str = "main",
        watched: Mapping[ir.Operation, Watch] = MappingProxyType({}),
        ranges: Mapping[ir.Operation, str] = MappingProxyType({}),
        checked: bool = True,
    ) -> None:
        self._module = (
            module  # an op does not keep the module that owns it alive, and errors ask ops for their location
        )
        self._functions = {
            string(op.attributes["sym_name"]): op.operation
            for op in module.body.operations
            if "sym_name" in op.attributes
        }
        self._built: dict[str, Any] = {}
        self.objects = dict(objects or {})
        self.shadow = shadow
        self.watched = watched
        self.ranges = ranges
        self.checked = checked
        if entry not in self._functions:
            raise RunError(f"the module has no function @{entry}")
        self._main = GraphFunction(self, self._functions[entry])
        self._mutates = _mutates(self._functions[entry])

    def __call__(self, inputs: Sequence[Value], *, rng: RngState | None = None) -> list[Value]:
        """Runs the entry function on tensors and sizes, in the order of its arguments.

        Returns all results.  None of them is a view to autograd, which would forbid writing to it.  A result
        that is an argument is the caller's own object, since torch identifies jagged tensors by the object of
        their offsets.  Arguments that the module mutates are changed in place, except under ``shadow``, which
        leaves the caller's tensors alone.
        """
        results, arguments = self.run(inputs, rng=rng)
        if self.shadow:
            return [without_view(result) for result in results]
        own = {id(a): value for a, value in zip(arguments, inputs, strict=True) if isinstance(value, Tensor)}
        return [own[id(r)] if id(r) in own else without_view(r) for r in results]

    def run(self, inputs: Sequence[Value], *, rng: RngState | None = None) -> tuple[list[Value], list[Value]]:
        """As a call; also returns the arguments as they are after the run (under ``shadow`` in float64)."""
        own = _Imported(self.shadow)
        arguments = [own.take(value) for value in inputs]
        results = self._main(arguments, rng or RngState())
        for result, argument in sorted(self._mutates.items()):
            old, new = arguments[argument], results[result]
            if not same_storage(new, old) or new.shape != old.shape:
                old.copy_(new)
        own.give_back()
        return results, arguments

    def function(self, name: str, location: ir.Location) -> Any:
        """The Python function that runs a call of ``name``; built on first use."""
        if name not in self._built:
            if name not in self._functions:
                raise RunError(f"the module has no function @{name}", location)
            self._built[name] = self._build(self._functions[name])
        return self._built[name]

    def declaration(self, name: str) -> ir.Operation:
        """The function or kernel called ``name``."""
        return self._functions[name]

    def _build(self, func: ir.Operation) -> Any:
        if "fuse.extern" in func.attributes:
            return ExternCall(func, self.objects, device="cpu", float64=self.shadow)
        if "fuse.launch" in func.attributes or (is_kernel(func) and is_tiled(func)):
            return InterpretedTileKernel(func, self._functions, self.shadow)
        if is_kernel(func):
            return ScalarKernel(func, self.shadow, checked=self.checked)
        if "fuse.graph" in func.attributes:
            module = self._functions.get(graph_of(func))
            if module is None:
                raise RunError(f"the module has no sub-graph @{graph_of(func)}", func.location)
            nested = InterpretedProgram(
                module.opview,
                objects=self.objects,
                shadow=self.shadow,
                watched=self.watched,
                ranges=self.ranges,
                checked=self.checked,
            )
            return Nested(nested._main)
        if "fuse.control_flow" in func.attributes:
            return InterpretedControlFlow(self, func)
        if not len(func.regions[0].blocks):
            raise RunError(
                f"@{string(func.attributes['sym_name'])} has neither a body nor fuse.extern nor fuse.launch",
                func.location,
            )
        return GraphFunction(self, func)


def run_module(
    module: ir.Module,
    inputs: Sequence[Value],
    *,
    objects: Mapping[str, Any] | None = None,
    shadow: bool = False,
    entry: str = "main",
    rng: RngState | None = None,
) -> list[Value]:
    """Runs ``@entry`` once: ``InterpretedProgram(module, ...)(inputs)``."""
    return InterpretedProgram(module, objects=objects, shadow=shadow, entry=entry)(inputs, rng=rng)


def same_storage(a: Any, b: Any) -> bool:
    """Whether two tensors share memory."""
    return (
        isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    )


def _mutates(func: ir.Operation) -> dict[int, int]:
    """``fuse.mutates`` of a function's return: result number -> argument number."""
    blocks = list(func.regions[0].blocks)
    last = list(blocks[0].operations)[-1].operation if blocks else func
    if "fuse.mutates" not in last.attributes:
        return {}
    return {
        int(name): ir.IntegerAttr(a).value for name, a in attribute_items(last.attributes["fuse.mutates"])
    }


class _Imported:
    """The caller's tensors as the interpreter uses them: on the CPU, and under shadow as float64 copies that
    keep aliases."""

    def __init__(self, shadow: bool) -> None:
        self.shadow = shadow
        self._storages: dict[tuple[int, torch.dtype], Tensor] = {}
        self._moved: list[tuple[Tensor, Tensor]] = []

    def take(self, value: Value) -> Value:
        if not isinstance(value, Tensor):
            return value
        value = value.detach()
        inexact = value.dtype.is_floating_point or value.dtype.is_complex
        if value.device.type == "cpu" and not self.shadow:
            return value
        dtype = value.dtype
        if self.shadow and inexact:
            dtype = torch.complex128 if value.dtype.is_complex else torch.float64
        key = (value.untyped_storage().data_ptr(), value.dtype)
        if key not in self._storages or value.untyped_storage().nbytes() == 0:
            elements = value.untyped_storage().nbytes() // value.element_size()
            whole = torch.as_strided(value, (elements,), (1,), 0)
            self._storages[key] = whole.to("cpu").to(dtype, copy=True)
        copy = torch.as_strided(self._storages[key], value.shape, value.stride(), value.storage_offset())
        if not self.shadow:
            self._moved.append((value, copy))
        return copy

    def give_back(self) -> None:
        """Copies changes of tensors that were moved to the CPU back to the caller's tensors."""
        for original, copy in self._moved:
            if not torch.equal(original.cpu(), copy):
                original.copy_(copy)
