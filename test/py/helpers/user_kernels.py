"""Triton kernels as users write them: shared by tests, no test itself."""

import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def both_kernel(x, z, a, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + i, i < n)
    tl.store(z + i, v + 1, i < n)
    tl.store(a + i, v * 2, i < n)


@triton.autotune([triton.Config({"block": 64}), triton.Config({"block": 128})], key=["n"])
@triton.jit
def halve_kernel(x, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + i, tl.load(x + i, i < n) * 0.5, i < n)
