"""What a loop computes again instead of holding it, where ``fuse.tile`` has ``again``.

A program walks over rows and reduces each: its elements are used before a reduction, and once more after it.
Registers would hold them in the form in which they are used, of 32 bits, together with what is computed of
them.  Here they hold what was loaded, two elements of 16 bits each, and everything else is computed again
after each reduction.  What all rows share (the weights of a norm) is loaded again, from the cache, instead
of being held through the loop.

Triton and LLVM would merge two equal computations.  So the PTX that widens elements is emitted as if it had
effects, and loads of what all rows share are volatile.
"""

from collections.abc import MutableMapping

from ..ir.dialects import fuse
from ..ir.tile import Tile
from ..mlir import ir
from .tile_plan import KernelPlan


class ComputedAgain:
    """The values of the body of a loop that are computed again, if the tile says so."""

    def __init__(self, plan: KernelPlan, tile: Tile) -> None:
        self.plan, self.tile = plan, tile
        self.forgotten: dict[ir.Value, ir.Operation] = {}  #: of each value: what computes it
        held = (i for i, axis in enumerate(tile.axes) if axis.kind == "resident" and axis.block > 1)
        self._row = next(held, None) if tile.again else None

    def forget(self, values: MutableMapping[ir.Value, ir.Value]) -> None:
        """Takes out of ``values`` what is computed again: it is emitted where it is asked for next."""
        for op in self.plan.ops:
            if self.waits(op) or self.is_shared(op):
                for value in op.results:
                    if values.pop(value, None) is not None:
                        self.forgotten[value] = op

    def wait(self, op: ir.Operation) -> None:
        """Leaves an op of which ``waits`` is true to whoever asks for its results."""
        self.forgotten.update(dict.fromkeys(op.results, op))

    def waits(self, op: ir.Operation) -> bool:
        """Whether an op is arithmetic along the row, which is emitted where its results are asked for."""
        return self._row is not None and self._row in self.plan.axes[op] and op.name.startswith("arith.")

    def taken(self, value: ir.Value) -> ir.Operation | None:
        """What computes a forgotten value, which is then no longer forgotten; None for other values."""
        return self.forgotten.pop(value, None)

    def is_shared(self, op: ir.Operation) -> bool:
        """Whether an op loads what all rows share."""
        return (
            self._row is not None
            and isinstance(op, fuse.Load)
            and self._row in self.plan.axes[op]
            and not self.plan.in_loop(op)
        )
