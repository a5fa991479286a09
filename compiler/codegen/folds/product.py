"""The fold of a ``fuse.dot``: a product of tiles that tensor cores compute."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir.dialects import tt
from ...ir.kernel import string
from ...mlir import ir
from ..tile_builder import TileBuilder
from .fold import Fold, Lanes
from .reduce import Values

#: ``inputPrecision`` of ``tt.dot`` by the ``precision`` of ``fuse.dot``.
_PRECISION = {"tf32": 0, "ieee": 2}
#: ``maxNumImpreciseAcc`` of ``tt.dot``.  What tensor cores have added up of so many products of 8-bit floats,
#: with fewer bits than float32, is then added to a sum in float32.
_EXACT_AFTER = 128
_NARROW_FLOATS = ("f8E4M3FN", "f8E5M2")


@dataclass(frozen=True)
class TileProduct(Fold):
    """left @ right + sum, on tiles of m x k, k x n and m x n elements.  The operands are 0 behind the end of
    the summed axis.  The sum is of type ``element``: f32, f64 or i32.

    ``precision``: "ieee", or "tf32" for operands in f32 that may be rounded to 10 bits behind the point.
    """

    element: ir.Type
    precision: str = "ieee"

    @staticmethod
    def of(op: ir.Operation) -> "TileProduct":
        """That of a ``fuse.dot``."""
        precision = string(op.attributes["precision"]) if "precision" in op.attributes else "ieee"
        return TileProduct(op.results[0].type, precision)

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self._added(builder, operands, self.start(builder, [], lanes))

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        return [builder.constant(0, self.element, lanes.shape)]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        return self._added(builder, operands, state)

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        return state

    def _added(self, builder: TileBuilder, operands: Values, state: Values) -> Values:
        narrow = str(tt.element_of(operands[0].type)) in _NARROW_FLOATS
        attributes = {
            "inputPrecision": builder.attribute(_PRECISION[self.precision]),
            "maxNumImpreciseAcc": builder.attribute(_EXACT_AFTER if narrow else 0),
        }
        return list(builder.create("tt.dot", [state[0].type], [*operands, *state], attributes).results)
