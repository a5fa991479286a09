"""Kernels whose tiles can be copied by descriptors: one product of two matrices that lie in memory whole, and
chains of products whose weights do.

From Hopper on, one instruction copies a tile of a matrix between memory and shared memory.  A *descriptor*
says where the matrix lies.  The copy takes no registers, and leaves out what lies outside of the matrix.
Rows must start at multiples of 16 bytes, and so must the matrix: what ``fuse.anywhere`` names need not.
"""

from collections.abc import Collection, Mapping

from ...base.dataclass import dataclass
from ...ir.defining import defining_op, is_true
from ...ir.dialects import fuse
from ...ir.kernel import Access, Kernel, string
from ...ir.layout import TensorSpec
from ...mlir import ir

#: Bytes of which the start of a row is a multiple.
_ALIGNED = 16
#: Bytes of a row of shared memory.
_ROW = 128
#: Bytes of an element.
_WIDE = 2


@dataclass(frozen=True)
class Stream:
    """An access of a matrix.  ``argument``: its number.  ``dims``: of rows, then along rows."""

    argument: int
    dims: tuple[str, str]


def streams_of(kernel: Kernel) -> Mapping[ir.Operation, Stream] | None:
    """The loads of both factors and the store of the result, in that order; None where one of them is no
    plain access of a whole matrix of 16-bit elements, or the kernel does more than multiply once and compute
    points of the result.
    """
    if len(kernel.products) != 1 or kernel.reductions != kernel.products or kernel.scans:
        return None
    [product] = kernel.products
    loads = [defining_op(factor, fuse.Load) for factor in product.operands]
    if any(load is None for load in loads) or len(kernel.stores) != 1 or len(kernel.dims) != 3:
        return None
    [store] = kernel.stores
    if string(store.op.attributes["mode"]) != "set" or not is_true(store.op.operands[2]):
        return None
    factors = [a for load in loads for a in kernel.loads if a.op == load]
    if len(factors) != 2 or not all(is_true(a.op.operands[1]) for a in factors):
        return None
    found = {a.op: stream for a in (*factors, store) if (stream := _stream(kernel, a)) is not None}
    return found if len(found) == 3 else None


def streams_of_weights(kernel: Kernel, rows: Collection[str]) -> Mapping[ir.Operation, Stream]:
    """The loads of factors that do not run over ``rows``, as far as they are plain accesses of whole matrices
    of 16-bit elements in rows of at least 128 bytes (``aligned_columns`` says why).
    """
    loads = {defining_op(factor, fuse.Load) for product in kernel.products for factor in product.operands}
    weights = [a for a in kernel.loads if a.op in loads and kernel.op_dims[a.op].isdisjoint(rows)]
    plain = [a for a in weights if is_true(a.op.operands[1])]
    found = {a.op: stream for a in plain if (stream := _stream(kernel, a)) is not None}
    return {op: s for op, s in found.items() if (kernel.dims[s.dims[1]].constant or 0) * _WIDE >= _ROW}


def streams(spec: TensorSpec) -> bool:
    """Whether a matrix of 16-bit elements has rows, or columns, that descriptors can name."""
    if spec.rank != 2 or not spec.is_static or spec.element_bytes != _WIDE:
        return False
    strides = sorted(s.constant or 0 for s in spec.strides)
    offset = spec.offset.constant
    whole = offset is not None and not offset * _WIDE % _ALIGNED
    return whole and strides[0] == 1 < strides[1] and not strides[1] * _WIDE % _ALIGNED


def _stream(kernel: Kernel, access: Access) -> Stream | None:
    spec = kernel.spec(access.argument)
    names = [str(c) for c in access.coords]
    whole = len({*names}) == 2 and all(
        kernel.dims.get(name) == size for name, size in zip(names, spec.sizes, strict=True)
    )
    anywhere = kernel.func.attributes.get("fuse.anywhere", ())
    if not whole or access.indirect or not streams(spec) or access.argument in list(anywhere):
        return None
    return Stream(
        access.argument, (names[0], names[1]) if spec.strides[1].constant == 1 else (names[1], names[0])
    )
