"""Products of tiles (``tt.dot``) against float64: the default pipeline, run by the interpreter."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from tiling_cases import TILING, Case, axis, lowered, parsed, run, tensor, verify

from fuse_mlir.compiler.analysis.cost.estimate import estimates
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.torch_types import TORCH_DTYPES
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

M, N, K = 33, 70, 100
DIMS = {"d0": str(M), "d1": str(N), "d2": str(K)}
DOT = '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\n'
LOADS = "load x[d0, d2] -> a\nload w[d2, d1] -> b\n"
STORE = "store c -> o[d0, d1]"
#: Element types of operands, with that of the sum.
TYPES = {"bf16": "f32", "f16": "f32", "f32": "f32", "f64": "f64", "i8": "i32", "f8E4M3FN": "f32"}


def bf16(*sizes: int | str, strides: str | None = None) -> str:
    """A tensor type."""
    return tensor(*sizes, element="bf16", strides=strides)


def values(shape: Sequence[int], element: str, seed: int) -> torch.Tensor:
    """Normal numbers, or small integers."""
    generator = torch.Generator().manual_seed(seed)
    if element == "i8":
        return torch.randint(-128, 128, tuple(shape), generator=generator, dtype=torch.int8)
    return torch.randn(*shape, generator=generator).to(TORCH_DTYPES[element])


X, W = values((M, K), "bf16", 1), values((K, N), "bf16", 2)
LEFT, RIGHT = X.double(), W.double()
INPUTS = {"x": bf16(M, K), "w": bf16(K, N)}


def planned(text: str) -> ir.Module:
    """A module after the default pipeline."""
    module = parsed(text)
    with module.context, ir.Location.unknown():
        PassManager(default_pipeline(settings=Settings("h200"))).run(module)
        verify(module)
    return module


def check(module: ir.Module, inputs: list, *wanted: torch.Tensor, tolerance: float = 1e-5) -> None:
    """The module multiplies tiles, and its results are near those of float64."""
    assert '"tt.dot"' in str(module)
    for got, want in zip(run(module, inputs), wanted, strict=True):
        assert got.shape == want.shape
        largest = want.abs().max().item() if want.numel() else 0.0
        torch.testing.assert_close(got.double(), want, rtol=0, atol=tolerance * largest)


def product(body: str, outputs: dict[str, str] | None = None, **more) -> Case:
    """A kernel over M x N x K points."""
    return Case(DIMS, {**INPUTS, **more.pop("inputs", {})}, outputs or {"o": tensor(M, N)}, body, **more)


# --- sizes and types --------------------------------------------------------------------------------------
@pytest.mark.parametrize("element", TYPES)
def test_ragged_sizes(element: str) -> None:
    made = TYPES[element]
    body = LOADS + DOT.replace("(bf16, bf16) -> f32", f"({element}, {element}) -> {made}") + STORE
    for m, n, k in ((15, 17, 33), (100, 33, 5), (33, 100, 130), (5, 6, 0)):
        inputs = {"x": tensor(m, k, element=element), "w": tensor(k, n, element=element)}
        dims = {"d0": str(m), "d1": str(n), "d2": str(k)}
        case = Case(dims, inputs, {"o": tensor(m, n, element=made)}, body)
        x, w = values((m, k), element, 1), values((k, n), element, 2)
        check(planned(case.text()), [x, w], x.double() @ w.double())


def test_symbolic_sizes() -> None:
    body = LOADS + DOT + STORE
    inputs, outputs = {"x": bf16("s0", "s2"), "w": bf16("s2", "s1")}, {"o": tensor("s0", "s1")}
    dims = {"d0": "s0", "d1": "s1", "d2": "s2"}
    module = planned(Case(dims, inputs, outputs, body, sizes={"s0": 200, "s1": 9, "s2": 300}).text())
    for m, n, k in ((M, N, K), (1, 1, 1), (130, 5, 64), (0, 7, 3), (7, 3, 0)):
        x, w = values((m, k), "bf16", 1), values((k, n), "bf16", 2)
        check(module, [x, w, m, n, k], x.double() @ w.double())


def test_a_dim_that_is_computed_of_a_size() -> None:
    case = Case(
        {"d0": "s0*8", "d1": str(N), "d2": str(K)},
        {"x": bf16("s0*8", K), "w": bf16(K, N)},
        {"o": tensor("s0*8", N)},
        LOADS + DOT + STORE,
        sizes={"s0": 4},
    )
    x = values((24, K), "bf16", 3)
    check(planned(case.text()), [x, W, 3], x.double() @ RIGHT)


def test_512_cubed() -> None:
    case = Case(
        {"d0": "512", "d1": "512", "d2": "512"},
        {"x": bf16(512, 512), "w": bf16(512, 512)},
        {"o": tensor(512, 512)},
        LOADS + DOT + STORE,
    )
    x, w = values((512, 512), "bf16", 1), values((512, 512), "bf16", 2)
    check(planned(case.text()), [x, w], x.double() @ w.double())


# --- where operands lie -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left", "right"),
    list(itertools.product((f"{K},1", f"1,{M}", f"{2 * K + 3},2"), (f"{N},1", f"1,{K}"))),
)
def test_strides(left: str, right: str) -> None:
    inputs = {"x": bf16(M, K, strides=left), "w": bf16(K, N, strides=right)}
    laid = [
        torch.empty_strided(v.shape, tuple(map(int, strides.split(","))), dtype=v.dtype).copy_(v)
        for v, strides in ((X, left), (W, right))
    ]
    check(planned(product(LOADS + DOT + STORE, inputs=inputs).text()), laid, LEFT @ RIGHT)


def test_orders_of_coordinates_operands_and_dims() -> None:
    turned = "load x[d2, d0] -> a\nload w[d1, d2] -> b\n" + DOT + "store c -> o[d1, d0]"
    case = product(turned, {"o": tensor(N, M)}, inputs={"x": bf16(K, M), "w": bf16(N, K)})
    check(planned(case.text()), [X.t().contiguous(), W.t().contiguous()], (LEFT @ RIGHT).t())
    exchanged = LOADS + DOT.replace("%a, %b", "%b, %a") + STORE
    check(planned(product(exchanged).text()), [X, W], LEFT @ RIGHT)
    dims = {"d0": str(K), "d1": str(N), "d2": str(M)}
    body = "load x[d2, d0] -> a\nload w[d0, d1] -> b\n" + DOT.replace("d2", "d0") + "store c -> o[d2, d1]"
    check(planned(Case(dims, INPUTS, {"o": tensor(M, N)}, body).text()), [X, W], LEFT @ RIGHT)


def test_one_tensor_as_both_operands() -> None:
    dims, loads = {"d0": str(M), "d1": str(M), "d2": str(K)}, "load x[d0, d2] -> a\nload x[d1, d2] -> b\n"
    case = Case(dims, {"x": bf16(M, K)}, {"o": tensor(M, M)}, loads + DOT + STORE)
    check(planned(case.text()), [X], LEFT @ LEFT.t())


def test_sum_over_two_dims() -> None:
    body = """load x[d0, d2, d3] -> a
load w[d3, d2, d1] -> b
%c = "fuse.dot"(%a, %b) {over = ["d2", "d3"]} : (bf16, bf16) -> f32
store c -> o[d0, d1]"""
    dims = {"d0": str(M), "d1": str(N), "d2": "5", "d3": "7"}
    case = Case(dims, {"x": bf16(M, 5, 7), "w": bf16(7, 5, N)}, {"o": tensor(M, N)}, body)
    x, w = values((M, 5, 7), "bf16", 1), values((7, 5, N), "bf16", 2)
    check(planned(case.text()), [x, w], torch.einsum("mij,jin->mn", x.double(), w.double()))


def test_what_lies_behind_the_sum_in_memory_is_not_added() -> None:
    """Rows of 128 elements, of which 100 are summed.  A load of rows reads whole vectors elsewhere."""
    x, w = torch.full((M, 128), float("nan")).bfloat16(), torch.full((128, N), float("nan")).bfloat16()
    x[:, :K], w[:K] = X, W
    case = product(LOADS + DOT + STORE, inputs={"x": bf16(M, 128), "w": bf16(128, N)})
    check(planned(case.text()), [x, w], LEFT @ RIGHT)


def test_gathered_rows() -> None:
    body = f"""%z = arith.constant 0.0 : bf16
load ix[d0] -> i0
%a = "fuse.load"(%x, %true, %z, %i0) {{at = ["i0", "d2"]}} : ({bf16(M, K)}, i1, bf16, i64) -> bf16
load w[d2, d1] -> b
"""
    rows = torch.randint(0, M, (M,), generator=torch.Generator().manual_seed(3))
    case = product(body + DOT + STORE, inputs={"ix": tensor(M, element="i64")})
    check(planned(case.text()), [X, W, rows], LEFT[rows] @ RIGHT)


# --- batches ----------------------------------------------------------------------------------------------
B = 3
BATCH_DIMS = {"d0": str(B), "d1": str(M), "d2": str(N), "d3": str(K)}
BATCH_DOT = DOT.replace("d2", "d3")


@pytest.mark.parametrize(("left", "right"), [("d0, ", "d0, "), ("d0, ", ""), ("", "d0, ")])
def test_batches_and_broadcast_operands(left: str, right: str) -> None:
    x = values((B, M, K) if left else (M, K), "bf16", 1)
    w = values((B, K, N) if right else (K, N), "bf16", 2)
    loads = f"load x[{left}d1, d3] -> a\nload w[{right}d3, d2] -> b\n"
    inputs = {"x": bf16(*x.shape), "w": bf16(*w.shape)}
    case = Case(BATCH_DIMS, inputs, {"o": tensor(B, M, N)}, loads + BATCH_DOT + "store c -> o[d0, d1, d2]")
    check(planned(case.text()), [x, w], x.double() @ w.double())


def test_batch_dims_that_lie_apart() -> None:
    """As heads of attention do: [batch, row, head, column]."""
    body = """load x[d0, d1, d2, d4] -> a
load w[d0, d1, d4, d3] -> b
%c = "fuse.dot"(%a, %b) {over = ["d4"]} : (bf16, bf16) -> f32
store c -> o[d0, d2, d1, d3]"""
    dims = {"d0": "2", "d1": str(B), "d2": str(M), "d3": str(N), "d4": str(K)}
    inputs, outputs = {"x": bf16(2, B, M, K), "w": bf16(2, B, K, N)}, {"o": tensor(2, M, B, N)}
    x, w = values((2, B, M, K), "bf16", 1), values((2, B, K, N), "bf16", 2)
    check(
        planned(Case(dims, inputs, outputs, body).text()), [x, w], (x.double() @ w.double()).transpose(1, 2)
    )


def test_dims_of_one_point() -> None:
    body = "load x[d3, d0, d2] -> a\nload w[d2, d3, d1] -> b\n" + DOT + "store c -> o[d3, d0, d1]"
    case = Case({**DIMS, "d3": "1"}, {"x": bf16(1, M, K), "w": bf16(K, 1, N)}, {"o": tensor(1, M, N)}, body)
    check(planned(case.text()), [X[None], W[:, None]], (LEFT @ RIGHT)[None])


# --- in front of a product, and behind it -----------------------------------------------------------------
def test_epilogue_with_tensors_of_other_strides() -> None:
    body = """load v[d1] -> bv
load u[d0] -> uv
load t[d1, d0] -> tv
load q[0] -> qv
%s1 = arith.addf %c, %bv : f32
%s2 = arith.mulf %s1, %uv : f32
%s3 = arith.addf %s2, %tv : f32
%s4 = arith.mulf %s3, %qv : f32
%y = math.tanh %s4 : f32
%h = arith.truncf %y : f32 to bf16
store h -> o[d0, d1]
store s2 -> p[d1, d0]"""
    inputs = {"v": tensor(N), "u": tensor(M), "t": tensor(N, M), "q": tensor(1)}
    v, u, t, q = (values(shape, "f32", i) for i, shape in enumerate(((N,), (M,), (N, M), (1,)), 3))
    scaled = (LEFT @ RIGHT + v.double()) * u.double()[:, None]
    case = product(LOADS + DOT + body, {"o": bf16(M, N), "p": tensor(N, M)}, inputs=inputs)
    wanted = torch.tanh((scaled + t.t().double()) * q.double())
    check(planned(case.text()), [X, W, v, u, t, q], wanted, scaled.t(), tolerance=4e-3)


def test_what_is_overwritten_is_read_before() -> None:
    """The store to t stands in front of the loop, and so does the load of t, which is needed behind it."""
    body = """load t[d0, d1] -> tv
load y[d0, d1] -> yv
store yv -> p[d0, d1]
%s = arith.addf %c, %tv : f32
store s -> o[d0, d1]"""
    t, y = values((M, N), "f32", 3), values((M, N), "f32", 4)
    outputs, inputs = {"o": tensor(M, N), "p": tensor(M, N)}, {"t": tensor(M, N), "y": tensor(M, N)}
    case = product(LOADS + DOT + body, outputs, inputs=inputs, in_place={"p": "t"})
    check(planned(case.text()), [X, W, t, y], LEFT @ RIGHT + t.double(), y.double())


def test_mask_by_position() -> None:
    body = """%i = "fuse.index"() {expr = "d0"} : () -> i64
%j = "fuse.index"() {expr = "d1"} : () -> i64
%k = arith.cmpi sge, %i, %j : i64
%m = arith.select %k, %c, %zero : f32
store m -> o[d0, d1]"""
    check(planned(product(LOADS + DOT + body).text()), [X, W], torch.tril(LEFT @ RIGHT))


def test_a_dim_of_the_result_alone() -> None:
    body = "load q[d3] -> qv\n%cq = arith.mulf %c, %qv : f32\nstore cq -> o[d3, d0, d1]"
    inputs, q = {**INPUTS, "q": tensor(4)}, values((4,), "f32", 3)
    case = Case({**DIMS, "d3": "4"}, inputs, {"o": tensor(4, M, N)}, LOADS + DOT + body)
    check(planned(case.text()), [X, W, q], q.double()[:, None, None] * (LEFT @ RIGHT))


def test_prologue_of_widened_weights_and_relu() -> None:
    body = """load x[d0, d2] -> a0
%z = arith.constant 0.0 : bf16
%a = arith.maximumf %a0, %z : bf16
load w[d2, d1] -> b8
%b = arith.sitofp %b8 : i8 to bf16
"""
    w = values((K, N), "i8", 2)
    case = product(body + DOT + STORE, inputs={"w": tensor(K, N, element="i8")})
    check(planned(case.text()), [X, w], torch.relu(LEFT) @ w.double())


def test_prologue_that_makes_something_of_zero() -> None:
    """exp(0) and 1 / 0, of lanes behind the end of the sum, are not added."""
    body = """load x[d0, d2] -> a0
%ax = arith.extf %a0 : bf16 to f32
%ae = math.exp %ax : f32
%a = arith.truncf %ae : f32 to bf16
load w[d2, d1] -> b0
%bx = arith.extf %b0 : bf16 to f32
%one = arith.constant 1.0 : f32
%bq = arith.divf %one, %bx : f32
%b = arith.truncf %bq : f32 to bf16
"""
    wanted = torch.exp(LEFT).bfloat16().double() @ (1 / RIGHT).bfloat16().double()
    check(planned(product(body + DOT + STORE).text()), [X, W], wanted, tolerance=1e-3)


def test_an_operand_that_is_the_same_along_the_sum() -> None:
    """What is loaded once for all summed elements is no zero behind their end: inf times 0 would be NaN."""
    body = "load v[d0] -> a\nload w[d2, d1] -> b\n" + DOT + STORE
    v, w = values((M,), "bf16", 4), W.abs()
    case = Case(DIMS, {"v": bf16(M), "w": bf16(K, N)}, {"o": tensor(M, N)}, body)
    module = planned(case.text())
    check(module, [v, w], v.double()[:, None] * w.double().sum(0))
    v[0] = float("inf")
    [got] = run(module, [v, w])
    assert torch.equal(got[0], torch.full((N,), float("inf")))


def test_an_operand_that_is_loaded_as_something_else_behind_the_sum() -> None:
    body = f"""%inf = arith.constant 0x7F80 : bf16
%a = "fuse.load"(%x, %true, %inf) {{at = ["d0", "d2"]}} : ({bf16(M, K)}, i1, bf16) -> bf16
load w[d2, d1] -> b
"""
    check(planned(product(body + DOT + STORE).text()), [X, W], LEFT @ RIGHT)


def test_a_value_that_both_operands_and_the_result_need() -> None:
    body = """load x[d0, d2] -> a0
load w[d2, d1] -> b0
load g[d2] -> gv
load u[d0] -> uv
%a1 = arith.mulf %a0, %gv : bf16
%a = arith.mulf %a1, %uv : bf16
%b = arith.mulf %b0, %gv : bf16
"""
    behind = "%ue = arith.extf %uv : bf16 to f32\n%cu = arith.mulf %c, %ue : f32\nstore cu -> o[d0, d1]"
    g, u = torch.full((K,), 2.0).bfloat16(), torch.full((M,), 4.0).bfloat16()
    case = product(body + DOT + behind, inputs={"g": bf16(K), "u": bf16(M)})
    check(planned(case.text()), [X, W, g, u], 64 * (LEFT @ RIGHT))


def test_an_operand_that_is_stored_too() -> None:
    body = "load x[d0, d2] -> a0\n%a = arith.addf %a0, %a0 : bf16\nload w[d2, d1] -> b\n"
    case = product(body + DOT + STORE + "\nstore a -> p[d0, d2]", {"o": tensor(M, N), "p": bf16(M, K)})
    check(planned(case.text()), [X, W], 2 * LEFT @ RIGHT, 2 * LEFT)


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_scale_behind_by_a_sum_of_an_operand(side: str) -> None:
    value, dim = ("a", "d0") if side == "rows" else ("b", "d1")
    body = f"""%wide = arith.extf %{value} : bf16 to f32
%sq = arith.mulf %wide, %wide : f32
fold sum sq[d2] -> ss : f32
%cs = arith.mulf %c, %ss : f32
store cs -> o[d0, d1]
store ss -> t[{dim}]"""
    squares = LEFT.square().sum(1) if side == "rows" else RIGHT.square().sum(0)
    scale = squares[:, None] if side == "rows" else squares
    case = product(LOADS + DOT + body, {"o": tensor(M, N), "t": tensor(len(squares))})
    check(planned(case.text()), [X, W], (LEFT @ RIGHT) * scale, squares)


def test_norm_in_front() -> None:
    body = """load x[d0, d2] -> a0
%ax = arith.extf %a0 : bf16 to f32
%sq = arith.mulf %ax, %ax : f32
fold sum sq[d2] -> ss : f32
%rs = math.rsqrt %ss : f32
%an = arith.mulf %ax, %rs : f32
%a = arith.truncf %an : f32 to bf16
load w[d2, d1] -> b
"""
    normed = (LEFT * LEFT.square().sum(1, keepdim=True).rsqrt()).bfloat16().double()
    check(planned(product(body + DOT + STORE).text()), [X, W], normed @ RIGHT, tolerance=1e-3)


# --- several products -------------------------------------------------------------------------------------
BIAS = "load v[d1] -> bv\n%s = arith.addf %c, %bv : f32\n"
GATE = """load u[d2, d1] -> b2
%c2 = "fuse.dot"(OPERANDS) {over = ["d2"]} : (bf16, bf16) -> f32
%neg = arith.subf %zero, %c : f32
%e = math.exp %neg : f32
%one = arith.constant 1.0 : f32
%d = arith.addf %e, %one : f32
%q = arith.divf %c, %d : f32
%s = arith.mulf %q, %c2 : f32
store s -> o[d0, d1]"""


@pytest.mark.parametrize("operands", ["%a, %b2", "%b2, %a"])
def test_two_products_and_a_gate(operands: str) -> None:
    u = values((K, N), "bf16", 9)
    case = product(LOADS + DOT + GATE.replace("OPERANDS", operands), inputs={"u": bf16(K, N)})
    wanted = torch.nn.functional.silu(LEFT @ RIGHT) * (LEFT @ u.double())
    check(planned(case.text()), [X, W, u], wanted, tolerance=1e-4)


def test_products_with_different_rows() -> None:
    """The rows of the first product are d0 and d3, those of the second d0 alone."""
    body = """load x[d0, d3, d2] -> a
load w[d2, d1] -> b
load y[d0, d2] -> a2
%c2 = "fuse.dot"(%a2, %b) {over = ["d2"]} : (bf16, bf16) -> f32
%s = arith.addf %c, %c2 : f32
store s -> o[d0, d3, d1]"""
    lines = body.splitlines()
    body = "\n".join([*lines[:2], DOT.strip(), *lines[2:]])
    x = values((M, 20, K), "bf16", 5)
    inputs = {"x": bf16(M, 20, K), "w": bf16(K, N), "y": bf16(M, K)}
    case = Case({**DIMS, "d3": "20"}, inputs, {"o": tensor(M, 20, N)}, body)
    check(planned(case.text()), [x, W, X], x.double() @ RIGHT + (LEFT @ RIGHT)[:, None])


def test_products_over_different_dims() -> None:
    body = """load y[d0, d3] -> a2
load u[d3, d1] -> b2
%c2 = "fuse.dot"(%a2, %b2) {over = ["d3"]} : (bf16, bf16) -> f32
%s = arith.addf %c, %c2 : f32
store s -> o[d0, d1]"""
    y, u = values((M, 300), "bf16", 5), values((300, N), "bf16", 6)
    inputs = {**INPUTS, "y": bf16(M, 300), "u": bf16(300, N)}
    case = Case({**DIMS, "d3": "300"}, inputs, {"o": tensor(M, N)}, LOADS + DOT + body)
    check(planned(case.text()), [X, W, y, u], LEFT @ RIGHT + y.double() @ u.double())


SOFTMAX = """fold max c[d1] -> mx : f32
%cc = arith.subf %c, %mx : f32
%e = math.exp %cc : f32
fold sum e[d1] -> sm : f32
%q = arith.divf %e, %sm : f32
"""


def test_softmax_behind() -> None:
    case = product(
        LOADS + DOT + SOFTMAX + "store q -> o[d0, d1]\nstore mx -> p[d0]", {"o": tensor(M, N), "p": tensor(M)}
    )
    made = LEFT @ RIGHT
    check(planned(case.text()), [X, W], made.softmax(1), made.max(1).values, tolerance=1e-4)


CHAIN = """%h = arith.truncf %q : f32 to bf16
load v[d1, d3] -> vv
%z = "fuse.dot"(%h, %vv) {over = ["d1"]} : (bf16, bf16) -> f32
store z -> o[d0, d3]"""


def test_product_of_a_softmax_of_a_product() -> None:
    v = values((N, 40), "bf16", 5)
    inputs = {**INPUTS, "v": bf16(N, 40)}
    case = Case({**DIMS, "d3": "40"}, inputs, {"o": tensor(M, 40)}, LOADS + DOT + SOFTMAX + CHAIN)
    wanted = (LEFT @ RIGHT).softmax(1).bfloat16().double() @ v.double()
    check(planned(case.text()), [X, W, v], wanted, tolerance=1e-2)


# --- tiles made by hand -----------------------------------------------------------------------------------
def by_hand(*axes: str, group: int = 1, stages: int = 1) -> str:
    """A ``fuse.tile`` of four warps."""
    return (
        f"{{axes = [{', '.join(axes)}], group = {group} : i64, num_stages = {stages} : i64, "
        "num_warps = 4 : i64}"
    )


ROWS, COLUMNS, SUMMED = axis("d0", 16, "grid"), axis("d1", 32, "grid"), axis("d2", 16, "looped")


@pytest.mark.parametrize(
    "tile",
    [
        by_hand(ROWS, COLUMNS, SUMMED, group=3),
        by_hand(COLUMNS, ROWS, SUMMED, group=2, stages=3),
        by_hand(SUMMED, COLUMNS, ROWS),
        by_hand(COLUMNS, axis("d0", 64, "resident"), axis("d2", 128, "resident")),
    ],
)
def test_tiles_by_hand(tile: str) -> None:
    module = lowered(product(LOADS + DOT + STORE, tile=tile).text(), *TILING)
    check(module, [X, W], LEFT @ RIGHT)


# --- long sums --------------------------------------------------------------------------------------------
def test_a_long_sum_is_cut_into_slices() -> None:
    """33 x 48 results would be few programs; slices do not cover 8189 points exactly."""
    m, n, k = 33, 48, 8189
    behind = BIAS + "store s -> o[d0, d1]"
    inputs = {"x": bf16(m, k), "w": bf16(k, n), "v": tensor(n)}
    dims = {"d0": str(m), "d1": str(n), "d2": str(k)}
    module = planned(Case(dims, inputs, {"o": tensor(m, n)}, LOADS + DOT + behind).text())
    assert str(module).count(" call @") == 2
    x, w, v = values((m, k), "bf16", 1), values((k, n), "bf16", 2), values((n,), "f32", 3)
    check(module, [x, w, v], x.double() @ w.double() + v.double())


def test_estimates_count_products_apart() -> None:
    module = planned(product(LOADS + DOT + BIAS + "store s -> o[d0, d1]", inputs={"v": tensor(N)}).text())
    [counted] = estimates(module).values()
    assert (counted.flops, counted.element, counted.slots) == (2 * M * N * K, "bf16", M * N)
