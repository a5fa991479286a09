"""A batch norm by running statistics, which the rewrite ``batch-norms`` kept one op."""

from typing import Any

from ....fx.table import lowers
from ....rewrites.captured.batch_norms import BATCH_NORM
from ...importer.call import Call, computes
from ...importer.values import Tensor


@lowers(BATCH_NORM)
def batch_norm(call: Call) -> Any:
    """``(x - mean) * scale + bias`` in one kernel; another makes ``scale``, a number for each channel.

    They fuse again.  They are two so that what is estimated for each element is what is computed for each.
    """
    x, mean, bias = call.tensor("input"), call.tensor("mean"), call["bias"]
    scale = _scale(call)
    kernel = call.kernel([t for t in (x, mean, scale, bias) if t is not None])
    at = kernel.iterate(call.result.sizes)
    channel = at[1:2]
    y = kernel.mul(kernel.sub(kernel.load(x, at), kernel.load(mean, channel)), kernel.load(scale, channel))
    kernel.store(0, at, y if bias is None else kernel.add(y, kernel.load(bias, channel)))
    return call.finish(kernel)


def _scale(call: Call) -> Tensor:
    """``rsqrt(var + eps) * weight`` in the dtype that the norm is computed in.

    The weight is a part of it, as in torch's own kernels.  A product's epilogue computes it in each thread
    that holds elements of the channel, so its instructions are few: no quotient and no exact root.
    """
    var, weight = call.tensor("var"), call["weight"]
    fake = call.state.empty(call.value, call.value.shape[1:2], computes(call.value.dtype))
    inputs = [t for t in (var, weight) if t is not None]
    kernel = call.kernel(inputs, [call.fresh(fake)], name=f"{call.node.name}_scale")
    at = kernel.iterate(var.sizes)
    scale = kernel.math("rsqrt", kernel.add(kernel.load(var, at), call["eps"]))
    kernel.store(0, at, scale if weight is None else kernel.mul(scale, kernel.load(weight, at)))
    made = call.finish(kernel, [fake])
    assert isinstance(made, Tensor)
    return made


__all__ = ["batch_norm"]
