"""The gain of a merge: a roofline estimate of the time saved.  The fusing passes try the best pair first.

Bytes are saved that one group wrote and the other read, or that both read.  A launch is saved.  Operations
that run at more points than before cost time: the rule ``recompute`` counts them, and compares whole kernels
by ``kernel_microseconds``.  Rules cover what the estimate does not see: programs that would idle
(``lost-parallelism``, ``too-long-row``) and registers (``size``).
"""

from dataclasses import dataclass

from ...base.hardware import Hardware


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
    """The least time of a kernel: what it moves or what it issues, whichever takes longer, and its launch."""
    moving = moved_bytes / (hardware.bandwidth * 1e3)
    return max(moving, slots / hardware.slots_per_second * 1e6) + hardware.launch
