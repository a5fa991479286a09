"""MLIR contexts with the project's dialects loaded."""

from ..mlir import ir, new_context
from .dialects import fuse, tt


def make_context() -> ir.Context:
    """A new context with ``fuse``, ``tt`` and the dialects of ``new_context``; diagnostics of severity error
    reach handlers.
    """
    context = new_context()
    context.emit_error_diagnostics = True
    fuse.register(context)
    tt.register(context)
    return context
