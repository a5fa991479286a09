"""Tables of the functions that ``arith``, ``math`` and ``fuse.libm`` ops compute, on torch tensors that
broadcast.

Both interpreters use them: scalar kernels (one axis for each dim) and tile code (an axis of programs, then
the axes of the tile).  Integers are signless: torch's signed dtypes hold i8..i64, bool holds i1.
``elementwise(op, shadow)`` gives the function of one op.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ....ir.dialects.tt_types import element_of
from ....mlir import ir
from ...errors import RunError
from .dtypes import value_dtype
from .scalar_integers import CMPI, INTEGER, Function, disjoint
from .scalar_math import LIBM, MATH, fmod

Maker = Callable[[ir.Operation, bool], Function]

_FLOAT: dict[str, Function] = {
    "arith.addf": torch.add,
    "arith.subf": torch.sub,
    "arith.mulf": torch.mul,
    "arith.divf": torch.div,
    "arith.remf": fmod,
    "arith.negf": torch.neg,
    "arith.maximumf": torch.maximum,
    "arith.minimumf": torch.minimum,
    "arith.maxnumf": torch.fmax,
    "arith.minnumf": torch.fmin,
    "arith.select": torch.where,
}


def _unordered(a: Tensor, b: Tensor) -> Tensor:
    return torch.isnan(a) | torch.isnan(b)


def _or_unordered(function: Function) -> Function:
    return lambda a, b: function(a, b) | _unordered(a, b)


#: Predicates of arith.cmpf by number: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true.
_CMPF: tuple[Function, ...] = (
    lambda a, b: torch.zeros_like(torch.eq(a, b)),
    torch.eq,
    torch.gt,
    torch.ge,
    torch.lt,
    torch.le,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_unordered(a, b),
    _or_unordered(torch.eq),
    _or_unordered(torch.gt),
    _or_unordered(torch.ge),
    _or_unordered(torch.lt),
    _or_unordered(torch.le),
    torch.ne,
    _unordered,
    lambda a, b: torch.ones_like(torch.eq(a, b)),
)


def _predicate(table: tuple[Function, ...]) -> Maker:
    return lambda op, shadow: table[ir.IntegerAttr(op.attributes["predicate"]).value]


def _unsigned_wide(x: Tensor) -> Tensor:
    """Zero-extends to int64; an i64 stays as it is."""
    if x.dtype in (torch.bool, torch.int64):
        return x.to(torch.int64)
    return x.to(torch.int64) & ((1 << torch.iinfo(x.dtype).bits) - 1)


def _extsi(x: Tensor, to: torch.dtype) -> Tensor:
    return -x.to(to) if x.dtype == torch.bool else x.to(to)


def _trunci(x: Tensor, to: torch.dtype) -> Tensor:
    return x.bitwise_and(1).bool() if to == torch.bool else x.to(to)


def _sitofp(x: Tensor, to: torch.dtype) -> Tensor:
    return -x.to(to) if x.dtype == torch.bool else x.to(to)


def _uitofp(x: Tensor, to: torch.dtype) -> Tensor:
    if x.dtype != torch.int64:
        return _unsigned_wide(x).to(to)
    half = ((x >> 1) & ((1 << 63) - 1)) | (x & 1)  # keeps a sticky lowest bit, so that rounding is right
    return torch.where(x < 0, half.to(to) * 2, x.to(to))


def _fptosi(x: Tensor, to: torch.dtype) -> Tensor:
    return x.trunc().to(torch.int64).bitwise_and(1).bool() if to == torch.bool else x.to(to)


def _fptoui(x: Tensor, to: torch.dtype) -> Tensor:
    big = x >= float(1 << 63)
    wide = torch.where(big, x - float(1 << 63), x).to(torch.int64)
    return _trunci(torch.where(big, wide ^ torch.iinfo(torch.int64).min, wide), to)


def _index_cast(x: Tensor, to: torch.dtype) -> Tensor:
    return _trunci(x, to) if to == torch.bool else _extsi(x, to)


def _convert(function: Callable[[Tensor, torch.dtype], Tensor]) -> Maker:
    def make(op: ir.Operation, shadow: bool) -> Function:
        to = value_dtype(element_of(op.results[0].type), shadow)
        return lambda x: function(x, to)

    return make


def _bitcast(op: ir.Operation, shadow: bool) -> Function:
    source, result = element_of(op.operands[0].type), element_of(op.results[0].type)
    before, after = value_dtype(source), value_dtype(result)
    held = value_dtype(result, shadow)
    return lambda x: x.to(before).view(after).to(held)


_CONVERSION: dict[str, Maker] = {
    "arith.extf": _convert(lambda x, to: x.to(to)),
    "arith.truncf": _convert(lambda x, to: x.to(to)),
    "arith.convertf": _convert(lambda x, to: x.to(to)),
    "arith.extsi": _convert(_extsi),
    "arith.extui": _convert(lambda x, to: _unsigned_wide(x).to(to)),
    "arith.trunci": _convert(_trunci),
    "arith.sitofp": _convert(_sitofp),
    "arith.uitofp": _convert(_uitofp),
    "arith.fptosi": _convert(_fptosi),
    "arith.fptoui": _convert(_fptoui),
    "arith.index_cast": _convert(_index_cast),
    "arith.index_castui": _convert(
        lambda x, to: _unsigned_wide(x).to(to) if to != torch.bool else _trunci(x, to)
    ),
    "arith.bitcast": _bitcast,
    "arith.cmpi": _predicate(CMPI),
    "arith.cmpf": _predicate(_CMPF),
}


def _libm(op: ir.Operation, shadow: bool) -> Function:
    name = ir.StringAttr(op.attributes["fn"]).value
    if name not in LIBM:
        raise RunError(f"fuse.libm knows no function {name!r}", op.location)
    return LIBM[name]


def _plain(function: Function) -> Maker:
    return lambda op, shadow: function


#: Ops that need no attribute: op name -> function.
FUNCTIONS: dict[str, Function] = disjoint(INTEGER, _FLOAT, MATH)

#: Op name -> (op, shadow) -> function of its operands' tensors; ops with several results return a tuple.
ELEMENTWISE: dict[str, Maker] = disjoint(
    {name: _plain(f) for name, f in FUNCTIONS.items()}, _CONVERSION, {"fuse.libm": _libm}
)


def elementwise(op: ir.Operation, shadow: bool) -> Function | None:
    """The function that ``op`` applies to its operands, or None for an op that is not elementwise."""
    make = ELEMENTWISE.get(op.name)
    return None if make is None else make(op, shadow)


def constant_value(op: ir.Operation) -> bool | int | float:
    """The number of an ``arith.constant`` (of a splat, its element)."""
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        attribute = attribute.get_splat_value()
    if isinstance(attribute, bool | int | float):
        return attribute
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr):
        return attribute.value
    return ir.FloatAttr(attribute).value
