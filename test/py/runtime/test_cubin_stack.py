"""Local memory and registers read from a cubin, beside what cuobjdump says."""

from pathlib import Path

import pytest
from cubins import usage
from ttir_kernels import softmax_kernel

from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.kernels.cubin_stack import register_count, stack_bytes
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

pytest.importorskip("triton")


@pytest.mark.parametrize("most", [None, 24])
def test_local_memory(most: int | None, tmp_path: Path) -> None:
    kernel = compile_ttir(softmax_kernel(1024), target=Target(90), num_warps=1, maxnreg=most)
    said = usage(kernel, tmp_path)
    assert (kernel.stack, register_count(kernel.cubin)) == (said.spilled, said.registers)
    assert (kernel.stack > 0) == (most is not None)


@pytest.mark.parametrize("data", [b"", b"x" * 200, b"\x7fELF", b"\x7fELF" + b"\xff" * 60])
def test_what_is_no_cubin(data: bytes) -> None:
    with pytest.raises(ValueError, match=f"{len(data)} bytes are no cubin"):
        stack_bytes(data)
    with pytest.raises(ValueError, match=f"{len(data)} bytes are no cubin"):
        register_count(data)
