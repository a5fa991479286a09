"""The one place that decides which MLIR Python bindings are used.

Upstream's package name is ``mlir``; the wheel on PyPI that ships the complete bindings is ``torch-mlir``,
which installs the same
API under ``torch_mlir``.  Everything else in the project imports ``ir``, ``ext`` and the upstream dialects
from here.
"""

try:
    from mlir import ir, passmanager, rewrite
    from mlir.dialects import arith, cf, ext, func, math, scf
except ImportError:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import arith, cf, ext, func, math, scf


def _keep_falsy_attribute(self: ext.AttributeDef, attribute: ir.Attribute | None) -> ir.Attribute | None:
    """``ext`` takes a false ``BoolAttr`` and an empty ``ArrayAttr`` for a missing attribute; only None is
    missing.
    """
    if attribute is None and self.default_factory is not None:
        return self.default_factory()
    return attribute


ext.AttributeDef.process_attr = _keep_falsy_attribute

__all__ = ["arith", "cf", "ext", "func", "ir", "math", "passmanager", "rewrite", "scf"]
