"""Products of tiles through Triton to sm_90 without a GPU: tensor cores multiply, operands are copied
meanwhile, and nothing spills.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from cubins import dumped, usage
from sass import unwritten
from tiled_cubins import compiled
from tiling_cases import Case, tensor

pytest.importorskip("triton")

DOT = '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (ELEMENT, ELEMENT) -> f32\n'
LOADS = "load x[d0, d2] -> a\nload w[d2, d1] -> b\n"
STORE = "%h = arith.truncf %c : f32 to bf16\nstore h -> o[d0, d1]"
BIAS = "load v[d1] -> bv\n%s = arith.addf %c, %bv : f32\n"
GELU = """%half = arith.constant 0.5 : f32
%one = arith.constant 1.0 : f32
%k0 = arith.constant 0.7978845608028654 : f32
%k1 = arith.constant 0.044715 : f32
%s2 = arith.mulf %s, %s : f32
%s3 = arith.mulf %s2, %s : f32
%s4 = arith.mulf %s3, %k1 : f32
%s5 = arith.addf %s, %s4 : f32
%s6 = arith.mulf %s5, %k0 : f32
%t = math.tanh %s6 : f32
%t1 = arith.addf %t, %one : f32
%hs = arith.mulf %s, %half : f32
%g = arith.mulf %hs, %t1 : f32
"""
GATE = """load u[d2, d1] -> b2
%c2 = "fuse.dot"(%a, %b2) {over = ["d2"]} : (bf16, bf16) -> f32
%n = arith.subf %zero, %c : f32
%e = math.exp %n : f32
%one = arith.constant 1.0 : f32
%d = arith.addf %e, %one : f32
%q = arith.divf %c, %d : f32
%g = arith.mulf %q, %c2 : f32
"""
RESIDUAL = "load y[d0, d1] -> yv\n%ye = arith.extf %yv : bf16 to f32\n%g = arith.addf %c, %ye : f32\n"
SCALED = "load v[d0] -> vv\n%g = arith.mulf %c, %vv : f32\n"
RELU = "%z = arith.constant 0.0 : bf16\nload x[d0, d2] -> a0\n%a = arith.maximumf %a0, %z : bf16\n"
#: The left operand: 1024 columns of x, then 512 of y.
PIECES = """%border = "fuse.index"() {expr = "d2 - 1024"} : () -> i64
%i0 = arith.constant 0 : i64
%z = arith.constant 0.0 : bf16
%below = arith.cmpi slt, %border, %i0 : i64
%above = arith.cmpi sge, %border, %i0 : i64
%ax = "fuse.load"(%x, %below, %z) {at = ["d0", "d2"]} : (tensor<4096x1024xbf16>, i1, bf16) -> bf16
%ay = "fuse.load"(%y, %above, %z) {at = ["d0", "d2 - 1024"]} : (tensor<4096x512xbf16>, i1, bf16) -> bf16
%a = arith.select %below, %ax, %ay : bf16
load w[d2, d1] -> b
"""
WIDENED = "load w[d2, d1] -> b8\n%b = arith.sitofp %b8 : i8 to bf16\n"
SOFTMAX = """fold max c[d1] -> mx : f32
%cc = arith.subf %c, %mx : f32
%e = math.exp %cc : f32
fold sum e[d1] -> sm : f32
%q = arith.divf %e, %sm : f32
%p = arith.truncf %q : f32 to bf16
load v[d1, d3] -> vv
%g = "fuse.dot"(%p, %vv) {over = ["d1"]} : (bf16, bf16) -> f32
"""


def product(
    m: int, n: int, k: int, body: str, orders: str = "nn", element: str = "bf16", **more: str
) -> Case:
    """``orders``: n for an operand in row-major order, t for a transposed one."""
    strides = (None if orders[0] == "n" else f"1,{m}"), (None if orders[1] == "n" else f"1,{k}")
    operands = {
        "x": tensor(m, k, element=element, strides=strides[0]),
        "w": tensor(k, n, element=element, strides=strides[1]),
    }
    dims = {"d0": str(m), "d1": str(n), "d2": str(k)}
    body = body.replace("ELEMENT", element)
    return Case(dims, {**operands, **more}, {"o": tensor(m, n, element="bf16")}, body)


def stored(name: str) -> str:
    """Stores another value than the sum."""
    return STORE.replace("%c", f"%{name}")


BATCH = Case(
    {"d0": "64", "d1": "1024", "d2": "1024", "d3": "64"},
    {"x": tensor(64, 1024, 64, element="bf16"), "w": tensor(64, 1024, 64, element="bf16")},
    {"o": tensor(64, 1024, 1024, element="bf16")},
    (LOADS.replace("x[d0, d2]", "x[d0, d1, d3]").replace("w[d2, d1]", "w[d0, d2, d3]") + DOT + STORE)
    .replace('over = ["d2"]', 'over = ["d3"]')
    .replace("o[d0, d1]", "o[d0, d1, d2]")
    .replace("ELEMENT", "bf16"),
)
CHAIN = Case(
    {"d0": "65536", "d1": "64", "d2": "64", "d3": "64"},
    {
        name: tensor(*sizes, element="bf16")
        for name, sizes in (("x", (65536, 64)), ("w", (64, 64)), ("v", (64, 64)))
    },
    {"o": tensor(65536, 64, element="bf16")},
    (LOADS + DOT + SOFTMAX + stored("g")).replace("o[d0, d1]", "o[d0, d3]").replace("ELEMENT", "bf16"),
)
#: A causal mask, and the exponentials of a softmax that are multiplied by v.
ATTENTION = Case(
    {"d0": "16", "d1": "4096", "d2": "4096", "d3": "128", "d4": "128"},
    {name: tensor(16, 4096, 128, element="bf16") for name in "qkv"},
    {"o": tensor(16, 4096, 128, element="bf16")},
    """load q[d0, d1, d3] -> a
load k[d0, d2, d3] -> b
%s = "fuse.dot"(%a, %b) {over = ["d3"]} : (bf16, bf16) -> f32
%ahead = "fuse.index"() {expr = "d2 - d1"} : () -> i64
%none = arith.constant 0 : i64
%hidden = arith.cmpi sgt, %ahead, %none : i64
%lowest = arith.constant 0xFF800000 : f32
%x = arith.select %hidden, %lowest, %s : f32
load v[d0, d2, d4] -> w
%t:3 = "fuse.online_dot"(%x, %w) {over = ["d2"]} : (f32, bf16) -> (f32, f32, f32)
%g = arith.divf %t#0, %t#2 : f32
%h = arith.truncf %g : f32 to bf16
store h -> o[d0, d1, d4]""",
)
#: Products with a loop whose operands are copied while tensor cores multiply.
PIPELINED = {
    "both row-major": product(4096, 4096, 4096, LOADS + DOT + STORE),
    "right transposed": product(4096, 4096, 4096, LOADS + DOT + STORE, "nt"),
    "left transposed": product(4096, 4096, 4096, LOADS + DOT + STORE, "tn"),
    "bias and GELU": product(4096, 4096, 4096, LOADS + DOT + BIAS + GELU + stored("g"), v=tensor(4096)),
    "residual": product(
        4096, 4096, 4096, LOADS + DOT + RESIDUAL + stored("g"), y=tensor(4096, 4096, element="bf16")
    ),
    "gate": product(4096, 4096, 4096, LOADS + DOT + GATE + stored("g"), u=tensor(4096, 4096, element="bf16")),
    "ReLU in front": product(4096, 4096, 4096, RELU + LOADS.splitlines()[1] + "\n" + DOT + STORE),
    "8-bit weights": product(
        4096,
        4096,
        4096,
        LOADS.splitlines()[0] + "\n" + WIDENED + DOT + STORE,
        w=tensor(4096, 4096, element="i8"),
    ),
    "16-bit floats": product(4096, 4096, 4096, LOADS + DOT + STORE, "nt", "f16"),
    "TF32": product(4096, 4096, 4096, LOADS + DOT.replace("{", '{precision = "tf32", ') + STORE, "nt", "f32"),
    "8-bit floats": product(4096, 4096, 4096, LOADS + DOT + STORE, "nt", "f8E4M3FN"),
    "8-bit floats of a wide range": product(4096, 4096, 4096, LOADS + DOT + STORE, "nt", "f8E5M2"),
    "64 rows": product(64, 4096, 4096, LOADS + DOT + STORE, "nt"),
}
#: Those of them whose tiles are copied whole.
COPIED_BY_DESCRIPTORS = ("both row-major", "right transposed", "left transposed", "16-bit floats")
#: The types of the sum and of both factors, as PTX says them, where factors are not multiplied as bf16.
MULTIPLIED = {
    "16-bit floats": "f32.f16.f16",
    "TF32": "f32.tf32.tf32",
    "8-bit floats": "f32.e4m3.e4m3",
    "8-bit floats of a wide range": "f32.e5m2.e5m2",
}


def multiplied(ptx: str) -> set[str]:
    """The types of the sums and factors of the products that tensor cores compute."""
    return set(re.findall(r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k\d+\.(\S+)", ptx))


@pytest.mark.parametrize("name", PIPELINED)
def test_tensor_cores_multiply_while_operands_are_copied(name: str, tmp_path: Path) -> None:
    cubin = compiled(PIPELINED[name])
    assert usage(cubin, tmp_path).spilled == 0
    assert multiplied(cubin.ptx) == {MULTIPLIED.get(name, "f32.bf16.bf16")} and "cp.async" in cubin.ptx
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+[1-9]", cubin.ptx), "it waits for each product"
    if name in COPIED_BY_DESCRIPTORS:
        assert "cp.async.bulk.tensor" in cubin.ptx and "mbarrier.try_wait" in cubin.ptx
    else:
        assert re.search(r"cp\.async\.wait_group\s+[1-9]", cubin.ptx), "it waits for each copy"


def test_columns_in_a_loop_are_copied_while_others_are_multiplied(tmp_path: Path) -> None:
    """In both loops: that of blocks that are admitted whole, and that of those which are compared."""
    cubin = compiled(ATTENTION)
    assert usage(cubin, tmp_path).spilled == 0
    assert multiplied(cubin.ptx) == {"f32.bf16.bf16"}
    loops = re.findall(r"^(\$L__BB0_\d+):((?:(?!^\$L__BB).)*?)bra\S*\s+\1;", cubin.ptx, re.M | re.S)
    assert ["wgmma" in body and "cp.async.cg" in body for _, body in loops] == [True, True]
    assert "mma.sync" not in cubin.ptx.replace("wgmma", "")


def test_two_tensors_side_by_side_are_copied_like_one(tmp_path: Path) -> None:
    """Where tiles of both were loaded and one was selected, it went through registers, and each of the four
    products of a step was waited for.
    """
    sizes = {"x": (4096, 1024), "y": (4096, 512)}
    tensors = {name: tensor(*size, element="bf16") for name, size in sizes.items()}
    cubin = compiled(product(4096, 4096, 1536, PIECES + DOT + STORE, **tensors))
    assert usage(cubin, tmp_path).spilled == 0
    assert cubin.ptx.count("wgmma.mma_async") == 4
    assert re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d)", cubin.ptx) == ["1", "0"]
    assert re.search(r"cp\.async\.wait_group\s+[1-9]", cubin.ptx), "it waits for each copy"


def test_products_of_bytes_are_waited_for(tmp_path: Path) -> None:
    """Operands are copied meanwhile.  Triton, 3.9 too, starts a product before the last one ends only where
    both are added up in f32 (`dotCanBeProperlyAsync` in its `WGMMAPipeline.cpp`).
    """
    dot = DOT.replace("(ELEMENT, ELEMENT) -> f32", "(i8, i8) -> i32")
    case = product(4096, 4096, 4096, LOADS + dot + "store c -> o[d0, d1]", "nt", "i8")
    case.outputs = {"o": tensor(4096, 4096, element="i32")}
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled == 0
    assert multiplied(cubin.ptx) == {"s32.s8.s8"}
    assert re.search(r"cp\.async\.wait_group\s+[1-9]", cubin.ptx), "it waits for each copy"
    assert set(re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d)", cubin.ptx)) == {"0"}


def test_tensor_cores_add_up_all_products_of_8_bit_floats_where_that_may_be_fast(tmp_path: Path) -> None:
    """Without ``fast_accum`` each result exists twice, and what tensor cores have added up of 128 products is
    added to a sum in f32.  With it, a thread holds twice as many results.
    """
    found = {}
    for attribute in ("", "fast_accum, "):
        dot = DOT.replace("{over", f"{{{attribute}over")
        cubin = compiled(product(4096, 4096, 4096, LOADS + dot + STORE, "nt", "f8E4M3FN"))
        assert usage(cubin, tmp_path).spilled == 0
        shapes = set(re.findall(r"wgmma\.mma_async\.\S+?\.m64(n\d+)k32\.f32\.e4m3\.e4m3", cubin.ptx))
        found[attribute] = shapes, len(re.findall(r"add\.(?:rn\.)?f32", cubin.ptx))
    assert found == {"": ({"n128"}, 64), "fast_accum, ": ({"n256"}, 0)}


def test_few_rows_of_8_bit_floats_are_added_up_in_float32(tmp_path: Path) -> None:
    """They are multiplied as f16, with ``fast_accum`` too."""
    texts = [
        compiled(product(16, 4096, 4096, LOADS + dot + STORE, "nt", "f8E4M3FN")).ptx
        for dot in (DOT, DOT.replace("{over", "{fast_accum, over"))
    ]
    assert all("wgmma" not in text and "f32.f16.f16.f32" in text for text in texts)


@pytest.mark.parametrize("case", [BATCH, CHAIN], ids=["batch", "product of a softmax of a product"])
def test_products_without_a_loop(case: Case, tmp_path: Path) -> None:
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled == 0
    assert "wgmma.mma_async" in cubin.ptx


def test_programs_that_go_through_rows_copy_the_next_block_and_round_in_pairs(tmp_path: Path) -> None:
    rounded = "%c0 = arith.truncf %c : f32 to bf16\n%c1 = arith.extf %c0 : bf16 to f32\n"
    body = LOADS + DOT + rounded + SOFTMAX.replace("fold max c[", "fold max c1[").replace("%c,", "%c1,")
    cubin = compiled(
        replace(CHAIN, body=(body + stored("g")).replace("o[d0, d1]", "o[d0, d3]").replace("ELEMENT", "bf16"))
    )
    assert usage(cubin, tmp_path).spilled == 0
    assert "wgmma.mma_async" in cubin.ptx and "cp.async" in cubin.ptx
    assert "cvt.rn.bf16x2.f32" in cubin.ptx and "cvt.rn.bf16.f32" not in cubin.ptx


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(4096, 32), (4096, 4), (262144, 4)],
    ids=["32, a program for each block", "4, a program for each block", "4, in turn"],
)
def test_a_chain_that_ends_in_few_columns(rows: int, columns: int, tmp_path: Path) -> None:
    """ptxas 12.8 adds up a register that nothing wrote where tiles with rows of 128 bytes and tiles with
    shorter ones take the same place in shared memory.
    """
    sizes = {"x": (rows, 64), "w": (64, 64), "v": (64, columns)}
    case = Case(
        {**CHAIN.dims, "d0": str(rows), "d3": str(columns)},
        {name: tensor(*size, element="bf16") for name, size in sizes.items()},
        {"o": tensor(rows, columns, element="bf16")},
        CHAIN.body,
    )
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled == 0
    assert unwritten(dumped(cubin, "-sass", tmp_path)) == []
    assert cubin.ptx.count("wgmma.mma_async") >= 8


@pytest.mark.parametrize(("columns", "spilled"), [(64, 0), (4, 160)])
def test_weights_of_wide_products_are_copied_for_each_block(
    columns: int, spilled: int, tmp_path: Path
) -> None:
    """What spills beside weights of few columns, which stay in shared memory, are addresses: a block of rows
    reads each once.  Tiles that take the same place have rows of one width.
    """
    body = LOADS + DOT + "%f = arith.truncf %c : f32 to bf16\nload v[d1, d3] -> p\n"
    body += (
        '%t = "fuse.dot"(%f, %p) {over = ["d1"]} : (bf16, bf16) -> f32\n%g = arith.truncf %t : f32 to bf16\n'
    )
    body += 'load u[d3, d4] -> q\n%y = "fuse.dot"(%g, %q) {over = ["d3"]} : (bf16, bf16) -> f32\n'
    sizes = {"x": (65536, 64), "w": (64, 256), "v": (256, 256), "u": (256, columns)}
    case = Case(
        {"d0": "65536", "d1": "256", "d2": "64", "d3": "256", "d4": str(columns)},
        {name: tensor(*size, element="bf16") for name, size in sizes.items()},
        {"o": tensor(65536, columns, element="bf16")},
        (body + stored("y")).replace("o[d0, d1]", "o[d0, d4]").replace("ELEMENT", "bf16"),
    )
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled <= spilled
    assert unwritten(dumped(cubin, "-sass", tmp_path)) == []
    assert cubin.ptx.count("cp.async.bulk.tensor") == (3 if columns == 64 else 2)
    assert cubin.ptx.count("wgmma.mma_async") == 4 + 16 + 16


def test_registers_that_nothing_wrote_are_found() -> None:
    text = """
        /*0020*/  S2UR UR6, SR_CTAID.Y ;
        /*0030*/  ULDC.64 UR8, c[0x0][0x210] ;
        /*0040*/  @P0 LDG.E.128 R8, desc[UR8][R4.64] ;
        /*0050*/  UMOV UR12, 0x40000040 ;
        /*0060*/  UMOV UR14, UR9 ;
        /*0070*/  UMOV UR15, UR6 ;
        /*0080*/  HGMMA.64x64x16.F32.BF16 R56, R88, gdesc[UR12].tnspB, RZ, !UPT ;
        /*0090*/  HGMMA.64x64x16.F32.BF16 R56, gdesc[UR12].tnspB, RZ, !UPT ;
        /*00a0*/  UIADD3 UR4, UP0, UR7, 0x20, URZ ;
    """
    assert [said.split()[0] for said in unwritten(text)] == ["HGMMA.64x64x16.F32.BF16", "UIADD3"]
    assert "gdesc" in unwritten(text)[0] and "UR7" in unwritten(text)[1]


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_exact_products_take_no_tensor_cores_of_fewer_bits(element: str, tmp_path: Path) -> None:
    body = (LOADS + DOT).replace("-> f32", f"-> {element}") + "store c -> o[d0, d1]"
    case = product(512, 512, 512, body, element=element)
    case.outputs = {"o": tensor(512, 512, element=element)}
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled == 0
    assert "wgmma" not in cubin.ptx and "tf32" not in cubin.ptx


@pytest.mark.parametrize("behind", ["", BIAS], ids=["bare", "bias"])
def test_each_block_of_a_long_sum_is_added_by_itself(behind: str, tmp_path: Path) -> None:
    """Triton makes one sum of what is added to a product that begins at 0, unless it is told not to: a thread
    would then add all 4096 products in order.
    """
    name = "s" if behind else "c"
    body = LOADS + DOT + behind + f"store {name} -> o[d0, d1]"
    case = product(1024, 1024, 4096, body, element="f32", **({"v": tensor(1024)} if behind else {}))
    case.outputs = {"o": tensor(1024, 1024)}
    cubin = compiled(case)
    assert usage(cubin, tmp_path).spilled == 0
    held = 64 * 64 // 128  # results of a thread
    assert len(re.findall(r"fma\.rn\.f32", cubin.ptx)) == 16 * held
    assert len(re.findall(r"add\.(?:rn\.)?f32", cubin.ptx)) == held * (2 if behind else 1)


def test_the_next_block_is_copied_while_one_is_multiplied_and_stored(tmp_path: Path) -> None:
    cubin = compiled(product(8192, 8192, 512, LOADS + DOT + SCALED + stored("g"), "nt", v=tensor(8192)))
    assert usage(cubin, tmp_path).spilled == 0 and cubin.global_scratch_size > 0
    assert "cp.async.bulk.tensor" in cubin.ptx and "cp.async.cg" not in cubin.ptx
    loops = cubin.ptx.count("wgmma.mma_async")  # of one step: both loops became one
    assert loops == 4, f"{loops} products of 16 summed elements, not the four of a step of 64"
