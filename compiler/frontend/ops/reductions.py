"""Reductions: one kernel that loads the operand once and folds it over the reduced dims.

Dtypes are eager's: sums and products of booleans and integers are int64; 16-bit floats accumulate in float32; the result is converted last.
A reduction over no element gives the identity where eager does, and falls back where eager raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...analysis.index import Expr, const, sym
from ...mlir import ir
from ..arithmetic import Scalar
from ..builder import KernelBuilder
from ..call import Call
from ..dtypes import BY_TORCH
from ..table import lowers
from ..values import Tensor


@dataclass
class Region:
    """A kernel that has loaded its operand: ``value`` at the point ``at``; ``over`` are the dims to fold, ``kept`` the result's coordinates."""

    kernel: KernelBuilder
    value: Scalar
    over: tuple[str, ...]
    kept: tuple[Expr, ...]
    count: Expr
    dims: tuple[int, ...]

    def fold(self, kind: str, value: Scalar) -> Scalar:
        """``fuse.reduce`` of ``value`` over the reduced dims (``value`` itself where there are none)."""
        if not self.over:
            return value
        k = self.kernel
        attributes = {"kind": k.builder.string(kind), "over": k.builder.strings(self.over)}
        return Scalar(k.emit("fuse.reduce", value.value.type, [value.value], attributes), value.dtype)

    def several(self, op: str, operands: Sequence[ir.Value], types: Sequence[ir.Type], attributes: dict[str, ir.Attribute]) -> list[ir.Value]:
        """A reduction with more than one result."""
        k = self.kernel
        attributes = {**attributes, "over": k.builder.strings(self.over)}
        created = ir.Operation.create(op, results=list(types), operands=list(operands), attributes=attributes, loc=k.location, ip=k.point)
        return list(created.results)

    def number(self, expression: Expr, dtype: torch.dtype) -> Scalar:
        """A size expression as a scalar of ``dtype``."""
        if expression.constant is not None:
            return self.kernel.constant(expression.constant, dtype)
        return self.kernel.cast(self.kernel.index(expression), dtype)


def reduced_dims(call: Call, tensor: Tensor, argument: str | None = "dim") -> tuple[int, ...]:
    """The dims that a call reduces, as numbers from 0: all for None or an empty list."""
    given = call.arguments.get(argument) if argument is not None else None
    if given is None or (isinstance(given, list | tuple) and not given):
        return tuple(range(tensor.rank))
    listed = given if isinstance(given, list | tuple) else [given]
    return tuple(sorted({d % tensor.rank for d in listed})) if tensor.rank else ()


def begin(call: Call, argument: str | None = "dim", outputs: Sequence[Any] | None = None) -> Region:
    """Opens the kernel of a reduction of ``self`` and loads it."""
    tensor = call.tensor("self") if "self" in call.arguments else call.tensor("input")
    dims = reduced_dims(call, tensor, argument)
    if any(tensor.sizes[d].constant == 0 for d in dims):
        call.refuse("a reduction over no elements is left to eager")
    kernel = call.kernel([tensor], outputs)
    at = kernel.iterate(tensor.sizes)
    keepdim = bool(call.arguments.get("keepdim", False))
    over = tuple(str(at[d]) for d in dims if not at[d].is_constant)
    kept = tuple(const(0) if d in dims else c for d, c in enumerate(at) if keepdim or d not in dims)
    count = const(1)
    for d in dims:
        count = count * tensor.sizes[d]
    return Region(kernel, kernel.load(tensor, at), over, kept, count, dims)


def _single(call: Call, body: Callable[[Region], Scalar], argument: str | None = "dim") -> Tensor:
    region = begin(call, argument)
    region.kernel.store(0, region.kept, body(region))
    return call.finish(region.kernel)  # type: ignore[return-value]


def _accumulated(region: Region, call: Call) -> Scalar:
    """The loaded value in the dtype that a sum or product accumulates in."""
    return region.kernel.cast(region.value, BY_TORCH[call.value.dtype].compute)


@lowers("aten.sum.default", "aten.sum.dim_IntList")
def sum_(call: Call) -> Tensor:
    return _single(call, lambda r: r.fold("sum", _accumulated(r, call)))


@lowers("aten.prod.default", "aten.prod.dim_int")
def prod(call: Call) -> Tensor:
    return _single(call, lambda r: r.fold("prod", _accumulated(r, call)))


@lowers("aten.mean.default", "aten.mean.dim")
def mean(call: Call) -> Tensor:
    def body(region: Region) -> Scalar:
        total = region.fold("sum", _accumulated(region, call))
        return region.kernel.div(total, region.number(region.count, total.dtype))

    return _single(call, body)


def _extreme(kind: str) -> Callable[[Region], Scalar]:
    return lambda region: region.fold("any" if (boolean := region.value.kind == "bool") and kind == "max" else "all" if boolean else kind, region.value)


def _ordered(call: Call) -> None:
    """Refuses dtypes whose order ``fuse.reduce`` does not know: it compares integers as signed."""
    if BY_TORCH[(call.tensor("self")).dtype].kind == "unsigned":
        call.refuse("the extreme of unsigned integers is not generated")


@lowers("aten.amax.default", "aten.max.default")
def amax(call: Call) -> Tensor:
    _ordered(call)
    return _single(call, _extreme("max"))


@lowers("aten.amin.default", "aten.min.default")
def amin(call: Call) -> Tensor:
    _ordered(call)
    return _single(call, _extreme("min"))


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_(call: Call) -> Tensor:
    return _single(call, lambda r: r.fold("any", r.kernel.truth(r.value)))


@lowers("aten.all.default", "aten.all.dim", "aten.all.dims")
def all_(call: Call) -> Tensor:
    return _single(call, lambda r: r.fold("all", r.kernel.truth(r.value)))


def _position(region: Region, kind: str) -> tuple[Scalar, Scalar]:
    """The extreme and where it is, counted along the reduced dims in row-major order."""
    k = region.kernel
    value = k.cast(region.value, torch.int32) if region.value.kind == "bool" else region.value
    if not region.over:
        return value, k.constant(0, torch.int64)
    flat, step = const(0), const(1)
    for name in reversed(region.over):
        flat = flat + step * sym(name)
        step = step * k.dims[name]
    index = k.index(flat)
    types = [value.value.type, index.value.type]
    best, where = region.several("fuse.argreduce", [value.value, index.value], types, {"kind": k.builder.string(kind)})
    return Scalar(best, value.dtype), Scalar(where, torch.int64)


def _arg(kind: str) -> Callable[[Call], Tensor]:
    def build(call: Call) -> Tensor:
        _ordered(call)
        return _single(call, lambda r: _position(r, kind)[1])

    return build


lowers("aten.argmax.default")(_arg("argmax"))
lowers("aten.argmin.default")(_arg("argmin"))


def _with_indices(kind: str) -> Callable[[Call], list[Tensor]]:
    def build(call: Call) -> list[Tensor]:
        _ordered(call)
        values, indices = call.value
        region = begin(call, "dim", [call.fresh(values), call.fresh(indices)])
        best, where = _position(region, kind)
        region.kernel.store(0, region.kept, best)
        region.kernel.store(1, region.kept, where)
        return call.finish(region.kernel)  # type: ignore[return-value]

    return build


lowers("aten.max.dim")(_with_indices("argmax"))
lowers("aten.min.dim")(_with_indices("argmin"))


def _moments(call: Call, region: Region) -> tuple[Scalar, Scalar]:
    """(variance, mean) with eager's correction: m2 / max(0, n - correction)."""
    k = region.kernel
    correction = call.arguments.get("correction")
    if "unbiased" in call.arguments:
        correction = 1 if call.arguments["unbiased"] else 0
    correction = 1 if correction is None else correction
    if not isinstance(correction, int | float):
        call.refuse("a correction that is no number is not generated")
    value = region.value
    if region.over:
        mean_, m2 = region.several("fuse.welford", [value.value], [value.value.type] * 2, {})
        mean, squares = Scalar(mean_, value.dtype), Scalar(m2, value.dtype)
    else:
        mean, squares = value, k.sub(value, value)
    if region.count.constant is not None:
        degrees = k.constant(max(0.0, region.count.constant - correction), value.dtype)
    else:
        degrees = k.maximum(k.sub(region.number(region.count, value.dtype), float(correction)), 0.0)
    return k.div(squares, degrees), mean


@lowers("aten.var.default", "aten.var.dim", "aten.var.correction")
def var(call: Call) -> Tensor:
    return _single(call, lambda r: _moments(call, r)[0])


@lowers("aten.std.default", "aten.std.dim", "aten.std.correction")
def std(call: Call) -> Tensor:
    return _single(call, lambda r: r.kernel.math("sqrt", _moments(call, r)[0]))


@lowers("aten.var_mean.default", "aten.var_mean.dim", "aten.var_mean.correction")
def var_mean(call: Call) -> list[Tensor]:
    region = begin(call, "dim", [call.fresh(f) for f in call.value])
    for output, value in enumerate(_moments(call, region)):
        region.kernel.store(output, region.kept, value)
    return call.finish(region.kernel)  # type: ignore[return-value]
