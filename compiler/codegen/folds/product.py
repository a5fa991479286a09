"""The fold of a ``fuse.dot``: a product of tiles that tensor cores compute."""

from collections.abc import Callable, Sequence

from ...base.dataclass import dataclass
from ...ir.contractions import FAST_TYPES
from ...ir.dialects import tt
from ...ir.kernel import string
from ...mlir import ir
from ..tile_builder import TileBuilder
from .fold import Fold, Lanes
from .reduce import Values

#: ``inputPrecision`` of ``tt.dot`` by the ``precision`` of ``fuse.dot``.
_PRECISION = {"tf32": 0, "ieee": 2}
#: ``maxNumImpreciseAcc`` of ``tt.dot``.  What tensor cores have added up of so many products of 8-bit floats,
#: with fewer bits than float32, is then added to a sum in float32.  With any number but 0, Triton leaves what
#: is added to a ``tt.dot`` apart from its sum.
_EXACT_AFTER, _NEVER, _APART = 128, 1 << 30, 1


@dataclass(frozen=True)
class TileProduct(Fold):
    """left @ right + sum, on tiles of m x k, k x n and m x n elements.  The operands are 0 behind the end of
    the summed axis.  The sum is of type ``element``: f32, f64 or i32.

    ``precision``: "ieee", or "tf32" for operands in f32 that may be rounded to 10 bits behind the point.
    ``fast``: the tensor cores of Hopper may add up all products of 8-bit floats.  Triton ignores that where
    it multiplies such floats by other instructions: on other GPUs, and in tiles of fewer than 64 rows.

    Without tensor cores, each thread adds the products of f32 one by one.  With ``apart`` the sum of each
    block of b elements begins at 0 and is then added, so that n elements are wrong by up to (b + n / b) units
    instead of n (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 4.2).
    """

    element: ir.Type
    precision: str = "ieee"
    apart: bool = False
    fast: bool = False

    @staticmethod
    def of(op: ir.Operation) -> "TileProduct":
        """That of a ``fuse.dot``."""
        precision = string(op.attributes["precision"]) if "precision" in op.attributes else "ieee"
        apart = str(op.operands[0].type) == "f32" and precision == "ieee"
        return TileProduct(op.results[0].type, precision, apart, "fast_accum" in op.attributes)

    def whole(self, builder: TileBuilder, operands: Values, lanes: Lanes) -> Values:
        return self._added(builder, operands, self.start(builder, [], lanes))

    def start(self, builder: TileBuilder, elements: Sequence[ir.Type], lanes: Lanes) -> Values:
        return [builder.constant(0, self.element, lanes.shape)]

    def step(
        self, builder: TileBuilder, state: Values, operands: Values, lanes: Lanes, iteration: ir.Value
    ) -> Values:
        if not self.apart:
            return self._added(builder, operands, state)
        block = self._added(builder, operands, self.start(builder, [], lanes))
        return [builder.elementwise("arith.addf", [*state, *block])]

    def finish(
        self, builder: TileBuilder, state: Values, lanes: Lanes, seen: Callable[[ir.Type], ir.Value] | None
    ) -> Values:
        return state

    def _added(self, builder: TileBuilder, operands: Values, state: Values) -> Values:
        after = _APART if self.apart else 0
        if str(tt.element_of(operands[0].type)) in FAST_TYPES:
            after = _NEVER if self.fast else _EXACT_AFTER
        attributes = {
            "inputPrecision": builder.attribute(_PRECISION[self.precision]),
            "maxNumImpreciseAcc": builder.attribute(after),
        }
        return list(builder.create("tt.dot", [state[0].type], [*operands, *state], attributes).results)
