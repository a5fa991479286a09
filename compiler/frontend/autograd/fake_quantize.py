"""Fake quantisation, as quantisation-aware training has it: an element becomes the nearest multiple of a
scale that an integer of some bits can count.

The functions decompose ``fake_quantize_*`` and its learnable forms, forward and backward.  They compute in
the order in which eager's kernels do, in float32 (float64 for float64), so ties fall alike.  What lies out of
range, or is missing (NaN), ends at a limit; a CPU finds the same limit as eager by the same conversion to
an integer.  Calls that eager refuses are not decomposed, so that torch raises its own error; that the zero
points of channels lie between the limits is asserted on the device.
"""

from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import Tensor

from ...fx.eager_dtypes import computed_in

#: Float32 counts integers exactly up to here.
_EXACT = 1 << 24
_OUTSIDE = "`zero_point` must be between `quant_min` and `quant_max`."
Pair = tuple[Tensor, Tensor]


def _decomposes(x: Tensor, quant_min: int, quant_max: int) -> bool:
    limits = type(quant_min) is int and type(quant_max) is int and quant_min <= quant_max
    return x.is_floating_point() and limits and max(abs(quant_min), abs(quant_max)) < _EXACT


def _limited(count: Tensor, low: int, high: int) -> Tensor:
    """A count between the limits; the lower one for NaN."""
    return torch.where(count >= low, count.clamp(max=high), low)


def _inside(count: Tensor, low: int, high: int) -> Tensor:
    return (count >= low) & (count <= high)


def _per_tensor(x: Tensor, scale: Any, inverse: Any, zero: Any, low: int, high: int) -> Pair:
    """The result in ``x``'s dtype, and where ``x`` was within the range.  ``scale``, ``inverse``, ``zero``:
    numbers, or 0-d tensors of float32.
    """
    count = torch.round(x.to(computed_in(x)) * inverse) + zero
    steps = (_limited(count, low, high) - zero).to(torch.float32)
    return (steps * scale).to(x.dtype), _inside(count, low, high)


def per_tensor(x: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Pair:
    if not _decomposes(x, quant_min, quant_max) or type(scale) is not float or type(zero_point) is not int:
        return NotImplemented
    if not quant_min <= zero_point <= quant_max:
        return NotImplemented
    with numpy.errstate(all="ignore"):
        rounded = numpy.float32(scale)
        inverse = numpy.float32(1) / rounded
    return _per_tensor(x, float(rounded), float(inverse), zero_point, quant_min, quant_max)


def _first(x: Tensor) -> Tensor:
    """The one element that eager's kernel reads, as float32."""
    return x.reshape(-1)[0].to(torch.float32)


def per_tensor_of_tensors(
    x: Tensor, scale: Tensor, zero_point: Tensor, enabled: Tensor, quant_min: int, quant_max: int
) -> Pair:
    on_gpu = x.device.type != "cpu"
    expected = (torch.float32, torch.int32, torch.int64)
    if not _decomposes(x, quant_min, quant_max) or any(t.numel() != 1 for t in (scale, zero_point, enabled)):
        return NotImplemented
    if on_gpu and (scale.dtype, zero_point.dtype, enabled.dtype) != expected:
        return NotImplemented
    factor, on = _first(scale), enabled.reshape(-1)[0] != 0
    made, inside = _per_tensor(x, factor, 1 / factor, _first(zero_point), quant_min, quant_max)
    return torch.where(on, made, x), inside | ~on


def _contracted(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """``a * b + c``, rounded once, as eager's compilers contract it."""
    return torch.addcmul(c, a, b)


def _shaped(x: Tensor, of_channels: Tensor, axis: int) -> Tensor:
    return of_channels.reshape([-1 if d == axis else 1 for d in range(x.dim())])


def per_channel(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Pair:
    on_cpu = x.device.type == "cpu"
    dims = (scale.dim(), zero_point.dim()) == (1, 1) and 0 <= axis < x.dim()
    scales = (torch.float32,) if on_cpu else (torch.float32, torch.bfloat16)
    if not _decomposes(x, quant_min, quant_max) or not dims or scale.dtype not in scales:
        return NotImplemented
    zeros = (torch.int32,) if x.dtype == torch.float64 else (torch.int32, torch.float32, torch.float16)
    if zero_point.dtype not in zeros:
        return NotImplemented
    if not zero_point.is_floating_point():
        torch.ops.aten._assert_async.msg(_inside(zero_point, quant_min, quant_max).all(), _OUTSIDE)
    # eager multiplies in float64 where a zero point is no integer, and elsewhere it makes no difference
    wide = torch.float64 if zero_point.is_floating_point() else computed_in(x)
    factor = _shaped(x, scale.to(torch.float32), axis)
    zero = _shaped(x, zero_point if zero_point.is_floating_point() else zero_point.to(torch.float32), axis)
    given, inverse = x.to(computed_in(x)), 1 / factor
    if zero_point.is_floating_point():
        count = torch.round(_contracted(given, inverse, zero))
        count = count.to(torch.int64) if on_cpu else count
    elif not on_cpu:  # what is out of int64's range goes round, as in eager's kernel
        count = torch.round(given * inverse).to(torch.int64) + _shaped(x, zero_point.to(torch.int64), axis)
    else:
        count = (torch.round(given * inverse) + zero).to(torch.int64)
    made = (_limited(count, quant_min, quant_max).to(wide) - zero.to(wide)) * factor.to(wide)
    return made.to(x.dtype), _inside(count, quant_min, quant_max)


def learnable_per_tensor(
    x: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    if not _decomposes(x, quant_min, quant_max) or not scale.dim() or not zero_point.dim():
        return NotImplemented
    zero = torch.round(_first(zero_point)).clamp(quant_min, quant_max)
    factor = _first(scale)
    return _per_tensor(x, factor, 1 / factor, zero, quant_min, quant_max)[0]


def learnable_per_channel(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:  # fmt: skip
    if not zero_point.is_floating_point() or not _decomposes(x, quant_min, quant_max):
        return NotImplemented
    zero = torch.round(zero_point).clamp(quant_min, quant_max).to(torch.int32)
    made = per_channel(x, scale, zero, axis, quant_min, quant_max)
    return made if made is NotImplemented else made[0]


def _learned(
    grad: Tensor, x: Tensor, scale: Tensor, zero: Tensor, count: Tensor, low: int, high: int, factor: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the input and of each element's scale and zero point, in float32.  ``zero``: a whole
    number.  ``count``: int64, what the input became.
    """
    inside = _inside(count, low, high)
    steps = count.clamp(low, high).to(torch.float32) - zero
    error = _contracted(steps, scale, -x)
    outside = torch.where(count < low, grad * (low - zero), grad * (high - zero))
    of_scale = torch.where(inside, grad * error * (1 / scale), outside) * factor
    of_zero = torch.where(inside, 0.0, -grad * scale * factor)
    return grad * inside, of_scale, of_zero


def learnable_per_tensor_backward(
    grad: Tensor, x: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    given = (grad, x, scale, zero_point)
    if any(t.dtype != torch.float32 for t in given) or not _learns(
        x, scale, zero_point, quant_min, quant_max
    ):
        return NotImplemented
    zero = (_first(zero_point) + 0.5).clamp(quant_min, quant_max).trunc()  # as eager has it: no rounding
    factor = _first(scale)
    count = _counted(x, factor, zero)
    of_x, *others = _learned(grad, x, factor, zero, count, quant_min, quant_max, grad_factor)
    of_scale, of_zero = (each.sum().unsqueeze(0) for each in others)
    return of_x, of_scale, of_zero


def learnable_per_channel_backward(
    grad: Tensor, x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    given = (grad, x, scale, zero_point)
    kept = (torch.bfloat16, torch.float32) if x.dtype == torch.bfloat16 else (torch.float32,)
    if any(t.dtype not in kept for t in given) or not _learns(x, scale, zero_point, quant_min, quant_max):
        return NotImplemented
    if (scale.dim(), zero_point.dim()) != (1, 1) or not 0 <= axis < x.dim():
        return NotImplemented
    grad, x = grad.to(torch.float32), x.to(torch.float32)
    zero = _shaped(x, torch.round(zero_point.to(torch.float32)).clamp(quant_min, quant_max), axis)
    factor = _shaped(x, scale.to(torch.float32), axis)
    count = _counted(x, factor, zero)
    of_x, *others = _learned(grad, x, factor, zero, count, quant_min, quant_max, grad_factor)
    rest = [d for d in range(x.dim()) if d != axis]
    of_scale, of_zero = (each.sum(rest) if rest else each for each in others)
    return of_x, of_scale, of_zero


def _counted(x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """What an input becomes: eager's kernel for the CPU adds the zero point before it rounds."""
    if x.device.type == "cpu":
        return torch.round(_contracted(x, 1 / scale, zero)).to(torch.int64)
    return torch.round(x * (1 / scale)).to(torch.int64) + zero.to(torch.int64)


def _learns(x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> bool:
    decomposes = _decomposes(x, low, high) and low <= 0 <= high and x.numel() != 0
    return decomposes and scale.dim() > 0 and zero_point.dim() > 0


#: Overload -> its decomposition.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "fake_quantize_per_tensor_affine_cachemask.default": per_tensor,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": per_tensor_of_tensors,
    "fake_quantize_per_channel_affine_cachemask.default": per_channel,
    "_fake_quantize_learnable_per_tensor_affine.default": learnable_per_tensor,
    "_fake_quantize_learnable_per_tensor_affine_backward.default": learnable_per_tensor_backward,
    "_fake_quantize_learnable_per_channel_affine.default": learnable_per_channel,
    "_fake_quantize_learnable_per_channel_affine_backward.default": learnable_per_channel_backward,
}
