"""What tile code has of NVIDIA's: texts of PTX, symbols of libdevice, and LLVM's intrinsics for this GPU.

A port to other GPUs has to give each of these anew.  What compiles tile code (``runtime/kernels``) and
launches it (``runtime/gpu``) is NVIDIA's as a whole.  The interpreter knows the meaning of what is here, and
of users' PTX and calls of libdevice.
"""

import re
import struct

#: Symbols of libdevice, of f32 where they do not say otherwise.
COPYSIGN, EXP2, FAST_DIVIDE, RSQRT, RINT = (
    "__nv_copysignf", "__nv_exp2f", "__nv_fast_fdividef", "__nv_rsqrtf", "__nv_rintf",
)  # fmt: skip
#: Integer powers of f32 and f64; counts of bits in i32 and i64.
POWERS = {"f32": "__nv_powif", "f64": "__nv_powi"}
LEADING_ZEROS, ONES = ("__nv_clz", "__nv_clzll"), ("__nv_popc", "__nv_popcll")


def libdevice_symbol(name: str, element: str) -> str:
    """Libdevice's function of a C function for ``element``, f32 or f64."""
    return f"__nv_{name}" + ("f" if element == "f32" else "")


#: Functions that are one instruction of the GPU, by libdevice's symbol: LLVM's intrinsic for it.  Libdevice's
#: function is a wrapper of the intrinsic, with ``ftz``, as Triton compiles.  Names are those of the newest
#: LLVM (``TritonDialect.spelled``).
INTRINSICS = {
    COPYSIGN: "llvm.copysign.f32",
    EXP2: "llvm.nvvm.ex2.approx.ftz.f32",
    FAST_DIVIDE: "llvm.nvvm.div.approx.ftz.f",
    RSQRT: "llvm.nvvm.rsqrt.approx.ftz.f",
}


def parameter_text(kernel: str, first: int) -> str:
    """PTX that reads parameter ``first + $1`` of ``kernel`` into ``$0``.  All parameters up to that one must
    take 8 bytes.

    Parameters lie in constant memory in order, as the launch packs them, so one load with an offset reads any
    of them.  Branches that select one of many addresses would need registers for all of them.
    """
    return (
        f"{{ .reg .b64 at; mov.b64 at, {kernel}_param_{first}; mad.wide.u32 at, $1, 8, at; "
        "ld.param.b64 $0, [at]; }"
    )


#: PTX that rounds two float32 to bfloat16 and widens them again, with one conversion for both.  Rounded
#: alone, each would take one conversion, at a quarter of the speed of an addition.
ROUNDED_TEXT = (
    "{ .reg .b32 both; cvt.rn.bf16x2.f32 both, $3, $2; shl.b32 $0, both, 16; and.b32 $1, both, 0xffff0000; }"
)
ROUNDED_CONSTRAINTS = "=r,=r,r,r"
#: PTX that widens the two bfloat16 of a register to float32, with one instruction for each.  A conversion
#: takes two instructions for the upper one.
WIDENED_TEXT = "{ shl.b32 $0, $2, 16; and.b32 $1, $2, 0xffff0000; }"
WIDENED_CONSTRAINTS = "=r,=r,r"

#: The largest number to subtract from bytes: 2**23 plus it is an integer that float32 has, and so is a byte
#: minus it.
MOST_LESS = 2**22


def bytes_text(signed: bool, less: int = 0, shift: int = 0, mask: int = 255) -> str:
    """PTX that makes four integers of 8 bits, in one register, float32, minus ``less``: the byte becomes the
    last one of 2**23, and 2**23 + ``less`` is subtracted.  Two instructions for each; a conversion runs at a
    sixteenth of their speed.  ``less``: at most ``MOST_LESS`` in size.  ``shift`` and ``mask``: of each byte
    before that, ``byte >> shift & mask``, four bytes at once; ``mask`` keeps no bit of the next byte.
    """
    [bits] = struct.unpack("<I", struct.pack("<f", -float(2**23 + 128 * signed + less)))
    return (
        "{ .reg .b32 all, one; "
        + f"shr.b32 all, $4, {shift}; and.b32 all, all, 0x{mask * 0x01010101:08X}; "
        + ("xor.b32 all, all, 0x80808080; " if signed else "")
        + " ".join(
            f"prmt.b32 one, all, 0x4B000000, 0x744{n}; add.f32 ${n}, one, 0f{bits:08X};" for n in range(4)
        )
        + " }"
    )


def read_bytes_text(text: str) -> tuple[bool, int, int, int] | None:
    """The arguments of a ``bytes_text``; None for any other text."""
    found = re.search(r"\$4, (\d); and.b32 all, all, 0x(\w\w).*\$0, one, 0f([0-9A-F]{8});", text)
    if found is None:
        return None
    [added] = struct.unpack("<f", struct.pack("<I", int(found[3], 16)))
    signed, shift, mask = "xor.b32" in text, int(found[1]), int(found[2], 16)
    less = int(-added) - 2**23 - 128 * signed if 2**22 <= -added < 2**24 else 0
    arguments = signed, less, shift, mask
    return arguments if text == bytes_text(*arguments) else None


BYTES_CONSTRAINTS = "=r,=r,=r,=r,r"
#: PTX that makes four integers of 8 bits float16, two in a register: the byte becomes the last one of 2**10.
#: Five instructions make four.  By whether they are signed.
HALF_BYTES_TEXT = {
    signed: "{ .reg .b32 all, less; "
    + ("xor.b32 all, $2, 0x80808080; " if signed else "mov.b32 all, $2; ")
    + f"mov.b32 less, 0x{'64806480' if signed else '64006400'}; "
    + " ".join(
        f"prmt.b32 ${n}, all, 0x64, 0x4{2 * n + 1}4{2 * n}; sub.f16x2 ${n}, ${n}, less;" for n in range(2)
    )
    + " }"
    for signed in (False, True)
}
HALF_BYTES_CONSTRAINTS = "=&r,=&r,r"


def first_parameter(text: str) -> int | None:
    """``first`` of a ``parameter_text``; None for any other text."""
    found = re.search(r"mov\.b64 at, (\w+)_param_(\d+);", text)
    return int(found[2]) if found and text == parameter_text(found[1], int(found[2])) else None
