"""The implementation of each op of a graph function: ``GRAPH_OPS`` for the ops, ``*_step`` for the calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...index import parse
from ...ir.kernel import attribute_items, named_sizes, string, strings
from ...ir.layout import TensorSpec
from ...mlir import ir
from ..errors import RunError
from ..extern_calls import ExternCall
from ..nested_results import own_storage
from ..rng import RngState
from .graph_values import Frame, Step, allocate, layout_of, same_strides, spec_of
from .scalar.dtypes import memory_dtype, poison, value_dtype
from .scalar.scalar_ops import constant_value


def _empty(op: ir.Operation, shadow: bool) -> Step:
    spec = TensorSpec.of(op.results[0].type)
    return lambda frame, operands: (allocate(spec, frame.sizes, shadow, frame.poisoned),)


def _reuse(op: ir.Operation, shadow: bool) -> Step:
    spec = TensorSpec.of(op.results[0].type)
    location = op.location

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        made = allocate(spec, frame.sizes, shadow, frame.poisoned)
        source: Tensor = operands[0]
        need, have = made.untyped_storage().nbytes(), source.untyped_storage().nbytes()
        if need > have and not shadow:
            raise RunError(f"fuse.reuse needs {need} bytes and its source has {have}", location)
        poison(torch.as_strided(source, (have // source.element_size(),), (1,), 0))
        return (made,)

    return step


def _free(op: ir.Operation, shadow: bool) -> Step:
    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        source: Tensor = operands[0]
        poison(
            torch.as_strided(source, (source.untyped_storage().nbytes() // source.element_size(),), (1,), 0)
        )
        return ()

    return step


def _view(op: ir.Operation, shadow: bool) -> Step:
    before, after = TensorSpec.of(op.operands[0].type), TensorSpec.of(op.results[0].type)
    location = op.location
    other_element = before.element != after.element and memory_dtype(before.element) != memory_dtype(
        after.element
    )
    if other_element and before.element_bytes != after.element_bytes:
        raise RunError(
            f"fuse.view cannot turn {before.element} into {after.element}, which has another width", location
        )
    to = memory_dtype(after.element)

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
            where = f"sizes {list(shape)}, strides {list(strides)}, offset {start}"
            raise RunError(f"fuse.view with {where} leaves the storage of its source", location) from error

    return step


def _sym(op: ir.Operation, shadow: bool) -> Step:
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


def _size(op: ir.Operation, shadow: bool) -> Step:
    name, dim = string(op.attributes["symbol"]), ir.IntegerAttr(op.attributes["dim"]).value

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        frame.sizes[name] = operands[0].shape[dim]
        return (frame.sizes[name],)

    return step


def _after(op: ir.Operation, shadow: bool) -> Step:
    return lambda frame, operands: (None,)


def _rng(op: ir.Operation, shadow: bool) -> Step:
    device, count = string(op.attributes["device"]), ir.IntegerAttr(op.attributes["count"]).value
    return lambda frame, operands: frame.rng.draw(device, count)


def _constant(op: ir.Operation, shadow: bool) -> Step:
    value = constant_value(op)
    value = bool(value) if str(op.results[0].type) == "i1" else value
    return lambda frame, operands: (value,)


def on_numbers(op: ir.Operation, apply: Callable[..., Any]) -> Callable[[list[Any]], list[Any]]:
    """An arith or math op as a function of the numbers that are its operands."""
    dtypes = [value_dtype(v.type) for v in op.operands]

    def run(operands: list[Any]) -> list[Any]:
        made = apply(*(torch.tensor(v, dtype=d) for v, d in zip(operands, dtypes, strict=True)))
        return [m.item() for m in made] if isinstance(made, tuple) else [made.item()]

    return run


def scalar_step(op: ir.Operation, apply: Callable[..., Any]) -> Step:
    """An arith or math op on numbers of the graph."""
    run = on_numbers(op, apply)
    return lambda frame, operands: run(operands)


def kernel_step(op: ir.Operation, target: Callable[[list[Any]], list[Tensor]]) -> Step:
    """A call of a kernel or a launch.  Its results are the tied arguments, whose types they have."""
    return lambda frame, operands: target(operands)


def group_step(target: Callable[[list[Any], RngState], list[Any]], declaration: ir.Operation) -> Step:
    symbols = named_sizes(declaration, "res_attrs")

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        results = target(operands, frame.rng)
        frame.sizes.update({name: results[position] for name, position in symbols.items()})
        return results

    return step


def nested_step(
    op: ir.Operation,
    target: Callable[[list[Any], RngState], list[Any]],
    declaration: ir.Operation,
    shadow: bool,
) -> Step:
    """A call of a sub-graph, or of control flow around sub-graphs.  Each tensor result is in a storage of its
    own."""
    specs = [spec_of(r.type) for r in op.results]
    symbols = named_sizes(declaration, "res_attrs")
    name, location = string(declaration.attributes["sym_name"]), op.location

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        results = own_storage(target(operands, frame.rng), operands)
        frame.sizes.update({symbol: results[position] for symbol, position in symbols.items()})
        return [
            value if spec is None else _fit(name, i, value, spec, frame.sizes, shadow, False, location)
            for i, (value, spec) in enumerate(zip(results, specs, strict=True))
        ]

    return step


def extern_step(op: ir.Operation, target: ExternCall, declaration: ir.Operation, shadow: bool) -> Step:
    specs = [spec_of(r.type) for r in op.results]
    symbols = {position: name for name, position in named_sizes(declaration, "res_attrs").items()}
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
    operand_specs = [spec_of(v.type) for v in op.operands]
    location = op.location

    def step(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        results = run_extern(target, operands, operand_specs, mutated, shadow)
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


def run_extern(
    target: ExternCall, operands: list[Any], specs: list[TensorSpec | None], mutated: list[int], shadow: bool
) -> list[Any]:
    """Runs an extern op: under shadow in float64, or in the declared types where the op has no float64."""
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
    """An extern op's result in the layout that its type promises.  Raises RunError where sizes or dtype
    differ."""
    if not isinstance(value, Tensor):
        value = torch.tensor(value)
    dtype = memory_dtype(spec.element, shadow)
    if value.dtype != dtype and not shadow:
        raise RunError(
            f"result {i} of extern op {name} holds {value.dtype}, its type says {spec.element}", location
        )
    if not set(spec.symbols) <= sizes.keys():
        return value.to(dtype)  # a fuse.size after the call reads the unknown size from this result
    shape, strides, _ = layout_of(spec, sizes)
    if tuple(value.shape) != shape:
        raise RunError(
            f"result {i} of extern op {name} has sizes {list(value.shape)}, its type says {list(shape)}",
            location,
        )
    value = value.to(dtype)
    if not same_strides(shape, strides, value.stride()):
        if aliased:
            raise RunError(
                f"result {i} of extern op {name} has strides {list(value.stride())}, "
                f"its type says {list(strides)}",
                location,
            )
        fitted = allocate(spec, sizes, shadow)
        value = fitted.copy_(value)
    return value


#: Op name -> (op, shadow) -> step.
GRAPH_OPS: dict[str, Callable[[ir.Operation, bool], Step]] = {
    "arith.constant": _constant,
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
