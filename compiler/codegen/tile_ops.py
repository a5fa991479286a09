"""Scalar ops on tiles.  Three tables say which ops Triton has under the same name, which need another op of
Triton's, and which become a libdevice function or a short sequence.

``emit(builder, op, operands)`` is the one entry.  Accuracy follows eager PyTorch: f32 quotients and square
roots are IEEE's, in scalars and long blocks of a loop by Triton's ops (``tt.precise_divf``,
``tt.precise_sqrt``), elsewhere without their branches, where about one in some millions is rounded
otherwise; by a divisor that is a constant, or known not to be small, about one in a million.  A quotient that
is rounded to 16 bits or fewer next (``analysis/kernel/precision.py``) is less exact: there the about 10
instructions of an IEEE quotient would limit the kernel's speed.
"""

import math
from collections.abc import Callable, Sequence

from ..analysis.kernel.moderate import moderate
from ..analysis.kernel.precision import added_to_ordinary, summed_by_products
from ..ir.defining import defining_op
from ..ir.dialects import tt
from ..mlir import arith, ir
from . import nvidia
from .libdevice import BY_NAME, BY_OP
from .products import of_bits
from .tile_bounds import at_most, splat_constant
from .tile_builder import TileBuilder, exact_inverse, ordinary_constant, shape_of
from .tile_math import (
    coarse_erf,
    coarse_quotient,
    coarse_tanh,
    erf,
    exponential,
    ordinary,
    quotient,
    quotient_by_constant,
    quotient_by_moderate,
    quotient_by_ordinary,
    quotient_by_row,
    quotient_of_constant,
    remainder_by_power,
    square_root,
    tanh_beside_one,
)

Emitter = Callable[[TileBuilder, ir.Operation, Sequence[ir.Value]], list[ir.Value]]

#: Ops that Triton has on tiles under the same name; attributes are kept, the result's element type is the
#: scalar op's.
LEGAL = frozenset(
    "arith." + n
    for n in [
        "mulf",
        "maximumf",
        "minimumf",
        "maxnumf",
        "minnumf",
        "cmpf",
        "cmpi",
        "select",
        "addi",
        "subi",
        "muli",
        "divsi",
        "divui",
        "remsi",
        "remui",
        "andi",
        "ori",
        "xori",
        "shli",
        "shrsi",
        "shrui",
        "maxsi",
        "maxui",
        "minsi",
        "minui",
        "extsi",
        "extui",
        "trunci",
        "fptoui",
    ]
) | frozenset(
    "math." + n
    for n in [
        "log",
        "log2",
        "sin",
        "cos",
        "rsqrt",
        "floor",
        "ceil",
        "absf",
        "absi",
        "fma",
    ]
)

_FP8 = ("f8E4M3FN", "f8E5M2")


class NoTileForm(Exception):
    """An op has no form on tiles.  The message is one sentence."""


def emit(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Emits ``op`` (a scalar ``arith``, ``math`` or ``fuse.libm`` op) on tiles.  Returns its results.  Raises
    ``NoTileForm``.
    """
    name = op.name
    special = SPECIAL.get(name)
    if special is not None:
        return special(builder, op, operands)
    if name in LEGAL:
        return [builder.elementwise(name, operands, op.results[0].type, _attributes(op))]
    if name in BY_OP:
        return [_function(builder, BY_OP[name].name, operands, op)]
    raise NoTileForm(
        f"{name} on {op.operands[0].type if len(op.operands) else 'nothing'} has no form on tiles"
    )


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {
        name: op.attributes[name]
        for name in op.attributes
        if name in ("predicate", "fastmath", "overflowFlags")
    }


def _function(builder: TileBuilder, name: str, operands: Sequence[ir.Value], op: ir.Operation) -> ir.Value:
    element = op.results[0].type
    try:
        symbol = BY_NAME[name].symbol(str(element))
    except (KeyError, ValueError):
        raise NoTileForm(f"{op.name} has no libdevice function '{name}' for {element}") from None
    if len(operands) != BY_NAME[name].arity:
        raise NoTileForm(f"'{name}' takes {BY_NAME[name].arity} operands, got {len(operands)}")
    return builder.extern(symbol, operands, element)


def _constant(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.constant_of(op.attributes["value"])]


#: Elements of a block in a loop beside which a thread has registers for a reciprocal and its correction.
#: More are rows that 32 warps loop over, which have 64 registers each.
_ROOMY = 8192


def _divf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    inverse = exact_inverse(operands[1])
    if inverse is not None:
        return [builder.elementwise("arith.mulf", [operands[0], builder.fill(inverse, operands[1])])]
    if str(op.results[0].type) != "f32":
        return [builder.elementwise("arith.divf", operands)]
    if op.results[0] in builder.coarse:
        return [coarse_quotient(builder, *operands, is_moderate=moderate(op.operands[1]))]
    divisor = ordinary_constant(operands[1])
    if divisor is not None:
        return [quotient_by_constant(builder, operands[0], divisor)]
    if ordinary(operands[1]):
        return [quotient_by_ordinary(builder, *operands)]
    elements, divisors = (math.prod(shape_of(operand)) for operand in operands)
    roomy = not builder.nested or (divisors == 1 and elements <= _ROOMY)
    if divisors < elements and roomy:
        return [quotient_by_row(builder, *operands, is_moderate=moderate(op.operands[1]))]
    if divisors > 1 and (not builder.nested or elements <= _ROOMY):
        return [_quotient(builder, op, operands)]
    return [builder.elementwise("tt.precise_divf", operands)]


def _remf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    inverse = exact_inverse(operands[1])
    if str(op.results[0].type) == "f32" and inverse is not None and 0 < inverse <= 1:
        return [remainder_by_power(builder, operands[0], 1 / inverse)]
    return [_function(builder, BY_OP[op.name].name, operands, op)]


def _quotient(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
    """A quotient of float32, element by element, in the form that its operands allow."""
    if moderate(op.operands[1]):
        return quotient_by_moderate(builder, *operands)
    numerator = ordinary_constant(operands[0])
    if numerator is not None:
        return quotient_of_constant(builder, numerator, operands[1])
    return quotient(builder, *operands)


def _fptosi(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Float to signed integer.  A number that was rounded to an integer and then clamped takes a shorter way:
    it is clamped first, and 1.5 * 2**23 is added.  The addition rounds in the same way, and the low bits of
    the sum are the integer.  This saves two conversions, each at a quarter of an addition's speed.  (A NaN
    gives an unspecified integer, as in any conversion.)
    """
    rounded = _rounded_and_clamped(operands[0])
    if rounded is None or str(op.results[0].type) != "i32":
        return [builder.elementwise("arith.fptosi", operands, op.results[0].type)]
    value, low, high = rounded
    value = builder.elementwise("arith.maximumf", [value, builder.fill(low, value)])
    value = builder.elementwise("arith.minimumf", [value, builder.fill(high, value)])
    total = builder.elementwise("arith.addf", [value, builder.fill(_ROUNDS, value)])
    bits = builder.cast("tt.bitcast", total, "i32")
    return [builder.elementwise("arith.subi", [bits, builder.fill(_ROUNDS_BITS, bits)])]


#: A float32 near which a unit in the last place is 1, and its bits.
_ROUNDS, _ROUNDS_BITS = 1.5 * 2.0**23, 0x4B400000


def _rounded_and_clamped(value: ir.Value) -> tuple[ir.Value, float, float] | None:
    """(x, low, high), if a value is min(max(rint(x), low), high) in float32 and the bounds are integers that
    keep x + 1.5 * 2**23 exact; else None.
    """
    bounds = []
    for kind in (arith.MinimumFOp, arith.MaximumFOp):
        op = defining_op(value, kind)
        bound = None if op is None else splat_constant(op.operands[1])
        if op is None or bound is None or bound != int(bound) or abs(bound) > 2**22:
            return None
        bounds.append(bound)
        value = op.operands[0]
    op = defining_op(value, tt.ExternElementwise)
    if op is None or ir.StringAttr(op.attributes["symbol"]).value != nvidia.RINT:
        return None
    return op.operands[0], bounds[1], bounds[0]


def _sqrt(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    if str(op.results[0].type) != "f32":
        return [builder.elementwise("math.sqrt", operands)]
    elements = math.prod(shape_of(operands[0]))
    if elements > 1 and (not builder.nested or elements <= _ROOMY):
        return [square_root(builder, operands[0])]
    return [builder.elementwise("tt.precise_sqrt", operands)]


def _negf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """-0.0 - x, which equals -x for every x, also for zeros."""
    return [builder.elementwise("arith.subf", [builder.fill(-0.0, operands[0]), operands[0]])]


def _bitcast(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.cast("tt.bitcast", operands[0], op.results[0].type)]


def _extf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [widen(builder, operands[0], op.results[0].type)]


def widen(builder: TileBuilder, value: ir.Value, element: ir.Type) -> ir.Value:
    """Converts a float to a wider float type."""
    source = str(tt.element_of(value.type))
    if source in _FP8:
        value = builder.cast("tt.fp_to_fp", value, "f32" if str(element) == "f64" else element)
    elif source in ("f16", "bf16") and str(element) == "f64":
        value = builder.cast("arith.extf", value, "f32")
    return builder.cast("arith.extf", value, element)


def _truncf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Integers that were made of bits are made floats of 16 bits at once, where these have them."""
    made = of_bits.narrowed(builder, operands[0], op.results[0].type)
    if made is not None:
        return [made]
    return [narrow(builder, operands[0], op.results[0].type)]


def narrow(builder: TileBuilder, value: ir.Value, element: ir.Type) -> ir.Value:
    """A float rounded to the nearest narrower one, ties to even.  f64 goes through f32, as in PyTorch's
    conversions to the small float types.
    """
    if str(tt.element_of(value.type)) == "f64":
        value = builder.cast("arith.truncf", value, "f32", _rounded_again(builder, value))
    if str(element) not in _FP8:
        return builder.cast("arith.truncf", value, element, _rounded_again(builder, value))
    value = widen(builder, value, ir.F32Type.get())
    rounding = {"rounding": builder.attribute(1)}
    size = builder.elementwise("math.absf", [value])
    if str(element) == "f8E4M3FN":
        # The hardware saturates at 448.  PyTorch up to 2.11 gives NaN above 464 (464 itself is a tie that
        # rounds to 448); later versions saturate too.
        # A comparison for each element would be packed into bits and unpacked; a sign is not.
        if at_most(size) > 464.0:
            room = builder.cast(
                "tt.bitcast", builder.elementwise("arith.subf", [builder.fill(464.0, size), size]), "i32"
            )
            none = builder.elementwise("arith.shrsi", [room, builder.fill(31, room)])
            bits = builder.elementwise("arith.ori", [builder.cast("tt.bitcast", value, "i32"), none])
            value = builder.cast("tt.bitcast", bits, "f32")
        return builder.cast("tt.fp_to_fp", value, element, rounding)
    # The hardware saturates at 57344; PyTorch gives an infinity of the same sign from 61440 on.
    overflow = builder.cmpf("oge", size, builder.fill(61440.0, size))
    bits = builder.cast("tt.bitcast", builder.cast("tt.fp_to_fp", value, element, rounding), "i8")
    sign = builder.elementwise("arith.andi", [bits, builder.fill(-128, bits)])
    infinity = builder.elementwise("arith.ori", [sign, builder.fill(0x7C, bits)])
    return builder.cast("tt.bitcast", builder.select(overflow, infinity, bits), element)


def _rounded_again(builder: TileBuilder, value: ir.Value) -> dict[str, ir.Attribute] | None:
    """The rounding mode of a ``truncf`` of ``value``, to the nearest even.  It is said where an integer was
    rounded to a float, since Triton's canonicaliser rounds the integer once otherwise; eager rounds twice.
    """
    made = defining_op(value, arith.SIToFPOp, arith.UIToFPOp)
    if made is None or ir.IntegerType(tt.element_of(made.operands[0].type)).width < 32:
        return None
    return {"roundingmode": builder.attribute(0)}


def _libm(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [_function(builder, ir.StringAttr(op.attributes["fn"]).value, operands, op)]


def _isnan(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.cmpf("une", operands[0], operands[0])]


def _compared_with_infinity(predicate: str) -> Emitter:
    def emit_it(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
        size = builder.elementwise("math.absf", [operands[0]])
        return [builder.cmpf(predicate, size, builder.fill(float("inf"), size))]

    return emit_it


def _powers(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    element = op.results[0].type
    if str(op.operands[1].type) != "i32" or str(element) not in ("f32", "f64"):
        raise NoTileForm(f"math.fpowi of {element} and {op.operands[1].type} has no form on tiles")
    return [builder.extern(nvidia.POWERS[str(element)], operands, element)]


def _counted(name32: str, name64: str) -> Emitter:
    """An integer bit function of libdevice, whose result is i32."""

    def emit_it(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
        element = op.results[0].type
        if str(element) not in ("i32", "i64"):
            raise NoTileForm(f"{op.name} on {element} has no form on tiles")
        symbol = name32 if str(element) == "i32" else name64
        count = builder.extern(symbol, operands, ir.IntegerType.get_signless(32))
        return [builder.cast("arith.extui", count, element)]

    return emit_it


def _clampf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.elementwise("tt.clampf", operands, None, {"propagateNan": builder.attribute(0xFFFF)})]


def _sincos(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    return [builder.elementwise("math.sin", operands), builder.elementwise("math.cos", operands)]


def _floordiv(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """q - 1 where the remainder is not 0 and its sign is not the divisor's."""
    return [_rounded_quotient(builder, operands, "arith.subi", opposite=True)]


def _ceildiv(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """q + 1 where the remainder is not 0 and its sign is the divisor's."""
    return [_rounded_quotient(builder, operands, "arith.addi", opposite=False)]


def _rounded_quotient(
    builder: TileBuilder, operands: Sequence[ir.Value], correct: str, opposite: bool
) -> ir.Value:
    """The quotient rounded to 0, by 1 more or less where it crosses an integer: ``correct`` is the op."""
    a, b = builder.alike(*operands)
    quotient = builder.elementwise("arith.divsi", [a, b])
    crosses = _as_integer(builder, _crosses(builder, a, b, opposite), quotient)
    return builder.elementwise(correct, [quotient, crosses])


def _crosses(builder: TileBuilder, a: ir.Value, b: ir.Value, opposite: bool) -> ir.Value:
    rest = builder.elementwise("arith.remsi", [a, b])
    zero = builder.fill(0, rest)
    signs = builder.cmpi("slt" if opposite else "sge", builder.elementwise("arith.xori", [rest, b]), zero)
    return builder.elementwise("arith.andi", [builder.cmpi("ne", rest, zero), signs])


def _as_integer(builder: TileBuilder, flag: ir.Value, like: ir.Value) -> ir.Value:
    return builder.cast("arith.extui", flag, tt.element_of(like.type))


def _erf(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    users = [use.owner for use in op.results[0].uses]
    beside_one = op.results[0] in builder.beside_one
    if beside_one and all(
        isinstance(u, (arith.AddFOp, arith.SubFOp)) and u.results[0] in builder.coarse for u in users
    ):
        return [coarse_erf(builder, operands[0])]
    return [erf(builder, operands[0], beside_one)]


def _tanh(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    if op.results[0] in builder.beside_one:
        return [tanh_beside_one(builder, operands[0])]
    if op.results[0] in builder.coarse:
        return [builder.tanh_of_bf16(operands[0]) if builder.of_bf16 else coarse_tanh(builder, operands[0])]
    return [_function(builder, BY_OP[op.name].name, operands, op)]


def _exp2(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    if str(op.results[0].type) == "f32" and summed_by_products(op):
        return [builder.extern(nvidia.EXP2, operands)]
    return [builder.elementwise("math.exp2", operands)]


def _index_cast(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Converts a size argument to an integer."""
    element = op.results[0].type
    if not isinstance(op.operands[0].type, ir.IndexType) or not isinstance(op.operands[0].owner, ir.Block):
        raise NoTileForm(
            f"arith.index_cast from {op.operands[0].type} has no form on tiles; "
            "only size arguments are of type index"
        )
    return [builder.create("arith.index_cast", [element], operands).results[0]]


def _of_integer(signed: bool) -> Emitter:
    """An integer as a float; bytes four at a time, a few bits of words two at a time."""

    def emit_it(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
        element = op.results[0].type
        made = of_bits.converted(builder, operands[0], signed, element)
        if made is not None:
            return [made]
        return [builder.elementwise("arith.sitofp" if signed else "arith.uitofp", operands, element)]

    return emit_it


def _of_bits_minus(sign: int) -> Emitter:
    """``arith.subf`` (``sign`` 1) and ``arith.addf`` (-1).  An integer that is subtracted from bits, such as
    the zero point of weights, is part of their conversion: the difference of two integers is exact.
    """

    def emit_it(builder: TileBuilder, op: ir.Operation, operands: Sequence[ir.Value]) -> list[ir.Value]:
        if len([*op.operands[0].uses]) == 1:
            made = of_bits.minus(builder, operands[0], operands[1], sign)
            if made is not None:
                return [made]
        return [builder.elementwise(op.name, operands, op.results[0].type, _attributes(op))]

    return emit_it


SPECIAL: dict[str, Emitter] = {
    "arith.addf": _of_bits_minus(-1),
    "arith.subf": _of_bits_minus(1),
    "arith.sitofp": _of_integer(signed=True),
    "arith.uitofp": _of_integer(signed=False),
    "arith.constant": _constant,
    "arith.divf": _divf,
    "arith.remf": _remf,
    "arith.negf": _negf,
    "arith.bitcast": _bitcast,
    "arith.extf": _extf,
    "arith.fptosi": _fptosi,
    "arith.truncf": _truncf,
    "arith.floordivsi": _floordiv,
    "arith.ceildivsi": _ceildiv,
    "arith.index_cast": _index_cast,
    "math.sqrt": _sqrt,
    "math.erf": _erf,
    "math.exp": lambda builder, op, operands: [exponential(builder, operands[0], added_to_ordinary(op))],
    "math.exp2": _exp2,
    "math.tanh": _tanh,
    "math.isnan": _isnan,
    "math.isinf": _compared_with_infinity("oeq"),
    "math.isfinite": _compared_with_infinity("olt"),
    "math.fpowi": _powers,
    "math.ctlz": _counted(*nvidia.LEADING_ZEROS),
    "math.ctpop": _counted(*nvidia.ONES),
    "math.clampf": _clampf,
    "math.sincos": _sincos,
    "fuse.libm": _libm,
}
#: Ops that have a short form, and else are libdevice's function.
_EITHER = {"math.tanh", "arith.remf"}
_TWICE = (LEGAL & SPECIAL.keys()) | (LEGAL & BY_OP.keys()) | (SPECIAL.keys() & BY_OP.keys()) - _EITHER
assert not _TWICE, f"listed in two tables: {sorted(_TWICE)}"


def from_memory(builder: TileBuilder, value: ir.Value, element: ir.Type) -> ir.Value:
    """A loaded value in the kernel's arithmetic type; a boolean is a byte in memory."""
    if str(element) == "i1":
        return builder.cmpi("ne", value, builder.fill(0, value))
    return value


def to_memory(builder: TileBuilder, value: ir.Value) -> ir.Value:
    """The inverse of ``from_memory``."""
    if str(tt.element_of(value.type)) == "i1":
        return builder.cast("arith.extui", value, "i8")
    return value
