"""What Triton is promised of a tensor's address.  Helpers of ``lower-to-tt``, not a pass.

Triton gives each thread as many neighbours as the best aligned access allows, and lays out all others of a
kernel likewise.  A promise that no access can use therefore costs: the lanes of a warp then read elements
that lie 16 bytes apart, and what they read is shuffled before it is stored.
"""

import math
from collections.abc import Collection

from ...compiler.ir.dialects import tt
from ...compiler.ir.kernel import further_configurations, is_users
from ...compiler.ir.layout import TensorSpec
from ...compiler.ir.storage import Storage, callee_name, functions_of
from ...compiler.mlir import func, ir

#: Bytes of the widest access.
_WIDEST = 16
#: Ops that an address or a mask passes through, by the operand that it is.
_SHAPES = ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape")


def aligned(spec: TensorSpec) -> bool:
    """Whether a tensor starts at a multiple of 16 bytes: allocations do, and so do some offsets."""
    offset = spec.offset.constant
    return offset is not None and offset * spec.element_bytes % _WIDEST == 0


def arguments_anywhere(module: ir.Module) -> dict[str, set[int]]:
    """Of each kernel, the arguments for which a call passes what only torch knows the beginning of."""
    found: dict[str, set[int]] = {}
    functions = functions_of(module)
    main = functions.get("main")
    if main is None or not len(main.regions[0].blocks):
        return found
    storage = Storage(main, module)
    for op in main.regions[0].blocks[0].operations:
        if isinstance(op, func.CallOp):
            numbers = {n for n, value in enumerate(op.operands) if storage.begins_anywhere(value)}
            name = callee_name(op.operation)
            for each in (name, *further_configurations(functions[name])) if numbers else ():
                found.setdefault(each, set()).update(numbers)
    return found


class Promises:
    """What Triton is told of the addresses of one kernel, whose tile code is in ``block``.  ``anywhere``: the
    numbers of arguments of which only torch knows where they begin.
    """

    def __init__(self, block: ir.Block, anywhere: Collection[int] = ()) -> None:
        self._anywhere = anywhere
        self._largest: list[ir.Operation] = []
        self._wholes: dict[ir.Value, int] = {}
        self._lines: set[ir.Value] = set()
        self._users = is_users(block.owner.operation)
        if not self._users:
            self._read(block)
        self._widest = max((_element_bytes(op) for op in self._largest), default=1)

    def bytes_of(self, argument: ir.Value) -> int:
        """The number of bytes that the address of a tensor argument is said to be a multiple of.

        It is 16 for the widest elements of the kernel, and for narrower ones (a mask, an fp8 result) the
        bytes of as many elements.  Whole lines that a loop reads for its products
        (``whole_lines.py``) go through shared memory and have a layout of their own: it is 16, too.  Where
        masks keep fewer neighbours together, as in rows of 4097 elements, it is the bytes of so many.  A
        user's kernel is written for 16, which Triton's own launcher promises.
        """
        if not self.is_aligned(argument):
            return 1
        spec = TensorSpec.of(argument.type)
        if self._users:
            return _WIDEST
        widest = spec.element_bytes if argument in self._lines else max(self._widest, spec.element_bytes)
        promised = _WIDEST * spec.element_bytes // widest
        together = self._wholes.get(argument)
        return promised if together is None else min(promised, together * spec.element_bytes)

    def is_aligned(self, argument: ir.Value) -> bool:
        """Whether a tensor argument starts at a multiple of 16 bytes."""
        number = ir.BlockArgument(argument).arg_number
        return number not in self._anywhere and aligned(TensorSpec.of(argument.type))

    def _read(self, block: ir.Block) -> None:
        """The loads and stores of the largest tiles, in loops where there are any (what happens once does not
        matter then), and the most lanes that a tensor's accesses leave together."""
        found: list[tuple[bool, int, ir.Operation]] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in ("tt.load", "tt.store"):
                in_loop = op.parent is not None and op.parent.name == "scf.for"
                found.append((in_loop, math.prod(tt.shape_of(_tile(op).type)), op.operation))
                argument = _argument(op.operands[0])
                if argument is not None and in_loop and _is_lines(op.operation):
                    self._lines.add(argument)
                if argument is not None:
                    self._wholes[argument] = max(self._wholes.get(argument, 1), _together(op.operation))
            return ir.WalkResult.ADVANCE

        block.owner.operation.walk(visit)
        largest = max((where[:2] for where in found), default=(False, 0))
        self._largest = [op for *where, op in found if tuple(where) == largest]


def _is_lines(op: ir.Operation) -> bool:
    """Whether an op loads lines that are cut into tiles of other axes, next to products."""
    cut = [use.owner.name == "tt.reshape" for result in op.results for use in result.uses]
    return bool(cut) and all(cut) and any(isinstance(other, tt.Dot) for other in op.block)


def _tile(op: ir.Operation) -> ir.Value:
    """What a load reads or a store writes."""
    return op.results[0] if op.name == "tt.load" else op.operands[1]


def _element_bytes(op: ir.Operation) -> int:
    return max(1, getattr(tt.element_of(_tile(op).type), "width", 8) // 8)


def _argument(pointer: ir.Value) -> ir.Value | None:
    """The tensor argument that an address points into."""
    while not isinstance(pointer.owner, ir.Block):
        op = pointer.owner.operation
        if op.name == "fuse.base":
            return op.operands[0]
        if op.name not in ("tt.addptr", *_SHAPES):
            return None
        pointer = op.operands[0]
    return None


def _together(op: ir.Operation) -> int:
    """How many lanes that are neighbours in memory the mask of an access treats alike: a power of two up to
    16."""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    masks = [v for v, kind in zip(op.operands, _kinds(segments), strict=True) if kind == _MASK[op.name]]
    shape = tt.shape_of(_tile(op).type)
    along = (axis for axis in _unit_axes(op.operands[0]) if shape[axis] > 1)
    axis = max(along, default=len(shape) - 1)
    return min((_constancy(mask, axis) for mask in masks), default=_WIDEST)


def _unit_axes(address: ir.Value) -> set[int]:
    """The axes of a tile along which its addresses, or a term of their offsets, go up by one element."""
    if isinstance(address.owner, ir.Block):
        return set()
    op = address.owner.operation
    if op.name == "tt.make_range":
        return {0}
    if op.name == "tt.expand_dims":
        new = ir.IntegerAttr(op.attributes["axis"]).value
        return {axis + (axis >= new) for axis in _unit_axes(op.operands[0])}
    if op.name in ("tt.addptr", "arith.addi", "tt.broadcast"):
        return set[int]().union(*(_unit_axes(v) for v in op.operands))
    return set()


#: Which operand of an access is its mask.
_MASK = {"tt.load": 1, "tt.store": 2}


def _kinds(segments: list[int]) -> list[int]:
    return [number for number, count in enumerate(segments) for _ in range(count)]


def _constancy(mask: ir.Value, axis: int) -> int:
    """How many lanes of a mask are equal that are neighbours along an axis: lanes below a bound are, in
    groups that divide it."""
    shape = () if isinstance(mask.owner, ir.Block) else tt.shape_of(mask.type)
    if len(shape) == 0 or shape[axis] == 1:
        return _WIDEST
    op = mask.owner.operation
    if op.name == "tt.expand_dims":
        return _constancy(op.operands[0], axis - (ir.IntegerAttr(op.attributes["axis"]).value < axis))
    if op.name == "tt.reshape":  # which keeps the order of lanes
        return _constancy(op.operands[0], -1)
    if op.name in ("arith.andi", "tt.broadcast"):
        return min(_constancy(v, axis) for v in op.operands)
    if op.name == "arith.cmpi":
        return _divisor(op.operands[1])
    return _WIDEST


def _divisor(bound: ir.Value) -> int:
    """The largest power of two up to 16 that is known to divide an integer; 16 of what is not known."""
    if isinstance(bound.owner, ir.Block):
        return _WIDEST
    op = bound.owner.operation
    if op.name == "arith.constant":
        value = op.attributes["value"]
        splat = (
            ir.DenseElementsAttr(value).get_splat_value()
            if isinstance(bound.type, ir.RankedTensorType)
            else value
        )
        return math.gcd(ir.IntegerAttr(splat).value, _WIDEST)
    if op.name in ("arith.addi", "arith.subi"):
        return min(_divisor(v) for v in op.operands)
    return _divisor(op.operands[0]) if op.name in (*_SHAPES, "arith.extsi", "arith.trunci") else _WIDEST
