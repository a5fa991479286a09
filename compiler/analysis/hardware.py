"""What tiling reads about a GPU.  Figures are the vendors' published ones; ``generic`` is a cautious
mixture.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hardware:
    """A GPU.  Bytes unless said; ``bandwidth`` in GB/s of device memory."""

    name: str
    sm_count: int
    registers: int = 65536  #: 32-bit registers of an SM
    shared_bytes: int = 164 * 1024  #: shared memory that the programs of an SM can use
    l2_bytes: int = 40 << 20
    warp: int = 32
    max_warps: int = 16  #: largest program that tiling makes
    bandwidth: int = 1500

    @property
    def full_grid(self) -> int:
        """Programs that give every SM two: with fewer, some of the chip idles."""
        return 2 * self.sm_count


PRESETS = {
    "h200": Hardware("h200", 132, shared_bytes=227 * 1024, l2_bytes=50 << 20, bandwidth=4800),
    "h100": Hardware("h100", 132, shared_bytes=227 * 1024, l2_bytes=50 << 20, bandwidth=3350),
    "a100": Hardware("a100", 108, shared_bytes=163 * 1024, l2_bytes=40 << 20, bandwidth=2039),
    "generic": Hardware("generic", 132),
}


def hardware_named(name: str) -> Hardware:
    """A preset by its name, in any case.  Raises ValueError on an unknown one."""
    found = PRESETS.get(name.lower())
    if found is None:
        raise ValueError(f"unknown hardware '{name}': expected one of {', '.join(PRESETS)}")
    return found
