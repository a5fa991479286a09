"""The context of what tests read and throw away: making one takes longer than most of these modules live."""

from functools import cache

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir


@cache
def shared_context() -> ir.Context:
    """One context for the whole process.  A test that changes settings of a context makes its own."""
    return make_context()
