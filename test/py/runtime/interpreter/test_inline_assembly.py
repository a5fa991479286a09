"""Inline assembly on the interpreter: each instruction beside Python's own numbers, and whole kernels."""

import math
import struct

import numpy as np
import pytest
import torch
from compiling import Compiled
from user_kernels import tl, triton, triton_without_a_gpu

from fuse_mlir.compiler.base.errors import ProgramError
from fuse_mlir.compiler.runtime.errors import UnknownAssembly
from fuse_mlir.compiler.runtime.interpreter.ptx.assembly import Assembly
from fuse_mlir.compiler.runtime.interpreter.ptx.numbers import UnknownInstruction

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def f(value):
    """The bits of a float32."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def h(low, high=0.0):
    """The bits of two float16 in one register."""
    return int(np.float16(low).view(np.uint16)) | int(np.float16(high).view(np.uint16)) << 16


def d(value):
    return struct.unpack("<q", struct.pack("<d", value))[0]


def b(value):
    """The bits of a bfloat16."""
    return f(value) >> 16


M = 0xFFFFFFFF
#: text, inputs, output: all of them bits.
CASES = [
    ("add.f32 $0, $1, $2;", (f(1.5), f(2.25)), f(3.75)),
    ("sub.rn.f32 $0, $1, 1.5;", (f(1.0),), f(-0.5)),
    ("mul.f64 $0, $1, 2.0;", (d(1.1),), d(2.2)),
    ("fma.rn.f32 $0, $1, $1, $2;", (f(1 + 2**-12), f(-1.0)), f((1 + 2**-12) ** 2 - 1)),
    ("div.full.f32 $0, $1, $2;", (f(1.0), f(4.0)), f(0.25)),
    ("add.ftz.f32 $0, $1, $2;", (f(1e-40), f(0.0)), 0),
    ("add.sat.f32 $0, $1, $1;", (f(3.0),), f(1.0)),
    ("add.f16x2 $0, $1, $2;", (h(1, -2), h(0.5, 4)), h(1.5, 2)),
    ("fma.rn.relu.f16x2 $0, $1, $1, $2;", (h(1, 2), h(-3, 1)), h(0, 5)),
    ("mul.bf16 $0, $1, $2;", (b(3.0), b(-2.0)), b(-6.0)),
    ("neg.f32 $0, $1;", (f(0.0),), f(-0.0)),
    ("abs.s32 $0, $1;", (-7 & M,), 7),
    ("min.f32 $0, $1, $2;", (f(math.nan), f(2.0)), f(2.0)),
    ("max.NaN.f32 $0, $1, $2;", (f(math.nan), f(2.0)), 0x7FC00000),
    ("max.u32 $0, $1, 1;", (-1 & M,), M),
    ("max.s32 $0, $1, 1;", (-1 & M,), 1),
    ("ex2.approx.ftz.f32 $0, $1;", (f(3.0),), f(8.0)),
    ("lg2.approx.f32 $0, $1;", (f(8.0),), f(3.0)),
    ("rcp.approx.ftz.f32 $0, $1;", (f(4.0),), f(0.25)),
    ("rsqrt.approx.f32 $0, $1;", (f(4.0),), f(0.5)),
    ("sqrt.rn.f32 $0, $1;", (f(2.0),), f(math.sqrt(2))),
    ("tanh.approx.f16 $0, $1;", (h(0.5),), h(math.tanh(0.5))),
    ("add.u32 $0, $1, 1;", (M,), 0),
    ("mul.lo.u32 $0, $1, $2;", (0xDEADBEEF, 0x12345679), 0xDEADBEEF * 0x12345679 & M),
    ("mul.hi.u32 $0, $1, $2;", (0xDEADBEEF, 0xF2345679), 0xDEADBEEF * 0xF2345679 >> 32),
    ("mul.hi.s32 $0, $1, 3;", (-5 & M,), M),
    ("mul.wide.s32 $0, $1, $2;", (-5 & M, 7), -35),
    ("mad.lo.s32 $0, $1, $2, -1;", (-5 & M, 7), -36 & M),
    ("div.s32 $0, $1, 2;", (-7 & M,), -3 & M),
    ("rem.s32 $0, $1, 4;", (-7 & M,), -3 & M),
    ("and.b32 $0, $1, 0x0f;", (0x1234,), 4),
    ("not.b32 $0, $1;", (1,), M - 1),
    ("lop3.b32 $0, $1, $2, $3, 0xe8;", (12, 10, 9), (12 & 10) | (12 & 9) | (10 & 9)),
    ("lop3.b32 $0, $1, $2, $3, 0x96;", (12, 10, 9), 12 ^ 10 ^ 9),
    ("lop3.b32 $0, $1, $2, $3, 0xca;", (12, 10, 9), (12 & 10) | (~12 & 9)),
    ("shl.b32 $0, $1, 33;", (5,), 0),
    ("shl.b32 $0, $1, 31;", (3,), 1 << 31),
    ("shr.u32 $0, $1, 4;", (0xF0000000,), 0x0F000000),
    ("shr.s32 $0, $1, 40;", (0xF0000000,), M),
    ("shr.u64 $0, $1, 60;", (-1,), 15),
    ("shf.l.wrap.b32 $0, $1, $2, 8;", (0x11223344, 0x55667788), 0x66778811),
    ("shf.r.clamp.b32 $0, $1, $2, 40;", (0x11223344, 0x55667788), 0x55667788),
    ("prmt.b32 $0, $1, $2, 0x7531;", (0x44332211, 0x88776655), 0x88664422),
    ("prmt.b32 $0, $1, $2, 0x00c8;", (0x00000080, 0x00000080), 0x8080FFFF),
    ("bfe.u32 $0, $1, 4, 8;", (0xABCDE,), 0xCD),
    ("bfe.s32 $0, $1, 4, 4;", (0xF0,), M),
    ("bfi.b32 $0, $1, $2, 8, 8;", (0xFF, 0), 0xFF00),
    ("popc.b32 $0, $1;", (0xF1,), 5),
    ("clz.b32 $0, $1;", (1,), 31),
    ("brev.b32 $0, $1;", (1,), 1 << 31),
    ("cvt.rn.f16.f32 $0, $1;", (f(1.0004),), h(1.0004)),
    ("cvt.rn.bf16x2.f32 $0, $1, $2;", (f(1.0), f(-2.0)), b(1.0) << 16 | b(-2.0)),
    ("cvt.f32.bf16 $0, $1;", (b(-3.5),), f(-3.5)),
    ("cvt.rni.s32.f32 $0, $1;", (f(2.5),), 2),
    ("cvt.rzi.s32.f32 $0, $1;", (f(-2.7),), -2 & M),
    ("cvt.rmi.s8.f32 $0, $1;", (f(-1000.0),), 0x80),
    ("cvt.rzi.u32.f32 $0, $1;", (f(3e9),), 3000000000),
    ("cvt.rzi.s64.f32 $0, $1;", (f(1e30),), 2**63 - 1),
    ("cvt.rzi.s32.f32 $0, $1;", (f(math.nan),), 0),
    ("cvt.rn.f32.s32 $0, $1;", (-3 & M,), f(-3.0)),
    ("cvt.rn.f32.u32 $0, $1;", (M,), f(2.0**32)),
    ("cvt.s64.s32 $0, $1;", (-3 & M,), -3),
    ("cvt.u64.u32 $0, $1;", (M,), M),
    ("cvt.sat.u8.s32 $0, $1;", (-3 & M,), 0),
    ("cvt.rna.tf32.f32 $0, $1;", (0x3F801000,), 0x3F802000),
    ("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", (f(1000.0), f(1.0)), 0x7E38),
    ("cvt.rn.f16x2.e4m3x2 $0, $1;", (0x7E38,), h(1, 448)),
    ("copysign.f32 $0, $1, $2;", (f(-1.0), f(2.0)), f(-2.0)),
    ("mov.b32 $0, {$1, $2};", (h(1), h(2)), h(1, 2)),
    ("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $1; mov.b32 $0, {hi, lo}; }", (h(1, 2),), h(2, 1)),
    ("{\n .reg .pred p; // a comment\n setp.gt.f32 p, $1, 0f00000000;\n selp.f32 $0, $1, $2, p; }",
     (f(-1), f(7)), f(7)),
    ("{ .reg .pred p<2>; setp.ltu.f32 p1, $1, $1; mov.u32 $0, 1; @!p1 mov.u32 $0, 2; }", (f(math.nan),), 1),
    ("{ .reg .pred p; setp.lo.u32 p, $1, 5; mov.u32 $0, 1; @!p mov.u32 $0, 2; }", (M,), 2),
]  # fmt: skip


@pytest.mark.parametrize("text, inputs, expected", CASES)
def test_instructions(text, inputs, expected):
    [found] = Assembly.of(text).run([torch.tensor([v, v]) for v in inputs], 1)
    assert found.tolist() == [expected] * 2


@pytest.mark.parametrize("text", [
    "ld.global.f32 $0, [$1];", "add.rz.f32 $0, $1, $1;", "mov.u32 $0, %laneid;", "bra DONE;",
    "mul.hi.u64 $0, $1, $1;", "cvt.rz.f16.f32 $0, $1;", "add.f32 $0, $1, r;", "rem.f32 $0, $1, $1;",
    "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "div.u64 $0, $1, $1;", "cvt.s32.f32 $0, $1;", "add $0, $1;",
])  # fmt: skip
def test_what_is_not_there_is_refused(text):
    with pytest.raises(UnknownInstruction):
        Assembly.of(text).run([torch.tensor([1])], 1)


@triton.jit
def kernel(x, out, n, TEXT: tl.constexpr, REGISTERS: tl.constexpr, PACK: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    dtype = out.dtype.element_ty
    made = tl.inline_asm_elementwise(TEXT, REGISTERS, [v], dtype=dtype, is_pure=True, pack=PACK)
    tl.store(out + i, made, i < n)


def launched(x, dtype, text, registers, pack):
    out = torch.empty(x.shape, dtype=dtype)
    kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), text, registers, pack, 16)
    return out


#: What one register holds, of elements of fewer bits: two, or four.
BYTES = (
    "{ .reg .b16 a<4>; .reg .b8 u; cvt.u32.u8 $0, $4; shr.u32 $1, $4, 8; and.b32 $1, $1, 255; "
    "bfe.u32 $2, $4, 16, 8; shr.u32 $3, $4, 24; }"
)
KERNELS = [
    (torch.float32, torch.float32, "tanh.approx.f32 $0, $1;", "=f,f", 1, torch.tanh),
    (torch.float32, torch.float32, "mul.f32 $0, $1, $1; mul.f32 $0, $0, $1;", "=&f,f", 1, lambda x: x**3),
    (torch.float16, torch.float16, "mul.f16x2 $0, $1, $1;", "=r,r", 2, lambda x: x * x),
    (torch.float32, torch.float16, "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", 2, lambda x: x.half()),
    (torch.uint8, torch.int32, BYTES, "=r,=r,=r,=r,r", 4, lambda x: x.int()),
    (torch.float32, torch.float32, "add.f32 $0, $0, $0;", "=f,0", 1, lambda x: x + x),
    (torch.int64, torch.int64, "mad.lo.s64 $0, $1, 3, -1;", "=l,l", 1, lambda x: x * 3 - 1),
]  # fmt: skip


@pytest.mark.parametrize("of, to, text, registers, pack, exact", KERNELS)
def test_kernels(of, to, text, registers, pack, exact):
    x = torch.linspace(0, 100, 45).to(of)
    with triton_without_a_gpu(), torch.no_grad():
        compiled = Compiled(lambda x: launched(x, to, text, registers, pack), {"interpret_level": "planned"})
        torch.testing.assert_close(compiled(x), exact(x), rtol=1e-6, atol=1e-6)
    assert compiled.graphs[0].externs == 0


def test_an_instruction_that_is_not_there_is_an_error_of_the_program():
    """It names the text and the line, and torch does not run the graph instead."""
    text, expected = (
        "vote.ballot.b32 $0, $1;",
        r"the inline assembly 'vote.ballot.*test_inline_assembly.py:\d+",
    )
    compiled = Compiled(lambda x: launched(x, torch.int32, text, "=r,r", 1), {"verify": "levels"})
    with triton_without_a_gpu(), torch.no_grad(), pytest.raises(Exception, match=expected) as raised:
        compiled(torch.arange(32, dtype=torch.int32))
    assert "please report" not in str(raised.value) and issubclass(UnknownAssembly, ProgramError)


def test_a_reference_in_float64_is_computed_of_rounded_numbers():
    with triton_without_a_gpu(), torch.no_grad():
        compiled = Compiled(
            lambda x: launched(x, torch.float32, "lg2.approx.f32 $0, $1;", "=f,f", 1), {"verify": "numeric"}
        )
        torch.testing.assert_close(compiled(X := torch.linspace(1, 2, 20)), X.log2())
