"""A mirror of the part of Triton's ``tt`` dialect that this compiler emits.  With it, wrong TTIR is found
here rather than inside Triton.

Names, operands and attribute spellings are Triton's (3.6 to 3.9).  A Python-defined op cannot have a variable
number of operands or a dotted name, so ``tt_text.py`` renames two kinds of ops: ops by number of operands
(``tt.reduce``, ``tt.reduce_2``, ``tt.reduce_3`` are all ``tt.reduce``) and terminators (``tt.reduce_return``
is ``tt.reduce.return``).  Reductions and scans are in ``tt_folds.py``, tensor descriptors in
``tt_descriptors.py``, prints in ``tt_prints.py``.
"""

# The bindings read annotations when a class is created, so this file must not defer their evaluation.

from collections.abc import Sequence
from typing import Any, TypeVar

from ...mlir import ext, ir, load_dialect
from .tt_descriptors import MakeTensorDescriptor as MakeTensorDescriptor
from .tt_folds import Reduce as Reduce
from .tt_prints import Print as Print
from .tt_rules import (
    addptr,
    broadcast,
    cat,
    expand_dims,
    gather,
    histogram,
    join,
    make_range,
    memory_access,
    product,
    same_element,
    same_shape,
    split,
    verified,
)
from .tt_rules import tile_problem as tile_problem
from .tt_text import CACHE as CACHE
from .tt_text import EVICT as EVICT
from .tt_types import TT as TT
from .tt_types import Descriptor as Descriptor
from .tt_types import Ptr as Ptr
from .tt_types import element_of as element_of
from .tt_types import pointee_of as pointee_of
from .tt_types import shape_of as shape_of
from .tt_types import tile_type as tile_type

Operand, Result = ext.Operand, ext.Result
I32 = ir.IntegerType[32]
T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

#: Values of ``atomic_rmw_op``.
ATOMIC = {
    "and": 1,
    "or": 2,
    "xor": 3,
    "add": 4,
    "fadd": 5,
    "max": 6,
    "min": 7,
    "umax": 8,
    "umin": 9,
    "xchg": 10,
}
#: Values of ``sem`` (memory order) and ``scope``.
SEM = {"relaxed": 1, "acquire": 2, "release": 3, "acq_rel": 4}
SCOPE = {"gpu": 1, "cta": 2, "sys": 3}


class Func(TT.Operation, name="func"):
    """A function as Triton compiles it; also ``arg_attrs`` (``tt.divisibility``)."""

    sym_name: ir.StringAttr
    sym_visibility: ir.StringAttr
    function_type: ir.TypeAttr
    body: ir.Region


class Return(TT.Operation, name="return", traits=[ir.IsTerminatorTrait]):
    """Ends a kernel."""


class GetProgramId(TT.Operation, name="get_program_id", traits=[ext.Pure]):
    """The program's number along grid axis 0, 1 or 2."""

    axis: ir.IntegerAttr
    result: Result[I32]


class GetNumPrograms(TT.Operation, name="get_num_programs", traits=[ext.Pure]):
    """The grid's extent along axis 0, 1 or 2."""

    axis: ir.IntegerAttr
    result: Result[I32]


class MakeRange(TT.Operation, name="make_range", traits=[ext.Pure]):
    """start, start + 1, ..., end - 1."""

    start: ir.IntegerAttr
    end: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = verified(make_range)


class Splat(TT.Operation, name="splat", traits=[ext.Pure]):
    """A scalar in every element."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_element)


class ExpandDims(TT.Operation, name="expand_dims", traits=[ext.Pure]):
    """A new axis of extent 1."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = verified(expand_dims)


class Broadcast(TT.Operation, name="broadcast", traits=[ext.Pure]):
    """Repeats axes of extent 1."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(broadcast)


class Reshape(TT.Operation, name="reshape", traits=[ext.Pure]):
    """Same elements in another shape."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_element)


class Trans(TT.Operation, name="trans", traits=[ext.Pure]):
    """Permutes axes by ``order``."""

    src: Operand[Any]
    order: Any
    result: Result[Any]
    verify_invariants = verified(same_element)


class Join(TT.Operation, name="join", traits=[ext.Pure]):
    """Two tiles side by side along a new last axis of extent 2."""

    lhs: Operand[T]
    rhs: Operand[T]
    result: Result[Any]
    verify_invariants = verified(join)


class Split(TT.Operation, name="split", traits=[ext.Pure]):
    """The two halves of a tile along its last axis, which has extent 2."""

    src: Operand[Any]
    lhs: Result[Any]
    rhs: Result[Any]
    verify_invariants = verified(split)


class AddPtr(TT.Operation, name="addptr", traits=[ext.Pure]):
    """Address plus offset in elements."""

    ptr: Operand[T]
    offset: Operand[Any]
    result: Result[T]
    verify_invariants = verified(addptr)


class Load(TT.Operation, name="load"):
    """Reads where ``mask`` is true; elsewhere gives ``other`` (undefined without it).  Optional attributes:
    ``cache``, ``evict``, ``isVolatile``.
    """

    ptr: Operand[Any]
    mask: Operand[Any] | None
    other: Operand[Any] | None
    result: Result[Any]
    verify_invariants = verified(memory_access(lambda op: op.results[0].type))


class Store(TT.Operation, name="store"):
    """Writes where ``mask`` is true.  Optional attributes: ``cache``, ``evict``."""

    ptr: Operand[Any]
    value: Operand[Any]
    mask: Operand[Any] | None
    verify_invariants = verified(memory_access(lambda op: op.operands[1].type))


class AtomicRmw(TT.Operation, name="atomic_rmw"):
    """Read-modify-write where ``mask`` is true; gives the old value.  Attribute values: ``ATOMIC``, ``SEM``,
    ``SCOPE``.
    """

    ptr: Operand[Any]
    val: Operand[Any]
    mask: Operand[Any] | None
    atomic_rmw_op: ir.IntegerAttr
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = verified(memory_access(lambda op: op.operands[1].type))


class AtomicCas(TT.Operation, name="atomic_cas"):
    """Compare-and-swap; gives the old value."""

    ptr: Operand[Any]
    cmp: Operand[T]
    val: Operand[T]
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    result: Result[T]
    verify_invariants = verified(memory_access(lambda op: op.operands[1].type))


class Dot(TT.Operation, name="dot", traits=[ext.Pure]):
    """a @ b + c on tiles, or on a batch of them (the first of three axes).  Both operands have one type, or
    are 8-bit floats of two kinds.  The sum is f64 of f64, i32 of i8, f32 of f32 and bf16, and f32 or f16 of
    f16 and of 8-bit floats.

    ``inputPrecision``: 0 tf32, 1 tf32x3, 2 ieee, 3 bf16x3, 4 bf16x6.
    """

    a: Operand[Any]
    b: Operand[Any]
    c: Operand[T]
    inputPrecision: ir.IntegerAttr
    maxNumImpreciseAcc: ir.IntegerAttr
    result: Result[T]
    verify_invariants = verified(product)


class DotScaled(TT.Operation, name="dot_scaled", traits=[ext.Pure]):
    """a @ b + c on tiles of numbers of 4 or 8 bits with a scale for each 32 of them along the inner axis.
    ``a_elem_type``, ``b_elem_type``: 0 e4m3, 1 e5m2, 2 e2m3, 3 e3m2, 4 e2m1, 5 bf16, 6 fp16.
    """

    a: Operand[Any]
    b: Operand[Any]
    c: Operand[T]
    a_scale: Operand[Any] | None
    b_scale: Operand[Any] | None
    a_elem_type: ir.IntegerAttr
    b_elem_type: ir.IntegerAttr
    fastMath: Any
    lhs_k_pack: Any
    rhs_k_pack: Any
    result: Result[T]


class Assert(TT.Operation, name="assert"):
    """Stops the grid with ``message`` where the condition is false."""

    condition: Operand[Any]
    message: ir.StringAttr


class Histogram(TT.Operation, name="histogram", traits=[ext.Pure]):
    """How often each of 0, 1, .. occurs in a tile, where ``mask`` is true."""

    src: Operand[Any]
    mask: Operand[Any] | None
    result: Result[Any]
    verify_invariants = verified(histogram)


class Gather(TT.Operation, name="gather", traits=[ext.Pure]):
    """The elements of a tile that ``indices`` name along ``axis``."""

    src: Operand[Any]
    indices: Operand[Any]
    axis: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = verified(gather)


class Cat(TT.Operation, name="cat", traits=[ext.Pure]):
    """The elements of two tiles in one, in any order."""

    lhs: Operand[T]
    rhs: Operand[T]
    result: Result[Any]
    verify_invariants = verified(cat)


class ExternElementwise(TT.Operation, name="extern_elementwise", traits=[ext.Pure]):
    """A libdevice function or an LLVM intrinsic on each element; ``libname`` and ``libpath`` are empty."""

    srcs: Sequence[Operand[Any]]
    libname: ir.StringAttr
    libpath: ir.StringAttr
    symbol: ir.StringAttr
    pure: Any
    result: Result[Any]
    verify_invariants = verified(same_shape)


class Clampf(TT.Operation, name="clampf", traits=[ext.Pure]):
    """min(max(x, lo), hi).  ``propagateNan``: 0 no, 0xFFFF yes."""

    x: Operand[T]
    lo: Operand[T]
    hi: Operand[T]
    propagateNan: ir.IntegerAttr
    result: Result[T]


class FpToFp(TT.Operation, name="fp_to_fp", traits=[ext.Pure]):
    """Float conversion; ``rounding = 1 : i32`` (nearest even) when narrowing, none when widening."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_shape)


class Bitcast(TT.Operation, name="bitcast", traits=[ext.Pure]):
    """Same bits, another type of the same width (pointers too)."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_shape)


class ElementwiseInlineAsm(TT.Operation, name="elementwise_inline_asm", traits=[ext.Pure]):
    """Assembly on each element.  Only the texts of ``codegen/nvidia.py`` are emitted."""

    srcs: Sequence[Operand[Any]]
    asm_string: ir.StringAttr
    constraints: ir.StringAttr
    packed_element: ir.IntegerAttr
    pure: Any
    result: Result[Any]
    verify_invariants = verified(same_shape)


class ElementwiseInlineAsm2(TT.Operation, name="elementwise_inline_asm_2", traits=[ext.Pure]):
    """Assembly on each element of two tiles, which may have two types."""

    a: Operand[Any]
    b: Operand[Any]
    asm_string: ir.StringAttr
    constraints: ir.StringAttr
    packed_element: ir.IntegerAttr
    pure: Any
    result: Result[Any]
    verify_invariants = verified(same_shape)


class PtrToInt(TT.Operation, name="ptr_to_int", traits=[ext.Pure]):
    """An address as an i64."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_shape)


class IntToPtr(TT.Operation, name="int_to_ptr", traits=[ext.Pure]):
    """An i64 as an address."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = verified(same_shape)


class PreciseSqrt(TT.Operation, name="precise_sqrt", traits=[ext.Pure]):
    """IEEE square root."""

    x: Operand[T]
    result: Result[T]


class PreciseDivf(TT.Operation, name="precise_divf", traits=[ext.Pure]):
    """IEEE division."""

    x: Operand[T]
    y: Operand[T]
    result: Result[T]


class Mulhiui(TT.Operation, name="mulhiui", traits=[ext.Pure]):
    """The upper half of an unsigned product."""

    x: Operand[T]
    y: Operand[T]
    result: Result[T]


def register(context: ir.Context) -> None:
    """Loads the mirror into ``context``; a second call does nothing."""
    if context.is_dialect_loaded("tt"):
        return
    with context, ir.Location.unknown(context):
        load_dialect(TT)
