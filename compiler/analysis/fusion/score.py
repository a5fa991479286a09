"""The gain of a merge: an estimate of the time saved.  The fusing passes try the best pair first, and
make no merge whose estimate is negative.

Bytes are saved that one group wrote and the other read, or that both read.  A launch is saved.  Operations
that run at more points than before cost time: the rule ``recompute`` counts them, and the rule ``slower``
compares whole kernels; ``walk.py`` estimates row and column sums in one kernel.
Rules cover what the estimates do not see: programs that would idle (``lost-parallelism``, ``too-long-row``)
and registers (``size``).
"""

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import LAUNCH, Work

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
        saved = Work(self.saved_bytes, slots=-self.slots, launches=self.launches)
        return microseconds(saved, hardware, hardware.rates.streaming.fused)


def pays(together: float, apart: float, hardware: Hardware) -> bool:
    """Whether one kernel takes no longer than two, which take ``apart`` microseconds in all.

    The second launch counts only beside short kernels: the launch of a kernel goes on behind a longer one,
    and several small kernels may share one (``combine-launches``).
    """
    if together <= apart:
        return True
    launch = microseconds(LAUNCH, hardware, hardware.rates.streaming.fused)
    return apart < _SHORT_LAUNCHES * launch and together <= apart + launch
