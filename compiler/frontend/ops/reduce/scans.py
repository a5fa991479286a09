"""Running sums, products, logarithms of sums of exponentials, and extremes along one dim."""

from typing import Any

import torch

from ....fx.table import lowers
from ....index import Expr
from ....mlir import ir
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from .reductions import ordered


def _scan(call: Call, kind: str) -> Any:
    """``dtype=`` and integers convert first, 16-bit floats accumulate in float32, as in a reduction."""
    source = call.tensor("self")
    dim = call["dim"] % max(source.rank, 1)
    kernel = call.kernel([source])
    at = kernel.iterate(source.sizes)
    x = kernel.widen(kernel.cast(kernel.load_raw(source, at), call.value.dtype))
    if source.rank and not at[dim].is_constant:
        if x.dtype == torch.bool:
            call.refuse("a running sum of booleans is not generated")
        x = prefix(kernel, kind, at[dim], x)
    if kind == "sum" and x.dtype.is_floating_point and source.rank:
        x = kernel.add(x, kernel.constant(0.0, x.dtype))  # eager begins at 0.0: -0.0 alone gives 0.0
    kernel.store(0, at, x)
    return call.finish(kernel)


def prefix(kernel: KernelBuilder, kind: str, dim: Expr, value: Scalar, *gates: Scalar) -> Scalar:
    """A ``fuse.scan`` of ``value`` along ``dim``."""
    attributes = {
        "kind": kernel.builder.string(kind),
        "over": kernel.builder.string(str(dim)),
        "reverse": ir.BoolAttr.get(False, context=kernel.builder.context),
    }
    operands = [value.value, *(gate.value for gate in gates)]
    return Scalar(kernel.emit("fuse.scan", value.value.type, operands, attributes), value.dtype)


@lowers("aten.cumsum.default")
def cumsum(call: Call) -> Any:
    return _scan(call, "sum")


@lowers("aten.cumprod.default")
def cumprod(call: Call) -> Any:
    return _scan(call, "prod")


@lowers("aten.logcumsumexp.default")
def logcumsumexp(call: Call) -> Any:
    """Of floats; torch has none of integers."""
    return _scan(call, "logsumexp")


@lowers("aten.cummax.default")
def cummax(call: Call) -> Any:
    return _running_extreme(call, "max")


@lowers("aten.cummin.default")
def cummin(call: Call) -> Any:
    return _running_extreme(call, "min")


def _running_extreme(call: Call, kind: str) -> Any:
    """The extreme so far, and the last place so far that equals it or has a NaN, behind which all are NaN.  A
    place is found when the extreme at that place is known, so the second scan follows the first.
    """
    source = call.tensor("self")
    dim = call["dim"] % max(source.rank, 1)
    kernel = call.kernel([source], [call.fresh(fake) for fake in call.value])
    at = kernel.iterate(source.sizes)
    x = ordered(call, kernel, kernel.load_raw(source, at))
    where = kernel.constant(0, torch.int64)
    if source.rank and not at[dim].is_constant:
        x = kernel.widen(kernel.cast(x, torch.int32) if x.kind == "bool" else x)
        best = prefix(kernel, kind, at[dim], x)
        found = kernel.compare("eq", x, best)
        if x.is_float:
            found = kernel.bit_or(found, kernel.is_nan(x))
        where = prefix(kernel, "max", at[dim], kernel.select(found, kernel.index(at[dim]), where))
        x = best
    for output, value in enumerate((x, where)):
        kernel.store(output, at, value)
    return call.finish(kernel)
