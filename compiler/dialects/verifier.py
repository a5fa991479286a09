"""What the signatures of single ops cannot say: checked after every pass, each complaint one located sentence."""

from ..mlir import ir


class VerificationError(Exception):
    """The module breaks a rule of the dialect.  Diagnostics were emitted at the ops concerned."""


def verify(module: ir.Module) -> None:
    """Checks the whole module.  Raises ``VerificationError`` (or MLIR's own error) after emitting located diagnostics."""
    module.operation.verify()
