"""Few rows times weights that are packed in bytes, with scales of groups: against float64, and as code."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from compiling import Compiled
from cubins import dumped, usage
from torch import Tensor
from torch.nn import functional as F

from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin

OPTIONS = {"hardware": "h200", "interpret_level": "planned", "products": "generated"}


def halves(w: Tensor) -> Tensor:
    """The two numbers of 4 bits of each byte."""
    return torch.stack([w & 15, w >> 4], -1).flatten(-2)


def quarters(w: Tensor) -> Tensor:
    """The four numbers of 2 bits of each byte."""
    return torch.stack([w & 3, w >> 2 & 3, w >> 4 & 3, w >> 6], -1).flatten(-2)


def in_groups(w: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights with a scale for each group."""
    return (w.view(*scale.shape, -1).to(dtype) * scale[:, :, None]).flatten(-2)


def four_bits(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return F.linear(x, in_groups(halves(w).to(x.dtype) - 8, scale, x.dtype))


def zero_points(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    moved = halves(w).view(*scale.shape, -1).to(x.dtype) - zero[:, :, None].to(x.dtype)
    return F.linear(x, (moved * scale[:, :, None]).flatten(-2)) + 1


def double_quantised(x: Tensor, w: Tensor, scale: Tensor, step: Tensor) -> Tensor:
    return F.linear(x, in_groups(halves(w).to(x.dtype) - 8, scale.to(x.dtype) * step, x.dtype))


def bytes_in_groups(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return F.linear(x, in_groups(w, scale, x.dtype))


def two_bits_of_rows(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return F.linear(x, (quarters(w).to(x.dtype) - 2) * scale)


def gated(x: Tensor, w: Tensor, scale: Tensor, v: Tensor) -> Tensor:
    first = F.linear(x, in_groups(halves(w).to(x.dtype) - 8, scale, x.dtype))
    return F.silu(first) * F.linear(x, in_groups(halves(v).to(x.dtype) - 7, scale, x.dtype))


def eighths(w: Tensor, dim: int) -> Tensor:
    """The eight numbers of 4 bits of each word, along ``dim``."""
    at = torch.arange(0, 32, 4, dtype=torch.int32)
    return (w.unsqueeze(dim + 1) >> (at if dim else at[:, None]) & 15).flatten(dim, dim + 1)


def words(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return F.linear(x, in_groups(eighths(w, 1).to(x.dtype) - 8, scale, x.dtype))


def words_across(x: Tensor, w: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """As GPTQ packs them, with zero points in words."""
    held, less = eighths(w, 0).view(len(scale), -1, w.shape[1]), eighths(zero, 1) + 1
    return x @ ((held - less[:, None]).to(x.dtype) * scale[:, None]).flatten(0, 1)


def words_gated(x: Tensor, w: Tensor, scale: Tensor, v: Tensor) -> Tensor:
    return F.silu(words(x, w, scale)) * words(x, v, scale)


def by_table(x: Tensor, w: Tensor, scale: Tensor, table: Tensor) -> Tensor:
    """As NF4: numbers of a table times a scale, rounded as the program says."""
    found = table[torch.stack([w >> 4, w & 15], -1).flatten(-2).int()]
    return F.linear(x, (found.view(*scale.shape, -1) * scale[:, :, None]).flatten(-2).to(x.dtype))


def by_narrow_table(x: Tensor, w: Tensor, scale: Tensor, table: Tensor) -> Tensor:
    """As FP4, in 16 bits."""
    found = table[halves(w).long()]
    return F.linear(x, (found.view(*scale.shape, -1) * scale[:, :, None]).flatten(-2))


def double_quantised_by_table(
    x: Tensor, w: Tensor, scale: Tensor, table: Tensor, scales: Tensor, offset: Tensor
) -> Tensor:
    return by_table(x, w, scales[scale.int()] + offset, table)


def by_table_of_quarters(x: Tensor, w: Tensor, scale: Tensor, table: Tensor) -> Tensor:
    found = table[quarters(w).long()]
    return F.linear(x, (found.view(*scale.shape, -1) * scale[:, :, None]).flatten(-2).to(x.dtype))


def words_by_table(x: Tensor, w: Tensor, scale: Tensor, table: Tensor) -> Tensor:
    found = table[eighths(w, 1)].view(*scale.shape, -1)
    return F.linear(x, (found * scale[:, :, None]).flatten(-2).to(x.dtype))


def numbers(case: str) -> list[Tensor]:
    """Inputs: rows, bytes, scales of groups, and what else there is."""
    torch.manual_seed(len(case))
    packed = torch.randint(0, 256, (1030, 256), dtype=torch.uint8)
    scale = torch.rand(1030, 4).bfloat16()
    rows = {"one row": 1, "bytes": 1, "sixteen rows": 16, "a batch": 2}.get(case, 64 if "many" in case else 3)
    x = torch.randn(rows, 512).bfloat16()
    match case:
        case "zero points":
            return [x.half(), packed, scale.half(), torch.randint(0, 16, (1030, 4), dtype=torch.uint8)]
        case "double quantised":
            packed, scale = packed[:, :192], torch.randint(1, 256, (1030, 3), dtype=torch.uint8)
            return [x[:, :384], packed.contiguous(), scale, torch.rand(1).bfloat16()]
        case "bytes":
            return [x[:, :256], packed.view(torch.int8), scale]
        case "two bits":
            return [torch.randn(5, 1024).bfloat16(), packed, scale[:, :1].contiguous()]
        case "words" | "words, gate":
            some = [torch.randint(-(2**31), 2**31, (1030, 64)).int() for _ in range(2)]
            return [x, some[0], scale, *some[1:][: "gate" in case]]
        case "words across":
            w, zero = (torch.randint(-(2**31), 2**31, size).int() for size in ((64, 1032), (4, 129)))
            return [x, w, torch.rand(4, 1032).bfloat16(), zero]
        case "many rows of much":
            many = torch.randint(0, 256, (8200, 128), dtype=torch.uint8)
            return [x[:50, :256], many, torch.rand(8200, 2).bfloat16()]
        case "many rows by table of much":
            many = torch.randint(0, 256, (8192, 128), dtype=torch.uint8)
            return [x[:50, :256], many, torch.rand(8192, 4), torch.randn(16)]
        case "many rows of words across":
            w, zero = (torch.randint(-(2**31), 2**31, size).int() for size in ((64, 1032), (4, 129)))
            return [x.half(), w, torch.rand(4, 1032).half(), zero]
        case "many rows by table":
            return [x, packed, torch.rand(1030, 8), torch.randn(16)]
        case "short groups":
            return [x, packed, torch.rand(1030, 16).bfloat16()]
        case "floats of 8 bits":
            return [x[:, :256], torch.randn(1030, 256).to(torch.float8_e4m3fn), scale]
        case "half words across" | "short groups of words across":
            w, zero = (torch.randint(-(2**31), 2**31, size).int() for size in ((64, 1032), (8, 129)))
            groups = 8 if "short" in case else 4
            return [x.half(), w, torch.rand(groups, 1032).half(), zero[:groups].contiguous()]
        case "table":
            return [x, packed, torch.rand(1030, 8), torch.randn(16)]
        case "a table of words":
            w = torch.randint(-(2**31), 2**31, (1030, 64)).int()
            return [x, w, torch.rand(1030, 4), torch.randn(16)]
        case "narrow table":
            return [x.half(), packed, scale.half(), torch.randn(16).half()]
        case "table of four":
            return [torch.randn(3, 1024).bfloat16(), packed, torch.rand(1030, 8), torch.randn(4)]
        case "table, double quantised":
            quantised = torch.randint(0, 256, (1030, 8), dtype=torch.uint8)
            return [x, packed, quantised, torch.randn(16), torch.randn(256), torch.rand(1)]
        case "gate":
            return [x, packed, scale, packed.flip(0).contiguous()]
    return [x, packed, scale]


CASES: dict[str, Callable[..., Tensor]] = {
    "one row": four_bits,
    "sixteen rows": four_bits,
    "many rows": four_bits,
    "many rows of much": four_bits,
    "many rows of words across": words_across,
    "many rows by table": by_table,
    "many rows by table of much": by_table,
    "zero points": zero_points,
    "double quantised": double_quantised,
    "bytes": bytes_in_groups,
    "two bits": two_bits_of_rows,
    "gate": gated,
    "words": words,
    "words across": words_across,
    "words, gate": words_gated,
    "short groups": four_bits,
    "floats of 8 bits": bytes_in_groups,
    "half words across": words_across,
    "short groups of words across": words_across,
    "table": by_table,
    "narrow table": by_narrow_table,
    "table of four": by_table_of_quarters,
    "table, double quantised": double_quantised_by_table,
    "a table of words": words_by_table,
}
#: The program rounds scaled weights: they are eager's, and only the order of sums differs.
ROUNDED = tuple(c for c in CASES if "table" in c and c != "narrow table")


def wrong_by(got: Tensor, wanted: Tensor) -> float:
    """The norm of the error, relative to that of the answer."""
    return ((got.double() - wanted).norm() / wanted.norm()).item()


@pytest.mark.parametrize("case", CASES)
def test_numbers(case: str) -> None:
    function, inputs = CASES[case], numbers(case)
    compiled = Compiled(function, OPTIONS, None)
    got = compiled(*inputs)
    [graph] = compiled.graphs
    rules = {r.rule for r in graph.remarks.items}
    assert "unpacked" in rules and "unrolled" not in rules, "rows are columns of one product"
    assert ("joined" in rules) is case.endswith("of much")
    assert (graph.externs, graph.launches_after) == (0, 1) and '"tt.dot"' in str(graph.module)
    wanted = function(*(v.double() if v.is_floating_point() else v for v in inputs))
    enough = 1 + 2**-16 if case in ROUNDED else 1
    assert wrong_by(got, wanted) <= enough * wrong_by(function(*inputs), wanted)


@pytest.mark.parametrize("rows", [1, 4, 16])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_floats_of_8_bits(rows: int, dtype: torch.dtype) -> None:
    """All of them, with a scale for each row of weights."""

    def scaled(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        return F.linear(x, w.to(x.dtype)) * scale

    x, scale = torch.randn(rows, 256).bfloat16(), torch.rand(1056).bfloat16()
    w = torch.arange(256, dtype=torch.uint8).view(dtype).expand(1056, -1).clone()
    w[32:].view(torch.uint8).clamp_(max=119)  # the others have no NaN and no infinity
    compiled = Compiled(scaled, OPTIONS, None)
    got, wanted = compiled(x, w, scale), scaled(x.double(), w, scale.double())
    assert compiled.graphs[0].externs == 0 and '"tt.dot"' in str(compiled.graphs[0].module)
    assert torch.equal(got.isnan(), wanted.isnan())
    finite = wanted.isfinite()
    assert wrong_by(got[finite], wanted[finite]) <= wrong_by(scaled(x, w, scale)[finite], wanted[finite])


def scaled_rows(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return F.linear(x, w.to(x.dtype)) * scale


@pytest.mark.parametrize(("rows", "outputs"), [(80, 4096), (64, 1024)])
def test_sums_of_more_rows_or_of_few_weights_are_whole(rows: int, outputs: int) -> None:
    x, scale = torch.randn(rows, 2048).bfloat16(), torch.rand(outputs).bfloat16()
    w = torch.randint(-128, 128, (outputs, 2048)).to(torch.int8)
    compiled = Compiled(scaled_rows, OPTIONS, None)
    compiled(x, w, scale)
    assert compiled.graphs[0].launches_after == 1


def test_sums_of_many_rows_are_cut() -> None:
    """Programs of 128 of 4096 rows of weights have a part of the sum each, and 64 rows."""
    torch.manual_seed(64)  # both round twice: which is nearer, by a millionth, depends on the draw
    x, scale = torch.randn(64, 2048).bfloat16(), torch.rand(4096).bfloat16()
    w = torch.randint(-128, 128, (4096, 2048)).to(torch.int8)
    compiled = Compiled(scaled_rows, OPTIONS, None)
    got, wanted = compiled(x, w, scale), scaled_rows(x.double(), w, scale.double())
    assert compiled.graphs[0].launches_after == 2
    assert wrong_by(got, wanted) <= wrong_by(scaled_rows(x, w, scale), wanted)


def test_sums_of_groups_are_cut(tmp_path: Path) -> None:
    """As above, of weights of 4 bits in groups: each of the programs has some of the groups."""
    torch.manual_seed(0)
    x, w = torch.randn(64, 2048).bfloat16(), torch.randint(0, 256, (4096, 1024), dtype=torch.uint8)
    scale = torch.rand(4096, 16).bfloat16()
    compiled = Compiled(four_bits, OPTIONS, None)
    got, wanted = compiled(x, w, scale), four_bits(x.double(), w, scale.double())
    assert (compiled.graphs[0].externs, compiled.graphs[0].launches_after) == (0, 2)
    assert wrong_by(got, wanted) <= wrong_by(four_bits(x, w, scale), wanted)


@pytest.mark.parametrize("outputs", [1024, 14336])
def test_sums_of_groups_of_few_or_of_many_weights_are_whole(outputs: int) -> None:
    """Blocks that have all rows were measured of 4096 rows of weights and more; 14336 are 112 programs."""
    x, w = torch.randn(64, 512).bfloat16(), torch.randint(0, 256, (outputs, 256), dtype=torch.uint8)
    compiled = Compiled(four_bits, OPTIONS, None)
    compiled(x, w, torch.rand(outputs, 4).bfloat16())
    assert compiled.graphs[0].launches_after == 1


def test_roundings_of_eager() -> None:
    """Scaled weights are rounded where ``rounding`` says so."""
    inputs = numbers("a batch")
    compiled = Compiled(four_bits, {**OPTIONS, "rounding": "eager"}, None)
    got = compiled(*inputs)
    assert "unpacked" not in {r.rule for r in compiled.graphs[0].remarks.items}
    torch.testing.assert_close(got, four_bits(*inputs), rtol=2**-7, atol=0.05)


def test_infinities_and_missing_numbers() -> None:
    """Of rows, weights' scales, and sums that a scale brings back."""
    x, w, scale = numbers("a batch")
    x[0, 0], scale[3, 1], scale[4, 0] = float("inf"), float("nan"), 1e-30
    x[1] *= 1e20
    got, wanted = Compiled(four_bits, OPTIONS, None)(x, w, scale), four_bits(x.double(), w, scale.double())
    assert torch.equal(got.isnan(), wanted.isnan())
    known = wanted[1].isfinite()
    torch.testing.assert_close(got[1].double()[known], wanted[1][known], rtol=2**-7, atol=1e17)


def machine_code(case: str) -> CompiledCubin:
    """The kernel of a case, for sm_90."""
    compiled = Compiled(CASES[case], OPTIONS, None)
    compiled(*numbers(case))
    return compiled_for_sm90(compiled)


def compiled_for_sm90(compiled: Compiled) -> CompiledCubin:
    """The one kernel of a function."""
    pytest.importorskip("triton")
    from fuse_mlir.compiler.runtime.kernels.cubin import Target
    from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir

    [source] = kernel_sources(compiled.graphs[0].module).values()
    return compile_ttir(
        source.text, target=Target(90), num_warps=source.num_warps, num_stages=source.num_stages
    )


def test_words_with_zero_points_are_converted_where_they_are_multiplied() -> None:
    """They do not go through shared memory again, transposed, once they are floats."""
    ptx = machine_code("half words across").ptx
    assert "mma.sync.aligned.m16n8k16" in ptx and ".trans" not in ptx


def test_many_rows_take_weights_from_registers(tmp_path: Path) -> None:
    """Hopper's products multiply 64 rows by weights that were converted in registers."""
    cubin = machine_code("many rows of much")
    ptx = cubin.ptx
    products = re.findall(r"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {[^}]*}, ({)?", ptx)
    assert products and all(products)
    code = dumped(cubin, "-sass", tmp_path)
    assert "LDS.U8" in code and "0x3340" not in code, "bytes are put together, and apart again"
    loop = code[code.index("LDS.U8") : code.rindex("HGMMA")]
    assert "STS" not in loop and "FENCE" not in loop, "rows are multiplied where they were copied"


def test_many_rows_take_whole_bytes_in_pairs(tmp_path: Path) -> None:
    """int8 becomes bfloat16 in three instructions a weight, none of which puts bytes together."""
    x, scale = torch.randn(64, 256).bfloat16(), torch.rand(8192).bfloat16()
    compiled = Compiled(scaled_rows, OPTIONS, None)
    compiled(x, torch.zeros(8192, 256, dtype=torch.int8), scale)
    code = dumped(compiled_for_sm90(compiled), "-sass", tmp_path)
    assert "HGMMA" in code and "LDS.U16" in code and "0x3340" not in code


def test_tensor_cores_add_products_of_rounded_weights(tmp_path: Path) -> None:
    """The products of a group are added to those before it; they do not begin at 0, and nothing adds them."""
    code = dumped(machine_code("many rows by table of much"), "-sass", tmp_path)
    assert "HGMMA" in code and "FADD" not in code


def test_instructions(tmp_path: Path) -> None:
    """Weights go from shared memory to registers in vectors, and take no conversion."""
    cubin = machine_code("one row")
    assert usage(cubin, tmp_path).spilled == 0
    products = cubin.ptx.count("mma.sync.aligned.m16n8k16")
    assert products and "ld.shared.b8" not in cubin.ptx and "ld.shared.u8" not in cubin.ptx
    assert cubin.ptx.count("fma.rn.bf16x2") == 4 * products, "four registers of two weights a product"
    assert "cvt.rn.bf16" not in cubin.ptx.split("ld.shared")[0]
