"""Runs a module on the CPU at every level: the oracle of the tests, and the engine of the backend where there is no GPU.

``Program(module)`` translates ``@main`` once into Python closures; calling it runs them on torch tensors.  ``run_module`` does both.
Devices named in the module are all the CPU here.  With ``shadow`` every float is a float64 and nothing rounds: a reference for numbers.

Memory is checked on the way.  ``fuse.empty`` is filled with NaN, so that a read of what nobody wrote is seen.  A value is one
*version* of a storage: a call that ties it makes the next version, and who uses an older one after that, or any after
``fuse.free`` or ``fuse.reuse``, gets ``UseAfterFree`` when the program is built.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..analysis.index import parse
from ..analysis.kernel import attribute_items, is_kernel, is_tiled, kernel_ties, string, strings
from ..analysis.layout import TensorSpec
from ..mlir import ir
from .dtypes import memory_dtype, poison, value_dtype
from .errors import RunError, UseAfterFree
from .extern_calls import ExternCall
from .rng import RngState
from .scalar_kernels import ScalarKernel
from .scalar_ops import constant_value, elementwise

Tensor = torch.Tensor
Value = Tensor | int | float | bool | None


@dataclass
class Frame:
    """The state of one run of one function: a value per slot, sizes by name, where random numbers come from."""

    values: list[Any]
    sizes: dict[str, int]
    rng: RngState


Step = Callable[[Frame, list[Any]], Sequence[Any]]


class Program:
    """A module ready to run.

    ``objects``: what ``#fuse.torch<"object:NAME">`` names.  ``shadow``: all floats in float64.  Raises RunError on what it cannot run.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        objects: Mapping[str, Any] | None = None,
        shadow: bool = False,
        entry: str = "main",
    ) -> None:
        self._functions = {
            string(op.attributes["sym_name"]): op.operation
            for op in module.body.operations
            if "sym_name" in op.attributes
        }
        self._built: dict[str, Any] = {}
        self.objects = dict(objects or {})
        self.shadow = shadow
        if entry not in self._functions:
            raise RunError(f"the module has no function @{entry}")
        self._main = GraphFunction(self, self._functions[entry])
        self._mutates = _mutates(self._functions[entry])

    def __call__(self, inputs: Sequence[Value], *, rng: RngState | None = None) -> list[Value]:
        """Runs the entry function on tensors and sizes, in the order of its arguments.

        Returns all its results.  Arguments that the module mutates are changed in place, except under ``shadow``, which
        leaves the caller's tensors alone.
        """
        own = _Imported(self.shadow)
        arguments = [own.take(value) for value in inputs]
        results = self._main(arguments, rng or RngState())
        for result, argument in sorted(self._mutates.items()):
            if (
                not same_storage(results[result], arguments[argument])
                or results[result].shape != arguments[argument].shape
            ):
                arguments[argument].copy_(results[result])
        own.give_back()
        return results

    def function(self, name: str, location: ir.Location) -> Any:
        """What runs when ``name`` is called; built on first use."""
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
            from .tile_kernels import TileKernel

            return TileKernel(func, self._functions, self.shadow)
        if is_kernel(func):
            return ScalarKernel(func, self.shadow)
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
    """Runs ``@entry`` once: ``Program(module, ...)(inputs)``."""
    return Program(module, objects=objects, shadow=shadow, entry=entry)(inputs, rng=rng)


def same_storage(a: Any, b: Any) -> bool:
    """Whether two tensors share memory."""
    return (
        isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    )


def _mutates(func: ir.Operation) -> dict[int, int]:
    """``fuse.mutates`` of a function's return: result -> argument."""
    blocks = list(func.regions[0].blocks)
    last = list(blocks[0].operations)[-1].operation if blocks else func
    if "fuse.mutates" not in last.attributes:
        return {}
    return {
        int(name): ir.IntegerAttr(a).value for name, a in attribute_items(last.attributes["fuse.mutates"])
    }


class _Imported:
    """The caller's tensors as the interpreter sees them: on the CPU, under shadow as float64 copies that keep aliases."""

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
        """Copies what happened to moved tensors back to the caller's."""
        for original, copy in self._moved:
            if not torch.equal(original.cpu(), copy):
                original.copy_(copy)


# --- functions of graph ops ----------------------------------------------------------------------------------------------------


@dataclass
class _Storage:
    """What is known of one storage while a function is read: its current version, and the op that ended it."""

    argument: int | None = None
    version: int = 0
    ended: str | None = None
    alive: bool = True


@dataclass
class _Origin:
    """Where a tensor value lives: a storage, the version it is, the layout's offset of the value whose torch tensor is the anchor."""

    storage: _Storage
    version: int


@dataclass
class ResultOrigin:
    """Whose storage a function's result is: argument ``argument`` (None: fresh), and whether the function wrote to it."""

    argument: int | None
    written: bool


@dataclass
class _Plan:
    """One op, translated."""

    step: Step
    op: ir.Operation
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...] = field(default=())


class GraphFunction:
    """A function of graph ops (``@main``, an ordered group), translated into steps."""

    def __init__(self, program: Program, func: ir.Operation) -> None:
        self.name = string(func.attributes["sym_name"])
        self._program = program
        self._location = func.location
        blocks = list(func.regions[0].blocks)
        if len(blocks) != 1:
            raise RunError(f"@{self.name} has {len(blocks)} blocks, one is expected", func.location)
        block = blocks[0]
        self._number: dict[ir.Value, int] = {}
        self._origins: dict[ir.Value, _Origin] = {}
        self._specs = [_spec(a.type) for a in block.arguments]
        for i, argument in enumerate(block.arguments):
            self._number[argument] = i
            if self._specs[i] is not None:
                self._origins[argument] = _Origin(_Storage(argument=i), 0)
        self._symbols = _argument_symbols(func)
        self._plan: list[_Plan] = []
        self._returned: tuple[int, ...] = ()
        self.results: list[ResultOrigin] = []
        for op in (o.operation for o in block.operations):
            self._read(op)
        self._slots = len(self._number)
        self._drop_after_last_use(len(block.arguments))

    def __call__(self, arguments: Sequence[Any], rng: RngState) -> list[Any]:
        if len(arguments) != len(self._specs):
            raise RunError(
                f"@{self.name} takes {len(self._specs)} arguments and got {len(arguments)}", self._location
            )
        sizes = {name: int(arguments[i]) for name, i in self._symbols.items()}
        for i, (spec, argument) in enumerate(zip(self._specs, arguments, strict=True)):
            if spec is not None:
                _check_argument(self.name, i, spec, argument, sizes, self._program.shadow, self._location)
        frame = Frame([*arguments, *[None] * (self._slots - len(arguments))], sizes, rng)
        values = frame.values
        for plan in self._plan:
            made = plan.step(frame, [values[i] for i in plan.operands])
            for slot, value in zip(plan.results, made, strict=True):
                values[slot] = value
            for slot in plan.dead:
                values[slot] = None
        return [values[i] for i in self._returned]

    # Reading.

    def _read(self, op: ir.Operation) -> None:
        if op.name == "func.return":
            self._check_uses(op)
            self._returned = tuple(self._number[v] for v in op.operands)
            for value in op.operands:
                origin = self._origins.get(value)
                found = None if origin is None else origin.storage
                self.results.append(
                    ResultOrigin(found and found.argument, found is not None and found.version > 0)
                )
            return
        make = _GRAPH_OPS.get(op.name)
        if make is None:
            function = elementwise(op, self._program.shadow)
            if function is None:
                raise RunError(
                    f"@{self.name} has an op that the interpreter does not know: {op.name}", op.location
                )
            step = _scalar_step(op, function)
        else:
            step = make(self, op)
        if op.name not in ("fuse.after", "fuse.free", "fuse.size"):
            self._check_uses(op)
        elif op.name == "fuse.free":
            self._check_alive(op, op.operands[0])
        self._follow(op)
        for result in op.results:
            self._number[result] = len(self._number)
        self._plan.append(
            _Plan(
                step,
                op,
                tuple(self._number[v] for v in op.operands),
                tuple(self._number[v] for v in op.results),
            )
        )

    def _check_uses(self, op: ir.Operation) -> None:
        for value in op.operands:
            origin = self._origins.get(value)
            if origin is None:
                continue
            self._check_alive(op, value)
            if origin.version != origin.storage.version:
                raise UseAfterFree(
                    f"{_describe(op)} uses a value that {origin.storage.ended} has overwritten", op.location
                )

    def _check_alive(self, op: ir.Operation, value: ir.Value) -> None:
        origin = self._origins.get(value)
        if origin is not None and not origin.storage.alive:
            raise UseAfterFree(
                f"{_describe(op)} uses storage that {origin.storage.ended} has given away", op.location
            )

    def _follow(self, op: ir.Operation) -> None:
        """Notes the storages of ``op``'s results and what becomes of its operands'."""
        origins = [self._origins.get(v) for v in op.operands]
        shared: dict[int, int] = {}  # result -> operand whose storage it has
        written: set[int] = set()
        if op.name == "fuse.view":
            shared = {0: 0}
        elif op.name in ("fuse.free", "fuse.reuse") and origins[0] is not None:
            origins[0].storage.alive = False
            origins[0].storage.ended = _describe(op)
        elif op.name == "func.call":
            shared, written = self._call_aliases(op)
        for operand in sorted(written):
            origin = origins[operand]
            if origin is not None:
                origin.storage.version += 1
                origin.storage.ended = _describe(op)
        for i, result in enumerate(op.results):
            if not isinstance(result.type, ir.RankedTensorType):
                continue
            origin = origins[shared[i]] if i in shared else None
            storage = origin.storage if origin is not None else _Storage()
            self._origins[result] = _Origin(storage, storage.version)

    def _call_aliases(self, op: ir.Operation) -> tuple[dict[int, int], set[int]]:
        callee = self._program.declaration(_callee(op))
        if "fuse.ties" in callee.attributes:
            ties = dict(enumerate(kernel_ties(callee)))
            return ties, set(ties.values())
        if "fuse.aliases" in callee.attributes:
            return {
                int(n): ir.IntegerAttr(a).value for n, a in attribute_items(callee.attributes["fuse.aliases"])
            }, set()
        if "fuse.extern" in callee.attributes:
            return {}, set()
        target = self._program.function(_callee(op), op.location)
        found = {i: r.argument for i, r in enumerate(target.results) if r.argument is not None}
        return found, {a for i, a in found.items() if target.results[i].written}

    def _drop_after_last_use(self, arguments: int) -> None:
        last: dict[int, int] = {}
        for step, plan in enumerate(self._plan):
            for slot in (*plan.results, *plan.operands):
                last[slot] = step
        for step, plan in enumerate(self._plan):
            slots = {
                s for s in (*plan.results, *plan.operands) if last[s] == step and s not in self._returned
            }
            plan.dead = tuple(sorted(slots))


def _describe(op: ir.Operation) -> str:
    return f"call of @{_callee(op)}" if op.name == "func.call" else op.name


def _callee(op: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(op.attributes["callee"]).value


def _spec(type_: ir.Type) -> TensorSpec | None:
    return TensorSpec.of(type_) if isinstance(type_, ir.RankedTensorType) else None


def _argument_symbols(func: ir.Operation) -> dict[str, int]:
    return _named_sizes(func, "arg_attrs")


def _named_sizes(func: ir.Operation, attribute: str) -> dict[str, int]:
    """Size symbols in ``arg_attrs`` or ``res_attrs``: name -> position."""
    if attribute not in func.attributes:
        return {}
    found = {}
    for i, attributes in enumerate(ir.ArrayAttr(func.attributes[attribute])):
        named = dict(attribute_items(attributes))
        if "fuse.sym" in named:
            found[string(named["fuse.sym"])] = i
    return found


def _check_argument(
    name: str,
    i: int,
    spec: TensorSpec,
    value: Any,
    sizes: Mapping[str, int],
    shadow: bool,
    location: ir.Location,
) -> None:
    if not isinstance(value, Tensor):
        raise RunError(f"argument {i} of @{name} is a tensor, got {type(value).__name__}", location)
    if value.dtype != memory_dtype(spec.element, shadow):
        raise RunError(f"argument {i} of @{name} holds {spec.element}, got {value.dtype}", location)
    if not spec.symbols or set(spec.symbols) <= sizes.keys():
        shape, strides, _ = layout_of(spec, sizes)
        if tuple(value.shape) != shape:
            raise RunError(
                f"argument {i} of @{name} has sizes {list(shape)}, got {list(value.shape)}", location
            )
        if not same_strides(shape, strides, value.stride()):
            raise RunError(
                f"argument {i} of @{name} has strides {list(strides)}, got {list(value.stride())}", location
            )


def same_strides(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two stride tuples address alike: strides of dims of size 1, or of an empty tensor, do not count."""
    return 0 in shape or all(n == 1 or x == y for n, x, y in zip(shape, a, b, strict=True))


def layout_of(spec: TensorSpec, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """(shape, strides, offset) of ``spec`` under a symbol environment."""
    shape = tuple(int(e.evaluate(sizes)) for e in spec.sizes)
    return shape, tuple(int(e.evaluate(sizes)) for e in spec.strides), int(spec.offset.evaluate(sizes))


# --- graph ops: (function being read, op) -> step -------------------------------------------------------------------------------


def _allocate(spec: TensorSpec, sizes: Mapping[str, int], shadow: bool) -> Tensor:
    shape, strides, offset = layout_of(spec, sizes)
    extent = 0 if 0 in shape else offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = poison(torch.empty(extent, dtype=memory_dtype(spec.element, shadow)))
    return torch.as_strided(memory, shape, strides, offset if extent else 0)


def _empty(function: GraphFunction, op: ir.Operation) -> Step:
    spec, shadow = TensorSpec.of(op.results[0].type), function._program.shadow
    return lambda frame, operands: (_allocate(spec, frame.sizes, shadow),)


def _reuse(function: GraphFunction, op: ir.Operation) -> Step:
    spec, shadow = TensorSpec.of(op.results[0].type), function._program.shadow
    location = op.location

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        made = _allocate(spec, frame.sizes, shadow)
        source: Tensor = operands[0]
        need, have = made.untyped_storage().nbytes(), source.untyped_storage().nbytes()
        if need > have and not shadow:
            raise RunError(f"fuse.reuse needs {need} bytes and its source has {have}", location)
        poison(torch.as_strided(source, (have // source.element_size(),), (1,), 0))
        return (made,)

    return step


def _free(function: GraphFunction, op: ir.Operation) -> Step:
    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        source: Tensor = operands[0]
        poison(
            torch.as_strided(source, (source.untyped_storage().nbytes() // source.element_size(),), (1,), 0)
        )
        return ()

    return step


def _view(function: GraphFunction, op: ir.Operation) -> Step:
    before, after = TensorSpec.of(op.operands[0].type), TensorSpec.of(op.results[0].type)
    location = op.location
    other_element = before.element != after.element and memory_dtype(before.element) != memory_dtype(
        after.element
    )
    if other_element and before.element_bytes != after.element_bytes:
        raise RunError(
            f"fuse.view cannot turn {before.element} into {after.element}, which has another width", location
        )
    to, shadow = memory_dtype(after.element), function._program.shadow

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        source: Tensor = operands[0]
        shape, strides, offset = layout_of(after, frame.sizes)
        _, _, origin = layout_of(before, frame.sizes)
        if other_element:
            if shadow:
                raise RunError("fuse.view between element types has no float64 shadow", location)
            source = source.view(to)
        start = source.storage_offset() - origin + offset if source.numel() else source.storage_offset()
        try:
            return (torch.as_strided(source, shape, strides, start),)
        except RuntimeError as error:
            message = f"fuse.view with sizes {list(shape)}, strides {list(strides)}, offset {start} leaves the storage of its source"
            raise RunError(message, location) from error

    return step


def _sym(function: GraphFunction, op: ir.Operation) -> Step:
    name, expr, symbols = (
        string(op.attributes["symbol"]),
        parse(string(op.attributes["expr"])),
        strings(op.attributes["syms"]),
    )

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        value = int(expr.evaluate(dict(zip(symbols, operands, strict=True))))
        frame.sizes[name] = value
        return (value,)

    return step


def _size(function: GraphFunction, op: ir.Operation) -> Step:
    name, dim = string(op.attributes["symbol"]), ir.IntegerAttr(op.attributes["dim"]).value

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        frame.sizes[name] = operands[0].shape[dim]
        return (frame.sizes[name],)

    return step


def _after(function: GraphFunction, op: ir.Operation) -> Step:
    return lambda frame, operands: (None,)


def _rng(function: GraphFunction, op: ir.Operation) -> Step:
    device, count = string(op.attributes["device"]), ir.IntegerAttr(op.attributes["count"]).value
    return lambda frame, operands: frame.rng.draw(device, count)


def _constant(function: GraphFunction, op: ir.Operation) -> Step:
    value = constant_value(op)
    value = bool(value) if str(op.results[0].type) == "i1" else value
    return lambda frame, operands: (value,)


def _scalar_step(op: ir.Operation, apply: Callable[..., Any]) -> Step:
    """An arith or math op on numbers of the graph."""
    dtypes = [value_dtype(v.type) for v in op.operands]

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        made = apply(*(torch.tensor(v, dtype=d) for v, d in zip(operands, dtypes, strict=True)))
        return tuple(m.item() for m in made) if isinstance(made, tuple) else (made.item(),)

    return step


def _call(function: GraphFunction, op: ir.Operation) -> Step:
    callee = _callee(op)
    target = function._program.function(callee, op.location)
    if isinstance(target, ExternCall):
        return _extern_step(function, op, target, function._program.declaration(callee))
    if isinstance(target, GraphFunction):
        return _group_step(target, function._program.declaration(callee))
    specs = [TensorSpec.of(r.type) for r in op.results]

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        return [_relayout(t, s, frame.sizes) for t, s in zip(target(operands), specs, strict=True)]

    return step


def _group_step(target: GraphFunction, declaration: ir.Operation) -> Step:
    symbols = _named_sizes(declaration, "res_attrs")

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        results = target(operands, frame.rng)
        frame.sizes.update({name: results[position] for name, position in symbols.items()})
        return results

    return step


def _relayout(tensor: Tensor, spec: TensorSpec, sizes: Mapping[str, int]) -> Tensor:
    """The tied argument's tensor under the layout of the result's type (the two are usually one)."""
    if spec.is_static and tuple(tensor.shape) == tuple(s.constant for s in spec.sizes):
        return tensor
    shape, strides, _ = layout_of(spec, sizes)
    return (
        tensor
        if tuple(tensor.shape) == shape
        else torch.as_strided(tensor, shape, strides, tensor.storage_offset())
    )


def _extern_step(
    function: GraphFunction, op: ir.Operation, target: ExternCall, declaration: ir.Operation
) -> Step:
    specs = [_spec(r.type) for r in op.results]
    symbols = {position: name for name, position in _named_sizes(declaration, "res_attrs").items()}
    aliased = (
        {int(n) for n, _ in attribute_items(declaration.attributes["fuse.aliases"])}
        if "fuse.aliases" in declaration.attributes
        else set()
    )
    mutated = (
        list(ir.DenseI64ArrayAttr(declaration.attributes["fuse.mutated"]))
        if "fuse.mutated" in declaration.attributes
        else []
    )
    operand_specs = [_spec(v.type) for v in op.operands]
    shadow, location = function._program.shadow, op.location

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        results = _run_extern(target, operands, operand_specs, mutated, shadow)
        if len(results) != len(specs):
            raise RunError(
                f"extern op {target.name} gave {len(results)} results, its declaration has {len(specs)}",
                location,
            )
        for position, name in symbols.items():
            frame.sizes[name] = results[position] = int(results[position])
        return [
            value
            if spec is None
            else _fit(target.name, i, value, spec, frame.sizes, shadow, i in aliased, location)
            for i, (value, spec) in enumerate(zip(results, specs, strict=True))
        ]

    return step


def _run_extern(
    target: ExternCall, operands: list[Any], specs: list[TensorSpec | None], mutated: list[int], shadow: bool
) -> list[Any]:
    """Runs an extern op; under shadow on float64, or, where the op has no float64, on the declared types."""
    if not shadow:
        return target(operands)
    try:
        return target(operands)
    except (RuntimeError, NotImplementedError):
        narrow = [
            v if s is None else v.to(memory_dtype(s.element)) for v, s in zip(operands, specs, strict=True)
        ]
        declared = target.with_declared_types()
        results = declared(narrow)
        for i in mutated:
            operands[i].copy_(narrow[i])
        return results


def _fit(
    name: str,
    i: int,
    value: Any,
    spec: TensorSpec,
    sizes: Mapping[str, int],
    shadow: bool,
    aliased: bool,
    location: ir.Location,
) -> Tensor:
    """An extern op's result in the layout that its type promises.  Raises RunError where sizes or dtype are others."""
    if not isinstance(value, Tensor):
        value = torch.tensor(value)
    dtype = memory_dtype(spec.element, shadow)
    if value.dtype == dtype and not set(spec.symbols) <= sizes.keys():
        return value  # a fuse.size after the call reads the unknown size off this result
    shape, strides, _ = layout_of(spec, sizes)
    if tuple(value.shape) != shape:
        raise RunError(
            f"result {i} of extern op {name} has sizes {list(value.shape)}, its type says {list(shape)}",
            location,
        )
    if value.dtype != dtype:
        if not shadow:
            raise RunError(
                f"result {i} of extern op {name} holds {value.dtype}, its type says {spec.element}", location
            )
        value = value.to(dtype)
    if not same_strides(shape, strides, value.stride()):
        if aliased:
            raise RunError(
                f"result {i} of extern op {name} has strides {list(value.stride())}, its type says {list(strides)}",
                location,
            )
        fitted = _allocate(spec, sizes, shadow)
        value = fitted.copy_(value)
    return value


_GRAPH_OPS: dict[str, Callable[[GraphFunction, ir.Operation], Step]] = {
    "arith.constant": _constant,
    "func.call": _call,
    "fuse.after": _after,
    "fuse.alloc": _empty,
    "fuse.empty": _empty,
    "fuse.free": _free,
    "fuse.reuse": _reuse,
    "fuse.rng": _rng,
    "fuse.size": _size,
    "fuse.sym": _sym,
    "fuse.view": _view,
}
