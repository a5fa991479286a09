"""A mirror of the part of Triton's ``tt`` dialect that this compiler emits, so that wrong TTIR is found here
and not inside Triton.

Names, operands and attribute spellings are Triton's (3.6 to 3.9).  Where a Python-defined op cannot spell
Triton's, ``compiler/codegen/ttir.py``
renames on printing: ops with a fixed number of operands (``tt.reduce``, ``tt.reduce_2``, ``tt.reduce_3`` are
all ``tt.reduce``) and the dotted
terminators (``tt.reduce_return`` is ``tt.reduce.return``).  Annotations are read when a class is created: do
not postpone them here.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..mlir import ext, ir

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
#: Values of ``cache`` and ``evict`` on loads and stores.
CACHE = {"none": 1, "ca": 2, "cg": 3, "wb": 4, "cs": 5, "wt": 6, "cv": 7}
EVICT = {"normal": 1, "first": 2, "last": 3}


def shape_of(type_: ir.Type) -> list[int]:
    """The extents of a tile type; a scalar has none."""
    return list(ir.RankedTensorType(type_).shape) if isinstance(type_, ir.RankedTensorType) else []


def element_of(type_: ir.Type) -> ir.Type:
    """The element type of a tile, or the scalar type itself."""
    return ir.RankedTensorType(type_).element_type if isinstance(type_, ir.RankedTensorType) else type_


def tile_type(shape: Sequence[int], element: ir.Type) -> ir.Type:
    """A tile of ``element``; the element type itself for an empty shape."""
    return ir.RankedTensorType.get(list(shape), element) if shape else element


def pointee_of(type_: ir.Type) -> ir.Type | None:
    """What a pointer (or a tile of pointers) points to; None for another type."""
    element = element_of(type_)
    return ir.TypeAttr(element.params[0]).value if isinstance(element, Ptr) else None


def _verified(check: Callable[[Any], str | None]) -> Callable[[Any], bool]:
    """Turns a check that returns a complaint into the bindings' verifier: a located error and False."""

    def verify_invariants(self: Any) -> bool:
        with self.operation.location:  # a verifier runs in the parser too, where there is no current location
            try:
                complaint = check(self.operation)
            except (KeyError, ValueError) as error:  # an attribute that is missing or of another kind
                complaint = str(error)
        if complaint is not None:
            self.operation.location.emit_error(f"'{self.operation.name}' op {complaint}")
        return complaint is None

    return verify_invariants


def _powers_of_two(op: ir.Operation) -> str | None:
    for result in op.results:
        for extent in shape_of(result.type):
            if extent <= 0 or extent & (extent - 1):
                return f"expected tile extents that are powers of two, got {result.type}"
    return None


def _same_shape(op: ir.Operation) -> str | None:
    shapes = {tuple(shape_of(v.type)) for v in (*op.operands, *op.results)}
    if len(shapes) > 1:
        return "expected operands and results of one shape, got " + ", ".join(
            str(v.type) for v in (*op.operands, *op.results)
        )
    return _powers_of_two(op)


def _same_element(op: ir.Operation) -> str | None:
    if element_of(op.operands[0].type) != element_of(op.results[0].type):
        return f"expected result elements {element_of(op.operands[0].type)}, got {op.results[0].type}"
    return _powers_of_two(op)


def _memory(value: Callable[[ir.Operation], ir.Type]) -> Callable[[ir.Operation], str | None]:
    def check(op: ir.Operation) -> str | None:
        pointee = pointee_of(op.operands[0].type)
        if pointee is None:
            return f"expected a pointer, got {op.operands[0].type}"
        if pointee != element_of(value(op)):
            return f"expected values of {pointee}, got {value(op)}"
        return _same_shape(op)

    return check


def _addptr(op: ir.Operation) -> str | None:
    if pointee_of(op.operands[0].type) is None:
        return f"expected a pointer, got {op.operands[0].type}"
    if str(element_of(op.operands[1].type)) not in ("i32", "i64"):
        return f"expected i32 or i64 offsets, got {op.operands[1].type}"
    return _same_shape(op)


def _range(op: ir.Operation) -> str | None:
    start, end = (ir.IntegerAttr(op.attributes[n]).value for n in ("start", "end"))
    if shape_of(op.results[0].type) != [end - start] or str(element_of(op.results[0].type)) != "i32":
        return f"expected tensor<{end - start}xi32>, got {op.results[0].type}"
    return _powers_of_two(op)


def _broadcast(op: ir.Operation) -> str | None:
    source, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    if len(source) != len(result) or any(a not in (1, b) for a, b in zip(source, result, strict=True)):
        return f"cannot broadcast {op.operands[0].type} to {op.results[0].type}"
    return _same_element(op)


def _expand(op: ir.Operation) -> str | None:
    expected = shape_of(op.operands[0].type)
    expected.insert(ir.IntegerAttr(op.attributes["axis"]).value, 1)
    if shape_of(op.results[0].type) != expected:
        return f"expected a result of shape {expected}, got {op.results[0].type}"
    return _same_element(op)


def _reduced(op: ir.Operation) -> str | None:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    for operand, result in zip(op.operands, op.results, strict=True):
        shape = shape_of(operand.type)
        if not 0 <= axis < len(shape):
            return f"axis {axis} is outside {operand.type}"
        expected = tile_type(shape[:axis] + shape[axis + 1 :], element_of(operand.type))
        if result.type != expected:
            return f"expected a result of type {expected}, got {result.type}"
    return _combiner(op, len(op.operands))


def _scanned(op: ir.Operation) -> str | None:
    for operand, result in zip(op.operands, op.results, strict=True):
        if operand.type != result.type:
            return f"expected a result of type {operand.type}, got {result.type}"
    return _combiner(op, len(op.operands))


def _combiner(op: ir.Operation, operands: int) -> str | None:
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1 or len(blocks[0].arguments) != 2 * operands:
        return f"expected one block with {2 * operands} scalar arguments"
    return None


class TT(ext.Dialect, name="tt"):
    """Namespace of the mirror; ``register`` loads it."""


class Ptr(TT.Type, name="ptr"):
    """Address of an element in global memory."""

    pointee: ir.TypeAttr


class Func(TT.Operation, name="func"):
    """A kernel as Triton sees it; also ``arg_attrs`` (``tt.divisibility``)."""

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
    verify_invariants = _verified(_range)


class Splat(TT.Operation, name="splat", traits=[ext.Pure]):
    """A scalar in every element."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = _verified(_same_element)


class ExpandDims(TT.Operation, name="expand_dims", traits=[ext.Pure]):
    """A new axis of extent 1."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = _verified(_expand)


class Broadcast(TT.Operation, name="broadcast", traits=[ext.Pure]):
    """Repeats axes of extent 1."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = _verified(_broadcast)


class Reshape(TT.Operation, name="reshape", traits=[ext.Pure]):
    """Same elements in another shape."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = _verified(_same_element)


class Trans(TT.Operation, name="trans", traits=[ext.Pure]):
    """Permutes axes by ``order``."""

    src: Operand[Any]
    order: Any
    result: Result[Any]
    verify_invariants = _verified(_same_element)


def _join(op: ir.Operation) -> str | None:
    shapes = [tuple(shape_of(v.type)) for v in (*op.operands, *op.results)]
    if shapes[0] != shapes[1] or shapes[2] != (*shapes[0], 2):
        return "expected two tiles of one shape and a new last axis of 2, got " + ", ".join(
            str(v.type) for v in (*op.operands, *op.results)
        )
    return _same_element(op)


class Join(TT.Operation, name="join", traits=[ext.Pure]):
    """Two tiles side by side along a new last axis of extent 2."""

    lhs: Operand[T]
    rhs: Operand[T]
    result: Result[Any]
    verify_invariants = _verified(_join)


class AddPtr(TT.Operation, name="addptr", traits=[ext.Pure]):
    """Address plus offset in elements."""

    ptr: Operand[T]
    offset: Operand[Any]
    result: Result[T]
    verify_invariants = _verified(_addptr)


class Load(TT.Operation, name="load"):
    """Reads where ``mask``; elsewhere ``other`` (undefined without).  Optional attributes: ``cache``,
    ``evict``, ``isVolatile``.
    """

    ptr: Operand[Any]
    mask: Operand[Any] | None
    other: Operand[Any] | None
    result: Result[Any]
    verify_invariants = _verified(_memory(lambda op: op.results[0].type))


class Store(TT.Operation, name="store"):
    """Writes where ``mask``.  Optional attributes: ``cache``, ``evict``."""

    ptr: Operand[Any]
    value: Operand[Any]
    mask: Operand[Any] | None
    verify_invariants = _verified(_memory(lambda op: op.operands[1].type))


class AtomicRmw(TT.Operation, name="atomic_rmw"):
    """Read-modify-write where ``mask``; gives the old value.  Attribute values: ``ATOMIC``, ``SEM``,
    ``SCOPE``.
    """

    ptr: Operand[Any]
    val: Operand[Any]
    mask: Operand[Any] | None
    atomic_rmw_op: ir.IntegerAttr
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    result: Result[Any]
    verify_invariants = _verified(_memory(lambda op: op.operands[1].type))


class AtomicCas(TT.Operation, name="atomic_cas"):
    """Compare-and-swap; gives the old value."""

    ptr: Operand[Any]
    cmp: Operand[T]
    val: Operand[T]
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    result: Result[T]
    verify_invariants = _verified(_memory(lambda op: op.operands[1].type))


class Dot(TT.Operation, name="dot", traits=[ext.Pure]):
    """a @ b + c on tiles.  ``inputPrecision``: 0 tf32, 1 tf32x3, 2 ieee."""

    a: Operand[Any]
    b: Operand[Any]
    c: Operand[T]
    inputPrecision: ir.IntegerAttr
    maxNumImpreciseAcc: ir.IntegerAttr
    result: Result[T]


class Reduce(TT.Operation, name="reduce", traits=[ext.Pure]):
    """Folds a tile along ``axis`` with the region's combiner, which ends in ``tt.reduce_return``."""

    src: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result: Result[Any]
    verify_invariants = _verified(_reduced)


class Reduce2(TT.Operation, name="reduce_2", traits=[ext.Pure]):
    """``tt.reduce`` of two tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    verify_invariants = _verified(_reduced)


class Reduce3(TT.Operation, name="reduce_3", traits=[ext.Pure]):
    """``tt.reduce`` of three tiles at once."""

    src0: Operand[Any]
    src1: Operand[Any]
    src2: Operand[Any]
    axis: ir.IntegerAttr
    body: ir.Region
    result0: Result[Any]
    result1: Result[Any]
    result2: Result[Any]
    verify_invariants = _verified(_reduced)


class ReduceReturn(TT.Operation, name="reduce_return", traits=[ir.IsTerminatorTrait]):
    """Result of a one-tile combiner."""

    value: Operand[Any]


class ReduceReturn2(TT.Operation, name="reduce_return_2", traits=[ir.IsTerminatorTrait]):
    """Results of a two-tile combiner."""

    value0: Operand[Any]
    value1: Operand[Any]


class ReduceReturn3(TT.Operation, name="reduce_return_3", traits=[ir.IsTerminatorTrait]):
    """Results of a three-tile combiner."""

    value0: Operand[Any]
    value1: Operand[Any]
    value2: Operand[Any]


class Scan(TT.Operation, name="scan", traits=[ext.Pure]):
    """Inclusive prefix along ``axis`` with the region's combiner, which ends in ``tt.scan_return``."""

    src: Operand[T]
    axis: ir.IntegerAttr
    reverse: Any
    body: ir.Region
    result: Result[T]
    verify_invariants = _verified(_scanned)


class ScanReturn(TT.Operation, name="scan_return", traits=[ir.IsTerminatorTrait]):
    """Result of a scan's combiner."""

    value: Operand[Any]


class Assert(TT.Operation, name="assert"):
    """Stops the grid with ``message`` where the condition is false."""

    condition: Operand[Any]
    message: ir.StringAttr


class ExternElementwise(TT.Operation, name="extern_elementwise", traits=[ext.Pure]):
    """A libdevice function on each element; ``libname`` and ``libpath`` are empty."""

    srcs: Sequence[Operand[T]]
    libname: ir.StringAttr
    libpath: ir.StringAttr
    symbol: ir.StringAttr
    pure: Any
    result: Result[Any]
    verify_invariants = _verified(_same_shape)


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
    verify_invariants = _verified(_same_shape)


class Bitcast(TT.Operation, name="bitcast", traits=[ext.Pure]):
    """Same bits, another type of the same width (pointers too)."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = _verified(_same_shape)


class ElementwiseInlineAsm(TT.Operation, name="elementwise_inline_asm", traits=[ext.Pure]):
    """PTX text on each element.  Emitted for one thing only: ``parameter_text``."""

    srcs: Sequence[Operand[Any]]
    asm_string: ir.StringAttr
    constraints: ir.StringAttr
    packed_element: ir.IntegerAttr
    pure: Any
    result: Result[Any]
    verify_invariants = _verified(_same_shape)


def parameter_text(kernel: str, first: int) -> str:
    """PTX that reads parameter ``first + $1`` of ``kernel`` into ``$0``: all up to it take 8 bytes.

    Parameters lie in constant memory in their order, as the launch packs them, so one load that takes an
    offset finds any of them.  Branches that yield one of many addresses would cost registers for all.
    """
    return (
        f"{{ .reg .b64 at; mov.b64 at, {kernel}_param_{first}; mad.wide.u32 at, $1, 8, at; "
        "ld.param.b64 $0, [at]; }"
    )


def first_parameter(text: str) -> int | None:
    """``first`` of a ``parameter_text``; None for any other text."""
    found = re.search(r"mov\.b64 at, (\w+)_param_(\d+);", text)
    return int(found[2]) if found and text == parameter_text(found[1], int(found[2])) else None


class IntToPtr(TT.Operation, name="int_to_ptr", traits=[ext.Pure]):
    """An i64 as an address."""

    src: Operand[Any]
    result: Result[Any]
    verify_invariants = _verified(_same_shape)


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
        TT.load()
