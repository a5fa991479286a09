"""PTX instructions on bits of registers: (modifiers, types, operands) -> the bits of the result."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..scalar.scalar_math import MATH
from .numbers import WIDTHS, UnknownInstruction, bits_of, flushed, is_float, masked, number

#: An instruction: its modifiers, its types, the bits of its operands (several for ``{a, b}``) -> bits.
Instruction = Callable[[Sequence[str], Sequence[str], Sequence[Any]], Tensor]
_ROUNDS = {
    "rni": torch.round, "rzi": torch.trunc, "rmi": torch.floor, "rpi": torch.ceil,
}  # fmt: skip
_EIGHT_BITS = {"e4m3x2": (torch.float8_e4m3fn, 448.0), "e5m2x2": (torch.float8_e5m2, 57344.0)}


def _only(modifiers: Sequence[str], allowed: str) -> None:
    for modifier in modifiers:
        if modifier not in allowed.split():
            raise UnknownInstruction(f"the modifier .{modifier}")


def _float(function: Callable[..., Tensor]) -> Instruction:
    """Of floats and pairs of 16 bits.  16-bit numbers are computed in float64 and rounded once."""

    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        [type_] = types
        _only(modifiers, "rn approx full ftz sat relu")
        if type_.endswith("x2"):
            halves = [[(o >> shift) & 0xFFFF for o in operands] for shift in (0, 16)]
            low, high = (run(modifiers, [type_[:-2]], half) for half in halves)
            return low | (high << 16)
        if not is_float(type_):
            raise UnknownInstruction(f"the type .{type_}")
        values = [number(o, type_) for o in operands]
        ftz = "ftz" in modifiers and type_ == "f32"
        values = [flushed(v) for v in values] if ftz else values
        narrow = WIDTHS[type_] == 16
        result = function(*([v.double() for v in values] if narrow else values))
        result = flushed(result) if ftz else result
        if "sat" in modifiers:
            result = result.nan_to_num(0.0, 1.0, 0.0).clamp(0, 1)
        if "relu" in modifiers:
            result = torch.where(result > 0, result, torch.where(result.isnan(), result, 0.0))
        return bits_of(result, type_)

    return run


def _either(floats: Callable[..., Tensor], integers: Callable[..., Tensor]) -> Instruction:
    """Of floats as ``_float`` is, of integers modulo their width."""
    of_floats = _float(floats)

    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        [type_] = types
        if is_float(type_) or type_.endswith("x2"):
            return of_floats(modifiers, types, operands)
        _only(modifiers, "")
        if type_ == "u64" and integers in (torch.minimum, torch.maximum, _quotient, _remainder):
            raise UnknownInstruction("the type .u64")
        return bits_of(integers(*(number(o, type_) for o in operands)), type_)

    return run


def _integers(function: Callable[..., Tensor]) -> Instruction:
    """Of integers only."""

    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        if is_float(types[0]) or types[0].endswith("x2"):
            raise UnknownInstruction(f"the type .{types[0]}")
        return _either(function, function)(modifiers, types, operands)

    return run


def _quotient(a: Tensor, b: Tensor) -> Tensor:
    return torch.div(a, torch.where(b == 0, 1, b), rounding_mode="trunc")


def _remainder(a: Tensor, b: Tensor) -> Tensor:
    return a - _quotient(a, b) * b


def _extreme(
    floats: Callable[..., Tensor], nan: Callable[..., Tensor], integers: Callable[..., Tensor]
) -> Instruction:
    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        propagates = "NaN" in modifiers
        others = [m for m in modifiers if m != "NaN"]
        return _either(nan if propagates else floats, integers)(others, types, operands)

    return run


def _product(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    """``mul`` and, with a third operand, ``mad``."""
    [type_] = types
    if is_float(type_) or type_.endswith("x2"):
        return _float(torch.mul if len(operands) == 2 else MATH["math.fma"])(modifiers, types, operands)
    _only(modifiers, "lo hi wide")
    a, b = (number(o, type_) for o in operands[:2])
    width = WIDTHS[type_]
    if modifiers != ("lo",) and width == 64:
        raise UnknownInstruction("a product of 128 bits")
    made = a * b
    if "hi" in modifiers:
        made = made >> width
    wide = 2 * width if "wide" in modifiers else width
    if len(operands) == 3:
        made = made + number(operands[2], f"{type_[0]}{wide}")
    return masked(made, wide)


def _bits(function: Callable[..., Tensor]) -> Instruction:
    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        _only(modifiers, "")
        return masked(function(*operands), WIDTHS[types[0]])

    return run


def _move(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Any]) -> Tensor:
    _only(modifiers, "")
    [source] = operands
    width = WIDTHS[types[0]]
    if isinstance(source, tuple):  # registers become one
        each = width // len(source)
        source = sum(masked(part, each) << (n * each) for n, part in enumerate(source))
    return masked(source, width)


def _convert(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    to, of = types
    _only(modifiers, "rn rna rz rm rp rni rzi rmi rpi ftz sat satfinite relu")
    if to in _EIGHT_BITS or of in _EIGHT_BITS:
        return _convert_bytes(modifiers, to, of, operands)
    if to.endswith("x2"):  # the first operand is the upper half
        high, low = (_convert(modifiers, [to[:-2], of], [o]) for o in operands)
        return low | (high << 16)
    if len(operands) != 1 or of.endswith("x2"):
        raise UnknownInstruction(f"a conversion of .{of} to .{to}")
    value = number(operands[0], of)
    if "ftz" in modifiers and of == "f32":
        value = flushed(value)
    if to == "tf32":
        _only(modifiers, "rna relu satfinite")
        return ((bits_of(value, "f32") + 0x1000) >> 13) << 13
    rounding = next((_ROUNDS[m] for m in modifiers if m in _ROUNDS), None)
    if is_float(of) and rounding is not None:
        value = rounding(value)
    if is_float(to):
        if not is_float(of) or WIDTHS[to] < WIDTHS[of]:
            _only([m for m in modifiers if m not in _ROUNDS], "rn ftz sat relu satfinite")
        if "relu" in modifiers:
            value = torch.where(value < 0, 0, value)
        if "sat" in modifiers:
            value = value.nan_to_num(0.0, 1.0, 0.0).clamp(0, 1)
        if of == "u64":
            raise UnknownInstruction("the type .u64")
        return bits_of(value, to)
    if not is_float(of) and "sat" not in modifiers:
        return bits_of(value, to)
    least, most = _range(to)
    if is_float(of):
        if rounding is None:
            raise UnknownInstruction(f"a conversion of .{of} to .{to} without a rounding")
        wide = value.double().nan_to_num(0.0)
        inside = wide.clamp(least, most).to(torch.int64) if WIDTHS[to] < 64 else wide.to(torch.int64)
        if WIDTHS[to] == 64:
            inside = torch.where(wide >= 2.0**63, most, torch.where(wide <= -(2.0**63), least, inside))
        return bits_of(inside, to)
    return bits_of(value.clamp(least, most), to)


def _range(type_: str) -> tuple[int, int]:
    width = WIDTHS[type_]
    if type_.startswith("s"):
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    if width == 64:
        raise UnknownInstruction("the type .u64")
    return 0, (1 << width) - 1


def _convert_bytes(modifiers: Sequence[str], to: str, of: str, operands: Sequence[Tensor]) -> Tensor:
    """Two floats of 8 bits in 16 bits."""
    if to in _EIGHT_BITS and of == "f32" and len(operands) == 2 and "satfinite" in modifiers:
        dtype, most = _EIGHT_BITS[to]
        high, low = (
            number(o, of).clamp(-most, most).to(dtype).view(torch.uint8).to(torch.int64) for o in operands
        )
        return low | (high << 8)
    if of in _EIGHT_BITS and to == "f16x2":
        dtype, _ = _EIGHT_BITS[of]
        low, high = (
            bits_of(((operands[0] >> shift) & 0xFF).to(torch.uint8).view(dtype).to(torch.float16), "f16")
            for shift in (0, 8)
        )
        return low | (high << 16)
    raise UnknownInstruction(f"a conversion of .{of} to .{to}")


def _lop3(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    """Any function of three bits, by its table of eight."""
    _only(modifiers, "")
    *values, table = operands
    made = torch.zeros_like(values[0])
    for n in range(8):
        term = torch.full_like(made, -1)
        for value, bit in zip(values, (4, 2, 1), strict=True):
            term = term & (value if n & bit else ~value)
        made = made | torch.where((table >> n) & 1 == 1, term, 0)
    return masked(made, WIDTHS[types[0]])


def _shift(left: bool) -> Instruction:
    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        _only(modifiers, "")
        [type_] = types
        width, count = WIDTHS[type_], masked(operands[1], 32)
        value, some = number(operands[0], type_), count.clamp(max=width - 1)
        if left:
            return torch.where(count < width, masked(value << some, width), 0)
        if type_.startswith("s"):
            return bits_of(value >> some, type_)
        made = value >> some
        if width == 64:  # zeros come in from above
            made = made & ~torch.where(some > 0, -1 << (64 - some.clamp(min=1)), 0)
        return torch.where(count < width, made, 0)

    return run


def _funnel(left: bool) -> Instruction:
    """32 bits of the 64 in two registers."""

    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        low, high, count = (masked(o, 32) for o in operands)
        count = count & 31 if "wrap" in modifiers else count.clamp(max=32)
        if left:
            return masked((high << count) | (low >> (32 - count)), 32)
        return masked((low >> count) | (high << (32 - count)), 32)

    return lambda modifiers, types, operands: run(modifiers[1:], types, operands)


def _permute(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    """Four of eight bytes; one may be the sign of its byte instead."""
    _only(modifiers, "")
    a, b, chosen = (masked(o, 32) for o in operands)
    made = torch.zeros_like(a)
    for n in range(4):
        selector = (chosen >> (4 * n)) & 15
        place = selector & 7
        byte = (torch.where(place < 4, a, b) >> (8 * (place & 3))) & 0xFF
        byte = torch.where(selector >= 8, (byte >> 7) * 0xFF, byte)
        made = made | (byte << (8 * n))
    return made


def _compare(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    [type_] = types
    a, b = (number(o, type_) for o in operands)
    comparison, *others = modifiers
    _only(others, "ftz")
    if "ftz" in others:
        a, b = flushed(a), flushed(b)
    ordered = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    if type_ == "u64" and comparison not in ("eq", "ne"):
        raise UnknownInstruction("the type .u64")
    if not is_float(type_):
        ordered |= {"lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b}
    else:
        nan = a.isnan() | b.isnan()
        ordered["ne"] = (a != b) & ~nan
        ordered |= {f"{name}u": holds | nan for name, holds in list(ordered.items())}
        ordered |= {"num": ~nan, "nan": nan}
    if comparison not in ordered:
        raise UnknownInstruction(f"the comparison .{comparison}")
    return ordered[comparison].to(torch.int64)


def _select(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    _only(modifiers, "")
    return masked(torch.where(operands[2] != 0, operands[0], operands[1]), WIDTHS[types[0]])


def _field(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    """``bfe`` of 32 bits."""
    _only(modifiers, "")
    if types[0] not in ("u32", "s32"):
        raise UnknownInstruction(f"the type .{types[0]}")
    value = number(operands[0], types[0])
    begin, length = (o & 0xFF for o in operands[1:])
    taken = (value >> begin.clamp(max=32 if types[0] == "u32" else 31)) & ((1 << length.clamp(max=32)) - 1)
    if types[0] == "s32":
        end = (begin + length - 1).clamp(max=31)
        sign = torch.where(length > 0, (value >> end) & 1, 0)
        taken = torch.where((sign == 1) & (length < 32), taken | (-1 << length.clamp(max=32)), taken)
    return masked(taken, 32)


def _insert(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    """``bfi`` of 32 bits."""
    _only(modifiers, "")
    if types[0] != "b32":
        raise UnknownInstruction(f"the type .{types[0]}")
    a, b, begin, length = operands
    begin, length = begin & 0xFF, length & 0xFF
    mask = masked(((1 << length.clamp(max=32)) - 1) << begin.clamp(max=32), 32)
    return masked((b & ~mask) | ((a << begin.clamp(max=32)) & mask), 32)


def _counted(function: Callable[[Tensor], Tensor]) -> Instruction:
    def run(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
        _only(modifiers, "")
        if WIDTHS[types[0]] != 32:
            raise UnknownInstruction(f"the type .{types[0]}")
        return masked(function(operands[0].to(torch.int32)).to(torch.int64), 32)

    return run


def _reversed(modifiers: Sequence[str], types: Sequence[str], operands: Sequence[Tensor]) -> Tensor:
    _only(modifiers, "")
    if types[0] != "b32":
        raise UnknownInstruction(f"the type .{types[0]}")
    return sum(((operands[0] >> n) & 1) << (31 - n) for n in range(32))  # type: ignore[return-value]


INSTRUCTIONS: dict[str, Instruction] = {
    "abs": _either(torch.abs, torch.abs),
    "add": _either(torch.add, torch.add),
    "and": _bits(torch.bitwise_and),
    "bfe": _field,
    "bfi": _insert,
    "brev": _reversed,
    "clz": _counted(MATH["math.ctlz"]),
    "copysign": _float(lambda a, b: torch.copysign(b, a)),
    "cos": _float(torch.cos),
    "cvt": _convert,
    "div": _either(torch.div, _quotient),
    "ex2": _float(torch.exp2),
    "fma": _float(MATH["math.fma"]),
    "lg2": _float(torch.log2),
    "lop3": _lop3,
    "mad": _product,
    "max": _extreme(torch.fmax, torch.maximum, torch.maximum),
    "min": _extreme(torch.fmin, torch.minimum, torch.minimum),
    "mov": _move,
    "mul": _product,
    "neg": _either(torch.neg, torch.neg),
    "not": _bits(torch.bitwise_not),
    "or": _bits(torch.bitwise_or),
    "popc": _counted(MATH["math.ctpop"]),
    "prmt": _permute,
    "rcp": _float(torch.reciprocal),
    "rem": _integers(_remainder),
    "rsqrt": _float(torch.rsqrt),
    "selp": _select,
    "setp": _compare,
    "shf": lambda modifiers, types, operands: _funnel(modifiers[0] == "l")(modifiers, types, operands),
    "shl": _shift(left=True),
    "shr": _shift(left=False),
    "sin": _float(torch.sin),
    "sqrt": _float(torch.sqrt),
    "sub": _either(torch.sub, torch.sub),
    "tanh": _float(torch.tanh),
    "xor": _bits(torch.bitwise_xor),
}
