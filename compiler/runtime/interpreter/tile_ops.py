"""The implementation of ``tt`` ops on tiles of all programs at once.  ``tile_batch.py`` describes the values.
Ops that access memory are in ``tile_accesses.py``; those of ``arith`` and ``math`` come from ``scalar_ops``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...codegen.nvidia import INTRINSICS, RECIPROCAL
from ...ir.dialects.tt_text import FAMILIES, mirror_name
from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from ..errors import RunError
from .scalar.assertions import assertion_error
from .scalar.dtypes import value_dtype
from .scalar.scalar_math import LIBM
from .scalar.scalar_ops import FUNCTIONS, constant_value, elementwise
from .tile_accesses import ACCESSES
from .tile_addresses import ADDRESSES
from .tile_batch import Batch, TileStep, aligned, at, choose, integer_attribute, is_pointer, tile_shape
from .tile_descriptors import DESCRIPTORS
from .tile_memory import Pointer, Pointers
from .tile_rearranged import REARRANGED
from .tile_scaled_dot import dot_scaled


def elementwise_step(op: ir.Operation, shadow: bool) -> TileStep | None:
    """The step of an elementwise op; None for any other."""
    if op.name == "arith.select" and is_pointer(op.results[0].type):
        return lambda batch, v: choose(v[0], v[1], v[2])
    function = elementwise(op, shadow)
    return None if function is None else lambda batch, v: function(*aligned(v))


# --- shapes -------------------------------------------------------------------------------------------------


def _moved(function: Callable[[Tensor], Tensor]) -> TileStep:
    """Applies a change of shape to a tile, or to the offsets of a tile of addresses."""

    def step(batch: Batch, operands: Sequence[Any]) -> Any:
        value = operands[0]
        return at(value, function) if isinstance(value, Pointer | Pointers) else function(value)

    return step


def _splat(op: ir.Operation, shadow: bool) -> TileStep:
    shape = tile_shape(op.results[0].type)
    return _moved(lambda v: v.reshape([-1] + [1] * len(shape)).expand([v.shape[0], *shape]))


def _broadcast(op: ir.Operation, shadow: bool) -> TileStep:
    shape = tile_shape(op.results[0].type)
    return _moved(lambda v: v.expand([v.shape[0], *shape]))


def _expand_dims(op: ir.Operation, shadow: bool) -> TileStep:
    axis = integer_attribute(op, "axis") + 1
    return _moved(lambda v: v.unsqueeze(axis))


def _reshape(op: ir.Operation, shadow: bool) -> TileStep:
    shape = tile_shape(op.results[0].type)
    return _moved(lambda v: v.reshape([v.shape[0], *shape]))


def _trans(op: ir.Operation, shadow: bool) -> TileStep:
    order = [0, *(n + 1 for n in ir.DenseI32ArrayAttr(op.attributes["order"]))]
    return _moved(lambda v: v.permute(order))


# --- sources ------------------------------------------------------------------------------------------------


def _program_id(op: ir.Operation, shadow: bool) -> TileStep:
    axis = integer_attribute(op, "axis")

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        number = batch.programs
        for extent in batch.grid[:axis]:
            number = number // extent
        return (number % batch.grid[axis]).to(torch.int32)

    return step


def _num_programs(op: ir.Operation, shadow: bool) -> TileStep:
    axis = integer_attribute(op, "axis")
    return lambda batch, v: torch.tensor([batch.grid[axis]], dtype=torch.int32)


def _make_range(op: ir.Operation, shadow: bool) -> TileStep:
    values = torch.arange(
        integer_attribute(op, "start"), integer_attribute(op, "end"), dtype=torch.int32
    ).unsqueeze(0)
    return lambda batch, v: values


def _constant(op: ir.Operation, shadow: bool) -> TileStep:
    type_, attribute = op.results[0].type, op.attributes["value"]
    dtype, shape = value_dtype(element_of(type_), shadow), tile_shape(type_)
    if isinstance(attribute, ir.DenseElementsAttr) and not attribute.is_splat:
        made = torch.tensor(list(attribute), dtype=dtype).reshape(1, *shape)
    else:
        value = constant_value(op)
        made = torch.full(
            (1, *[1] * len(shape)), bool(value) if dtype == torch.bool else value, dtype=dtype
        ).expand(1, *shape)
    return lambda batch, v: made


def _base(op: ir.Operation, shadow: bool) -> TileStep:
    return lambda batch, v: batch.memory.base(v[0])


def _base_of(op: ir.Operation, shadow: bool) -> TileStep:
    return lambda batch, v: Pointers.picked(v[0], [batch.memory.base(t) for t in v[1:]], batch.active)


# --- assertions ---------------------------------------------------------------------------------------------


def _assert(op: ir.Operation, shadow: bool) -> TileStep:
    message = ir.StringAttr(op.attributes["message"]).value

    def step(batch: Batch, operands: Sequence[Any]) -> tuple[()]:
        failed = ~operands[0]
        if batch.active is not None:
            failed = failed & batch.active.reshape([-1] + [1] * (failed.ndim - 1))
        if failed.any():
            raise assertion_error(op, message)
        return ()

    return step


# --- arithmetic that only tt has ----------------------------------------------------------------------------


def _dot(op: ir.Operation, shadow: bool) -> TileStep:
    dtype = value_dtype(element_of(op.results[0].type), shadow)
    return lambda batch, v: torch.matmul(v[0].to(dtype), v[1].to(dtype)) + v[2]


def _clampf(op: ir.Operation, shadow: bool) -> TileStep:
    quiet = integer_attribute(op, "propagateNan") == 0

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        x, low, high = operands
        if quiet:
            return torch.fmin(torch.fmax(x, low), high)
        return torch.minimum(torch.maximum(x, low), high)

    return step


def _bitcast(op: ir.Operation, shadow: bool) -> TileStep:
    source, result = element_of(op.operands[0].type), element_of(op.results[0].type)
    if is_pointer(op.operands[0].type):
        return lambda batch, v: v[0]  # a load or store says how it reads the memory
    before, after, held = value_dtype(source), value_dtype(result), value_dtype(result, shadow)

    def step(batch: Batch, operands: Sequence[Any]) -> Tensor:
        value = operands[0].to(before)
        return (value.to(after) if torch.bool in (before, after) else value.contiguous().view(after)).to(held)

    return step


def _fp_to_fp(op: ir.Operation, shadow: bool) -> TileStep:
    dtype = value_dtype(element_of(op.results[0].type), shadow)
    return lambda batch, v: v[0].to(dtype)


#: libdevice functions that are not C functions of the same name.
_LIBDEVICE: dict[str, Callable[..., Tensor]] = {
    "__nv_clz": lambda x: FUNCTIONS["math.ctlz"](x),
    "__nv_clzll": lambda x: FUNCTIONS["math.ctlz"](x).to(torch.int32),
    "__nv_dsqrt_rn": torch.sqrt,
    "__nv_fast_fdividef": lambda x, y: torch.where(y.abs() > 2.0**126, x / (y * torch.inf), x / y),
    "__nv_ffs": lambda x: torch.where(x == 0, 0, FUNCTIONS["math.cttz"](x) + 1).to(torch.int32),
    "__nv_finitef": lambda x: torch.isfinite(x).to(torch.int32),
    "__nv_fsqrt_rn": torch.sqrt,
    "__nv_isinfd": lambda x: torch.isinf(x).to(torch.int32),
    "__nv_isinff": lambda x: torch.isinf(x).to(torch.int32),
    "__nv_isnand": lambda x: torch.isnan(x).to(torch.int32),
    "__nv_isnanf": lambda x: torch.isnan(x).to(torch.int32),
    "__nv_popc": lambda x: FUNCTIONS["math.ctpop"](x),
    "__nv_popcll": lambda x: FUNCTIONS["math.ctpop"](x).to(torch.int32),
    "__nv_powi": lambda x, n: torch.pow(x, n.to(x.dtype)),
    "__nv_powif": lambda x, n: torch.pow(x, n.to(x.dtype)),
    RECIPROCAL: lambda x: _LIBDEVICE["__nv_fast_fdividef"](
        torch.ones_like(x), torch.where(x.abs() < 2.0**-126, x * 0, x)
    ),
}


#: Libdevice's symbol of the function that is an intrinsic of LLVM.
_OF_INTRINSIC = {intrinsic: symbol for symbol, intrinsic in INTRINSICS.items()}


def libdevice(symbol: str, location: ir.Location | None = None) -> Callable[..., Tensor]:
    """The torch function of a libdevice symbol (``__nv_erff``), or of an intrinsic.  Raises RunError for one
    that is not known."""
    symbol = _OF_INTRINSIC.get(symbol, symbol)
    if symbol in _LIBDEVICE:
        return _LIBDEVICE[symbol]
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    for candidate in (name, name.removesuffix("f")):
        if candidate in LIBM:
            return LIBM[candidate]
    raise RunError(f"libdevice function {symbol!r} is not known", location)


def _extern_elementwise(op: ir.Operation, shadow: bool) -> TileStep:
    function = libdevice(ir.StringAttr(op.attributes["symbol"]).value, op.location)
    return lambda batch, v: function(*aligned(v))


def _mulhiui(op: ir.Operation, shadow: bool) -> TileStep:
    return lambda batch, v: FUNCTIONS["arith.mului_extended"](*aligned(v))[1]


def _nothing(op: ir.Operation, shadow: bool) -> TileStep:
    return lambda batch, v: ()


#: Op name -> (op, shadow) -> step.  Ops with regions are in ``tile_kernels``.
TILE_OPS: dict[str, Callable[[ir.Operation, bool], TileStep]] = {
    **ACCESSES,
    **ADDRESSES,
    **DESCRIPTORS,
    **REARRANGED,
    "arith.constant": _constant,
    "fuse.base": _base,
    "fuse.base_of": _base_of,
    "gpu.barrier": _nothing,  # the lanes of a program run in lock step
    "llvm.intr.assume": _nothing,
    "tt.assert": _assert,
    "tt.bitcast": _bitcast,
    "tt.broadcast": _broadcast,
    "tt.clampf": _clampf,
    "tt.dot": _dot,
    "tt.dot_scaled": dot_scaled,
    "tt.expand_dims": _expand_dims,
    "tt.extern_elementwise": _extern_elementwise,
    "tt.fp_to_fp": _fp_to_fp,
    "tt.get_num_programs": _num_programs,
    "tt.get_program_id": _program_id,
    "tt.join": lambda op, shadow: lambda batch, v: torch.stack(torch.broadcast_tensors(*v), -1),
    "tt.make_range": _make_range,
    "tt.mulhiui": _mulhiui,
    "tt.precise_divf": lambda op, shadow: lambda batch, v: torch.div(*aligned(v)),
    "tt.precise_sqrt": lambda op, shadow: lambda batch, v: torch.sqrt(v[0]),
    **{mirror_name("tt.print", count): _nothing for count in FAMILIES["tt.print"]},
    "tt.reshape": _reshape,
    "tt.splat": _splat,
    "tt.split": lambda op, shadow: lambda batch, v: v[0].unbind(-1),
    "tt.trans": _trans,
}
