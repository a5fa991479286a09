"""Inline assembly of users' kernels on tiles: which elements share a register, the registers of a text."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...ir.dialects.tt_types import element_of
from ...mlir import ir
from ..errors import UnknownAssembly
from .ptx.assembly import Assembly
from .ptx.numbers import UnknownInstruction, masked, tensor_bits, tensor_of
from .scalar.dtypes import value_dtype
from .tile_batch import Batch, TileStep, aligned, integer_attribute, is_pointer


def assembly_step(op: ir.Operation, shadow: bool) -> TileStep:
    """The step of a ``tt.elementwise_inline_asm``.  Elements that one application of the text gets are
    neighbours here; on a GPU the layout decides that, so that a text treats all of them alike.

    Raises UnknownAssembly for an instruction that the interpreter does not have, and for addresses.
    """
    text = ir.StringAttr(op.attributes["asm_string"]).value
    given = ir.StringAttr(op.attributes["constraints"]).value
    count = integer_attribute(op, "packed_element")

    def refused(reason: str) -> UnknownAssembly:
        return UnknownAssembly(" ".join(text.split()), reason, op.location)

    if not len(op.operands):
        raise refused("it takes no operands")
    if any(is_pointer(v.type) for v in (*op.operands, *op.results)):
        raise refused("it takes or gives an address")
    sources, results = (
        [value_dtype(element_of(v.type)) for v in values] for values in (op.operands, op.results)
    )
    if torch.bool in (*sources, *results):
        raise refused("it takes or gives single bits")
    held = [value_dtype(element_of(v.type), shadow) for v in op.results]
    constraints = [
        part.strip() for part in given.split(",") if part.strip() and not part.strip().startswith("~")
    ]
    outputs = sum(part.startswith("=") for part in constraints)
    tied = {n: int(part) for n, part in enumerate(constraints[outputs:]) if part.isdigit()}
    registers = [sum(count // _in_one(dtype, count) for dtype in dtypes) for dtypes in (sources, results)]
    if [len(constraints) - outputs, outputs] != registers:
        raise refused(f"its constraints name {len(constraints)} registers, and it has {sum(registers)}")
    try:
        assembly = Assembly.of(text)
        assembly.run([torch.zeros(1, dtype=torch.int64)] * registers[0], outputs, tied)
    except UnknownInstruction as unknown:
        raise refused(f"it does not have {unknown}") from None

    def step(batch: Batch, operands: Sequence[Any]) -> Any:
        values = torch.broadcast_tensors(*aligned(operands))
        inputs = [
            part for v, dtype in zip(values, sources, strict=True) for part in _packed(v.to(dtype), count)
        ]
        made = iter(assembly.run(inputs, outputs, tied))
        found = []
        for dtype, kept in zip(results, held, strict=True):
            parts = [next(made) for _ in range(count // _in_one(dtype, count))]
            found.append(_unpacked(parts, dtype, count, values[0]).to(kept))
        return tuple(found)

    return step


def _in_one(dtype: torch.dtype, count: int) -> int:
    """How many elements of a type share a register of 32 bits."""
    return min(max(4 // dtype.itemsize, 1), count)


def _packed(value: Tensor, count: int) -> list[Tensor]:
    """The registers that hold ``count`` elements, with one entry for each application of the text."""
    bits, width, each = tensor_bits(value).flatten(), 8 * value.element_size(), _in_one(value.dtype, count)
    bits = torch.nn.functional.pad(bits, (0, -bits.numel() % count)).reshape(-1, count // each, each)
    shifts = torch.arange(each) * width
    return list((bits << shifts).sum(-1).unbind(-1)) if each > 1 else list(bits[..., 0].unbind(-1))


def _unpacked(parts: Sequence[Tensor], dtype: torch.dtype, count: int, like: Tensor) -> Tensor:
    """The elements in the registers of all applications, in the shape of ``like``."""
    width, each = 8 * dtype.itemsize, _in_one(dtype, count)
    groups = -(-like.numel() // count)
    bits = torch.stack([part.expand(groups) for part in parts], -1)
    elements = masked(bits[..., None] >> (torch.arange(each) * width), width) if each > 1 else bits
    return tensor_of(elements.flatten()[: like.numel()], dtype).reshape(like.shape)
