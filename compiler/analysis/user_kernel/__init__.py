"""What a user's Triton kernel, as TTIR, reads and writes: for each pointer, and as a whole.

Imports ``ir``; never torch.  ``frontend``, ``report`` and ``passes`` import it.
"""

from ...base.pointer_effects import PointerEffects
from .effects import KernelEffects, kernel_effects, pointer_effects

__all__ = ["KernelEffects", "PointerEffects", "kernel_effects", "pointer_effects"]
