"""Ops that only users' Triton kernels have, on the interpreter: ``tile_rearranged.py``,
``tile_scaled_dot.py``, ``tile_descriptors.py``, ``tile_addresses.py``, and what waits (``tile_kernels.py``).
"""

import dataclasses
import re

import pytest
import torch
from user_kernel_launches import described, interpreted, runnable, tl, triton, ttir_of

from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.runtime.errors import DeviceAssertError, OutOfBounds, RunError
from fuse_mlir.compiler.runtime.interpreter import tile_kernels

ROWS, COLUMNS = 24, 20
X = torch.randn(ROWS, COLUMNS)


@triton.jit
def concatenated_kernel(x, y, out):
    i, row = tl.arange(0, 16), tl.program_id(0)
    both = tl.cat(tl.load(x + row * 16 + i), tl.load(y + i), can_reorder=True)
    tl.store(out + row * 32 + tl.arange(0, 32), both)


def test_cat():
    """One operand is the same for all programs."""
    x, y, out = torch.randn(3, 16), torch.randn(16), torch.zeros(3, 32)
    interpreted(concatenated_kernel, (3,), x=x, y=y, out=out)
    expected = torch.cat([x, y.expand(3, 16)], 1)
    assert torch.equal(out.sort(1).values, expected.sort(1).values)


@triton.jit
def gathered_kernel(x, at, out, axis: tl.constexpr):
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 4)[None, :]
    v, k = tl.load(x + tl.program_id(0) * 32 + i * 4 + j), tl.load(at + i * 4 + j)
    tl.store(out + tl.program_id(0) * 32 + i * 4 + j, tl.gather(v, k, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis):
    x, at, out = torch.randn(2, 8, 4), torch.randint(0, (8, 4)[axis], (8, 4)), torch.zeros(2, 8, 4)
    interpreted(gathered_kernel, (2,), x=x, at=at.to(torch.int32), out=out, axis=axis)
    assert torch.equal(out, torch.stack([v.gather(axis, at) for v in x]))


@triton.jit
def counted_kernel(x, out, n, masked: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    v = tl.load(x + i, i < n, other=0)
    counts = tl.histogram(v, 8, mask=i < n) if masked else tl.histogram(v, 8)
    tl.store(out + tl.program_id(0) * 8 + tl.arange(0, 8), counts)


@pytest.mark.parametrize("masked", [False, True])
def test_histogram(masked):
    x, out = torch.randint(0, 8, (100,), dtype=torch.int32), torch.zeros(2, 8, dtype=torch.int32)
    interpreted(counted_kernel, (2,), x=x, out=out, n=100, masked=masked)
    expected = torch.bincount(x, minlength=8)
    expected[0] += 0 if masked else 28
    assert torch.equal(out.sum(0), expected)


@triton.jit
def product_kernel(
    a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HALF: tl.constexpr, HOW: tl.constexpr
):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    left, right = tl.load(a + i * K + k[None, :]), tl.load(b + k[:, None] * N + j)
    kind: tl.constexpr = tl.float16 if HALF else tl.float32
    tl.store(out + i * N + j, tl.dot(left, right, out_dtype=kind, input_precision=HOW))


@pytest.mark.parametrize(
    ("left", "right", "sizes", "half", "how"),
    [
        (torch.bfloat16, torch.bfloat16, (1, 1, 16), False, "ieee"),  # Triton pads rows and columns
        (torch.float16, torch.float16, (4, 16, 16), True, "ieee"),
        (torch.float8_e4m3fn, torch.float8_e5m2, (16, 16, 32), False, "ieee"),
        (torch.float8_e5m2, torch.float8_e5m2, (16, 16, 32), True, "ieee"),
        (torch.int8, torch.int8, (16, 16, 32), False, "ieee"),
        (torch.float32, torch.float32, (16, 16, 16), False, "bf16x6"),
        (torch.float64, torch.float64, (16, 16, 16), False, "tf32"),
    ],
)
def test_dot(left, right, sizes, half, how):
    """All that ``tl.dot`` multiplies is a legal ``tt.dot``."""
    m, n, k = sizes
    a, b = torch.randint(-4, 4, (m, k)).to(left), torch.randint(-4, 4, (k, n)).to(right)
    wide = {torch.int8: torch.int32, torch.float64: torch.float64}.get(
        left, torch.float16 if half else torch.float32
    )
    out = torch.zeros(m, n, dtype=wide)
    interpreted(product_kernel, (1,), a=a, b=b, out=out, M=m, N=n, K=k, HALF=half, HOW=how)
    assert torch.equal(out.double(), a.double() @ b.double())


@triton.jit
def scaled_kernel(a, sa, b, sb, out, FA: tl.constexpr, FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr,
                  PACK: tl.constexpr):  # fmt: skip
    """PA, PB: how many numbers share an element.  PACK: those of b lie along the summed axis."""
    m, n = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :]
    ka, kb = tl.arange(0, 64 // PA)[None, :], tl.arange(0, 64 // PB if PACK else 64)[:, None]
    left = tl.load(a + m * (64 // PA) + ka)
    width: tl.constexpr = 128 if PACK else 128 // PB
    right = tl.load(b + kb * width + tl.arange(0, width)[None, :])
    groups = tl.arange(0, 2)[None, :]
    of_a = tl.load(sa + m * 2 + groups)
    of_b = tl.load(sb + tl.arange(0, 128)[:, None] * 2 + groups)
    product = tl.dot_scaled(left, of_a, FA, right, of_b, FB, rhs_k_pack=PACK)
    tl.store(out + m * 128 + n, product)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


@pytest.mark.parametrize("kind", ["e2m1", "e2m1 along n", "e4m3", "bf16"])
def test_dot_scaled(kind):
    scales = [torch.randint(124, 131, (128, 2), dtype=torch.uint8) for _ in range(2)]
    shapes = (128, 64), (64, 128)
    if kind.startswith("e2m1"):
        codes = [torch.randint(0, 16, shape) for shape in shapes]
        values = [E2M1[c] for c in codes]
        pack = kind == "e2m1"
        a = (codes[0].reshape(128, 32, 2)[..., 0] | codes[0].reshape(128, 32, 2)[..., 1] << 4).to(torch.uint8)
        if pack:
            pairs = codes[1].reshape(32, 2, 128)
            b = (pairs[:, 0] | pairs[:, 1] << 4).to(torch.uint8)
        else:
            pairs = codes[1].reshape(64, 64, 2)
            b = (pairs[..., 0] | pairs[..., 1] << 4).to(torch.uint8)
        form, per = "e2m1", 2
    else:
        dtype = torch.float8_e4m3fn if kind == "e4m3" else torch.bfloat16
        a, b = (torch.randn(shape).to(dtype) for shape in shapes)
        values, form, per, pack = [a.double(), b.double()], kind, 1, True
    out = torch.zeros(128, 128)
    interpreted(scaled_kernel, (1,), a=a, sa=scales[0], b=b, sb=scales[1], out=out, FA=form, FB=form, PA=per,
                PB=per, PACK=pack)  # fmt: skip
    factors = [
        torch.ldexp(torch.ones(128, 2).double(), s.int() - 127).repeat_interleave(32, 1) for s in scales
    ]
    torch.testing.assert_close(
        out.double(), (values[0] * factors[0]) @ (values[1] * factors[1].T), rtol=1e-5, atol=1e-4
    )


@triton.jit
def rows_kernel(x, rows, out, n, m, K: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, K)
    found = tl.make_tensor_descriptor(x, [n, m], [m, 1], [1, D]).gather(tl.load(rows + i), 4)
    tl.make_tensor_descriptor(out, [n, m], [m, 1], [1, D]).scatter(found, tl.load(rows + i), 4)


def test_rows_of_a_descriptor():
    """Rows and columns outside of the tensor are not written."""
    rows, out = torch.tensor([3, 0, 23, 30, 7, 1, 9, 2], dtype=torch.int32), torch.zeros(ROWS, COLUMNS)
    interpreted(rows_kernel, (1,), x=X, rows=rows, out=out, n=ROWS, m=COLUMNS, K=8, D=32)
    expected = torch.zeros(ROWS, COLUMNS)
    expected[rows[rows < ROWS].long(), 4:] = X[rows[rows < ROWS].long(), 4:]
    assert torch.equal(out, expected)


@triton.jit
def padded_kernel(x, out, n, m, KIND: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [n, m], [m, 1], [16, 16], padding_option=KIND)
    i, j = tl.program_id(0) * 16 - 8, tl.program_id(1) * 16
    at = out + (tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]) * 32 + j + tl.arange(0, 16)[None, :]
    tl.store(at, d.load([i, j]))


@pytest.mark.parametrize("kind", ["zero", "nan"])
def test_what_a_descriptor_reads_outside(kind):
    out = torch.ones(32, 32)
    interpreted(padded_kernel, (2, 2), x=X, out=out, n=ROWS, m=COLUMNS, KIND=kind)
    expected = torch.full((32, 32), torch.nan if kind == "nan" else 0.0)
    expected[8:, :COLUMNS] = X
    assert torch.equal(out.nan_to_num(9), expected.nan_to_num(9))


@triton.jit
def wrapping_kernel(x, m):
    d = tl.make_tensor_descriptor(x, [4, m], [m, 1], [4, 16])
    d.atomic_add([0, 0], tl.zeros((4, 16), tl.int32))


def test_an_update_that_no_descriptor_has():
    """As ``inc``, which Triton's language does not write."""
    ttir = ttir_of(wrapping_kernel, {"x": described(torch.zeros(4, 16, dtype=torch.int32)), "m": 16})
    text = ttir.text.replace("kind = 1 : i32", "kind = 4 : i32")
    assert text != ttir.text
    with pytest.raises(RunError, match=r"the interpreter has no such tt\.descriptor_reduce"):
        runnable(dataclasses.replace(ttir, text=text), make_context())


@triton.jit
def combined_kernel(x, out, n, m, KIND: tl.constexpr):
    d = tl.make_tensor_descriptor(out, [n, m], [m, 1], [32, 32])
    i, j = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    tile = tl.load(x + i * m + j, (i < n) & (j < m), other=0)
    if KIND == "add":
        d.atomic_add([0, 0], tile)
    elif KIND == "max":
        d.atomic_max([0, 0], tile)
    elif KIND == "min":
        d.atomic_min([0, 0], tile)
    elif KIND == "and":
        d.atomic_and([0, 0], tile)
    else:
        d.atomic_xor([0, 0], tile)


@pytest.mark.parametrize(
    ("kind", "dtype", "expected"),
    [
        ("add", torch.float32, lambda x, y: y + 2 * x),
        ("max", torch.int32, torch.maximum),
        ("min", torch.uint32, lambda x, y: torch.minimum(x & 0xFFFFFFFF, y & 0xFFFFFFFF)),
        ("and", torch.int32, torch.bitwise_and),
        ("xor", torch.int32, lambda x, y: y),
    ],
)
def test_a_descriptor_combines(kind, dtype, expected):
    """Two programs do the same."""
    wide = torch.int64 if dtype != torch.float32 else torch.float64
    x, out = ((torch.randn(ROWS, COLUMNS) * 100).to(wide) for _ in range(2))
    given, made = ((v & 0xFFFFFFFF if dtype == torch.uint32 else v).to(dtype) for v in (x, out))
    interpreted(combined_kernel, (2,), x=given, out=made, n=ROWS, m=COLUMNS, KIND=kind)
    torch.testing.assert_close(made.to(wide), expected(x, out), rtol=1e-6, atol=1e-6)


@triton.jit
def numbered_kernel(x, out, n):
    """Addresses become numbers and numbers addresses."""
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    number = (x + i).to(tl.int64) + 4
    tl.store(out + i, tl.load(number.to(tl.pointer_type(tl.float32)), i < n - 1, other=0))


def test_addresses_as_numbers():
    x, out = torch.randn(100), torch.zeros(128)
    interpreted(numbered_kernel, (4,), x=x, out=out, n=100)
    assert torch.equal(out[:99], x[1:]) and not out[99:].any()


@triton.jit
def table_kernel(table, x, y, out):
    """Each program reads another tensor."""
    address = tl.load(table + tl.program_id(0))
    source = address.to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.load(source + 1) + tl.load(x) * 0 + tl.load(y) * 0)


def test_a_table_of_addresses():
    x, y, out = torch.randn(8), torch.randn(8), torch.zeros(2)
    table = torch.tensor([y.data_ptr(), x.data_ptr()])
    interpreted(table_kernel, (2,), table=table, x=x, y=y, out=out)
    assert torch.equal(out, torch.stack([y[1], x[1]]))
    strange = torch.randn(8)
    with pytest.raises(RunError, match="finds no tensor of the launch"):
        interpreted(table_kernel, (2,), table=torch.full((2,), strange.data_ptr()), x=x, y=y, out=out)
    table[1] += 28
    with pytest.raises(OutOfBounds):
        interpreted(table_kernel, (2,), table=table, x=x, y=y, out=out)


@triton.jit
def locked_kernel(lock, out, n):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    i = tl.arange(0, 32)
    tl.store(out + i, tl.load(out + i, i < n) * 2 + tl.program_id(0), i < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_programs_wait_at_a_lock():
    lock, out = torch.zeros(1, dtype=torch.int32), torch.zeros(20)
    interpreted(locked_kernel, (5,), lock=lock, out=out, n=20)
    expected = 0
    for program in range(5):
        expected = expected * 2 + program
    assert out.eq(expected).all() and lock.item() == 0


@triton.jit
def late_kernel(flag, out):
    """The first program waits for the last."""
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(flag, 1)
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(out + tl.program_id(0), 1.0)


def test_a_program_that_waits_for_a_later_one(monkeypatch):
    monkeypatch.setattr(tile_kernels, "MOST_TURNS_WAITING", 50)
    with pytest.raises(RunError, match="within 50 iterations: it waits for a program that runs after it"):
        interpreted(late_kernel, (2,), flag=torch.zeros(1, dtype=torch.int32), out=torch.zeros(2))
    out = torch.zeros(1)
    interpreted(late_kernel, (1,), flag=torch.zeros(1, dtype=torch.int32), out=out)
    assert out.item() == 1


@triton.jit
def assembly_kernel(x):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    made = tl.inline_asm_elementwise("ld.global.f32 $0, [$1];", "=f,f", [v], tl.float32, is_pure=True, pack=1)
    tl.store(x + i, made)


def test_assembly_is_one_sentence():
    text = re.escape(
        "does not run the inline assembly 'ld.global.f32 $0, [$1];': it does not have ld.global.f32"
    )
    with pytest.raises(RunError, match=text):
        interpreted(assembly_kernel, (1,), x=torch.randn(32))


@triton.jit
def told_kernel(x, n):
    i = tl.arange(0, 32)
    v = tl.load(x + i, i < n, other=0)
    tl.device_print("x", v, i)
    tl.device_assert(v < 5, "too large")
    tl.store(x + i, v + 1, i < n)


def test_prints_and_assertions():
    x = torch.zeros(20)
    interpreted(told_kernel, (1,), x=x, n=20, debug=True)
    assert x.eq(1).all()
    with pytest.raises(DeviceAssertError, match="too large"):
        interpreted(told_kernel, (1,), x=x + 5, n=20, debug=True)
