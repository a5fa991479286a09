"""Loads with hints to the caches, compiled with whichever Triton this process imports.

As a script it prints one JSON object: the version of Triton, and the hints that its PTX lacks.
"""

import json

from ttir_kernels import softmax_kernel

from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir
from fuse_mlir.compiler.runtime.kernels.triton_version import triton_version

#: Attributes of a load, as the mirror of Triton's dialect spells them, and what stands in its PTX.
HINTS = {
    "evict = 2 : i32": "L1::evict_first",
    "evict = 3 : i32": "L1::evict_last",
    "cache = 3 : i32, evict = 1 : i32": ".cg.",
    "cache = 2 : i32": ".ca.",
}


def ptx(hint: str = "") -> str:
    """The PTX of a kernel whose load has such attributes."""
    return compile_ttir(softmax_kernel(hint=hint), target=Target(), num_warps=4).ptx


def main() -> None:
    missing = [hint for hint, found in HINTS.items() if found not in ptx(hint)]
    print(json.dumps({"version": triton_version(), "missing": missing}))


if __name__ == "__main__":
    main()
