"""Tensor descriptors in the mirror of Triton's dialect: a tile of a tensor is loaded and stored by where it
begins.
"""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from collections.abc import Sequence
from typing import Any

from ...mlir import ext, ir
from .tt_arity import add_arities
from .tt_rules import descriptor_block, descriptor_rows, make_descriptor, verified
from .tt_types import TT

Operand, Result = ext.Operand, ext.Result
I32, I64 = ir.IntegerType[32], ir.IntegerType[64]

#: Values of ``kind`` of ``tt.descriptor_reduce``.

DESCRIPTOR_REDUCE = {"add": 1, "min": 2, "max": 3, "inc": 4, "dec": 5, "and": 6, "or": 7, "xor": 8}


class MakeTensorDescriptor(TT.Operation, name="make_tensor_descriptor", traits=[ext.Pure]):
    """Describes a tensor of one axis at ``base``, by its size and its stride in elements, which is 1.
    ``padding``: what is read outside, 1 zeros, 2 NaN.
    """

    base: Operand[Any]
    size: Operand[I32]
    stride: Operand[I64]
    padding: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = verified(make_descriptor)


add_arities(
    MakeTensorDescriptor,
    "``tt.make_tensor_descriptor`` of {} axes.  The last stride is 1.",
    "size",
    "stride",
)


class DescriptorLoad(TT.Operation, name="descriptor_load"):
    """The tile that begins at ``indices``.  Optional attributes: ``cache``, ``evict``."""

    desc: Operand[Any]
    indices: Sequence[Operand[I32]]
    result: Result[Any]
    verify_invariants = verified(descriptor_block(lambda op: op.results[0].type, first_index=1))


class DescriptorStore(TT.Operation, name="descriptor_store"):
    """Writes a tile at ``indices``; nothing outside the tensor is written."""

    desc: Operand[Any]
    src: Operand[Any]
    indices: Sequence[Operand[I32]]
    verify_invariants = verified(descriptor_block(lambda op: op.operands[1].type, first_index=2))


class DescriptorReduce(TT.Operation, name="descriptor_reduce"):
    """Combines a tile with what is at ``indices``, atomically for each element.  Values of ``kind``:
    ``DESCRIPTOR_REDUCE``.
    """

    desc: Operand[Any]
    src: Operand[Any]
    indices: Sequence[Operand[I32]]
    kind: ir.IntegerAttr
    verify_invariants = verified(descriptor_block(lambda op: op.operands[1].type, first_index=2))


class DescriptorGather(TT.Operation, name="descriptor_gather"):
    """The rows ``x_offsets`` from column ``y_offset``, of a tensor of rank 2."""

    desc: Operand[Any]
    x_offsets: Operand[Any]
    y_offset: Operand[I32]
    result: Result[Any]
    verify_invariants = verified(descriptor_rows(lambda op: op.results[0].type))


class DescriptorScatter(TT.Operation, name="descriptor_scatter"):
    """Writes the rows of a tile to rows ``x_offsets`` from column ``y_offset``, of a tensor of rank 2."""

    desc: Operand[Any]
    x_offsets: Operand[Any]
    y_offset: Operand[I32]
    src: Operand[Any]
    verify_invariants = verified(descriptor_rows(lambda op: op.operands[3].type))
