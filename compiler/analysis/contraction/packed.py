"""Weights that are made of bytes, or of words of 32 bits: numbers of 8 bits, or several of fewer bits in
each, with zero points, and with scales that groups of them share.
"""

from ...base.dataclass import dataclass
from ...index import sym
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import Access, over
from ...ir.sizes import ceil_power
from ...mlir import arith, ir
from ..kernel.precision import IMPLICIT
from ..kernel.shape import KernelShape

#: Most values that a weight is made of, one after the other.
_MOST_VALUES = 256
#: Types of what numbers are packed in, bytes and the words of GPTQ, and the most numbers in one of them.  A
#: float of 8 bits is a byte of one number, which takes two instructions to be widened to 16 bits.
MOST_PARTS = {"i8": 4, "i32": 8, "f8E4M3FN": 1, "f8E5M2": 1}
#: Entries of a table that the lanes of a warp hold.
MOST_ENTRIES = 32
#: Bytes, or words, of a group of weights that share a scale.
_GROUPS = range(16, 257)


def bytes_of(shape: KernelShape, value: ir.Value, summed: tuple[str, ...]) -> Access | None:
    """The load of the bytes or words that a factor is made of, as ``made_of`` says."""
    found = made_of(shape, value, summed)
    return None if found is None else found[0]


def made_of(
    shape: KernelShape, value: ir.Value, summed: tuple[str, ...]
) -> tuple[Access, list[frozenset[str]]] | None:
    """The load of the bytes or words that ``value``, a factor of a product over ``summed``, is made of by
    casts, bits, numbers, short tables and constants, and the dims of what else is loaded; None where it is
    made otherwise.  What else is loaded, such as a zero point for each group, does not run along the dim in
    which these are neighbours.  Where a byte or word has several numbers, the value has a dim of its own for
    them.
    """
    found, seen, pending = list[Access](), set[ir.Value](), [value]
    loads = {access.op.results[0]: access for access in shape.kernel.loads}
    while pending:
        made = pending.pop()
        if made in seen:
            continue
        seen.add(made)
        if made in loads and is_table(shape, loads[made]):
            pending += loads[made].indices
        elif made in loads:
            found.append(loads[made])
        elif isinstance(made.owner, ir.Block) or len(seen) > _MOST_VALUES:
            return None
        elif isinstance(made.owner, fuse.Index):
            if len(made.owner.operands):
                return None
        elif made.owner.name.startswith("arith."):
            pending += made.owner.operands
        else:
            return None
    packed = [a for a in found if str(a.op.results[0].type) in MOST_PARTS and not len(a.indices)]
    if not packed:
        return None
    access = max(packed, key=lambda a: len(shape.kernel.op_dims[a.op]))
    dims, along = shape.kernel.op_dims[access.op], along_of(shape, access, summed)
    beside = [shape.kernel.op_dims[a.op] for a in found if a != access]
    parts = parts_of(shape, value, access)
    fits = along is not None and all(shape.kernel.dims[d].constant for d in parts)
    fits = fits and shape.points(parts) <= MOST_PARTS[str(access.op.results[0].type)]
    return (access, beside) if fits and all(d < dims and along not in d for d in beside) else None


def is_table(shape: KernelShape, access: Access) -> bool:
    """Whether a load looks up one of a few numbers, which the lanes of a warp hold for each other."""
    spec = shape.kernel.spec(access.argument)
    entries = spec.sizes[0].constant if len(spec.sizes) == 1 else None
    few = entries is not None and entries <= MOST_ENTRIES and spec.strides[0].constant == 1
    return few and len(access.indices) == 1 and access.coords == (sym("i0"),)


def along_of(shape: KernelShape, access: Access, summed: tuple[str, ...]) -> str | None:
    """Of the dims that a product sums, the one in which the bytes or words of ``access`` are neighbours.

    Rows of words may be neighbours instead (GPTQ): a word has weights enough to be read by itself.  Then it
    is the dim in which words that are summed are nearest.  None where there is none.
    """
    found = shape.contiguous_dim(access)
    if found in summed:
        return found
    steps = {dim: abs(step) for dim, step in shape.steps(access).items() if dim in summed and step}
    words = found is not None and shape.element_bytes(access) == 4
    return min(steps, key=lambda dim: steps[dim]) if words and steps else None


def parts_of(shape: KernelShape, value: ir.Value, access: Access) -> tuple[str, ...]:
    """The dims of the numbers of a byte, of a value that is made of the bytes of ``access``."""
    return tuple(sorted(shape.kernel.value_dims[value] - shape.kernel.op_dims[access.op]))


@dataclass(frozen=True)
class PackedWeights:
    """A factor of a product that is made of bytes, and may be multiplied by a scale.

    ``number``: of the factor.  ``weights``: without the scale, of the factor's type.  ``scale``: f32; None
    where there is none, or it stays at the weights.  ``inner``: the dims along which weights share it, or
    what else they are made of, of those that the product sums; ``groups``: the others.  ``parts``: those of
    ``inner`` that the numbers of a byte have.
    """

    number: int
    weights: ir.Value
    scale: ir.Value | None
    inner: tuple[str, ...]
    groups: tuple[str, ...]
    parts: tuple[str, ...]

    @staticmethod
    def of(shape: KernelShape, op: ir.Operation, number: int) -> "PackedWeights | None":
        """Of a ``fuse.dot``; None where the factor is made otherwise, and where its scales are rounded in a
        way that the program asks for, or do not suit tiles.
        """
        factor, summed = op.operands[number], over(op)
        for weights, scale in (*_scaled(factor), (factor, None)):
            made = made_of(shape, weights, summed)
            if made is None:
                continue
            access, beside = made
            parts = parts_of(shape, weights, access)
            # where scales stay at the weights, as what is rounded then, each is read once for a group, too
            scaled = frozenset().union(*beside) if scale is None else shape.kernel.value_dims[scale]
            for shared in (scaled, frozenset[str]()) if scale is None else (scaled,):
                groups, inner = (tuple(d for d in summed if (d in shared) is kind) for kind in (True, False))
                length = shape.points(tuple(d for d in inner if d not in parts))
                suits = not groups or (length in _GROUPS and ceil_power(length) == length)
                if suits and along_of(shape, access, summed) in inner and {*parts} <= {*inner}:
                    return PackedWeights(number, weights, scale, inner, groups, parts)
        return None


def _scaled(factor: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
    """What a factor is the product of, both ways, but for a rounding that the program does not ask for: a
    value of the factor's type, and one in f32.
    """
    rounding = defining_op(factor, arith.TruncFOp)
    product = None if rounding is None else defining_op(rounding.operands[0], arith.MulFOp)
    if rounding is None or product is None or IMPLICIT not in rounding.attributes:
        return []
    first, second = product.operands
    both = [(defining_op(a, arith.ExtFOp), b) for a, b in ((first, second), (second, first))]
    return [(a.operands[0], b) for a, b in both if a is not None and a.operands[0].type == factor.type]
