"""MLIR contexts with the project's dialects loaded."""

from .dialects import fuse, tt
from .mlir import ir


def make_context() -> ir.Context:
    """A new context with ``fuse``, ``tt`` and all upstream dialects; diagnostics of severity error reach
    handlers.
    """
    context = ir.Context()
    context.emit_error_diagnostics = True
    fuse.register(context)
    tt.register(context)
    return context
