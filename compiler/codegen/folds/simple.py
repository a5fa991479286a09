"""Folds by one scalar operation: sums, products, and extremes with and without their index.  Every extreme of
a set with a NaN is NaN.
"""

from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.defining import defining_op
from ...ir.dialects import tt
from ...ir.reductions import POSITION_KINDS, identity_of
from ...mlir import arith, ir
from ..tile_builder import TileBuilder, is_float
from .fold import Fold, Lanes, Part, filled, fold_parts
from .reduce import Values, combine_kind, fold

_BIG_INDEX = {"i32": (1 << 31) - 1, "i64": (1 << 63) - 1}


@dataclass(frozen=True)
class Simple(Fold):
    """sum, prod, max, min, any, all, xor.  Booleans are folded as i32.

    Each thread adds k elements one by one: the elements of a tile that it holds in registers, one element of
    each block of a loop, then those of a lane.  A tree adds the threads.  With u, half a unit in the last
    place of 1, a sum is wrong by up to (k + log2(threads)) * u * sum(|x|) (Higham 2002, Accuracy and
    Stability of Numerical Algorithms, section 4.2).  A sum of equal elements is wrong by k / 4 * u of it:
    half of the additions have sums in the last binade, and all of these round the same way.  There is no
    compensated summation: it takes three more operations for each element, and gives NaN once a sum is
    infinite.
    """

    kind: str

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        value = operands[0]
        element = tt.element_of(value.type)
        neutral = identity_of(self.kind, element)
        if str(element) == "i1":
            value = builder.cast("arith.extui", value, "i32")
        return [filled(builder, value, neutral, lanes)]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        return [builder.constant(identity_of(self.kind, elements[0]), _folded_type(elements[0]), lanes.shape)]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        [value] = self.prepare(builder, operands, lanes)
        for part in _products(value) if self.kind == "sum" else [value]:
            state = combine_kind(self.kind)(builder, state, [part])
        return state

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        return fold(builder, state, lanes.axes, combine_kind(self.kind))

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        held = [self.prepare(builder, operands, lanes) for operands, lanes in parts]
        return fold_parts(builder, held, parts, combine_kind(self.kind))


def _products(value: ir.Value) -> list[ir.Value]:
    """The products of tiles that a value is the sum of, or the value alone.  Added one by one to a sum, they
    are added by the tensor cores, and none of them begins at 0.
    """
    found, pending = list[ir.Value](), [value]
    while pending:
        part = pending.pop()
        added = defining_op(part, arith.AddFOp)
        if added is not None:
            pending += reversed(list(added.operands))
        elif defining_op(part, tt.Dot) is not None:
            found.append(part)
        else:
            return [value]
    return found


def _folded_type(element: ir.Type) -> ir.Type:
    return ir.IntegerType.get_signless(32) if str(element) == "i1" else element


@dataclass(frozen=True)
class Boolean(Simple):
    """A fold of i1 values; its result is i1 again."""

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        [value] = super().finish(builder, state, lanes, seen)
        return [builder.cmpi("ne", value, builder.fill(0, value))]

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        [value] = super().of_parts(builder, parts)
        return [builder.cmpi("ne", value, builder.fill(0, value))]


@dataclass(frozen=True)
class ArgExtreme(Fold):
    """argmax, argmin: the extreme and the smallest index that has it.  A NaN counts as the extreme.  Indices
    that were widened from i32 are folded as i32.
    """

    kind: str

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        value, index = operands[0], _narrow(operands[1])
        if lanes.narrow:
            index = builder.cast("arith.trunci", index, "i32")
        element = tt.element_of(value.type)
        neutral = identity_of(self.kind, element)
        if str(element) == "i1":
            value = builder.cast("arith.extui", value, "i32")
        return [
            filled(builder, value, neutral, lanes),
            filled(builder, index, _BIG_INDEX[str(tt.element_of(index.type))], lanes),
        ]

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        neutral = identity_of(self.kind, elements[0])
        index = "i32" if lanes.narrow else "i64"
        return [
            builder.constant(neutral, _folded_type(elements[0]), lanes.shape),
            builder.constant(_BIG_INDEX[index], index, lanes.shape),
        ]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """Takes the new pair where its value is more extreme, and in the first iteration.  Where the values
        are equal it takes the pair with the smaller index; a lane whose indices grow keeps the old one.
        """
        (top, kept), (value, index) = state, self.prepare(builder, operands, lanes)
        if not lanes.narrow:
            index = builder.cast("arith.extsi", index, "i64")
        if is_float(tt.element_of(top.type)):
            more = builder.cmpf("ugt" if self.kind == "argmax" else "ult", value, top)  # also for a first NaN
            more = builder.elementwise("arith.andi", [more, builder.cmpf("ord", top, top)])
        else:
            more = builder.cmpi("sgt" if self.kind == "argmax" else "slt", value, top)
        if lanes.ordered:
            also = builder.cmpi("eq", iteration, builder.fill(0, iteration))
        else:
            earlier = builder.cmpi("slt", index, kept)
            also = builder.elementwise("arith.andi", [_equal(builder, value, top), earlier])
        take = builder.elementwise("arith.ori", [more, also])
        return [builder.select(take, value, top), builder.select(take, index, kept)]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        """Folds the values first, then the smallest index that has the extreme.  That takes fewer
        instructions for each element than folding pairs.
        """
        value, index = state
        [top] = fold(builder, [value], lanes.axes, combine_kind(POSITION_KINDS[self.kind]))
        beyond = builder.fill(_BIG_INDEX[str(tt.element_of(index.type))], index)
        candidates = builder.select(_equal(builder, value, top), index, beyond)
        [first] = fold(builder, [candidates], lanes.axes, combine_kind("min"))
        return [top, builder.cast("arith.extsi", first, "i64")]


def _equal(builder: TileBuilder, value: ir.Value, top: ir.Value) -> ir.Value:
    """Where ``value`` equals ``top``, the extreme of a set that it belongs to.  If that is NaN, where it is
    NaN.
    """
    if not is_float(tt.element_of(value.type)):
        return builder.cmpi("eq", value, top)
    same, nan = builder.cmpf("oeq", value, top), builder.cmpf("uno", value, value)
    return builder.elementwise("arith.ori", [same, nan])


@dataclass(frozen=True)
class BooleanArgExtreme(ArgExtreme):
    """argmax, argmin of i1 values."""

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        value, index = super().finish(builder, state, lanes, seen)
        return [builder.cmpi("ne", value, builder.fill(0, value)), index]


def _narrow(index: ir.Value) -> ir.Value:
    """The i32 value that an index was extended from, if it was."""
    op = defining_op(index, arith.ExtSIOp)
    return op.operands[0] if op is not None and str(tt.element_of(op.operands[0].type)) == "i32" else index
