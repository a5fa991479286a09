"""Activation functions and their derivatives, in the order of operations that eager uses."""

import math

from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from .elementwise import Kind, bound, pointwise

K = KernelBuilder

#: The tanh form of gelu: sqrt(2 / pi) and the coefficient of the cube (Hendrycks and Gimpel 2016).
_BETA = math.sqrt(2 / math.pi)
_KAPPA = 0.044715


def _sigmoid(k: K, x: Scalar) -> Scalar:
    return k.div(1, k.add(k.math("exp", k.neg(x)), 1))


@pointwise("aten.relu.default")
def relu(k: K, x: Scalar) -> Scalar:
    return k.maximum(x, 0)


@pointwise("aten.relu6.default")
def relu6(k: K, x: Scalar) -> Scalar:
    return k.minimum(k.maximum(x, 0), 6)


@pointwise("aten.sigmoid.default", kind=Kind.INT_TO_FLOAT)
def sigmoid(k: K, x: Scalar) -> Scalar:
    return _sigmoid(k, x)


@pointwise("aten.silu.default")
def silu(k: K, x: Scalar) -> Scalar:
    return k.div(x, k.add(k.math("exp", k.neg(x)), 1))


@pointwise("aten.silu_backward.default")
def silu_backward(k: K, grad: Scalar, x: Scalar) -> Scalar:
    s = _sigmoid(k, x)
    return k.mul(k.mul(grad, s), k.add(k.mul(x, k.sub(1, s)), 1))


@pointwise("aten.gelu.default")
def gelu(k: K, x: Scalar, approximate: str = "none") -> Scalar:
    return k.mul(x, _gelu_cdf(k, x, approximate))


def _gelu_cdf(k: K, x: Scalar, approximate: str) -> Scalar:
    """The normal distribution function at ``x``, or its approximation by tanh."""
    inner = (
        k.math("erf", k.mul(x, math.sqrt(0.5)))
        if approximate == "none"
        else k.math("tanh", _gelu_inner(k, x))
    )
    return k.mul(k.add(inner, 1), 0.5)


def _gelu_inner(k: K, x: Scalar) -> Scalar:
    return k.mul(k.add(x, k.mul(k.mul(k.mul(x, x), x), _KAPPA)), _BETA)


@pointwise("aten.gelu_backward.default")
def gelu_backward(k: K, grad: Scalar, x: Scalar, approximate: str = "none") -> Scalar:
    if approximate == "none":
        inner = k.mul(x, math.sqrt(0.5))
        # exp(-x * x / 2) in the form in which the short erf computes it, so that CSE makes the two one.
        power = k.math("exp2", k.mul(k.mul(inner, k.neg(inner)), math.log2(math.e)))
        density = k.mul(power, 1 / math.sqrt(2 * math.pi))
        return k.mul(grad, k.add(_gelu_cdf(k, x, "none"), k.mul(x, density)))
    tanh = k.math("tanh", _gelu_inner(k, x))
    left = k.mul(k.add(tanh, 1), 0.5)
    inner = k.mul(k.add(k.mul(k.mul(x, x), 3 * _KAPPA), 1), _BETA)
    right = k.mul(k.mul(k.mul(x, 0.5), k.sub(1, k.mul(tanh, tanh))), inner)
    return k.mul(grad, k.add(left, right))


@pointwise("aten.leaky_relu.default")
def leaky_relu(k: K, x: Scalar, slope: Operand = 0.01) -> Scalar:
    return k.select(k.compare("gt", x, 0), x, k.mul(x, slope))


@pointwise("aten.leaky_relu_backward.default", over=("grad_output", "self"))
def leaky_relu_backward(k: K, grad: Scalar, x: Scalar, slope: Operand, self_is_result: bool) -> Scalar:
    return k.select(k.compare("gt", x, 0), grad, k.mul(grad, slope))


@pointwise("aten.elu.default", over=("self",))
def elu(k: K, x: Scalar, alpha: Operand = 1, scale: Operand = 1, input_scale: Operand = 1) -> Scalar:
    negative = k.mul(k.mul(k.math("expm1", k.mul(x, input_scale)), alpha), scale)
    return k.select(k.compare("gt", x, 0), k.mul(x, scale), negative)


@pointwise("aten.elu_backward.default", over=("grad_output", "self_or_result"))
def elu_backward(
    k: K, grad: Scalar, alpha: Operand, scale: Operand, input_scale: Operand, is_result: bool, x: Scalar
) -> Scalar:
    scaled = k.mul(grad, input_scale)
    if is_result:
        negative = k.mul(scaled, k.add(x, k.mul(k.lift(alpha, x.dtype), scale)))
    else:
        negative = k.mul(k.mul(k.mul(scaled, alpha), scale), k.math("exp", k.mul(x, input_scale)))
    return k.select(k.compare("le", x, 0), negative, k.mul(grad, scale))


@pointwise("aten.hardtanh.default", over=("self",))
def hardtanh(k: K, x: Scalar, low: Operand = -1, high: Operand = 1) -> Scalar:
    return k.minimum(k.maximum(x, bound(x, low)), bound(x, high))


@pointwise("aten.hardtanh_backward.default", over=("grad_output", "self"))
def hardtanh_backward(k: K, grad: Scalar, x: Scalar, low: Operand, high: Operand) -> Scalar:
    outside = k.bit_or(k.compare("le", x, low), k.compare("ge", x, high))
    return k.select(outside, 0, grad)


@pointwise("aten.hardsigmoid.default")
def hardsigmoid(k: K, x: Scalar) -> Scalar:
    return k.div(k.minimum(k.maximum(k.add(x, 3), 0), 6), 6)


@pointwise("aten.hardsigmoid_backward.default")
def hardsigmoid_backward(k: K, grad: Scalar, x: Scalar) -> Scalar:
    inside = k.bit_and(k.compare("gt", x, -3), k.compare("lt", x, 3))
    return k.select(inside, k.mul(grad, 1 / 6), 0)


@pointwise("aten.hardswish.default")
def hardswish(k: K, x: Scalar) -> Scalar:
    return k.div(k.mul(x, k.minimum(k.maximum(k.add(x, 3), 0), 6)), 6)


@pointwise("aten.hardswish_backward.default")
def hardswish_backward(k: K, grad: Scalar, x: Scalar) -> Scalar:
    middle = k.mul(grad, k.add(k.div(x, 3), 0.5))
    inner = k.select(k.compare("lt", x, 3), middle, grad)
    return k.select(k.compare("le", x, -3), 0, inner)


@pointwise("aten.softplus.default", over=("self",))
def softplus(k: K, x: Scalar, beta: Operand = 1, threshold: Operand = 20) -> Scalar:
    scaled = k.mul(x, beta)
    return k.select(
        k.compare("gt", scaled, threshold), x, k.div(k.math("log1p", k.math("exp", scaled)), beta)
    )


@pointwise("aten.softplus_backward.default", over=("grad_output", "self"))
def softplus_backward(k: K, grad: Scalar, x: Scalar, beta: Operand, threshold: Operand) -> Scalar:
    scaled = k.mul(x, beta)
    z = k.math("exp", scaled)
    return k.select(k.compare("gt", scaled, threshold), grad, k.div(k.mul(grad, z), k.add(z, 1)))


@pointwise("aten.threshold.default", over=("self",))
def threshold(k: K, x: Scalar, limit: Operand, value: Operand) -> Scalar:
    return k.select(k.compare("le", x, limit), value, x)


@pointwise("aten.threshold_backward.default", over=("grad_output", "self"))
def threshold_backward(k: K, grad: Scalar, x: Scalar, limit: Operand) -> Scalar:
    return k.select(k.compare("le", x, limit), 0, grad)


@pointwise("aten.sigmoid_backward.default")
def sigmoid_backward(k: K, grad: Scalar, y: Scalar) -> Scalar:
    return k.mul(k.mul(grad, k.sub(1, y)), y)


@pointwise("aten.tanh_backward.default")
def tanh_backward(k: K, grad: Scalar, y: Scalar) -> Scalar:
    return k.mul(grad, k.sub(1, k.mul(y, y)))


@pointwise("aten.mish.default")
def mish(k: K, x: Scalar) -> Scalar:
    return k.mul(x, k.math("tanh", k.math("log1p", k.math("exp", x))))


@pointwise("aten.hardshrink.default", over=("self",))
def hardshrink(k: K, x: Scalar, limit: Operand = 0.5) -> Scalar:
    inside = k.bit_and(k.compare("ge", x, k.neg(k.lift(limit, x.dtype))), k.compare("le", x, limit))
    return k.select(inside, 0, x)


@pointwise("aten.softshrink.default", over=("self",))
def softshrink(k: K, x: Scalar, limit: Operand = 0.5) -> Scalar:
    below = k.select(k.compare("lt", x, k.neg(k.lift(limit, x.dtype))), k.add(x, limit), k.mul(x, 0))
    return k.select(k.compare("gt", x, limit), k.sub(x, limit), below)


@pointwise("aten.native_dropout_backward.default", over=("grad_output",), kind=Kind.INT_TO_FLOAT)
def native_dropout_backward(k: K, grad: Scalar, mask: Scalar, scale: Operand) -> Scalar:
    return k.mul(k.mul(grad, k.cast(mask, grad.dtype)), scale)
