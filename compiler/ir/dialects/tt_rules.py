"""The rules of Triton's mirrored ops on their types.  Each returns the text of an error, or None."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...mlir import ir
from .tt_types import block_of, element_of, pointee_of, shape_of, tile_type


def verified(check: Callable[[Any], str | None]) -> Callable[[Any], bool]:
    """Turns a rule into the verifier that the bindings call, which emits a located error and returns
    False.
    """

    def verify_invariants(self: Any) -> bool:
        with self.operation.location:  # a verifier runs in the parser too, where there is no current location
            try:
                complaint = check(self.operation)
            except (KeyError, ValueError) as error:  # an attribute is missing or of another kind
                complaint = str(error)
            except IndexError:  # this runs before MLIR counts operands and results
                op = self.operation
                complaint = f"has too few operands or results: {len(op.operands)} and {len(op.results)}"
        if complaint is not None:
            self.operation.location.emit_error(f"'{self.operation.name}' op {complaint}")
        return complaint is None

    return verify_invariants


def _integer(op: ir.Operation, name: str) -> int:
    """The value of an integer attribute.  Raises ValueError where it is missing or of another kind."""
    if name not in op.attributes:
        raise ValueError(f"expected an attribute {name}")
    attribute = op.attributes[name]
    if not isinstance(attribute, ir.IntegerAttr):
        raise ValueError(f"expected {name} to be an integer, got {attribute}")
    return ir.IntegerAttr(attribute).value


#: Elements of the largest tile that Triton takes.
_MOST_ELEMENTS = 1 << 20
#: Of each element type that Triton multiplies, the element types of the sums.
_SUMS = {
    "f64": ("f64",),
    "f32": ("f32",),
    "bf16": ("f32",),
    "f16": ("f32", "f16"),
    "f8E4M3FN": ("f32", "f16"),
    "f8E5M2": ("f32", "f16"),
    "i8": ("i32",),
}
#: The smallest extent that Triton sums, by the bits of an element (3.9; 3.6 asks for more of 32 and 64 bits).
_LEAST_SUMMED = {8: 32, 16: 16, 32: 8, 64: 4}
#: Values of ``inputPrecision``.
_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


def tile_problem(shape: Sequence[int], of: object = None) -> str | None:
    """Why Triton takes no tile of this shape; None where it does.  The sentence calls it ``of``."""
    got = list(shape) if of is None else of
    if any(extent <= 0 or extent & (extent - 1) for extent in shape):
        return f"expected tile extents that are powers of two, got {got}"
    if prod(shape) > _MOST_ELEMENTS:
        return f"expected a tile of at most {_MOST_ELEMENTS} elements, got {got}"
    return None


def product(op: ir.Operation) -> str | None:
    tiles = [op.operands[n].type for n in range(3)]
    left, right, added = (list(shape_of(t)) for t in tiles)
    if [len(s) for s in (left, right, added)] not in ([2, 2, 2], [3, 3, 3]):
        return f"expected tiles of two axes, or of a batch and two axes, got {left}, {right} and {added}"
    (*batch, m, k), (*others, inner, n) = left, right
    if k != inner or batch != others or added != [*batch, m, n]:
        return f"expected m x k times k x n and m x n elements, got {left}, {right} and {added}"
    problem = next(filter(None, (tile_problem(shape_of(t), t) for t in tiles)), None)
    problem = problem or _elements_problem(*(str(element_of(t)) for t in tiles))
    if problem is not None:
        return problem
    least = _LEAST_SUMMED[element_of(tiles[0]).width]
    if k < least:
        return f"expected k of at least {least} for elements of {element_of(tiles[0])}, got {k}"
    precision = _integer(op, "inputPrecision")
    if not 0 <= precision < len(_PRECISIONS):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(_PRECISIONS))
        return f"expected inputPrecision to be one of {known}, got {precision}"
    return None


def _elements_problem(left: str, right: str, sums: str) -> str | None:
    """Why Triton does not multiply tiles of these elements and add them up in a tile of ``sums``."""
    for element in (left, right):
        if element not in _SUMS:
            return f"expected operands of a type that is multiplied ({', '.join(_SUMS)}), got {element}"
    if left != right and not left[:2] == right[:2] == "f8":  # two kinds of 8 bits are multiplied
        return f"expected operands of one type, or both of 8-bit floats, got {left} and {right}"
    if sums not in _SUMS[left]:
        return f"expected operands of {left} to add up to {' or '.join(_SUMS[left])}, got {sums}"
    return None


def powers_of_two(op: ir.Operation) -> str | None:
    for result in op.results:
        problem = tile_problem(shape_of(result.type), result.type)
        if problem is not None:
            return problem
    return None


def same_shape(op: ir.Operation) -> str | None:
    shapes = {tuple(shape_of(v.type)) for v in (*op.operands, *op.results)}
    if len(shapes) > 1:
        return "expected operands and results of one shape, got " + ", ".join(
            str(v.type) for v in (*op.operands, *op.results)
        )
    return powers_of_two(op)


def same_element(op: ir.Operation) -> str | None:
    if element_of(op.operands[0].type) != element_of(op.results[0].type):
        return f"expected result elements {element_of(op.operands[0].type)}, got {op.results[0].type}"
    return powers_of_two(op)


def memory_access(value: Callable[[ir.Operation], ir.Type]) -> Callable[[ir.Operation], str | None]:
    def check(op: ir.Operation) -> str | None:
        pointee = pointee_of(op.operands[0].type)
        if pointee is None:
            return f"expected a pointer, got {op.operands[0].type}"
        if pointee != element_of(value(op)):
            return f"expected values of {pointee}, got {value(op)}"
        return same_shape(op)

    return check


def addptr(op: ir.Operation) -> str | None:
    if pointee_of(op.operands[0].type) is None:
        return f"expected a pointer, got {op.operands[0].type}"
    if str(element_of(op.operands[1].type)) not in ("i32", "i64"):
        return f"expected i32 or i64 offsets, got {op.operands[1].type}"
    return same_shape(op)


def make_range(op: ir.Operation) -> str | None:
    start, end = _integer(op, "start"), _integer(op, "end")
    if shape_of(op.results[0].type) != [end - start] or str(element_of(op.results[0].type)) != "i32":
        return f"expected tensor<{end - start}xi32>, got {op.results[0].type}"
    return powers_of_two(op)


def broadcast(op: ir.Operation) -> str | None:
    source, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    if len(source) != len(result) or any(a not in (1, b) for a, b in zip(source, result, strict=True)):
        return f"cannot broadcast {op.operands[0].type} to {op.results[0].type}"
    return same_element(op)


def expand_dims(op: ir.Operation) -> str | None:
    expected = shape_of(op.operands[0].type)
    expected.insert(_integer(op, "axis"), 1)
    if shape_of(op.results[0].type) != expected:
        return f"expected a result of shape {expected}, got {op.results[0].type}"
    return same_element(op)


def reduced(op: ir.Operation) -> str | None:
    axis = _integer(op, "axis")
    if len(op.operands) != len(op.results):
        return f"expected a result for each of {len(op.operands)} operands, got {len(op.results)}"
    for operand, result in zip(op.operands, op.results, strict=True):
        shape = shape_of(operand.type)
        if not 0 <= axis < len(shape):
            return f"axis {axis} is outside {operand.type}"
        expected = tile_type(shape[:axis] + shape[axis + 1 :], element_of(operand.type))
        if result.type != expected:
            return f"expected a result of type {expected}, got {result.type}"
    return _combiner(op, len(op.operands))


def scanned(op: ir.Operation) -> str | None:
    if len(op.operands) != len(op.results):
        return f"expected a result for each of {len(op.operands)} operands, got {len(op.results)}"
    for operand, result in zip(op.operands, op.results, strict=True):
        if operand.type != result.type:
            return f"expected a result of type {operand.type}, got {result.type}"
    return _combiner(op, len(op.operands))


def _combiner(op: ir.Operation, operands: int) -> str | None:
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1 or len(blocks[0].arguments) != 2 * operands:
        return f"expected one block with {2 * operands} scalar arguments"
    return None


def join(op: ir.Operation) -> str | None:
    shapes = [tuple(shape_of(v.type)) for v in (*op.operands, *op.results)]
    if shapes[0] != shapes[1] or shapes[2] != (*shapes[0], 2):
        return "expected two tiles of one shape and a new last axis of 2, got " + ", ".join(
            str(v.type) for v in (*op.operands, *op.results)
        )
    return same_element(op)


def split(op: ir.Operation) -> str | None:
    shapes = [tuple(shape_of(v.type)) for v in (*op.operands, *op.results)]
    if shapes[1] != shapes[2] or shapes[0] != (*shapes[1], 2):
        return "expected a last axis of 2 and two tiles without it, got " + ", ".join(
            str(v.type) for v in (*op.operands, *op.results)
        )
    return same_element(op)


def make_descriptor(op: ir.Operation) -> str | None:
    pointee, block = pointee_of(op.operands[0].type), block_of(op.results[0].type)
    if pointee is None or block is None:
        return f"expected a pointer and a descriptor, got {op.operands[0].type} and {op.results[0].type}"
    if not _same_bits(pointee, block.element_type):
        return f"expected tiles of {pointee}, got {op.results[0].type}"
    found = [str(value.type) for value in list(op.operands)[1:]]
    if found != ["i32"] * block.rank + ["i64"] * block.rank:
        return f"expected {block.rank} sizes (i32) and as many strides (i64), got " + ", ".join(found)
    return None


def descriptor_block(
    value: Callable[[ir.Operation], ir.Type], first_index: int
) -> Callable[[ir.Operation], str | None]:
    def check(op: ir.Operation) -> str | None:
        block, tile = block_of(op.operands[0].type), value(op)
        if block is None:
            return f"expected a descriptor, got {op.operands[0].type}"
        # A tile may lack leading axes of extent 1.
        if not _same_bits(block.element_type, element_of(tile)) or _extent(block) != _extent(tile):
            return f"expected a tile like {block}, got {tile}"
        if len(op.operands) - first_index != block.rank:
            return f"expected {block.rank} indices, got {len(op.operands) - first_index}"
        return powers_of_two(op)

    return check


def descriptor_rows(value: Callable[[ir.Operation], ir.Type]) -> Callable[[ir.Operation], str | None]:
    def check(op: ir.Operation) -> str | None:
        block, tile, rows = block_of(op.operands[0].type), value(op), op.operands[1].type
        if block is None or block.rank != 2 or block.shape[0] != 1:
            return f"expected a descriptor of tiles of one row, got {op.operands[0].type}"
        if shape_of(tile) != [*shape_of(rows), block.shape[1]] or len(shape_of(rows)) != 1:
            return f"expected a row of {block.shape[1]} for each of {rows}, got {tile}"
        if not _same_bits(block.element_type, element_of(tile)):
            return f"expected a tile of {block.element_type}, got {tile}"
        return None

    return check


def _same_bits(one: ir.Type, other: ir.Type) -> bool:
    """Whether two element types are one but for the sign: descriptors have ``si32`` and ``ui32``."""
    if isinstance(one, ir.IntegerType) and isinstance(other, ir.IntegerType):
        return bool(one.width == other.width)
    return bool(one == other)


def _extent(type_: ir.Type) -> int:
    return prod(shape_of(type_))


def histogram(op: ir.Operation) -> str | None:
    source, result = op.operands[0].type, op.results[0].type
    if len(shape_of(source)) != 1 or len(shape_of(result)) != 1:
        return f"expected tiles of one axis, got {source} and {result}"
    if len(op.operands) > 1 and shape_of(op.operands[1].type) != shape_of(source):
        return f"expected a mask for each of {source}, got {op.operands[1].type}"
    return powers_of_two(op)


def gather(op: ir.Operation) -> str | None:
    source, indices, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    axis = _integer(op, "axis")
    if not 0 <= axis < len(shape_of(source)) or len(shape_of(indices)) != len(shape_of(source)):
        return f"axis {axis} is outside {source}, or {indices} has another rank"
    if shape_of(result) != shape_of(indices):
        return f"expected a result of shape {shape_of(indices)}, got {result}"
    return same_element(op)


def cat(op: ir.Operation) -> str | None:
    lhs, rhs, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    if shape_of(lhs) != shape_of(rhs) or prod(shape_of(result)) != 2 * prod(shape_of(lhs)):
        return f"expected two tiles of one shape and their elements together, got {lhs}, {rhs}, {result}"
    return same_element(op)
