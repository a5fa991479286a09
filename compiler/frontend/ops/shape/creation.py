"""Tensors without inputs: constants, ramps, the identity, triangles."""

from typing import Any

import torch

from ....fx.table import lowers
from ....index import Expr
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Number, Tensor


def filled(call: Call, value: Any) -> Any:
    """Every element is ``value``: a number, a size, a host number or a 0-d tensor."""
    if isinstance(value, Tensor) and value.spec.device == "cpu":
        value = call.host_number(value)
    inputs = [value] if isinstance(value, Tensor) else []
    kernel = call.kernel(inputs, None, [value] if isinstance(value, Number) else [])
    at = kernel.iterate(call.result.sizes)
    kernel.store(0, at, _element(kernel, value))
    return call.finish(kernel)


def _element(k: KernelBuilder, value: Any) -> Operand:
    if isinstance(value, Tensor):
        return k.load_raw(value, ())
    if isinstance(value, Number):
        return k.number(value)
    return k.index(value) if isinstance(value, Expr) else value


@lowers("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(call: Call) -> Any:
    return filled(call, call["fill_value"])


@lowers("aten.fill.Scalar", "aten.fill.Tensor")
def fill(call: Call) -> Any:
    return filled(call, call["value"])


@lowers("aten.scalar_tensor.default")
def scalar_tensor(call: Call) -> Any:
    return filled(call, call["s"])


@lowers("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.zero.default")
def zeros(call: Call) -> Any:
    return filled(call, 0)


@lowers("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(call: Call) -> Any:
    return filled(call, 1)


@lowers(
    "aten.empty.memory_format",
    "aten.empty_strided.default",
    "aten.empty_like.default",
    "aten.new_empty.default",
    "aten.new_empty_strided.default",
    "aten.empty_permuted.default",
)
def empty(call: Call) -> Tensor:
    """No kernel: the elements are whatever the storage contains."""
    return call.made(call.builder.empty(call.result, call.location), call.value, call.result)


@lowers("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(call: Call) -> Any:
    """``start + i * step``: in int64 for integers, where eager first rounds both to zero, and for whole
    numbers of float32 and float64; else in float64.
    """
    return ramp(call, call.arguments.get("start", 0), call.arguments.get("step", 1))


@lowers("prims.iota.default")
def iota(call: Call) -> Any:
    return ramp(call, call["start"], call["step"])


def ramp(call: Call, start: Any, step: Any) -> Any:
    """A 1-d tensor of equal steps."""
    numbers = [v for v in (start, step) if isinstance(v, Number)]
    kernel = call.kernel([], None, numbers)
    at = kernel.iterate(call.result.sizes)
    dtype = torch.float64 if call.value.dtype.is_floating_point else torch.int64
    whole = call.value.dtype in (torch.float32, torch.float64) and all(map(_is_whole, (start, step)))
    if (dtype == torch.int64 or whole) and not numbers:
        first, each = (v if isinstance(v, Expr) else call.expr(int(v)) for v in (start, step))
        place = kernel.index(at[0] * each + first)
        kernel.store(0, at, kernel.cast(place, call.value.dtype) if whole else place)
    else:
        terms = [_as(kernel, _element(kernel, v), dtype) for v in (start, step)]
        place = kernel.cast(kernel.index(at[0]), dtype)
        kernel.store(0, at, kernel.add(terms[0], kernel.mul(place, terms[1])))
    return call.finish(kernel)


def _is_whole(value: Any) -> bool:
    """Whether a number is an integer that float64 has, and so are its sums with places in a tensor."""
    return isinstance(value, Expr) or (
        isinstance(value, int | float) and abs(value) < 2**31 and int(value) == value
    )


def _as(k: KernelBuilder, value: Operand, dtype: torch.dtype) -> Scalar:
    return k.cast(k.lift(value, dtype), dtype)


@lowers("aten.eye.default", "aten.eye.m")
def eye(call: Call) -> Any:
    kernel = call.kernel()
    at = kernel.iterate(call.result.sizes)
    row, column = (kernel.index(c) for c in at)
    kernel.store(0, at, kernel.compare("eq", row, column))
    return call.finish(kernel)


@lowers("aten.tril.default")
def tril(call: Call) -> Any:
    return triangle(call, lambda k, gap, diagonal: k.compare("le", gap, diagonal))


@lowers("aten.triu.default")
def triu(call: Call) -> Any:
    return triangle(call, lambda k, gap, diagonal: k.compare("ge", gap, diagonal))


def triangle(call: Call, keeps: Any) -> Any:
    """The elements for which column - row is kept, zero elsewhere."""
    source, diagonal = call.tensor("self"), call["diagonal"]
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    gap = kernel.index(at[-1] - at[-2])
    limit = kernel.index(diagonal) if isinstance(diagonal, Expr) else diagonal
    x = kernel.load_raw(source, at)
    kernel.store(0, at, kernel.select(keeps(kernel, gap, limit), x, kernel.constant(0, x.dtype)))
    return call.finish(kernel)
