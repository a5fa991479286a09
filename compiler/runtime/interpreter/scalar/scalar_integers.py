"""Integer arithmetic on signless torch tensors: i8..i64 are torch's signed dtypes, i1 is bool.

Cases that are undefined in C have defined results here and never trap, since points with a false guard
compute them too: a division by zero divides by one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[..., Any]


def disjoint(*groups: dict[str, Any]) -> dict[str, Any]:
    """Merges several tables; a name that occurs twice is an error."""
    joined: dict[str, Any] = {}
    for group in groups:
        twice = sorted(joined.keys() & group.keys())
        assert not twice, f"defined twice: {twice}"
        joined.update(group)
    return joined


def _signed(function: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """Extends a function of signed integers to i1, whose one bit is the sign."""

    def apply(a: Tensor, b: Tensor) -> Tensor:
        if a.dtype != torch.bool:
            return function(a, b)
        return (function(-a.to(torch.int8), -b.to(torch.int8)) & 1).bool()

    return apply


_UNSIGNED_NUMPY = {
    torch.int8: np.uint8,
    torch.int16: np.uint16,
    torch.int32: np.uint32,
    torch.int64: np.uint64,
    torch.bool: np.uint8,
}


def _as_unsigned(x: Tensor) -> Any:
    return (
        (x.to(torch.int8) if x.dtype == torch.bool else x)
        .contiguous()
        .numpy()
        .view(_UNSIGNED_NUMPY[x.dtype])
        .reshape(x.shape)
    )


def _unsigned(function: Callable[[Any, Any], Any]) -> Function:
    """A function of unsigned NumPy arrays, as a function of signless tensors."""

    def apply(a: Tensor, b: Tensor) -> Tensor:
        result = np.ascontiguousarray(function(_as_unsigned(a), _as_unsigned(b)))
        shape = torch.broadcast_shapes(a.shape, b.shape)
        if a.dtype == torch.bool:
            return torch.from_numpy(result.view(np.int8)).reshape(shape).bitwise_and(1).bool()
        return torch.from_numpy(result.view(str(a.dtype).removeprefix("torch."))).reshape(shape)

    return apply


def _safe(divisor: Tensor) -> Tensor:
    """The divisor with 0 and -1 replaced by 1: both may trap in C (-1 does for the smallest number)."""
    return torch.where((divisor == 0) | (divisor == -1), 1, divisor)


def _division(mode: str) -> Function:
    def divide(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(b == -1, -a, torch.div(a, _safe(b), rounding_mode=mode))

    return _signed(divide)


def _ceildivsi(a: Tensor, b: Tensor) -> Tensor:
    safe = _safe(b)
    quotient = torch.div(a, safe, rounding_mode="floor")
    return torch.where(b == -1, -a, quotient + (quotient * safe != a))


def _nonzero(b: Any) -> Any:
    return np.where(b == 0, b.dtype.type(1), b)


def flip(x: Tensor) -> Tensor:
    """Maps numbers such that signed comparison of the results is unsigned comparison of the numbers."""
    return x.to(torch.int8) if x.dtype == torch.bool else x ^ torch.iinfo(x.dtype).min


def _signed_order(x: Tensor) -> Tensor:
    return -x.to(torch.int8) if x.dtype == torch.bool else x


def _compare(order: Function, function: Function) -> Function:
    return lambda a, b: function(order(a), order(b))


#: Predicates of arith.cmpi by number: eq ne slt sle sgt sge ult ule ugt uge.
CMPI: tuple[Function, ...] = (
    torch.eq,
    torch.ne,
    _compare(_signed_order, torch.lt),
    _compare(_signed_order, torch.le),
    _compare(_signed_order, torch.gt),
    _compare(_signed_order, torch.ge),
    _compare(flip, torch.lt),
    _compare(flip, torch.le),
    _compare(flip, torch.gt),
    _compare(flip, torch.ge),
)


def _high_unsigned(a: Tensor, b: Tensor) -> Tensor:
    """The upper half of an unsigned product."""
    if a.dtype != torch.int64:
        bits = torch.iinfo(a.dtype).bits
        mask = (1 << bits) - 1
        a_wide, b_wide = a.to(torch.int64) & mask, b.to(torch.int64) & mask
        if bits < 32:
            return ((a_wide * b_wide) >> bits).to(a.dtype)
        middle = a_wide * (b_wide >> 16) + ((a_wide * (b_wide & 0xFFFF)) >> 16)
        return (middle >> 16).to(a.dtype)
    a0, a1 = a & 0xFFFFFFFF, (a >> 32) & 0xFFFFFFFF
    b0, b1 = b & 0xFFFFFFFF, (b >> 32) & 0xFFFFFFFF
    low, cross, other = a0 * b0, a1 * b0, a0 * b1
    carry = ((low >> 32) & 0xFFFFFFFF) + (cross & 0xFFFFFFFF) + (other & 0xFFFFFFFF)
    high = a1 * b1 + ((cross >> 32) & 0xFFFFFFFF) + ((other >> 32) & 0xFFFFFFFF)
    return high + ((carry >> 32) & 0xFFFFFFFF)


def _high_signed(a: Tensor, b: Tensor) -> Tensor:
    return _high_unsigned(a, b) - torch.where(a < 0, b, 0) - torch.where(b < 0, a, 0)


def _add_carry(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    total = a + b
    return total, flip(total) < flip(a)


def _sub_borrow(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a - b, flip(a) < flip(b)


#: Op name -> function; the extended ops return both halves.
INTEGER: dict[str, Function] = {
    "arith.addi": lambda a, b: a ^ b if a.dtype == torch.bool else a + b,
    "arith.subi": lambda a, b: a ^ b if a.dtype == torch.bool else a - b,
    "arith.muli": lambda a, b: a & b if a.dtype == torch.bool else a * b,
    "arith.divsi": _division("trunc"),
    "arith.floordivsi": _division("floor"),
    "arith.ceildivsi": _signed(_ceildivsi),
    "arith.remsi": _signed(lambda a, b: torch.fmod(a, _safe(b))),
    "arith.divui": _unsigned(lambda a, b: a // _nonzero(b)),
    "arith.ceildivui": _unsigned(lambda a, b: a // _nonzero(b) + (a % _nonzero(b) != 0).astype(a.dtype)),
    "arith.remui": _unsigned(lambda a, b: a % _nonzero(b)),
    "arith.maxsi": _signed(torch.maximum),
    "arith.minsi": _signed(torch.minimum),
    "arith.maxui": _unsigned(np.maximum),
    "arith.minui": _unsigned(np.minimum),
    "arith.andi": torch.bitwise_and,
    "arith.ori": torch.bitwise_or,
    "arith.xori": torch.bitwise_xor,
    "arith.shli": torch.bitwise_left_shift,
    "arith.shrsi": torch.bitwise_right_shift,
    "arith.shrui": _unsigned(np.right_shift),
    "arith.addui_extended": _add_carry,
    "arith.subui_extended": _sub_borrow,
    "arith.mului_extended": lambda a, b: (a * b, _high_unsigned(a, b)),
    "arith.mulsi_extended": lambda a, b: (a * b, _high_signed(a, b)),
}
