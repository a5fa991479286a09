"""What tile code has of NVIDIA's: texts of PTX, symbols of libdevice, and LLVM's intrinsics for this GPU.

A port to other GPUs has to give each of these anew.  What compiles tile code (``runtime/kernels``) and
launches it (``runtime/gpu``) is NVIDIA's as a whole.  The interpreter knows the meaning of what is here, and
of users' PTX and calls of libdevice.
"""

import re
import struct

from ..base.dataclass import dataclass

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


@dataclass(frozen=True)
class BytesText:
    """PTX that makes four integers of 8 bits, in one register, floats of type ``element``: f32, f16 or bf16.

    ``byte >> shift & mask`` of each byte is taken first, four bytes at once; ``mask`` keeps no bit of the
    next byte.  It becomes the last bits of 2**23 (f32), 2**10 (f16) or 2**7 (bf16), from which that power
    and ``less`` are subtracted.  So f32 takes two instructions for each, the types of 16 bits one, as they
    come in pairs; a conversion runs at a sixteenth of their speed.
    """

    signed: bool = False
    less: int = 0
    shift: int = 0
    mask: int = 255
    element: str = "f32"

    @property
    def exact(self) -> bool:
        """Whether the result is the integer minus ``less``: the power plus ``less``, and what is left of it,
        are numbers of the type.
        """
        bits = _BITS_BEHIND[self.element]
        return (self.mask | 128 * self.signed) < 2 ** min(bits, 8) and abs(self.less) <= 2 ** (bits - 1)

    @property
    def _added(self) -> int:
        """The bits of what is added at the end."""
        number = -float(2 ** _BITS_BEHIND[self.element] + 128 * self.signed + self.less)
        if self.element == "f16":
            return int(struct.unpack("<H", struct.pack("<e", number))[0])
        bits = int(struct.unpack("<I", struct.pack("<f", number))[0])
        return bits if self.element == "f32" else bits >> 16

    @property
    def text(self) -> str:
        """The PTX."""
        taken, added = f"0x{self.mask * 0x01010101:08X}", self._added
        source = "$4" if self.element == "f32" else "$2"
        head = f"shr.b32 all, {source}, {self.shift}; and.b32 all, all, {taken}; "
        head += "xor.b32 all, all, 0x80808080; " if self.signed else ""
        if self.element == "f32":
            four = (
                f"prmt.b32 one, all, 0x4B000000, 0x744{n}; add.f32 ${n}, one, 0f{added:08X};"
                for n in range(4)
            )
            return "{ .reg .b32 all, one; " + head + " ".join(four) + " }"
        power, name = ("0x64", "f16x2") if self.element == "f16" else ("0x43", "bf16x2")
        two = (
            f"prmt.b32 ${n}, all, {power}, 0x4{2 * n + 1}4{2 * n}; fma.rn.{name} ${n}, ${n}, one, less;"
            for n in range(2)
        )
        one = "0x3C003C00" if self.element == "f16" else "0x3F803F80"
        constants = f"mov.b32 one, {one}; mov.b32 less, 0x{added * 0x10001:08X}; "
        return "{ .reg .b32 all, one, less; " + head + constants + " ".join(two) + " }"

    @property
    def constraints(self) -> str:
        """Of the registers that it writes and reads."""
        return "=r,=r,=r,=r,r" if self.element == "f32" else "=&r,=&r,r"

    @staticmethod
    def read(text: str) -> "BytesText | None":
        """The one with this PTX; None for any other PTX."""
        found = _OF_BYTES.search(text)
        if found is None:
            return None
        element = {None: "f32", "f16": "f16", "bf16": "bf16"}[found["type"]]
        signed, bits = "xor.b32" in text, int(found["single"] or found["pair"][:4], 16)
        if element == "f16":
            [added] = struct.unpack("<e", struct.pack("<H", bits))
        else:
            [added] = struct.unpack("<f", struct.pack("<I", bits << (16 if element == "bf16" else 0)))
        power = 2 ** _BITS_BEHIND[element]
        if not power / 2 <= -added <= 2 * power:
            return None
        less = int(-added) - power - 128 * signed
        made = BytesText(signed, less, int(found["shift"]), int(found["mask"], 16), element)
        return made if text == made.text else None


#: Bits of a float behind the point, or of the significand without its first one.
_BITS_BEHIND = {"f32": 23, "f16": 10, "bf16": 7}
_OF_BYTES = re.compile(
    r"shr.b32 all, \$\d, (?P<shift>\d); and.b32 all, all, 0x(?P<mask>\w\w).*?"
    r"(?:\$0, one, 0f(?P<single>\w{8})|less, 0x(?P<pair>\w{8}).*fma.rn.(?P<type>\w+)x2)"
)


def first_parameter(text: str) -> int | None:
    """``first`` of a ``parameter_text``; None for any other text."""
    found = re.search(r"mov\.b64 at, (\w+)_param_(\d+);", text)
    return int(found[2]) if found and text == parameter_text(found[1], int(found[2])) else None
