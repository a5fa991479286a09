"""What tile code has of NVIDIA's: texts of PTX, symbols of libdevice, and LLVM's intrinsics for this GPU.

A port to other GPUs has to give each of these anew.  What compiles tile code (``runtime/kernels``) and
launches it (``runtime/gpu``) is NVIDIA's as a whole.  The interpreter knows the meaning of what is here, and
of users' PTX and calls of libdevice.
"""

import re
import struct
from dataclasses import replace

from ..base.dataclass import dataclass

#: Symbols of libdevice, of f32 where they do not say otherwise.
COPYSIGN, EXP2, FAST_DIVIDE, RSQRT, RINT, FLOOR, CEIL, TRUNC = (
    "__nv_copysignf", "__nv_exp2f", "__nv_fast_fdividef", "__nv_rsqrtf", "__nv_rintf",
    "__nv_floorf", "__nv_ceilf", "__nv_truncf",
)  # fmt: skip
#: 1 / x in one instruction, for which libdevice has no function: within a unit in the last place; 0 of what
#: is above 2**126, infinite for what is below 2**-126.  A quotient of 1 by ``FAST_DIVIDE`` takes two.
RECIPROCAL = "llvm.nvvm.rcp.approx.ftz.f"
#: Integer powers of f32 and f64; counts of bits in i32 and i64.
POWERS = {"f32": "__nv_powif", "f64": "__nv_powi"}
LEADING_ZEROS, ONES = ("__nv_clz", "__nv_clzll"), ("__nv_popc", "__nv_popcll")


def libdevice_symbol(name: str, element: str) -> str:
    """Libdevice's function of a C function for ``element``, f32 or f64."""
    return f"__nv_{name}" + ("f" if element == "f32" else "")


#: Functions that are one instruction of the GPU, by libdevice's symbol: LLVM's intrinsic for it.  Libdevice's
#: function is a wrapper of the intrinsic, with ``ftz``, as Triton compiles.  Here ``floor`` and ``ceil`` have
#: none, since they are -1 and 1 of numbers that would become 0.  Names are those of the newest LLVM
#: (``TritonDialect.spelled``).
INTRINSICS = {
    COPYSIGN: "llvm.copysign.f32",
    EXP2: "llvm.nvvm.ex2.approx.ftz.f32",
    FAST_DIVIDE: "llvm.nvvm.div.approx.ftz.f",
    RSQRT: "llvm.nvvm.rsqrt.approx.ftz.f",
    FLOOR: "llvm.floor.f32",
    CEIL: "llvm.ceil.f32",
    TRUNC: "llvm.trunc.f32",
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
#: PTX of tanh with a relative error of up to 2**-11: a quarter of that of rounding to bfloat16.
TANH_TEXT, TANH_CONSTRAINTS = "tanh.approx.f32 $0, $1;", "=f,f"
#: PTX that copies a number.  LLVM makes a branch of a loop that it knows to run at most once, and sets sums
#: to 0 between the instructions of tensor cores there: ptxas then waits for each of these, in all loops.
OPAQUE_TEXT, OPAQUE_CONSTRAINTS = "mov.b32 $0, $1;", "=r,r"
#: PTX that widens the two bfloat16 of a register to float32, with one instruction for each.  A conversion
#: takes two instructions for the upper one.
WIDENED_TEXT = "{ shl.b32 $0, $2, 16; and.b32 $1, $2, 0xffff0000; }"
WIDENED_CONSTRAINTS = "=r,=r,r"


#: PTX by which a program lets the next launch begin, and waits for the launch before it to be complete.  The
#: comment tells it from a user's.  It gives the number that it takes.
EARLY_TEXT, EARLY_CONSTRAINTS = (
    "griddepcontrol.launch_dependents; griddepcontrol.wait; mov.b32 $0, $1; // launched early",
    "=r,r",
)
#: The two apart: ptxas moves no load across either.
WAITING_TEXT = "griddepcontrol.wait; mov.b32 $0, $1; // launched early"
LAUNCHING_TEXT = "griddepcontrol.launch_dependents; mov.b32 $0, $1;"


def is_early(ptx: str) -> bool:
    """Whether a kernel waits for the launch before it, so that it may be launched while that one runs."""
    return "// launched early" in ptx


@dataclass(frozen=True)
class BytesText:
    """PTX that makes four integers of 8 bits, in one register, floats of type ``element``: f32, f16 or bf16.

    ``byte >> shift & mask`` of each byte is taken first, four bytes at once; ``mask`` keeps no bit of the
    next byte.  It becomes the last bits of 2**23 (f32), 2**10 (f16) or 2**7 (bf16), from which that power
    and ``less`` are subtracted.  So f32 takes two instructions for each, the types of 16 bits one, as they
    come in pairs; a conversion runs at a sixteenth of their speed.

    ``less``: None where the power and what is subtracted are another operand, of type ``element`` and with
    the other sign; not of f32.

    ``pairs``: two bytes are taken at once, in a register of 16 bits; not for f32.  Of an operand that
    Hopper's products take from registers, a thread has two neighbours, and LLVM takes four instructions to
    put two of these together and apart again.  bf16 holds whole bytes then, too: four bits become the last
    ones of 2**7, the others those of 2**12, of which half is added.
    """

    signed: bool = False
    less: int | None = 0
    shift: int = 0
    mask: int = 255
    element: str = "f32"
    pairs: bool = False

    @property
    def count(self) -> int:
        """Bytes that are taken at once."""
        return 2 if self.pairs else 4

    @property
    def exact(self) -> bool:
        """Whether the result is the integer minus ``less``: the power plus ``less``, and what is left of it,
        are numbers of the type.
        """
        if self._whole:
            return self.less == self.shift == 0
        bits = _BITS_BEHIND[self.element]
        fits = (self.mask | 128 * self.signed) < 2 ** min(bits, 8)
        return fits and (self.less is None or abs(self.less) <= self.most_less)

    @property
    def _whole(self) -> bool:
        """Whether bf16 is made of whole bytes."""
        return self.pairs and self.element == "bf16" and self.mask == _BYTE

    @property
    def power(self) -> int:
        """The power."""
        return 2 ** _BITS_BEHIND[self.element] + 128 * self.signed

    @property
    def most_less(self) -> int:
        """The most that may be subtracted or added, if the result is to be exact."""
        return 2 ** (_BITS_BEHIND[self.element] - 1)

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the most that an integer becomes; ``less`` is known."""
        assert self.less is not None
        low, high = (-128, 127) if self.signed else (0, self.mask)
        return low - self.less, high - self.less

    @property
    def _added(self) -> int:
        """The bits of what is added at the end."""
        assert self.less is not None
        return _bits_of(-float(self.power + self.less), self.element)

    @property
    def text(self) -> str:
        """The PTX."""
        if self.pairs:
            return self._text_of_pairs
        taken = f"0x{self.mask * 0x01010101:08X}"
        source = "$4" if self.element == "f32" else "$2"
        head = f"shr.b32 all, {source}, {self.shift}; and.b32 all, all, {taken}; "
        head += "xor.b32 all, all, 0x80808080; " if self.signed else ""
        if self.element == "f32":
            four = (
                f"prmt.b32 one, all, 0x4B000000, 0x744{n}; add.f32 ${n}, one, 0f{self._added:08X};"
                for n in range(4)
            )
            return "{ .reg .b32 all, one; " + head + " ".join(four) + " }"
        power, name = ("0x64", "f16x2") if self.element == "f16" else ("0x43", "bf16x2")
        less = ("$3", "$4") if self.less is None else ("less", "less")
        two = (
            f"prmt.b32 ${n}, all, {power}, 0x4{2 * n + 1}4{2 * n}; fma.rn.{name} ${n}, ${n}, one, {less[n]};"
            for n in range(2)
        )
        one = "0x3C003C00" if self.element == "f16" else "0x3F803F80"
        number = 0 if self.less is None else self._added
        constants = f"mov.b32 one, {one}; mov.b32 less, 0x{number * 0x10001:08X}; "
        return "{ .reg .b32 all, one, less; " + head + constants + " ".join(two) + " }"

    @property
    def _text_of_pairs(self) -> str:
        """The PTX for two bytes.  The power is put behind the bits by the instruction that takes these."""
        if self._whole:
            sign, minus = (8, 2304) if self.signed else (0, 2176)
            constants = (0x45800000 + 0x4580 + sign * 0x10001, _bits_of(-float(minus), "bf16") * 0x10001)
            return (
                "{ .reg .b32 all, low, half, one, less; cvt.u32.u16 all, $1; prmt.b32 all, all, 0, 0x4140; "
                "lop3.b32 low, all, 0x000F000F, 0x43004300, 0x6A; shr.b32 all, all, 4; "
                f"lop3.b32 all, all, 0x000F000F, 0x{constants[0]:08X}, 0x6A; mov.b32 half, 0x3F003F00; "
                f"mov.b32 one, 0x3F803F80; mov.b32 less, 0x{constants[1]:08X}; "
                "fma.rn.bf16x2 all, all, half, less; fma.rn.bf16x2 $0, low, one, all; }"
            )
        power, one = ("0x6400", "0x3C003C00") if self.element == "f16" else ("0x4300", "0x3F803F80")
        above = (int(power, 16) | 128 * self.signed) * 0x10001
        number, less = (0, "$2") if self.less is None else (self._added, "less")
        return (
            "{ .reg .b32 all, one, less; cvt.u32.u16 all, $1; prmt.b32 all, all, 0, 0x4140; "
            f"shr.b32 all, all, {self.shift}; lop3.b32 all, all, 0x{self.mask * 0x10001:08X}, "
            f"0x{above:08X}, 0x6A; mov.b32 one, {one}; mov.b32 less, 0x{number * 0x10001:08X}; "
            f"fma.rn.{self.element}x2 $0, all, one, {less}; }}"
        )

    @property
    def constraints(self) -> str:
        """Of the registers that it writes and reads."""
        if self.element == "f32":
            return "=r,=r,=r,=r,r"
        if self.pairs:
            return "=r,h,r" if self.less is None else "=r,h"
        return "=&r,=&r,r,r,r" if self.less is None else "=&r,=&r,r"

    @staticmethod
    def read(text: str) -> "BytesText | None":
        """The one with this PTX; None for any other PTX."""
        for signed in (False, True):
            whole = BytesText(signed, element="bf16", pairs=True)
            if text == whole.text:
                return whole
        found = _OF_BYTES.search(text) or _OF_PAIRS.search(text)
        if found is None:
            return None
        element = {None: "f32", "f16": "f16", "bf16": "bf16"}[found["type"]]
        pairs = found.re is _OF_PAIRS
        signed = found["power"][-2:] == "80" if pairs else "xor.b32" in text
        single = None if pairs else found["single"]
        added = _number_of(int(single or found["pair"][:4], 16), element)
        made = BytesText(signed, None, int(found["shift"]), int(found["mask"], 16), element, pairs)
        if ("$2" if pairs else "$3") in text and element != "f32":
            return made if text == made.text else None
        if not made.power / 2 <= -added <= 2 * made.power:
            return None
        made = replace(made, less=int(-added) - made.power)
        return made if text == made.text else None


def half_text(of: BytesText, low: int, high: int, second: bool) -> str:
    """PTX that makes the numbers of a byte at the shifts ``low`` and ``high`` as ``of`` says, in the halves
    of a register, and takes one (``HalfText``).  A product puts the byte at the upper half's place, too.
    """
    parts = re.search(r"(lop3\.b32 .*?; mov.*?; mov.*?; )fma", of.text)
    assert parts is not None
    factor, ends = 1 | 1 << (16 + low - high), "{other, $0}" if second else "{$0, other}"
    return (
        "{ .reg .b32 all, one, less; .reg .b16 other; cvt.u32.u8 all, $1; "
        f"mul.lo.u32 all, all, 0x{factor:X}; shr.b32 all, all, {low}; {parts[1]}"
        f"fma.rn.{of.element}x2 all, all, one, less; mov.b32 {ends}, all; }}"
    )


@dataclass(frozen=True)
class WordsText:
    """PTX that makes some bits of 32-bit words, ``word >> shift & mask``, floats of type ``element``: of one
    word f32, of two words, in two registers, f16 or bf16.

    The halves of two words that have the bits come into one register first.  So eight numbers of 4 bits of
    each of two words take 24 instructions.  ``less`` is that of ``BytesText``.
    """

    less: int | None = 0
    shift: int = 0
    mask: int = 15
    element: str = "f32"

    @property
    def exact(self) -> bool:
        """Whether the result is the integer minus ``less``, and its bits lie in one half of a word where two
        words are taken at once.
        """
        inside = self.element == "f32" or self.mask.bit_length() + self.shift % 16 <= 16
        fits = inside and 0 <= self.mask < self.power
        return fits and (self.less is None or abs(self.less) <= self.most_less)

    @property
    def count(self) -> int:
        """Words that are taken at once."""
        return 1 if self.element == "f32" else 2

    @property
    def power(self) -> int:
        """The power of two whose last bits the integers become."""
        return int(2 ** _BITS_BEHIND[self.element])

    @property
    def most_less(self) -> int:
        """The most that may be subtracted or added, if the result is to be exact."""
        return self.power // 2

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the most that an integer becomes; ``less`` is known."""
        assert self.less is not None
        return -self.less, self.mask - self.less

    @property
    def text(self) -> str:
        """The PTX."""
        added = 0 if self.less is None else _bits_of(-float(self.power + self.less), self.element)
        if self.element == "f32":
            return (
                f"{{ .reg .b32 bits; shr.b32 bits, $1, {self.shift}; lop3.b32 bits, bits, 0x{self.mask:X}, "
                f"0x4B000000, 0xEA; add.f32 $0, bits, 0f{added:08X}; }}"
            )
        half, shift = divmod(self.shift, 16)
        power, one = ("0x64006400", "0x3C003C00") if self.element == "f16" else ("0x43004300", "0x3F803F80")
        less = "$3" if self.less is None else "less"
        return (
            f"{{ .reg .b32 bits, one, less; prmt.b32 bits, $1, $2, {('0x5410', '0x7632')[half]}; "
            f"shr.b32 bits, bits, {shift}; lop3.b32 bits, bits, 0x{self.mask * 0x10001:08X}, {power}, 0xEA; "
            f"mov.b32 one, {one}; mov.b32 less, 0x{added * 0x10001:08X}; "
            f"fma.rn.{self.element}x2 $0, bits, one, {less}; }}"
        )

    @property
    def constraints(self) -> str:
        """Of the registers that it writes and reads."""
        if self.element == "f32":
            return "=r,r"
        return "=r,r,r,r" if self.less is None else "=r,r,r"

    @staticmethod
    def read(text: str) -> "WordsText | None":
        """The one with this PTX; None for any other PTX."""
        found = _OF_WORDS.search(text)
        if found is None:
            return None
        element = found["type"] or "f32"
        mask, added = (int(found[name], 16) for name in ("mask", "added"))
        if element != "f32":
            mask, added = mask & 0xFFFF, added & 0xFFFF
        shift = int(found["shift"]) + 16 * (found["half"] == "0x7632")
        made = WordsText(None, shift, mask, element)
        if element == "f32" or "$3" not in text:
            number = -_number_of(added, element)
            if not made.power / 2 <= number <= 2 * made.power:
                return None
            made = replace(made, less=int(number) - made.power)
        return made if text == made.text else None


#: Threads of a warp.
LANES = 32


@dataclass(frozen=True)
class TableText:
    """PTX that looks up numbers of type ``element`` (f32, f16 or bf16) in a table, by some bits of bytes or
    of 32-bit words, ``byte >> shift``, as many as ``entries``, 2 to 32 and a power of two, tell apart.

    Each lane of a warp holds one number of the table, and a shuffle takes the number from the lane that the
    bits name: one instruction for each number, where an address takes two, and its load one.  All lanes of a
    warp have to run it.  Operands are the address of the table, and four bytes, or one word.

    ``at_once``: so many bytes, 4, 2 or 1; fewer than 4 in a register of 16 bits, as ``BytesText`` takes two,
    and one only where the numbers are f32.
    ``parameter``: of the kernel, as PTX names it, which is the address; there is no operand for it then.
    Triton converts the layout of the operands of a product in front of PTX with one operand, and of what PTX
    with an address makes behind it, through shared memory.
    """

    shift: int
    entries: int
    element: str
    words: bool = False
    parameter: str = ""
    at_once: int = 4

    @property
    def count(self) -> int:
        """Bytes, or words, that are taken at once: two words where two numbers share a register."""
        return (1 if self.element == "f32" else 2) if self.words else self.at_once

    @property
    def _narrow(self) -> bool:
        """Whether the bytes are in a register of 16 bits."""
        return self.at_once < BytesText().count

    @property
    def text(self) -> str:
        """The PTX."""
        count, wide = self.count, self.element == "f32"
        results = count if wide else count // 2
        sources, address = results + (0 if self.parameter else count), f"${results}"
        load = "ld.global.nc.b32 entry, [from]; "
        if not wide:
            load = "ld.global.nc.b16 half, [from]; mov.b32 entry, {half, half}; "
        head = (
            f"{{ .reg .b16 half; .reg .b32 {'all, ' * self._narrow}lane, entry, at, one, two; "
            ".reg .b64 from; mov.u32 lane, %laneid; "
            f"and.b32 lane, lane, {self.entries - 1}; "
        )
        if self.parameter:
            head, address = f"{head}ld.param.b64 from, [{self.parameter}]; ", "from"
        head += f"mad.wide.u32 from, lane, {4 if wide else 2}, {address}; {load}"
        head += f"cvt.u32.u16 all, ${sources}; " if self._narrow else ""
        made = []
        for n in range(count):
            source = sources + (n if self.words else 0)
            shift = self.shift + (0 if self.words else 8 * n)
            to = f"${n}" if wide else ("one", "two")[n % 2]
            taken = "all" if self._narrow else f"${source}"
            made.append(f"shr.b32 at, {taken}, {shift}; shfl.sync.idx.b32 {to}, entry, at, 31, 0xffffffff; ")
            if not wide and n % 2:
                made.append(f"prmt.b32 ${n // 2}, one, two, 0x5410; ")
        return head + "".join(made) + "}"

    @property
    def constraints(self) -> str:
        """Of the registers that it writes and reads."""
        results = self.count if self.element == "f32" else self.count // 2
        sources = self.count if self.words else 1
        addresses = 0 if self.parameter else self.count
        taken = "h" if self._narrow else "r"
        return ",".join(["=&r"] * results + ["l"] * addresses + [taken] * sources)

    @staticmethod
    def read(text: str) -> "TableText | None":
        """The one with this PTX; None for any other PTX."""
        found = _OF_TABLE.search(text)
        if found is None:
            return None
        shift, entries, bytes_ = (int(found[name]) for name in ("shift", "last", "bytes"))
        for element in ("f32",) if bytes_ == 4 else ("f16", "bf16"):  # of the same text
            for words, at_once in ((False, 4), (True, 4), (False, 2), (False, 1)):
                made = TableText(shift, entries + 1, element, words, found["parameter"] or "", at_once)
                if made.text == text:
                    return made
        return None


#: All bits of a byte.
_BYTE = 255
#: What makes floats of bits.
BitsText = BytesText | WordsText


def bits_text(text: str) -> BitsText | None:
    """What makes floats of bits with this PTX; None for any other PTX."""
    return BytesText.read(text) or WordsText.read(text)


def _bits_of(number: float, element: str) -> int:
    """The bits of a number as f32, f16 or bf16."""
    if element == "f16":
        return int(struct.unpack("<H", struct.pack("<e", number))[0])
    bits = int(struct.unpack("<I", struct.pack("<f", number))[0])
    return bits if element == "f32" else bits >> 16


def _number_of(bits: int, element: str) -> float:
    """The number of f32, f16 or bf16 with these bits."""
    if element == "f16":
        return float(struct.unpack("<e", struct.pack("<H", bits))[0])
    return float(struct.unpack("<f", struct.pack("<I", bits << (16 if element == "bf16" else 0)))[0])


#: Bits of a float behind the point, or of the significand without its first one.
_BITS_BEHIND = {"f32": 23, "f16": 10, "bf16": 7}
#: The floats that bits are made.
TYPES_OF_BITS = tuple(_BITS_BEHIND)
_OF_BYTES = re.compile(
    r"shr.b32 all, \$\d, (?P<shift>\d); and.b32 all, all, 0x(?P<mask>\w\w).*?"
    r"(?:\$0, one, 0f(?P<single>\w{8})|less, 0x(?P<pair>\w{8}).*fma.rn.(?P<type>\w+)x2)"
)
_OF_PAIRS = re.compile(
    r"cvt.u32.u16 all, \$1; .*?shr.b32 all, all, (?P<shift>\d); "
    r"lop3.b32 all, all, 0x\w{6}(?P<mask>\w\w), 0x(?P<power>\w{8}), "
    r".*?less, 0x(?P<pair>\w{8}).*fma.rn.(?P<type>\w+)x2"
)
OF_HALF = re.compile(
    r"mul.lo.u32 all, all, 0x(?P<factor>\w+); shr.b32 all, all, (?P<shift>\d); "
    r"lop3.b32 all, all, 0x\w{4}(?P<mask>\w{4}), 0x\w{8}, 0x6A; .*?less, 0x(?P<less>\w{8}); "
    r"fma.rn.(?P<type>\w+)x2 all, all, one, less; mov.b32 \{(?P<first>\S+), "
)
_OF_WORDS = re.compile(
    r"\.reg \.b32 bits\S*.*?; (?:prmt.b32 bits, \$1, \$2, (?P<half>\w+); )?"
    r"shr.b32 bits, \S+, (?P<shift>\d+); "
    r"lop3.b32 bits, bits, (?P<mask>\w+), .*?; (?:.*less, |add.f32 \$0, bits, )0[xf](?P<added>\w{8});"
    r"(?: fma.rn.(?P<type>\w+)x2)?"
)
_OF_TABLE = re.compile(
    r"and.b32 lane, lane, (?P<last>\d+); (?:ld.param.b64 from, \[(?P<parameter>\w+)\]; )?"
    r"mad.wide.u32 from, lane, (?P<bytes>\d), .*?"
    r"shr.b32 at, \S+, (?P<shift>\d+); shfl"
)


def first_parameter(text: str) -> int | None:
    """``first`` of a ``parameter_text``; None for any other text."""
    found = re.search(r"mov\.b64 at, (\w+)_param_(\d+);", text)
    return int(found[2]) if found and text == parameter_text(found[1], int(found[2])) else None
