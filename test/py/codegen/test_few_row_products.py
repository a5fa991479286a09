"""Few rows times weights that tensor cores multiply in slices: against float64, and as sm_90 code."""

import re
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from cubins import usage
from tiling_cases import Case, parsed, run, tensor, verify

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.codegen.nvidia import BytesText, WordsText
from fuse_mlir.compiler.codegen.products.halves import HalfText
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.torch_types import TORCH_DTYPES
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

LOADS = "load x[d0, d2] -> a\nload w[d1, d2] -> n\n%b = arith.sitofp %n : i8 to bf16\n"
DOT = '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\n'
SCALE = "load v[d1] -> s\n%g = arith.mulf %c, %s : f32\n"
STORE = "store g -> o[d0, d1]"
GATE = """load u[d1, d2] -> p
%q = arith.sitofp %p : i8 to bf16
%t = "fuse.dot"(%a, %q) {over = ["d2"]} : (bf16, bf16) -> f32
%g = arith.mulf %c, %t : f32
"""


def product(m: int, n: int, k: int, body: str = LOADS + DOT + SCALE + STORE, **more: str) -> Case:
    """x[m, k] times w[n, k], and a number for each of n."""
    inputs = {"x": tensor(m, k, element="bf16"), "w": tensor(n, k, element="i8"), "v": tensor(n), **more}
    return Case({"d0": str(m), "d1": str(n), "d2": str(k)}, inputs, {"o": tensor(m, n)}, body)


def numbers(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, weights of all values that int8 has, and a number for each row of weights."""
    generator = torch.Generator().manual_seed(m * n + k)
    weights = torch.randint(-128, 128, (n, k), generator=generator, dtype=torch.int8)
    return torch.randn(m, k, generator=generator).bfloat16(), weights, torch.rand(n, generator=generator)


def planned(case: Case) -> tuple[ir.Module, Remarks]:
    """A module after the default pipeline, and what was said."""
    module, remarks = parsed(case.text()), Remarks()
    with module.context, ir.Location.unknown():
        PassManager(default_pipeline(settings=Settings("h200"))).run(module, remarks)
        verify(module)
    return module, remarks


def rules(remarks: Remarks) -> set[str]:
    return {r.rule for r in remarks.items}


@pytest.mark.parametrize(
    ("m", "n", "k", "sliced"),
    [
        (2, 1024, 512, True),
        (4, 1030, 1024, True),
        (3, 1031, 784, False),
        (7, 1040, 768, True),
        (16, 1024, 512, True),
    ],
)
def test_numbers(m: int, n: int, k: int, sliced: bool) -> None:
    module, remarks = planned(product(m, n, k))
    assert "weights-in-slices" in rules(remarks) and ("sliced" in rules(remarks)) == sliced
    assert '"tt.dot"' in str(module)
    x, w, v = numbers(m, n, k)
    [got] = run(module, [x, w, v])
    wanted = x.double() @ w.double().t() * v.double()
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=1e-6 * wanted.abs().max().item())


@pytest.mark.parametrize(
    ("rows", "weights", "cast"),
    [
        ("bf16", "bf16", None),
        ("f16", "f16", None),
        ("f16", "i8", "arith.sitofp"),
        ("f16", "ui8", "arith.uitofp"),
    ],
)
def test_types(rows: str, weights: str, cast: str | None) -> None:
    loads = "load x[d0, d2] -> a\nload w[d1, d2] -> b\n"
    if cast is not None:
        loads = f"load x[d0, d2] -> a\nload w[d1, d2] -> n\n%b = {cast} %n : i8 to {rows}\n"
    body = loads + DOT.replace("bf16", rows) + SCALE + STORE
    more = {"x": tensor(4, 1024, element=rows), "w": tensor(1040, 1024, element=weights)}
    module, remarks = planned(product(4, 1040, 1024, body, **more))
    assert "weights-in-slices" in rules(remarks)
    x, w, v = numbers(4, 1040, 1024)
    x, w = x.to(TORCH_DTYPES[rows]), w.view(torch.uint8) if weights == "ui8" else w.to(TORCH_DTYPES[weights])
    [got] = run(module, [x, w, v])
    wanted = x.double() @ w.double().t() * v.double()
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=1e-6 * wanted.abs().max().item())


#: Values of bfloat16 that float16 has not, or that a sum keeps.
EXTREMES = (1e6, -3e38, 1e-30, 1e-39, 65536.0, float("inf"), float("nan"))


@pytest.mark.parametrize("weights", ["i8", "bf16"])
def test_extreme_rows(weights: str) -> None:
    """Rows stay bfloat16 on their way to the product: float16 ends at 65504 and at 6e-8."""
    loads = LOADS if weights == "i8" else "load x[d0, d2] -> a\nload w[d1, d2] -> b\n"
    case = product(3, 1024, 512, loads + DOT + SCALE + STORE, w=tensor(1024, 512, element=weights))
    module, remarks = planned(case)
    assert "weights-in-slices" in rules(remarks) and "xf16>" not in str(module)
    for extreme in EXTREMES:
        x, w, v = numbers(3, 1024, 512)
        x[0], x[0, 129] = 0, extreme
        w[:3, 129], w[3:, 129] = torch.tensor([-1, 1, 0]), w[3:, 129] % 2
        [got] = run(module, [x, w.to(TORCH_DTYPES[weights]), v])
        wanted = (x.double() @ w.double().t() * v.double()).float()
        torch.testing.assert_close(got[0], wanted[0], rtol=1e-6, atol=0, equal_nan=True)
        torch.testing.assert_close(got[1:], wanted[1:], rtol=0, atol=1e-6 * wanted[1:].abs().max().item())


def test_a_sum_beside_the_product_takes_another_tile() -> None:
    """Rows are summed along what the product sums: a tile of both would hold them and the weights at once."""
    wide = "%f = arith.extf %a : bf16 to f32\nfold sum f[d2] -> t : f32\n%h = arith.addf %g, %t : f32\n"
    module, remarks = planned(product(8, 1024, 512, LOADS + DOT + SCALE + wide + "store h -> o[d0, d1]"))
    assert "weights-in-slices" not in rules(remarks) and '"tt.dot"' in str(module)
    x, w, v = numbers(8, 1024, 512)
    [got] = run(module, [x, w, v])
    wanted = x.double() @ w.double().t() * v.double() + x.double().sum(1, keepdim=True)
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=1e-6 * wanted.abs().max().item())


def test_two_rows_of_16_bits_are_summed() -> None:
    body = "load x[d0, d2] -> a\nload w[d1, d2] -> b\n" + DOT + SCALE + STORE
    module, remarks = planned(product(2, 1040, 1024, body, w=tensor(1040, 1024, element="bf16")))
    assert "weights-in-slices" not in rules(remarks) and '"tt.dot"' not in str(module)


#: Of what a test emulates: signed, what is subtracted, shift, mask.
BITS = [
    *((signed, less, 0, 255) for signed in (False, True) for less in (0, 8, -8, 128)),
    *((True, 8, shift, mask) for shift, mask in ((0, 15), (4, 15), (6, 3), (1, 85), (0, 128))),
    *((False, less, shift, 15) for less in (0, 8, -64, 64) for shift in (0, 4)),
    *((False, less, 0, 255) for less in (2**22, -(2**22))),
]
EMULATED = [
    (how, values)
    for bits in BITS
    for element, values in (("f32", "$0 $1 $2 $3"), ("f16", "$0 $1"), ("bf16", "$0 $1"))
    if (how := BytesText(*bits, element)).exact
]


@pytest.mark.parametrize(("how", "values"), EMULATED)
def test_bytes_become_floats_minus_an_integer(how: BytesText, values: str) -> None:
    """The PTX, emulated: all values, four at a time; the difference of two integers is exact."""
    assert BytesText.read(how.text) == how
    assert BytesText.read(how.text.replace("0x4342", "0x4341").replace("0x7441", "0x7440")) is None
    for first in range(0, 256, 4):
        registers = _emulated(how.text, "$4" if how.element == "f32" else "$2", first)
        got = [n for value in values.split() for n in _floats(registers[value], how.element)]
        bits = [v >> how.shift & how.mask for v in range(first, first + 4)]
        assert got == [(v - 256 if how.signed and v > 127 else v) - how.less for v in bits]


PAIRS = [
    *(replace(how, pairs=True) for how, _ in EMULATED if how.element != "f32"),
    *(BytesText(signed, element="bf16", pairs=True) for signed in (False, True)),
]


@pytest.mark.parametrize("how", PAIRS)
def test_pairs_of_bytes_become_floats_minus_an_integer(how: BytesText) -> None:
    """The PTX, emulated: all values, two at a time, in a register of 16 bits."""
    assert BytesText.read(how.text) == how and how.count == 2
    assert BytesText.read(how.text.replace("0x4140", "0x4141")) is None
    for first in range(0, 256, 2):
        registers = _run_text(how.text, {"$1": first | first + 1 << 8})
        bits = [v >> how.shift & how.mask for v in (first, first + 1)]
        wanted = [(v - 256 if how.signed and v > 127 else v) - how.less for v in bits]
        assert [*_floats(registers["$0"], how.element)] == wanted


HALVES = [
    halves
    for element in ("f16", "bf16")
    for less in (0, 8, -8)
    for first, second, mask in ((0, 4, 15), (4, 0, 15), (0, 4, 7), (1, 5, 7), (6, 0, 3), (0, 7, 1))
    if (halves := HalfText.pair(*(BytesText(False, less, s, mask, element, True) for s in (first, second))))
]


@pytest.mark.parametrize("halves", HALVES)
def test_both_numbers_of_a_byte(halves: tuple[HalfText, HalfText]) -> None:
    """The PTX, emulated: of all bytes, both numbers in one register, of which each text takes one."""
    for how in halves:
        assert HalfText.read(how.text) == how
        assert HalfText.read(how.text.replace("0x6A", "0xEA")) is None
        for byte in range(256):
            half = _run_text(how.text, {"$1": 0xA500 | byte})["$0"]
            assert _floats(half, how.of.element)[0] == (byte >> how.of.shift & how.of.mask) - how.of.less


def test_no_two_numbers_of_a_byte() -> None:
    low, high = (BytesText(False, 8, shift, 15, "bf16", True) for shift in (0, 4))
    for changed in ({"shift": 2}, {"less": 7}, {"mask": 7}, {"pairs": False}, {"element": "f16"}):
        assert HalfText.pair(low, replace(high, **changed)) is None
    tile = [BytesText(False, None, shift, 15, "bf16", True) for shift in (0, 4)]
    assert HalfText.pair(*tile) is None, "a tile is subtracted"
    whole = BytesText(True, element="bf16", pairs=True)
    assert HalfText.pair(whole, whole) is None


WORDS = [
    how
    for element in ("f32", "f16", "bf16")
    for less in (0, 8, -8, 64)
    for shift, mask in ((0, 15), (4, 15), (12, 15), (16, 15), (28, 15), (3, 7), (24, 127), (31, 1))
    if (how := WordsText(less, shift, mask, element)).exact
]


@pytest.mark.parametrize("how", WORDS)
def test_bits_of_words_become_floats_minus_an_integer(how: WordsText) -> None:
    """The PTX, emulated on words in pairs, the last with all bits."""
    assert WordsText.read(how.text) == how
    assert WordsText.read(how.text.replace("0xEA", "0xEB")) is None
    words = [0, 0xFFFFFFFF, 0x76543210, 0xFEDCBA98, 0x80000001, 0xFFFFFFFF]
    for pair in (words[n : n + how.count] for n in range(0, len(words), how.count)):
        registers = _run_text(how.text, dict(zip(("$1", "$2"), pair, strict=False)))
        got = [*_floats(registers["$0"], how.element)]
        assert got == [(word >> how.shift & how.mask) - how.less for word in pair]


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_integers_of_a_tile_are_subtracted(element: str) -> None:
    """What is added is minus the power and the integer: of each element its own."""
    bits, words = BytesText(False, None, 4, 15, element), WordsText(None, 20, 15, element)
    assert (bits.read(bits.text), words.read(words.text)) == (bits, words)
    less = _packed(element, -bits.power - 3, -bits.power - 9)
    got = _run_text(bits.text, {"$2": 0x10F03020, "$3": less, "$4": less})
    assert [*_floats(got["$0"], element), *_floats(got["$1"], element)] == [2 - 3, 3 - 9, 15 - 3, 1 - 9]
    pairs = replace(bits, pairs=True)
    assert pairs.read(pairs.text) == pairs
    got = _run_text(pairs.text, {"$1": 0x3020, "$2": less})
    assert [*_floats(got["$0"], element)] == [2 - 3, 3 - 9]
    got = _run_text(words.text, {"$1": 0x00500000, "$2": 0x00E00000, "$3": less})
    assert [*_floats(got["$0"], element)] == [5 - 3, 14 - 9]


def test_what_floats_cannot_hold() -> None:
    """bfloat16 has 8 bits, float16 has 11."""
    assert not BytesText(element="bf16").exact and not BytesText(True, mask=15, element="bf16").exact
    assert not BytesText(less=65, mask=15, element="bf16").exact
    assert not BytesText(less=513, element="f16").exact and not BytesText(less=2**22 + 1).exact
    assert not WordsText(mask=255, element="bf16").exact and not WordsText(less=65, element="bf16").exact
    assert not WordsText(mask=-1).exact and WordsText(shift=14).exact
    assert not WordsText(shift=14, element="f16").exact, "the bits lie in both halves of a word"


def _floats(register: int, element: str) -> tuple[float, ...]:
    """What a register holds: one float32, or two of 16 bits."""
    if element == "f16":
        return struct.unpack("<2e", struct.pack("<I", register))
    words = [register] if element == "f32" else [register << 16 & 0xFFFFFFFF, register & 0xFFFF0000]
    return tuple(struct.unpack("<f", struct.pack("<I", word))[0] for word in words)


def _emulated(text: str, source: str, first: int) -> dict[str, int]:
    """The registers after PTX that reads four bytes, from ``first`` on, in register ``source``."""
    return _run_text(text, {source: int.from_bytes(bytes(range(first, first + 4)), "little")})


def _run_text(text: str, given: dict[str, int]) -> dict[str, int]:
    """The registers after PTX that begins with ``given``."""
    registers = dict(given)
    for line in filter(None, map(str.strip, text.strip("{ }").split(";"))):
        name, *arguments = line.replace(",", " ").split()
        if name == ".reg":
            continue
        target, *sources = arguments
        if target.startswith("{"):  # two halves of a register
            (whole,) = (registers[s] for s in sources[1:])
            registers[target[1:]], registers[sources[0].rstrip("}")] = whole & 0xFFFF, whole >> 16
            continue
        values = [registers[s] if s in registers else int(s.replace("0f", "0x"), 0) for s in sources]
        registers[target] = _PTX[name](*values)
    return registers


def _permuted(a: int, b: int, selector: int) -> int:
    source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    return int.from_bytes(bytes(source[selector >> 4 * n & 7] for n in range(4)), "little")


def _fused(element: str, a: int, b: int, c: int) -> int:
    """Of both numbers in a register."""
    return _packed(
        element, *(x * y + z for x, y, z in zip(*(_floats(r, element) for r in (a, b, c)), strict=True))
    )


def _packed(element: str, *total: float) -> int:
    """Two numbers in a register."""
    if element == "f16":
        return int(struct.unpack("<I", struct.pack("<2e", *total))[0])
    first, second = (struct.unpack("<I", struct.pack("<f", number))[0] for number in total)
    assert not first & 0xFFFF and not second & 0xFFFF, "a bfloat16 would be rounded"
    return int(second | first >> 16)


def _sum(a: int, b: int) -> int:
    first, second = struct.unpack("<2f", struct.pack("<2I", a, b))
    [bits] = struct.unpack("<I", struct.pack("<f", first + second))
    return bits


_PTX: dict[str, Callable[..., int]] = {
    "xor.b32": lambda a, b: a ^ b,
    "mov.b32": lambda a: a,
    "shr.b32": lambda a, b: a >> b,
    "and.b32": lambda a, b: a & b,
    "cvt.u32.u16": lambda a: a,
    "cvt.u32.u8": lambda a: a & 0xFF,
    "mul.lo.u32": lambda a, b: a * b & 0xFFFFFFFF,
    "lop3.b32": lambda a, b, c, table: {0xEA: a & b | c, 0x6A: a & b ^ c}.get(table, 0),
    "prmt.b32": _permuted,
    "fma.rn.f16x2": partial(_fused, "f16"),
    "fma.rn.bf16x2": partial(_fused, "bf16"),
    "add.f32": _sum,
}


@pytest.mark.parametrize(("m", "n", "k"), [(4, 0, 512), (4, 1040, 0)])
def test_no_weights(m: int, n: int, k: int) -> None:
    module, _ = planned(product(m, n, k))
    [got] = run(module, [*numbers(m, n, k)])
    assert got.shape == (m, n) and not got.any()


def test_two_products_share_the_rows() -> None:
    case = product(4, 1030, 512, LOADS + DOT + GATE + STORE, u=tensor(1030, 512, element="i8"))
    module, remarks = planned(case)
    assert "weights-in-slices" in rules(remarks)
    x, w, v = numbers(4, 1030, 512)
    u = w.flip(0)
    [got] = run(module, [x, w, v, u])
    wanted = (x.double() @ w.double().t()) * (x.double() @ u.double().t())
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=1e-6 * wanted.abs().max().item())


def test_a_batch_of_products() -> None:
    body = (LOADS + DOT + "store c -> o[d3, d0, d1]").replace("x[d0", "x[d3, d0").replace("w[d1", "w[d3, d1")
    inputs = {"x": tensor(3, 4, 512, element="bf16"), "w": tensor(3, 1040, 512, element="i8")}
    dims = {"d0": "4", "d1": "1040", "d2": "512", "d3": "3"}
    module, remarks = planned(Case(dims, inputs, {"o": tensor(3, 4, 1040)}, body))
    assert "weights-in-slices" in rules(remarks)
    x, w, _ = numbers(12, 3120, 512)
    x, w = x.view(3, 4, 512), w.view(3, 1040, 512)
    [got] = run(module, [x, w])
    wanted = x.double() @ w.double().transpose(1, 2)
    torch.testing.assert_close(got.double(), wanted, rtol=0, atol=1e-6 * wanted.abs().max().item())


def test_instructions(tmp_path: Path) -> None:
    """A warp multiplies what it has widened itself: weights go from shared memory to registers once, sixteen
    at a time."""
    pytest.importorskip("triton")
    from fuse_mlir.compiler.runtime.kernels.cubin import Target
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    module, _ = planned(product(4, 14336, 4096))
    [source] = kernel_sources(module).values()
    cubin = compile_ttir(
        source.text, target=Target(90), num_warps=source.num_warps, num_stages=source.num_stages
    )
    assert usage(cubin, tmp_path).spilled == 0
    assert "mma.sync.aligned.m16n8k16" in cubin.ptx and "wgmma" not in cubin.ptx
    assert re.search(r"cp\.async\.wait_group\s+[1-9]", cubin.ptx), "it waits for each copy"
    assert "ld.shared.b8" not in cubin.ptx and "cvt.rn.f32.s8" not in cubin.ptx
    products = cubin.ptx.count("mma.sync.aligned.m16n8k16")
    assert cubin.ptx.count("ldmatrix.sync.aligned.m8n8.x4") >= products // 2
