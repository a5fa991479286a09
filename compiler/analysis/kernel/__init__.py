"""What one kernel does: its accesses, its shape as tiling sees it, writes in place, where precision matters.

Imports ``ir``; never torch.  The other analyses, ``codegen`` and ``passes`` import it.
"""

from ...ir.kernel import is_kernel, is_tiled, string  # by the name that plugins know them by

__all__ = ["is_kernel", "is_tiled", "string"]
