"""Every pointwise overload of the table, on special values in every dtype, against eager.

An element passes when it equals eager's (NaN equals NaN), or lies within a few units in the last place of
eager's float64 result rounded to the dtype.  A dtype that eager rejects is skipped, but each overload must
run in at least one.
"""

import itertools
import math
from typing import Any

import pytest
import torch
import torch._inductor.inductor_prims  # registers prims that graphs contain
from import_one import run_one

from fuse_mlir.compiler.base.errors import UnsupportedOp
from fuse_mlir.compiler.frontend.ops import load
from fuse_mlir.compiler.fx.table import LOWERINGS

load()

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)

#: Units in the last place; the float32 of a C library differ by a few.
ULPS = 8

FAMILIES = ("pointwise", "activations", "elementwise", "gamma")
OVERLOADS = sorted(n for n, entry in LOWERINGS.items() if entry.family in FAMILIES)

#: Numbers to try for an argument, by name; the dtype of the tensors decides which of them make sense.
NUMBERS: dict[str, tuple[Any, ...]] = {
    "alpha": (1, 2),
    "beta": (1, 2.0),
    "value": (1, 3),
    "threshold": (0.5, 20.0),
    "negative_slope": (0.01,),
    "scale": (1.5,),
    "input_scale": (1, 2.0),
    "lambd": (0.5,),
    "min_val": (-1.0,),
    "max_val": (2.0,),
    "decimals": (2, 0, -1),
    "nan": (None, 1.0),
    "posinf": (None, 2.0),
    "neginf": (None, -3.0),
    "eps": (None, 0.1),
    "self_is_result": (False,),
    "is_result": (False, True),
    "approximate": ("none", "tanh"),
    "rounding_mode": (None, "trunc", "floor"),
    "min": (-1, None),
    "max": (2, None),
    "weight": (0.25, 0.75),
    "n": (0, 1, 2, 3, 7),
    "exponent": (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, 5),
}
OTHER = (2, -3, 0.5, 7)


def special(dtype: torch.dtype) -> torch.Tensor:
    """Values at which functions differ."""
    if dtype == torch.bool:
        return torch.tensor([True, False])
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        small = [v for v in (0, 1, 2, 3, 5, 7, -1, -2, -3, -7) if v >= limits.min]
        return torch.tensor([*small, limits.max, limits.min], dtype=dtype)
    limits = torch.finfo(dtype)
    plain = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 0.1, 9.0, -20.0, 100.25]
    extreme = [math.inf, -math.inf, math.nan, limits.max, limits.min, limits.tiny, limits.smallest_normal / 4]
    return torch.tensor([*plain, *extreme], dtype=torch.float64).to(dtype)


def tensors(count: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """``count`` tensors that together hold all pairs of special values (a few triples beyond two)."""
    values = special(dtype)
    if count == 1:
        return [values]
    pairs = torch.cartesian_prod(values, values)
    columns = [pairs[:, 0].clone(), pairs[:, 1].clone()]
    while len(columns) < count:
        columns.append(columns[len(columns) % 2].roll(5 * len(columns)))
    return columns


def calls(op: Any, dtype: torch.dtype) -> list[tuple[Any, ...]]:
    """Argument tuples for an overload: tensors of ``dtype``, and every combination of the numbers."""
    arguments = op._schema.arguments
    kinds = [str(a.type) for a in arguments]
    grid = iter(tensors(sum("Tensor" in k for k in kinds), dtype))
    choices: list[tuple[Any, ...]] = []
    for argument, kind in zip(arguments, kinds, strict=True):
        if "Tensor" in kind:
            tensor = next(grid)
            choices.append((_shape(op, argument.name, tensor),))
        elif argument.name in NUMBERS:
            choices.append(NUMBERS[argument.name])
        else:
            choices.append(OTHER)
    return [c for c in itertools.product(*choices) if all(_fits(v, dtype) for v in c)]


def _shape(op: Any, name: str, tensor: torch.Tensor) -> torch.Tensor:
    if name in ("mask", "condition"):
        return tensor.isnan() | (tensor != 0)
    if name == "value" and "masked_fill" in str(op):
        return tensor[3]
    return tensor


def _fits(value: Any, dtype: torch.dtype) -> bool:
    if isinstance(value, (torch.Tensor, bool, str, type(None))):
        return True
    if dtype == torch.uint8 and value < 0:
        return False
    return dtype.is_floating_point or dtype != torch.bool


def split(op: Any, args: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword-only arguments."""
    named = list(zip(op._schema.arguments, args, strict=True))
    return [v for a, v in named if not a.kwarg_only], {a.name: v for a, v in named if a.kwarg_only}


def eager(op: Any, args: tuple[Any, ...]) -> Any:
    """What eager computes, or None where it rejects the arguments."""
    positional, named = split(op, args)
    try:
        return op(*positional, **named)
    except (RuntimeError, NotImplementedError, TypeError, ZeroDivisionError):
        return None


def without_zero_divisors(name: str, args: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    """Eager on the CPU raises for integers divided by zero and for the smallest one divided by -1; other
    tests have those.  In lcm it divides the smallest one by what it has in common with another.
    """
    if name == "aten.lcm.default" and not dtype.is_floating_point and dtype != torch.bool:
        keep = (args[0] != torch.iinfo(dtype).min) | (dtype == torch.uint8)
        return tuple(a[keep] for a in args)
    divides = any(w in name for w in ("div", "remainder", "fmod"))
    if not divides or dtype.is_floating_point or not isinstance(args[1], torch.Tensor) or dtype == torch.bool:
        return args
    keep = (args[1] != 0) & ~((args[1] == -1) & (args[0] == torch.iinfo(dtype).min))
    return tuple(a[keep] if isinstance(a, torch.Tensor) and a.dim() else a for a in args)


def wrong(
    ours: torch.Tensor, theirs: torch.Tensor, exact: torch.Tensor | None, scale: Any = 0
) -> torch.Tensor:
    """A mask of the elements that are neither eager's nor near the float64 result."""
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (
        f"{ours.dtype}{ours.shape} {theirs.dtype}{theirs.shape}"
    )
    same = (ours == theirs) | (ours != ours) & (theirs != theirs)
    if exact is None or not ours.dtype.is_floating_point:
        return ~same
    limits = torch.finfo(ours.dtype)
    reference = exact.to(ours.dtype).double()
    near = (ours.double() - reference).abs() <= ULPS * (
        limits.eps * (reference.abs() + scale) + limits.smallest_normal
    )
    return ~(same | near | (ours.double() == reference) | ours.isnan() & reference.isnan())


#: Where eager's CPU kernels differ from its GPU kernels or from arithmetic, which the table follows:
#: overload -> (which elements, why).
EXCUSED: dict[str, tuple[str, str]] = {
    "aten.elu_backward.default": ("nan", "the GPU takes the positive branch at NaN"),
    "aten.hardswish_backward.default": ("nan", "the GPU takes the middle branch at NaN"),
    "aten.hardtanh_backward.default": ("nan", "the GPU lets the gradient through at NaN"),
    "aten.hardsigmoid_backward.default": ("all float64", "eager's 1/6 is a float32 constant"),
    "aten.polygamma.default": ("poles", "the square of a sine that is nearly 0, by another sine"),
    "aten.addcmul.default": ("huge", "the CPU scales the first factor, the GPU the product"),
    "aten.addcdiv.default": ("huge", "the CPU scales the numerator, the GPU the quotient"),
    "aten.add.Tensor": ("huge float64", "the interpreter's fma of float64 rounds the product"),
    "aten.sub.Tensor": ("huge float64", "the interpreter's fma of float64 rounds the product"),
    "aten.rsub.Tensor": ("huge float64", "the interpreter's fma of float64 rounds the product"),
    "aten.lerp.Tensor": ("huge float64", "the interpreter's fma of float64 rounds the product"),
    "aten.fmod.Tensor": ("overflow", "torch's fmod is NaN in vector lanes where the quotient overflows"),
    "aten.remainder.Tensor": ("overflow", "torch's fmod is NaN in vector lanes where the quotient overflows"),
}

#: Ops that compute a difference of nearly equal numbers, in which the error is relative to the first tensor:
#: gelu scales it, and the zeros of digamma lie where it is near 1 or less.
CANCELS = (
    "aten.gelu.default", "aten.gelu_backward.default", "aten.digamma.default", "aten.polygamma.default",
)  # fmt: skip


def _scale(args: tuple[Any, ...]) -> torch.Tensor:
    return next(a for a in args if isinstance(a, torch.Tensor)).double().abs()


def excused(name: str, args: tuple[Any, ...], result: torch.Tensor) -> torch.Tensor:
    """A mask of the elements of ``EXCUSED``."""
    kind, _, dtype = EXCUSED.get(name, ("", ""))[0].partition(" ")
    none = torch.zeros_like(result, dtype=torch.bool)
    given = [a for a in args if isinstance(a, torch.Tensor)]
    floats = given if kind == "poles" else [a for a in given if a.is_floating_point()]
    if not floats or (dtype and result.dtype != getattr(torch, dtype)):
        return none
    mask = none
    for a in floats:
        mask = mask | {
            "": lambda a: none,
            "all": lambda a: ~none,
            "nan": lambda a: a.isnan(),
            "huge": lambda a: a.abs() > torch.finfo(a.dtype).max / 4,
            "poles": lambda a: (a < 0) & (a == a.floor()),
            "overflow": lambda a: torch.div(floats[0], floats[-1]).isinf(),
        }[kind](a)
    return mask


def overload(name: str) -> Any:
    namespace, packet, which = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), which)


@pytest.mark.parametrize("name", OVERLOADS)
def test_overload_is_eager(name: str) -> None:
    op = overload(name)
    tried, problems = 0, []
    for dtype in DTYPES:
        for args in calls(op, dtype):
            args = without_zero_divisors(name, args, dtype)
            theirs = eager(op, args)
            if theirs is None:
                continue
            positional, named = split(op, args)
            try:
                ours = run_one(op, positional, named)
            except UnsupportedOp:
                continue
            tried += 1
            wide = [a.double() if isinstance(a, torch.Tensor) and a.dtype != torch.bool else a for a in args]
            exact = eager(op, tuple(wide)) if _list(theirs)[0].is_floating_point() else None
            for i, (a, b) in enumerate(zip(_list(ours), _list(theirs), strict=True)):
                bad = wrong(
                    a,
                    b,
                    None if exact is None else _list(exact)[i],
                    _scale(args) if name in CANCELS else 0,
                ) & ~excused(name, args, b)
                if bad.any():
                    at = [
                        x[bad][:3].tolist() if isinstance(x, torch.Tensor) and x.shape == bad.shape else x
                        for x in args
                    ]
                    problems.append(f"{dtype}: {at}: {a[bad][:3].tolist()} instead of {b[bad][:3].tolist()}")
    assert tried, "eager accepts no dtype that the test offers"
    assert not problems, f"{len(problems)} of {tried} calls differ\n" + "\n".join(problems[:12])


def _list(value: Any) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (tuple, list)) else [value]
