"""Kernels with effects that are hard to see, as users write them: shared by tests, no test itself."""

import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def descriptor_add_kernel(x, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block
    sums = tl.make_tensor_descriptor(out, [n], [1], [block])
    sums.atomic_add([i], tl.load(x + i + tl.arange(0, block)))


@triton.jit
def descriptor_scatter_kernel(x, rows, out, n, width: tl.constexpr, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    into = tl.make_tensor_descriptor(out, [n, width], [width, 1], [1, width])
    value = tl.load(x + i[:, None] * width + tl.arange(0, width)[None, :])
    into.scatter(value, tl.load(rows + i), 0)


@triton.jit
def through_table_kernel(x, table, n, block: tl.constexpr):
    i = tl.arange(0, block)
    out = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit(debug=True)
def assert_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.device_assert(tl.load(x + i, i < n, other=0.0) >= 0, "a negative number")


@triton.jit
def print_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.device_print("x", tl.load(x + i, i < n, other=0.0))


@triton.jit
def print_and_double_kernel(x, out, n, block: tl.constexpr):
    i = tl.arange(0, block)
    v = tl.load(x + i, i < n, other=0.0)
    tl.device_print("x", v)
    tl.store(out + i, v * 2, i < n)


@triton.jit
def pure_kernel(x, n, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.load(x + i, i < n, other=0.0)


@triton.autotune([triton.Config({"both": False}), triton.Config({"both": True})], key=["n"])
@triton.jit
def sometimes_kernel(x, a, b, n, both: tl.constexpr, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    v = tl.load(x + i, i < n)
    tl.store(a + i, v + 1, i < n)
    if both:
        tl.store(b + i, v * 2, i < n)
