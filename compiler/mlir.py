"""The one place that decides which MLIR Python bindings are used.

Upstream's package name is ``mlir``; the wheel on PyPI that ships the complete bindings is ``torch-mlir``, which installs the same
API under ``torch_mlir``.  Everything else in the project imports ``ir``, ``ext`` and the upstream dialects from here.
"""

try:
    from mlir import ir, passmanager, rewrite
    from mlir.dialects import arith, cf, ext, func, math, scf
except ImportError:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import arith, cf, ext, func, math, scf

__all__ = ["arith", "cf", "ext", "func", "ir", "math", "passmanager", "rewrite", "scf"]
