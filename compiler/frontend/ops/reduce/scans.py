"""Running sums, products and logarithms of sums of exponentials along one dim."""

from typing import Any

import torch

from ....fx.table import keep_whole, lowers
from ....mlir import ir
from ...importer.arithmetic import Scalar
from ...importer.call import Call


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
        attributes = {
            "kind": kernel.builder.string(kind),
            "over": kernel.builder.string(str(at[dim])),
            "reverse": ir.BoolAttr.get(False, context=kernel.builder.context),
        }
        x = Scalar(kernel.emit("fuse.scan", x.value.type, [x.value], attributes), x.dtype)
    if kind == "sum" and x.dtype.is_floating_point and source.rank:
        x = kernel.add(x, kernel.constant(0.0, x.dtype))  # eager begins at 0.0: -0.0 alone gives 0.0
    kernel.store(0, at, x)
    return call.finish(kernel)


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


keep_whole("a scan with two results", "aten.cummax.default", "aten.cummin.default")
