"""The gain of a merge: a roofline estimate of the time saved.  The fusing passes try the best pair first, and
make no merge whose estimate is negative.

Bytes are saved that one group wrote and the other read, or that both read.  A launch is saved.  Operations
that run at more points than before cost time: the rule ``recompute`` counts them, and the rule ``slower``
compares whole kernels by ``kernel_microseconds``; ``walk.py`` estimates row and column sums in one kernel.
Rules cover what the estimates do not see: programs that would idle (``lost-parallelism``, ``too-long-row``)
and registers (``size``).
"""

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware

#: Kernels are short that take less than so many launches.
_SHORT_LAUNCHES = 4


@dataclass(frozen=True)
class Gain:
    """``saved_bytes`` of device memory, ``launches`` saved, and issue ``slots`` that are spent for it."""

    saved_bytes: int = 0
    launches: int = 0
    slots: int = 0

    def __add__(self, other: "Gain") -> "Gain":
        return Gain(
            self.saved_bytes + other.saved_bytes, self.launches + other.launches, self.slots + other.slots
        )

    def microseconds(self, hardware: Hardware) -> float:
        """Time saved; negative where the operations cost more."""
        moved = self.saved_bytes / (hardware.bandwidth * 1e3)
        return moved + self.launches * hardware.launch - self.slots / hardware.slots_per_second * 1e6


def kernel_microseconds(moved_bytes: int, slots: int, hardware: Hardware) -> float:
    """The time of a kernel beside its launch: moving and issuing hardly overlap in one that loads neighbours
    (steps of a stencil on 4096 x 4096: one 41 us, two in a kernel 81 us, 44 and 83 by this sum).
    """
    return moved_bytes / (hardware.bandwidth * 1e3) + slots / hardware.slots_per_second * 1e6


def pays(together: float, apart: float, hardware: Hardware) -> bool:
    """Whether one kernel takes no longer than two, which take ``apart`` microseconds in all.

    The second launch counts only beside short kernels: the launch of a kernel goes on behind a longer one,
    and several small kernels may share one (``combine-launches``).
    """
    return together <= apart + (hardware.launch if apart < _SHORT_LAUNCHES * hardware.launch else 0.0)
