"""Functions of two tensors whose 16-bit answers are compared with those in float32: shared by tests, no test
itself.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

#: Of one tensor, of one with positive numbers, of two.
_UNARY = (
    "abs", "asin", "asinh", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1",
    "floor", "frac", "neg", "reciprocal", "relu", "round", "sgn", "sigmoid", "sign", "sin", "sinc",
    "sinh", "square", "tan", "tanh", "trunc", "i0", "nan_to_num", "deg2rad",
)  # fmt: skip
_POSITIVE = (
    "acosh", "lgamma", "log", "log10", "log1p", "log2", "logit", "rsqrt", "sqrt", "erfinv",
)  # fmt: skip
_ACTIVATIONS = (
    "gelu", "silu", "mish", "softplus", "elu", "selu", "celu", "leaky_relu", "hardswish",
    "hardsigmoid", "hardtanh", "softsign", "tanhshrink", "softshrink", "hardshrink", "logsigmoid",
    "relu6",
)  # fmt: skip
_BINARY = (
    "add", "sub", "mul", "div", "atan2", "maximum", "minimum", "fmod", "remainder", "hypot",
    "copysign", "logaddexp", "logaddexp2", "xlogy", "fmax", "fmin",
)  # fmt: skip

Reduction = Callable[[Tensor], Any]
_REDUCTIONS: dict[str, Reduction] = {
    "sum": lambda x: x.sum(-1),
    "sum of all": lambda x: x.sum(),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(0),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(0),
    "prod": lambda x: x.prod(0),
    "norm": lambda x: x.norm(dim=-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "var_mean": lambda x: torch.var_mean(x, 0),
    "aminmax": lambda x: tuple(torch.aminmax(x)),
    "nansum": lambda x: x.nansum(-1),
    "cumsum": lambda x: x.cumsum(-1),
}
#: ``F.rms_norm`` is a program with casts, on a CPU.
_NORMS: dict[str, Reduction] = {
    "softmax": lambda x: x.softmax(-1),
    "softmax of columns": lambda x: x.softmax(0),
    "softmin": lambda x: F.softmin(x, -1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x[None], 4),
    "normalize": lambda x: F.normalize(x, dim=-1),
}
_MIXED: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "centred": lambda x, y: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt(),
    "spelled out": lambda x, y: (lambda e: e / e.sum(-1, keepdim=True))((x - x.amax(-1, keepdim=True)).exp()),
    "scores": lambda x, y: ((x * 0.125 + y).softmax(-1) * y).sum(-1),
    "mse": lambda x, y: F.mse_loss(x * 2, y + 1),
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x * 2, y + 1),
    "kl": lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    "addcdiv": lambda x, y: torch.addcdiv(x, y, x.abs() + 1, value=0.3) * y,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3) * x,
    "where": lambda x, y: torch.where(x > 0, x * y, y - x) * y,
    "clamp": lambda x, y: (x * y).clamp(-0.5, 0.7) * 3.3,
    "polynomial": lambda x, y: ((x * 0.3 + 1) * x + y) * x - 2 * y,
    "cat": lambda x, y: torch.cat([x * y, y + x], -1).sin() * 2,
    "masked": lambda x, y: (x * y).masked_fill(y > 1, -1.5).exp(),
    "roll": lambda x, y: torch.roll(x * y, 3, 1) + x,
    "pad": lambda x, y: F.pad(x * y, (1, 2)) * 1.3,
    "pooled": lambda x, y: F.avg_pool2d((x * y)[None], 3, 2) + F.max_pool2d((x * y)[None], 3, 2) * 1.7,
}


def _each(functions: dict[str, Callable[..., Any]], *, apart: bool = False) -> Callable[..., Any]:
    """All of them at once, in one graph: results by name.  ``apart``: each begins with numbers of its own, so
    that no two have a part in common, which would be rounded where memory holds it.
    """

    def run(x: Tensor, y: Tensor) -> dict[str, Any]:
        numbered = enumerate(functions.items())
        return {name: function(x, y + n / 16 if apart else y) for n, (name, function) in numbered}

    return run


def _scaled(result: Any) -> Any:
    return tuple(map(_scaled, result)) if isinstance(result, tuple) else result * 2.3 + 1.1


#: Name -> a function of two tensors and whether they are positive; the results are named.
GROUPS: dict[str, tuple[Callable[[Tensor, Tensor], dict[str, Any]], bool]] = {
    "unary": (_each({n: lambda x, y, n=n: getattr(torch, n)(x) for n in _UNARY}), False),
    "unary of positive": (_each({n: lambda x, y, n=n: getattr(torch, n)(x) for n in _POSITIVE}), True),
    "binary": (_each({n: lambda x, y, n=n: getattr(torch, n)(x, y) for n in _BINARY}), False),
    "activations": (_each({n: lambda x, y, n=n: getattr(F, n)(x) for n in _ACTIVATIONS}), False),
    "reductions": (_each({n: lambda x, y, r=r: r(x) for n, r in (_REDUCTIONS | _NORMS).items()}), False),
    "chains": (
        _each({n: lambda x, y, n=n: getattr(torch, n)(x * y) + y for n in _UNARY}, apart=True),
        False,
    ),
    "chains of positive": (
        _each({n: lambda x, y, n=n: getattr(torch, n)(x * y + 0.1) * y for n in _POSITIVE}, apart=True),
        True,
    ),
    "chains of two": (
        _each({n: lambda x, y, n=n: getattr(torch, n)(x * x + y, y + 2) * y for n in _BINARY}, apart=True),
        False,
    ),
    "chains of activations": (
        _each({n: lambda x, y, n=n: getattr(F, n)(x * y + y) * x for n in _ACTIVATIONS}, apart=True),
        False,
    ),
    "reductions of chains": (
        _each(
            {n: lambda x, y, r=r: r((x * y + x) * 0.5) for n, r in (_REDUCTIONS | _NORMS).items()}, apart=True
        ),
        False,
    ),
    "chains of reductions": (
        _each({n: lambda x, y, r=r: _scaled(r(x)) for n, r in (_REDUCTIONS | _NORMS).items()}),
        False,
    ),
    "mixed": (_each(_MIXED, apart=True), False),
}
