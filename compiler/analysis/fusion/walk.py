"""What it takes to sum rows and columns of a matrix in one walk over its rows, and in two kernels.

A walk reads each element once.  But each share of the rows gives a part of every column's sum: these parts
are written, and a second kernel reads and combines them.  Of few rows, or of narrow ones, they are as many
bytes as the matrix.  Figures are microseconds on a hardware model.
"""

from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...ir.sizes import ceil_power
from ..kernel.shares import FEWEST, walk_shares

#: Elements of a row that a warp holds by itself, and elements that a step of a walk takes: of a warp, and of
#: a program of several warps.
_WARP_ROW, _WARP_STEP, _STEP = 1024, 1024, 4096
#: Fewest rows, and fewest and most elements of one, of walks that were always faster.
_SURE_ROWS, _SURE_WIDTHS = 2048, (256, 8192)


@dataclass(frozen=True)
class Walk:
    """A kernel that walks.

    rows, width: its rows, and the elements of one.  read: bytes of an element, of what is read at all points.
    sums: bytes of the sums of all columns.
    """

    rows: int
    width: int
    read: int
    sums: int

    @property
    def _of_one_warp(self) -> bool:
        return self.width <= _WARP_ROW

    def shares(self, hardware: Hardware) -> int:
        """How many shares the rows are cut into, if their number allows it."""
        return walk_shares(self.rows, self.width, self.read, one_warp=self._of_one_warp, hardware=hardware)

    @property
    def is_sure(self) -> bool:
        """Whether a walk was faster wherever it was measured, so that no estimate is asked."""
        return self.rows >= _SURE_ROWS and _SURE_WIDTHS[0] <= self.width <= _SURE_WIDTHS[1]

    def pays(self, together: float, apart: float, further: bool, hardware: Hardware) -> bool:
        """Whether the walk is clearly estimated to be faster than two kernels: that of kernels that take a
        few microseconds tells no more.  further: one of these walks already, and the other one's sums cost it
        little.
        """
        return self.is_sure or together <= apart * (1.0 if further else hardware.rates.walks.clearly)

    def microseconds(self, moved: int, hardware: Hardware) -> float:
        """The time of the walk, which moves ``moved`` bytes beside the parts of its sums, and of the kernel
        that combines these.
        """
        shares = self.shares(hardware)
        if shares < FEWEST:
            shares = 1  # one program walks through all rows
        parts = shares * self.sums if shares > 1 else 0
        at_once = max(1, (_WARP_STEP if self._of_one_warp else _STEP) // ceil_power(self.width))
        steps = -(-self.rows // (shares * at_once))
        rates = hardware.rates
        walk = microseconds(Work(moved + parts, steps=steps), hardware, rates.walks.walk)
        combining = Work(parts, launches=1 if parts else 0)
        return walk + microseconds(combining, hardware, rates.streaming.rows)

    def apart(
        self, moved: Sequence[int], walks: Sequence["Walk | None"], saved: int, hardware: Hardware
    ) -> float:
        """The time of two kernels, which move ``moved`` bytes, ``saved`` less together.

        One of them may walk already.  They share a launch where rows do not fill the chip.
        """
        rows = hardware.rates.streaming.rows
        times = [
            microseconds(Work(bytes_), hardware, rows)
            if walk is None
            else walk.microseconds(bytes_, hardware)
            for bytes_, walk in zip(moved, walks, strict=True)
        ]
        others = Work(-saved, launches=int(self.rows > hardware.full_grid))
        return sum(times) + microseconds(others, hardware, rows)
