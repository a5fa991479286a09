"""What the tables of pointwise ops share: a rule, and how a rule becomes a kernel.

    @pointwise("aten.add.Tensor", "aten.add.Scalar")
    def add(k, self, other, alpha=1): ...

The body gets the arguments in schema order: tensors as scalars of the dtype that eager computes in, numbers
as Python numbers (sizes and host floats as scalars), everything else as it is.  What it returns is converted
to the result's dtype and stored.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes
from torch.torch_version import TorchVersion
from torch.utils._python_dispatch import _disable_current_modes

from ....base.dataclass import dataclass
from ....fx.eager_dtypes import rounded
from ....fx.table import lowers
from ....index import Expr
from ...importer.arithmetic import Operand, Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.dtypes import BY_TORCH
from ...importer.values import Number, Tensor

Body = Callable[..., Any]


@dataclass(frozen=True)
class Pointwise:
    """How one pointwise op computes.

    ``kind`` is eager's rule of type promotion.  ``over`` names the arguments that take part in it; None
    means every tensor and number but those in ``APART``.  The other arguments keep their own dtype.  ``own``
    lets every tensor keep its dtype.  ``rounds`` names the numbers that eager converts to the common dtype
    first, as its kernels without an opmath type do; ``rounds_on_cpu`` those that only its kernels for the CPU
    convert, an implicit rounding.  ``steps`` gives the body the common dtype behind the builder, for what
    eager rounds on the way.
    """

    overloads: tuple[str, ...]
    body: Body
    kind: Kind = Kind.DEFAULT
    over: tuple[str, ...] | None = None
    own: bool = False
    rounds: tuple[str, ...] = ()
    rounds_on_cpu: tuple[str, ...] = ()
    steps: bool = False


#: Arguments that are scaling factors and never decide the dtype.
APART = frozenset(
    {
        "alpha",
        "beta",
        "value",
        "scale",
        "input_scale",
        "eps",
        "threshold",
        "negative_slope",
        "lambd",
        "decimals",
        "nan",
        "posinf",
        "neginf",
    }
)

RULES: dict[str, Pointwise] = {}


def pointwise(
    *overloads: str,
    kind: Kind = Kind.DEFAULT,
    over: tuple[str, ...] | None = None,
    own: bool = False,
    rounds: tuple[str, ...] = (),
    rounds_on_cpu: tuple[str, ...] = (),
    steps: bool = False,
) -> Callable[[Body], Body]:
    """Registers a body as the rule of ``overloads``."""

    def enter(body: Body) -> Body:
        rule = Pointwise(overloads, body, kind, over, own, rounds, rounds_on_cpu, steps)
        for overload in overloads:
            RULES[overload] = rule
        lowers(*overloads)(lambda call: lower(call, rule))
        return body

    return enter


def lower(call: Call, rule: Pointwise) -> Any:
    """One kernel: load every tensor at the output's point, compute, store."""
    fakes = [call.value] if isinstance(call.value, torch.Tensor) else list(call.value)
    return lower_arguments(call, rule, call.arguments, fakes)


def lower_arguments(
    call: Call,
    rule: Pointwise,
    arguments: Mapping[str, Any],
    fakes: Sequence[torch.Tensor],
    name: str | None = None,
) -> Any:
    """As ``lower``, for arguments and results that are not the node's own.  ``name``: of the kernel."""
    operands = _Operands(call, rule, arguments)
    specs = [call.fresh(f) for f in fakes]
    kernel = call.kernel(operands.inputs, specs, operands.numbers, name)
    at = kernel.iterate(specs[0].sizes)
    given = (operands.common,) if rule.steps else ()
    result = rule.body(kernel, *given, *operands.scalars(kernel, at))
    for i, value in enumerate(result if isinstance(result, tuple) else (result,)):
        kernel.store(i, at, value)
    return call.finish(kernel, fakes)


class _Operands:
    """The arguments of one call, sorted by how the kernel takes them."""

    def __init__(self, call: Call, rule: Pointwise, arguments: Mapping[str, Any]) -> None:
        self.rounded = rule.rounds
        self.implicit = rule.rounds_on_cpu if call.builder.device == "cpu" else ()
        self.lifted = _tensors_of(call.node.target)
        self.arguments: dict[str, Any] = {}
        self.promoted: set[str] = set()
        for name, value in arguments.items():
            if isinstance(value, Tensor) and _on_host(call, value):
                value = _HostElement(call.host_number(value), value)
            self.arguments[name] = value
        self._choose(rule)
        values = self.arguments.values()
        self.inputs = [v for v in values if isinstance(v, Tensor)]
        self.numbers = [v.number for v in values if isinstance(v, _HostElement)] + [
            v for v in values if isinstance(v, Number)
        ]

    def _choose(self, rule: Pointwise) -> None:
        """The common dtype of the promoted arguments, and the dtype to compute in."""
        stand_ins = []
        for name, value in self.arguments.items():
            chosen = not rule.own and (name in rule.over if rule.over is not None else name not in APART)
            stand_in = _stand_in(value) if chosen else None
            if stand_in is not None:
                self.promoted.add(name)
                stand_ins.append(stand_in)
        self.common: torch.dtype | None = None
        self.compute: torch.dtype | None = None
        if stand_ins:
            self.common, self.compute = _promoted(tuple(stand_ins), rule.kind)

    def scalars(self, kernel: KernelBuilder, at: Sequence[Expr]) -> list[Any]:
        """The body's arguments."""
        return [self._scalar(kernel, at, name, value) for name, value in self.arguments.items()]

    def _scalar(self, k: KernelBuilder, at: Sequence[Expr], name: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._convert(k, k.load_raw(value, k.broadcast(value, at)), name)
        if isinstance(value, _HostElement):
            element = k.number(value.number)
            return self._convert(k, k.cast(element, value.tensor.dtype), name)
        if isinstance(value, Number):
            return self._number(k, k.number(value), name)
        if isinstance(value, Expr):
            return self._number(k, k.index(value), name)
        if self.compute is None or not isinstance(value, (int, float)):
            return value
        if self.common is not None and self.common.is_floating_point:
            if name in self.rounded:  # no rounding between two ops, which may be left out
                value = rounded(value, self.common)
            elif name in self.implicit and rounded(value, self.common) != value:
                return k.round_to(k.constant(value, self.compute), self.common, implicit=True)
        return k.constant(value, self.compute) if name in self.promoted & self.lifted else value

    def _convert(self, k: KernelBuilder, x: Scalar, name: str) -> Scalar:
        """Converts to the common dtype, where eager rounds to it, and then to the compute dtype."""
        if name not in self.promoted or self.common is None:
            return k.widen(x)
        exact = x.dtype == torch.bool or x.dtype == self.common
        return k.cast(x if exact else k.cast(x, self.common, implicit=k.implicit), self.compute)

    def _number(self, k: KernelBuilder, x: Scalar, name: str) -> Scalar:
        if self.compute is None or self.common is None:
            return x
        x = k.cast(x, self.compute)
        if name in self.rounded or name in self.implicit:
            return k.round_to(x, self.common, implicit=name in self.implicit)
        return x


@dataclass(frozen=True, eq=False)
class _HostElement:
    """A 0-d CPU tensor that a GPU kernel reads: its element, and the dtype that it has in type promotion."""

    number: Number
    tensor: Tensor


@cache
def _tensors_of(target: Any) -> frozenset[str]:
    """The arguments that an op's schema declares as tensors; a number there counts as a 0-d tensor."""
    arguments = target._schema.arguments if isinstance(target, torch._ops.OpOverload) else ()
    return frozenset(a.name for a in arguments if isinstance(a.type, torch.TensorType))


def _on_host(call: Call, tensor: Tensor) -> bool:
    return tensor.rank == 0 and tensor.spec.device == "cpu"


@lru_cache(maxsize=4096)
def _promoted(stand_ins: tuple[Any, ...], kind: Kind) -> tuple[torch.dtype, torch.dtype | None]:
    """The common dtype and the dtype to compute in; None where no kernel computes in it."""
    with _disable_current_modes():
        operands = [_operand(*s) if isinstance(s, tuple) else s(1) for s in stand_ins]
    common = elementwise_dtypes(
        *operands, type_promotion_kind=Kind.DEFAULT if kind is Kind.ALWAYS_BOOL else kind
    )[1]
    return common, BY_TORCH[common].compute if common in BY_TORCH else None


def _operand(dtype: torch.dtype, number: bool) -> torch.Tensor:
    """The smallest tensor that promotes like one of ``dtype``; a 0-d one if ``number``."""
    return torch.empty(() if number else (0,), dtype=dtype, device="meta")


def _stand_in(value: Any) -> Any:
    """What type promotion depends on: (dtype, whether it is 0-d), a number's type, or None for other
    arguments.
    """
    if isinstance(value, Tensor):
        return (value.dtype, not value.sizes)
    if isinstance(value, _HostElement):
        return (value.tensor.dtype, True)
    if isinstance(value, Expr):
        return int
    if isinstance(value, Number):
        return float
    return type(value) if isinstance(value, (bool, int, float)) else None


__all__ = ["APART", "RULES", "Kind", "Pointwise", "lower", "lower_arguments", "pointwise"]


def bound(x: Scalar, number: Operand) -> Operand:
    """A bound of integers: a number beyond what their dtype holds is the last one that it does, a fraction is
    cut off.  A negative one of unsigned integers wraps where eager's does, which it did before torch 2.15.
    """
    if not isinstance(number, (int, float)) or x.is_float or x.dtype == torch.bool or number != number:
        return number
    limits = torch.iinfo(x.dtype)
    wraps = limits.min == 0 and TorchVersion(torch.__version__) < (2, 15)
    held = min(number, limits.max) if wraps else min(max(number, limits.min), limits.max)
    return int(held)
