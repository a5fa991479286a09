"""Copies: to another dtype, device or memory format; and the bits of elements."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from ....fx.table import LOWERINGS, lowers, target_name
from ....index import Expr
from ...importer.arithmetic import Scalar
from ...importer.builder import KernelBuilder
from ...importer.call import Call
from ...importer.values import Tensor
from .elementwise import Pointwise, lower

#: A rule that leaves the conversion to the store.
_COPY = Pointwise((), lambda k, x, *_: x, own=True)


@lowers(
    "aten.clone.default",
    "aten._to_copy.default",
    "prims.convert_element_type.default",
    "aten.lift_fresh_copy.default",
    "aten.contiguous.default",
    "aten.detach_copy.default",
)
def copy(call: Call) -> Any:
    """The output's layout is what ``memory_format`` made it.  To its own dtype an element goes as it is."""
    name = "a" if "a" in call.arguments else "self"
    source = call.tensor(name)
    if source.rank and source.dtype.is_floating_point and source.spec.element == call.result.element:
        kernel = call.kernel([source])
        at = kernel.iterate(call.result.sizes)
        kernel.store(0, at, kernel.load_raw(source, kernel.broadcast(source, at)))
        return call.finish(kernel)
    call.arguments = {name: source}
    return lower(call, _COPY)


#: The unsigned integer of so many bytes.
_BITS = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}


@lowers("aten.view.dtype")
def view_dtype(call: Call) -> Any:
    """The same bytes as another dtype, as a copy.  A dtype of another width has more or fewer elements along
    the last dim; the lowest byte of an element comes first.
    """
    source, dtype = call.tensor("self"), call["dtype"]
    if source.dtype == torch.bool and _holds_any_byte(call.node.args[0]):
        call.refuse("the bytes of a bool are those of another dtype")
    if dtype == torch.bool and source.dtype != torch.bool:
        call.refuse("torch keeps a byte that is no bool")
    kernel = call.kernel([source])
    at = kernel.iterate(call.result.sizes)
    if source.dtype.itemsize < dtype.itemsize:
        bits = _joined(kernel, source, at, dtype.itemsize)
    elif source.dtype.itemsize > dtype.itemsize:
        bits = _part(kernel, source, at, dtype.itemsize)
    else:
        bits = _bits_of(kernel, kernel.load_raw(source, at))
    kernel.store(0, at, bits if dtype == torch.bool else kernel.bitcast(bits, dtype))
    return call.finish(kernel)


def _holds_any_byte(node: Any) -> bool:
    """Whether a value is a view of what another ``view(dtype)`` made."""
    while isinstance(node, fx.Node) and node.target is not torch.ops.aten.view.dtype:
        entry = LOWERINGS.get(target_name(node.target)) if node.op == "call_function" else None
        if entry is None or not entry.view:
            return False
        node = node.args[0]
    return True


def _bits_of(k: KernelBuilder, x: Scalar) -> Scalar:
    """An element as the unsigned integer of its width."""
    bits = _BITS[x.dtype.itemsize]
    return k.cast(x, bits) if x.dtype == torch.bool else k.bitcast(x, bits)


def _joined(k: KernelBuilder, source: Tensor, at: Sequence[Expr], width: int) -> Scalar:
    """The ``width`` bytes of several elements side by side as one integer."""
    whole, narrow = k.constant(0, _BITS[width]), source.dtype.itemsize
    for i in range(width // narrow):
        last = at[-1] * (width // narrow) + i
        part = k.cast(_bits_of(k, k.load_raw(source, [*at[:-1], last])), _BITS[width])
        whole = k.bit_or(whole, k.shift_left(part, 8 * narrow * i)) if i else part
    return whole


def _part(k: KernelBuilder, source: Tensor, at: Sequence[Expr], width: int) -> Scalar:
    """The ``width`` bytes of a part of a wider element as an integer."""
    count = source.dtype.itemsize // width
    element = _bits_of(k, k.load_raw(source, [*at[:-1], at[-1].floordiv(count)]))
    shift = k.cast(k.index(at[-1].mod(count) * (8 * width)), element.dtype)
    return k.cast(k.shift_right(element, shift), _BITS[width])


@lowers("aten.frexp.Tensor")
def frexp(call: Call) -> Any:
    """A fraction in [0.5, 1) with the sign of the element, and an exponent of 2; what is 0, infinite or
    missing is its own fraction, with the exponent 0.
    """
    return lower(call, Pointwise((), _fraction_and_exponent))


def _fraction_and_exponent(k: KernelBuilder, x: Scalar) -> tuple[Scalar, Scalar]:
    wide = x.dtype == torch.float64
    digits, offset = (52, 1022) if wide else (23, 126)
    whole = torch.int64 if wide else torch.int32
    bits = k.bitcast(x, whole)
    size = k.bit_and(bits, torch.iinfo(whole).max)
    endless = (2 * offset + 3) << digits
    itself = k.bit_or(k.compare("eq", size, 0), k.compare("ge", size, endless))
    # A subnormal number is its digits as an integer, times the smallest of them: no float that a GPU flushes.
    is_small = k.compare("lt", size, 1 << digits)
    normal = k.bitcast(k.cast(size, x.dtype), whole)
    size = k.select(is_small, normal, size)
    exponent = k.sub(k.shift_right(size, digits), offset)
    exponent = k.sub(exponent, k.select(is_small, k.constant(digits + offset, whole), 0))
    sign = k.bit_and(bits, torch.iinfo(whole).min)
    digit_bits = k.bit_or(k.bit_and(size, (1 << digits) - 1), offset << digits)
    fraction = k.bitcast(k.bit_or(digit_bits, sign), x.dtype)
    return k.select(itself, x, fraction), k.select(itself, 0, k.cast(exponent, torch.int32))
