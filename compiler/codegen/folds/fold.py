"""The interface of a reduction of tiles.  A ``Fold`` says how many running tiles it keeps, their first
values, how one block of operands is added to them, and how they become the results.  It works in two ways:
over a whole axis at once, and accumulated over the iterations of a loop.  Masked lanes get the neutral
element before they are folded.
"""

import math
from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...mlir import ir
from ..tile_builder import Shape, TileBuilder
from .reduce import Combine, Values, fold

#: So many equal numbers (a power of two) have an exact sum when they are added one by one.
SHORT = 4


@dataclass(frozen=True)
class Lanes:
    """The lanes that one reduction folds.

    ``axes``: positions in tile shapes; none when all reduced axes have block 1.  ``mask``: the lanes that are
    points, None for all.  ``shape``: of the operands before the reduction.  ``count``: emits the number of
    points folded, as f32 or f64.

    ``own``: how many elements of a looped block one thread holds along the last axis; 1 where that is not
    known.  ``apart``: these elements lie as many elements apart as there are threads, not side by side.
    ``narrow``: an index operand fits in 32 bits.  ``ordered``: it grows from iteration to iteration.
    ``even``: no block of the reduced axes has masked lanes, so that each lane folds the same number of
    points.  ``threads``: of a program.  ``weights``: the shape of the sums of weights that the lanes of a
    fold with weights keep.
    """

    axes: tuple[int, ...]
    mask: ir.Value | None
    shape: Shape
    count: Callable[[ir.Type], ir.Value]
    own: int = 1
    apart: bool = False
    narrow: bool = False
    ordered: bool = False
    even: bool = True
    threads: int = 32
    weights: Shape = ()

    @property
    def owned(self) -> Shape:
        """The shape of a block in which the elements of one thread have an axis of their own."""
        if self.own == 1:
            return self.shape
        *outer, last = self.shape
        return (*outer, self.own, last // self.own) if self.apart else (*outer, last // self.own, self.own)

    @property
    def own_axis(self) -> int:
        """The axis of ``owned`` that holds the elements of one thread."""
        return len(self.shape) - 1 if self.apart else len(self.shape)

    @property
    def folded(self) -> Shape:
        """``owned`` after each thread has folded its elements into one."""
        if self.own == 1:
            return self.shape
        return (*self.owned[: self.own_axis], 1, *self.owned[self.own_axis + 1 :])

    def tree(self, shape: Shape) -> bool:
        """Whether a fold of a tile of ``shape`` along ``axes`` adds at most ``SHORT`` elements in each thread
        one by one, and then adds the threads' sums as a tree.
        """
        alone = all(extent == 1 for i, extent in enumerate(shape) if i not in self.axes)
        return alone and math.prod(shape) <= SHORT * self.threads


#: The operands of one part of a row that is reduced in parts, and the lanes of that part.
Part = tuple[Values, Lanes]


class Fold:
    """One reduction.  Over a resident axis ``whole`` does all.  Over a looped axis ``start`` stands before
    the loop, ``step`` in each iteration and ``finish`` after it.
    """

    def prepare(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        """One block's operands, with neutral elements in masked lanes."""
        raise NotImplementedError

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        """Results from operands that hold the axis completely."""
        return self.finish(builder, self.prepare(builder, operands, lanes), lanes, None)

    def of_parts(self, builder: TileBuilder, parts: Sequence[Part]) -> Values:
        """Results from parts that together hold the axis completely."""
        raise NotImplementedError

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        """Running tiles before the first block."""
        raise NotImplementedError

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        """Running tiles after one more block; ``iteration`` counts blocks from 0."""
        raise NotImplementedError

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        """Results from the running tiles.  ``seen`` emits how many points each lane has folded."""
        raise NotImplementedError


class FoldOfParts(Fold):
    """A reduction whose whole row is a row of one part."""

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self.of_parts(builder, [(operands, lanes)])


def fold_parts(
    builder: TileBuilder, values: Sequence[Values], parts: Sequence[Part], combine: Combine
) -> Values:
    """Folds the values of each part by themselves, then the results of all parts."""
    folded = [fold(builder, v, lanes.axes, combine) for v, (_, lanes) in zip(values, parts, strict=True)]
    total = folded[0]
    for other in folded[1:]:
        total = combine(builder, total, other)
    return total


def filled(builder: TileBuilder, value: ir.Value, neutral: int | float, lanes: Lanes) -> ir.Value:
    """A value of the block, with ``neutral`` in masked lanes."""
    value = builder.to(value, lanes.shape)
    return value if lanes.mask is None else builder.select(lanes.mask, value, builder.fill(neutral, value))
