"""Which ``fuse.dot``s are products of tiles, and which are multiplied and summed instead."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...base.dataclass import dataclass
from ...ir.contractions import ACCUMULATORS, PRODUCTS
from ...ir.defining import backward_slice, defining_op
from ...ir.dialects import fuse
from ...ir.kernel import Access, over
from ...mlir import arith, ir
from ..kernel.shape import KernelShape
from .few_row_blocks import STEP_BYTES
from .packed import MOST_PARTS, along_of, bytes_of, is_table

#: Up to so many rows, or columns, bytes bound a product, and multiplying and adding keeps up with them.
FEW = 4
#: How many rows times weights of 1 and 2 bytes an element are few, and faster on tensor cores: on an H200,
#: each of 2 to 16 rows that was measured times int8, and 4 rows times 16 bits.
_ROWS = {1: range(2, 17), 2: range(3, 5)}
#: The same for weights that are made of bytes; and for groups of them that share a scale, where the number of
#: rows is known when compiling: a step may then multiply one group by them.
FEW_OF_PACKED, FEW_OF_GROUPS = 16, 64
_ROWS_OF_PACKED, _ROWS_OF_GROUPS = range(1, FEW_OF_PACKED + 1), range(1, FEW_OF_GROUPS + 1)
#: Rows of weights from which on programs suffice: a program takes 16 of them or more.
LEAST_WEIGHTS = 1024
#: So many products of few rows share the shared memory of a kernel.
_MOST_PRODUCTS = 2
#: Bytes of the widest access.
_VECTOR = 16
#: Element types that ``fuse.dot`` multiplies and ``tt.dot`` does not.
_SUMMED = ("i16", "i32", "i64")
#: Bytes of the narrowest element that factors in f64 may be made of: Triton 3.6 packs them as if they were as
#: narrow, and fails at narrower ones.
_LEAST_OF_F64 = 4
#: Casts of int8 (``sitofp``) and uint8 that take at most two instructions, by the type that they make.
_CASTS = {"bf16": (arith.SIToFPOp,), "f16": (arith.SIToFPOp, arith.UIToFPOp)}


@dataclass(frozen=True)
class Summed:
    """Why a product is multiplied and summed: the name of a condition, and a sentence."""

    rule: str
    message: str


def multiplies(rows: int, others: int, summed: int, element: str) -> bool:
    """Whether tensor cores multiply few rows by ``others`` rows of ``summed`` weights of type ``element``,
    which are not widened and lie side by side in memory: ``weights_of`` before there is a kernel.
    """
    fits = rows in _ROWS[2] and _fit(others, summed, 2)
    return element in _CASTS and fits and summed * 2 % _VECTOR == 0


def multiplies_packed(rows: int, others: int, summed: int, element: str) -> bool:
    """The same of weights that are made of bytes, of four numbers at most, or of words of fewer a byte.  More
    than 16 rows are taken for those of groups.
    """
    fits = rows in _ROWS_OF_GROUPS and _fit(others, summed // MOST_PARTS["i8"], 1)
    return element in _CASTS and fits and summed % (_VECTOR * MOST_PARTS["i8"]) == 0


def _fit(others: int, summed: int, element_bytes: int) -> bool:
    """Whether a factor of so many bytes an element is large enough for tensor cores.  Each of its ``others``
    rows has at least one step of the loop (``few_row_blocks.py``).
    """
    return others >= LEAST_WEIGHTS and summed * element_bytes >= STEP_BYTES


def reason_to_sum(shape: KernelShape, op: ir.Operation) -> Summed | None:
    """Why a ``fuse.dot`` is no product of tiles; None where it is one.  A product of few columns is one where
    it ends a chain: the tile that it reads is another product's result.
    """
    if isinstance(op, fuse.OnlineDot):  # ``derive-cascades`` makes it of tiles only
        return None
    rows, columns = (shape.points(tuple(side)) for side in sides_of(shape, op))
    of_tiles = _scores(shape) or alone(shape) or _ends_chain(shape, op, rows, columns)
    if min(rows, columns) <= FEW and not of_tiles and not shape.kernel.uniform:
        return Summed("few-rows", f"{rows} rows and {columns} columns: at most {FEW} of one of them")
    first, second, made = (str(v.type) for v in (*op.operands, *op.results))
    if first != second or first in _SUMMED or ACCUMULATORS.get(first) != made:
        return Summed("types", f"tensor cores do not sum products of {first} and {second} in {made}")
    if first == "f64" and (narrow := _narrowest_load(shape, op)) < _LEAST_OF_F64:
        return Summed(
            "narrow-loads", f"Triton fails at products of f64 made of elements of {8 * narrow} bits"
        )
    return None


def weights_of(
    shape: KernelShape, op: ir.Operation, weights: ir.Value | None = None, in_groups: bool = False
) -> int | None:
    """Bytes of an element of the weights of a ``fuse.dot`` of few rows that tensor cores multiply; None for
    other products.  *Weights* are the larger factor here, which may be activations.

    They are loaded as bf16 or f16, or as int8 that is cast to these, or as uint8 that is cast to f16; or they
    are made of bytes otherwise (``bytes_of``), or groups of bytes share a scale, and one row is multiplied,
    too.  Each is loaded for one point, or several numbers are one byte.  At least 1024 rows of them lie along
    what is summed, start at multiples of 16 bytes and have 128 bytes or more.  To multiply and add instead
    takes an instruction for each weight and row, and more for widening.

    ``weights``: instead of the larger factor, which is these times a scale.  ``in_groups``: whether groups of
    them share it, so that their products will be summed apart.
    """
    left, right = sides_of(shape, op)
    larger = larger_factor(shape, op)
    few, others = (left, right) if larger else (right, left)
    loaded = _loaded(shape, op, op.operands[larger] if weights is None else weights)
    if loaded is None:
        return None
    access, plain = loaded
    spec, bound = shape.kernel.spec(access.argument), shape.bound(tuple(few))
    groups = _groups(shape, op)
    of_bytes = not plain or (spec.element_bytes == 1 and (groups or weights is not None))
    rows, dims = shape.points(tuple(few)), shape.kernel.op_dims[access.op]
    of_groups = (in_groups or bool(groups)) and rows == bound
    packed = _ROWS_OF_GROUPS if of_groups else _ROWS_OF_PACKED
    wanted = packed if of_bytes else _ROWS[spec.element_bytes]
    length = shape.points(tuple(d for d in (*over(op), *groups) if d in dims))
    fits = (
        rows in wanted and bound in wanted and _fit(shape.points(tuple(others)), length, spec.element_bytes)
    )
    strides = [s.constant for s in spec.strides]
    aligned = all(s is not None and (s == 1 or s * spec.element_bytes % _VECTOR == 0) for s in strides)
    along = along_of(shape, access, over(op))
    return spec.element_bytes if fits and aligned and along is not None else None


def reads_lines(shape: KernelShape, access: Access, batch: tuple[str, ...], summed: tuple[str, ...]) -> bool:
    """Whether groups of neighbours, of which each product of a batch sums one, are neighbours in their row,
    so that the groups of a step are one line of memory."""
    if len(batch) != 1 or len(summed) != 1:
        return False
    steps = shape.steps(access)
    return steps[summed[0]] == 1 and steps[batch[0]] == shape.points(summed)


def is_of_few_rows(shape: KernelShape, op: ir.Operation) -> bool:
    """Whether a product has no more rows or columns than tensor cores multiply by weights that are made of
    bytes."""
    return (
        isinstance(op, fuse.Dot)
        and min(shape.points(tuple(side)) for side in sides_of(shape, op)) in _ROWS_OF_GROUPS
    )


def larger_factor(shape: KernelShape, op: ir.Operation) -> int:
    """The number of the larger factor of a product."""
    left, right = sides_of(shape, op)
    return int(shape.points(tuple(left)) < shape.points(tuple(right)))


def _loaded(shape: KernelShape, op: ir.Operation, weights: ir.Value) -> tuple[Access, bool] | None:
    """The load that weights are made of, and whether it is only cast; None where they are made otherwise."""
    casts = _CASTS.get(str(weights.type))
    if casts is None:
        return None
    cast = defining_op(weights, *casts)
    loaded = weights if cast is None else cast.operands[0]
    access = next((a for a in shape.kernel.loads if a.op.results[0] == loaded), None)
    table = access is not None and is_table(shape, access)
    if access is not None and not table and (cast is None or str(loaded.type) == "i8"):
        own = shape.kernel.op_dims[access.op] == shape.kernel.value_dims[weights]
        return (access, True) if own else None
    packed = bytes_of(shape, weights, over(op))
    return None if packed is None else (packed, False)


def _groups(shape: KernelShape, op: ir.Operation) -> frozenset[str]:
    """The dims that both factors of a product have and whose products are summed."""
    left, right = (shape.kernel.value_dims.get(v, frozenset()) - {*over(op)} for v in op.operands)
    others = (other for other in shape.kernel.reductions if other.name not in PRODUCTS)
    return left & right & frozenset().union(*(over(other) for other in others))


def _narrowest_load(shape: KernelShape, op: ir.Operation) -> int:
    """Bytes of the narrowest element that the factors of a product are made of; 8 where none is loaded."""
    loads = {a.op: shape.element_bytes(a) for a in shape.kernel.loads}
    return min((loads[made] for made in nearest(op.operands, fuse.Load)), default=8)


def sides_of(shape: KernelShape, op: ir.Operation) -> tuple[frozenset[str], frozenset[str]]:
    """The dims of the rows of a product and of its columns."""
    left, right = (shape.kernel.value_dims.get(v, frozenset()) - {*over(op)} for v in op.operands)
    return left - right, right - left


def alone(
    shape: KernelShape,
    scaled: Mapping[ir.Operation, ir.Value] = MappingProxyType({}),
    in_groups: bool = False,
) -> bool:
    """Whether all that a kernel reduces is factors of products with such weights, few enough for shared
    memory, and the products of groups of weights.  ``scaled``: the weights of products that take them times
    a scale; ``in_groups``: as in ``weights_of``.
    """
    products, kernel = shape.kernel.products, shape.kernel
    others = [op for op in kernel.reductions if op not in products]
    groups = {_groups(shape, op) for op in products}
    if kernel.scans or len(groups) != 1 or any({*over(op)} != {*groups}.pop() for op in others):
        return False
    weights = {op: scaled.get(op, op.operands[larger_factor(shape, op)]) for op in products}
    loaded = {
        found[0].op for op, value in weights.items() if (found := _loaded(shape, op, value)) is not None
    }
    return len(loaded) <= _MOST_PRODUCTS and all(
        weights_of(shape, op, scaled.get(op), in_groups) for op in products
    )


def _scores(shape: KernelShape) -> bool:
    """Whether the products of a kernel end in a softmax whose exponentials are multiplied: bytes of keys
    bound them where there are few rows.
    """
    return any(isinstance(op, fuse.OnlineDot) for op in shape.kernel.products)


def _ends_chain(shape: KernelShape, op: ir.Operation, rows: int, columns: int) -> bool:
    """Whether a product reads another one's result, of many rows, and has few columns but more than one; or
    the same with rows and columns exchanged.
    """
    many = [v for v, side in zip(op.operands, (rows, columns), strict=True) if side > FEW]
    return min(rows, columns) > 1 and any(_of_tiles(shape, v) for v in many)


def _of_tiles(shape: KernelShape, value: ir.Value) -> bool:
    """Whether a value is made of results of products, all of them products of tiles."""
    products = nearest([value], fuse.Dot)
    return bool(products) and all(reason_to_sum(shape, op) is None for op in products)


def nearest(values: Iterable[ir.Value], kind: type[ir.OpView]) -> list[ir.Operation]:
    """The ops of a class that values are made of, without those that such ops are made of."""
    made = backward_slice(values, lambda op: isinstance(op, kind))
    return [op for op in made if isinstance(op, kind)]
