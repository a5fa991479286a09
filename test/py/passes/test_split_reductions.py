"""Kernels taken apart into slices: what they compute, which kernels they become, and what is left alone."""

import pytest
import torch
from tiling_cases import NORM, SOFTMAX, Case, compare, lowered, pair, rows, tensor, updated

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.kernels.combine_reductions import CombineReductions
from fuse_mlir.passes.kernels.split_reductions import SplitReductions
from fuse_mlir.passes.kernels.unroll_rows import UnrollRows
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.choose_tiling import ChooseTiling

SPLIT = (CombineReductions(), SplitReductions())
ALL = (*SPLIT, ChooseTiling(), ApplyTiling())


def kernels(text: str) -> list[str]:
    """Names of the kernels after splitting, in the order of the calls."""
    return [
        line.split("@")[1].split("(")[0]
        for line in str(lowered(text, *SPLIT)).splitlines()
        if " call @" in line
    ]


def reduction(kind: str, m: int, n: int, element: str = "f32") -> Case:
    """Row reductions of an m x n tensor."""
    body = f"load x[d0, d1] -> v\nfold {kind} v[d1] -> s : {element}\nstore s -> o[d0]"
    return Case(
        {"d0": str(m), "d1": str(n)},
        {"x": tensor(m, n, element=element)},
        {"o": tensor(m, element=element)},
        body,
    )


@pytest.mark.parametrize("n", [65536, 65537, 40000])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_long_rows(kind: str, n: int) -> None:
    text = reduction(kind, 2, n).text()
    assert kernels(text) == ["k_slices", "k_rest"]
    compare(text, [rows(2, n)], *SPLIT, rtol=1e-4, atol=1e-2)
    compare(text, [rows(2, n)], *ALL, rtol=1e-4, atol=1e-2)


def test_sums_of_few_rows_are_stored_into_one_tensor() -> None:
    """``unroll-rows`` makes a reduction and a store of each row; a store follows on the one before."""
    body = "load x[d0, d2] -> v\nload y[d1, d2] -> w\n%p = arith.mulf %v, %w : f32\n"
    body += "fold sum p[d2] -> s : f32\nstore s -> o[d0, d1]"
    inputs = {"x": tensor(3, 20000), "y": tensor(5, 20000)}
    text = Case({"d0": "3", "d1": "5", "d2": "20000"}, inputs, {"o": tensor(3, 5)}, body).text()
    given, passes = [rows(3, 20000), rows(5, 20000, 1)], (UnrollRows(), *ALL)
    unrolled = str(lowered(text, UnrollRows(), *SPLIT)).split("@k_rest(")[-1]
    assert unrolled.count('"fuse.store"') == 3
    compare(text, given, *passes, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(("operand", "at", "slices"), [(1536, "d0", 1536), (8192, "d1", 768)])
def test_slices_of_a_point_compute_what_varies_along_it_once(operand: int, at: str, slices: int) -> None:
    """A sum of a scaled matrix: where each row has a factor of its own, a slice is a row."""
    body = f"""load x[d0, d1] -> v
load y[{at}] -> w
%p = arith.mulf %v, %w : f32
fold sum p[d0, d1] -> s : f32
store s -> o[]"""
    inputs = {"x": tensor(1536, 8192), "y": tensor(operand)}
    case = Case({"d0": "1536", "d1": "8192"}, inputs, {"o": tensor()}, body)
    assert f"tensor<{slices}xf32>" in str(lowered(case.text(), SplitReductions(hardware="h200")))


@pytest.mark.parametrize("kind", ["any", "all"])
def test_booleans(kind: str) -> None:
    x = torch.full((3, 65539), kind == "all")
    x[1, 65538] = kind == "any"
    text = reduction(kind, 3, 65539, "i1").text()
    assert kernels(text) == ["k_slices", "k_rest"]
    compare(text, [x], *ALL, exact=True)


@pytest.mark.parametrize("n", [65536, 65537])
def test_argmax(n: int) -> None:
    body = """load x[d0, d1] -> v
%i = "fuse.index"() {expr = "d1"} : () -> i64
%e, %p = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)
store e -> o[d0]
store p -> q[d0]"""
    x = torch.randint(0, 50, (3, n), generator=torch.Generator().manual_seed(0)).float()
    x[1, [700, 40000]] = float("nan")
    x[2] = -float("inf")
    text = pair(3, n, body, None, {"o": tensor(3), "q": tensor(3, element="i64")}).text()
    assert kernels(text) == ["k_slices", "k_rest"]
    _, position = compare(text, [x], *ALL, exact=True)
    assert torch.equal(position, x.argmax(1))


@pytest.mark.parametrize("n", [65536, 65537])
def test_softmax_in_three_parts(n: int) -> None:
    text = pair(3, n, SOFTMAX).text()
    assert kernels(text) == ["k_slices", "k_combine", "k_rest"]
    x = rows(3, n)
    x[1, :60000] = -float("inf")
    x[2] = -float("inf")
    [got] = compare(text, [x], *ALL)
    assert got[2].isnan().all()


def test_layer_norm_in_three_parts() -> None:
    n = 65536
    outputs = {"o": tensor(3, n), "mu": tensor(3)}
    text = pair(3, n, NORM.replace("COUNT", f"{n}.0"), None, outputs).text()
    assert kernels(text) == ["k_slices", "k_combine", "k_rest"]
    compare(text, [rows(3, n) * 3 + 100], *ALL, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("n", [65537, 40009])
def test_welford_without_a_divisor_is_split(n: int) -> None:
    """Into slices of unequal lengths: of primes."""
    outputs = {"o": tensor(4, n), "mu": tensor(4)}
    text = pair(4, n, NORM.replace("COUNT", f"{n}.0"), None, outputs).text()
    assert kernels(text) == ["k_slices", "k_combine", "k_rest"]
    x = rows(4, n) * 3 + 100
    x[1], x[2, -1], x[3, 0] = 1e30, 1e6, torch.nan
    normalised, mean = compare(text, [x], *ALL, rtol=1e-4, atol=2e-3)
    assert not normalised[1].any() and mean[1] == x[1, 0]


SPREAD = """load x[d0, d1, d2] -> v
%m, %s = "fuse.welford"(%v) {over = ["d0", "d2"]} : (f32) -> (f32, f32)
store m -> o[d1]
store s -> q[d1]"""


@pytest.mark.parametrize("images", [1, 2, 0, 1031])
def test_welford_of_an_unknown_number_of_images(images: int) -> None:
    """Channels of images, of which the program has 1024 or any other number: with fewer, slices are empty."""
    x = tensor("s0", 3, 28)
    dims = {"d0": "s0", "d1": "3", "d2": "28"}
    case = Case(dims, {"x": x}, {"o": tensor(3), "q": tensor(3)}, SPREAD, sizes={"s0": 1024})
    assert kernels(case.text()) == ["k_slices", "k_rest"]
    data = torch.randn(images, 3, 28, generator=torch.Generator().manual_seed(0)) + 10
    mean, spread = compare(case.text(), [data, images], *ALL, rtol=1e-5, atol=1e-4)
    exact = data.double().transpose(0, 1).flatten(1)
    torch.testing.assert_close(mean.double(), exact.mean(1), rtol=1e-6, atol=0, equal_nan=True)
    if images:
        torch.testing.assert_close(
            spread.double(), exact.var(1, correction=0) * images * 28, rtol=1e-5, atol=0
        )


def test_two_stages_are_split_one_after_the_other() -> None:
    body = """load x[d0, d1] -> v
fold sum v[d1] -> t : f32
%d = arith.subf %v, %t : f32
%a = math.absf %d : f32
fold max a[d1] -> m : f32
store m -> o[d0]"""
    text = pair(2, 65536, body, None, {"o": tensor(2)}).text()
    names = kernels(text)
    assert names == ["k_slices", "k_combine", "k_rest_slices", "k_rest_rest"]
    compare(text, [rows(2, 65536)], *ALL, rtol=1e-4, atol=1e-2)


def test_column_sums_keep_columns_contiguous() -> None:
    body = "load x[d0, d1] -> v\nfold sum v[d0] -> s : f32\nstore s -> o[d1]"
    text = pair(8192, 64, body, None, {"o": tensor(64)}).text()
    assert kernels(text) == ["k_slices", "k_rest"]
    assert 'at = ["d2", "d1"]' in str(lowered(text, *SPLIT))
    compare(text, [rows(8192, 64)], *ALL, rtol=1e-4, atol=1e-2)


def test_row_results_are_stored_by_the_slices_of_column_sums() -> None:
    body = """load x[d0, d1] -> v
fold sum v[d1] -> t : f32
%d = arith.subf %v, %t : f32
store d -> o[d0, d1]
fold sum d[d0] -> c : f32
store c -> p[d1]"""
    text = pair(2000, 64, body, None, {"o": tensor(2000, 64), "p": tensor(64)}).text()
    assert kernels(text) == ["k_slices", "k_rest"]
    compare(text, [rows(2000, 64)], *ALL, rtol=1e-4, atol=5e-2)


def test_an_update_in_place_waits_for_the_rest_that_reads_the_old_contents() -> None:
    body = """load x[d0, d1] -> v
%two = arith.addf %v, %v : f32
store two -> o[d0, d1]
fold sum v[d1] -> t : f32
%d = arith.subf %v, %t : f32
store d -> p[d0, d1]"""
    n = 65536
    text = pair(2, n, body, None, {"o": tensor(2, n), "p": tensor(2, n)}, in_place={"o": "x"}).text()
    assert kernels(text) == ["k_slices", "k_combine", "k_rest"]
    compare(text, [rows(2, n)], *ALL, rtol=1e-4, atol=1e-2)


def test_an_update_in_place_waits_for_all_slices_that_read_the_old_contents() -> None:
    text = updated(2, 65536).text()
    assert kernels(text)[0] == "k_slices"
    compare(text, [rows(2, 65536), torch.ones(2)], *ALL, rtol=1e-4, atol=1e-2)


SUM_OF_TWO = """load x[d0, d1] -> v
load z[d0, d1] -> w
%g = arith.addf %v, %w : f32
store g -> o[d0, d1]
fold sum g[d0] -> t : f32
%d = arith.subf %g, %t : f32
store d -> p[d0, d1]"""


@pytest.mark.parametrize("n", [8192, 8209])
def test_what_the_slices_store_is_read_instead_of_what_it_is_computed_from(n: int) -> None:
    case = Case(
        {"d0": str(n), "d1": "64"},
        {"x": tensor(n, 64), "z": tensor(n, 64)},
        {"o": tensor(n, 64), "p": tensor(n, 64)},
        SUM_OF_TWO,
    )
    assert kernels(case.text()) == ["k_slices", "k_combine", "k_rest"]
    rest = str(lowered(case.text(), *SPLIT)).split("@k_rest(")[-1]
    assert rest.count("fuse.load") == 2 and "arith.addf" not in rest  # the sum and the total
    compare(case.text(), [rows(n, 64), rows(n, 64, 1)], *ALL, rtol=1e-4, atol=1e-2)


GUARDED = """%odd = arith.cmpf ogt, %v, %w : f32
%o_new = "fuse.store"(%o, %g, %odd) {at = ["d0", "d1"], mode = "set"} : (T, f32, i1) -> T"""


@pytest.mark.parametrize(
    "body",
    [
        SUM_OF_TWO.replace("load z[d0, d1] -> w", "%w = arith.negf %v : f32"),
        SUM_OF_TWO.replace("store g -> o[d0, d1]", GUARDED.replace("T", tensor(8192, 64))),
    ],
    ids=["no fewer bytes", "stored here and there"],
)
def test_what_the_rest_computes_again(body: str) -> None:
    wide = tensor(8192, 64)
    case = Case({"d0": "8192", "d1": "64"}, {"x": wide, "z": wide}, {"o": wide, "p": wide}, body)
    assert kernels(case.text()) == ["k_slices", "k_combine", "k_rest"]
    assert "arith.addf" in str(lowered(case.text(), *SPLIT)).split("@k_rest(")[-1]


@pytest.mark.parametrize("n", [0, 1, 5000, 70000])
def test_sizes_that_are_not_known(n: int) -> None:
    text = Case(
        {"d0": "2", "d1": "s0"},
        {"x": tensor(2, "s0")},
        {"o": tensor(2)},
        reduction("sum", 2, 1).body,
        sizes={"s0": 100000},
    ).text()
    assert kernels(text) == ["k_slices", "k_rest"]
    compare(text, [rows(2, n), n], *ALL, rtol=1e-4, atol=1e-2)


def test_asserts_run_once_and_not_beyond_the_end() -> None:
    body = """load x[d0, d1] -> v
%ok = arith.cmpf ogt, %v, %zero : f32
cf.assert %ok, "positive"
fold sum v[d1] -> s : f32
store s -> o[d0]"""
    text = pair(2, 65537, body, None, {"o": tensor(2)}).text()
    module = str(lowered(text, *SPLIT))
    assert module.count("cf.assert") == 1
    x = rows(2, 65537).abs() + 1
    compare(text, [x], *ALL, rtol=1e-4, atol=1e-1)
    x[1, 65536] = -1
    with pytest.raises(Exception, match="positive"):
        compare(text, [x], *ALL)


@pytest.mark.parametrize(
    "case", [reduction("sum", 300, 65536), reduction("sum", 2, 4096)], ids=["programs enough", "short rows"]
)
def test_left_alone(case: Case) -> None:
    assert kernels(case.text()) == ["k"]


def test_scans_are_left_alone_with_a_reason() -> None:
    body = """load x[d0, d1] -> v
%c = "fuse.scan"(%v) {kind = "sum", over = "d1", reverse = false} : (f32) -> f32
fold max c[d1] -> s : f32
store s -> o[d0]"""
    assert remarked(pair(2, 65536, body, None, {"o": tensor(2)})) == [("missed", "scan")]


def test_reductions_that_cross_each_other_are_left_alone_with_a_reason() -> None:
    body = """load x[d0, d1, d2] -> v
fold sum v[d1, d2] -> s : f32
store s -> o[d0]
fold max v[d2] -> m : f32
store m -> a[d0, d1]"""
    dims = {"d0": "2", "d1": "4", "d2": "65536"}
    case = Case(dims, {"x": tensor(2, 4, 65536)}, {"o": tensor(2), "a": tensor(2, 4)}, body)
    assert remarked(case) == [("missed", "overlap")]


def remarked(case: Case) -> list[tuple[str, str]]:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(case.text())
        remarks = Remarks()
        SplitReductions().run(module, remarks)
    return [(r.kind, r.rule) for r in remarks.items]
