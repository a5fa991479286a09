"""Row and column reductions in one kernel: when they fuse, and what they compute when tiled."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.analysis.fusion.walk import Walk
from fuse_mlir.compiler.analysis.kernel.shares import equal_shares, walk_shares
from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.codegen.launches import kernel_sources
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.compiler.runtime.kernels.cubin import Target
from fuse_mlir.compiler.runtime.kernels.triton_compile import compile_ttir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

H200 = hardware_named("h200")


def compiled(function, *args, level: str = "tiled") -> tuple[ir.Module, Remarks]:
    gm = make_fx(function, decomposition_table=decomposition_table(), tracing_mode="fake")(*args)
    imported = import_graph(gm, args, context=make_context(), device="cpu", strict=True)
    PassManager(default_pipeline(level, Settings("h200"))).run(imported.module, imported.remarks)
    return imported.module, imported.remarks


def kernels(module: ir.Module) -> int:
    return sum("fuse.kernel" in op.operation.attributes for op in module.body.operations)


def backward(dy, x, mean, rstd, w, b):
    return torch.ops.aten.native_layer_norm_backward(dy, x, [x.shape[1]], mean, rstd, w, b, [True] * 3)


def sums(x):
    return x.sum(1), x.sum(0)


def means_and_variances(x):
    return x.mean(1), x.var(0)


def gradient(rows: int, columns: int) -> list[torch.Tensor]:
    """The operands of ``backward``."""
    x, dy, w, b = (torch.randn(*s) for s in ((rows, columns), (rows, columns), (columns,), (columns,)))
    _, mean, rstd = torch.native_layer_norm(x, [columns], w, b, 1e-5)
    return [dy, x, mean, rstd, w, b]


@pytest.fixture
def always(monkeypatch):
    """Walks wherever that is possible: at sizes that the interpreter computes fast, it is mostly slower."""
    monkeypatch.setattr(Walk, "pays", lambda *_: True)


def check(function, args: list[torch.Tensor], rule: str) -> None:
    """Of the kernels of ``function``, the first reads each element once, as the tiling rule says, and another
    one combines at most; results are as near to those of float64 as the order of float32 sums allows.
    """
    module, remarks = compiled(function, *args)
    assert kernels(module) <= 2
    assert rule in {r.rule for r in remarks.items if r.pass_name == "choose-tiling"}
    results = run_module(module, args)
    for result, wanted in zip(results, function(*(a.double() for a in args)), strict=True):
        assert (result.double() - wanted).norm() <= 3e-6 * wanted.norm()


@pytest.mark.parametrize(
    ("rows", "columns", "rule"),
    [
        (7, 2048, "several-reductions"),
        (127, 1500, "several-reductions"),
        (509, 100, "several-reductions"),
        (2111, 33, "several-reductions"),
        (528, 256, "warp-walks"),
        (1063, 130, "warp-walks"),
    ],
)
def test_layer_norm_backward_reads_its_inputs_once(rows, columns, rule, always):
    check(backward, gradient(rows, columns), rule)


@pytest.mark.parametrize(
    ("rows", "columns", "rule"),
    [
        (528, 256, "warp-walks"),
        (130, 40, "several-reductions"),
        (66, 5000, "several-reductions"),
        (2111, 256, "warp-walks"),
        (67, 5000, "several-reductions"),
    ],
)
def test_row_means_and_column_variances_share_a_read(rows, columns, rule, always):
    """Of a prime number of rows too, whose last share is shorter than the others."""
    check(means_and_variances, [torch.randn(rows, columns) + 3], rule)


def test_columns_in_unequal_shares_that_are_hard_to_vary(always):
    """Equal ones have exactly their mean and no variance; one that is far away, large and missing ones."""
    x = torch.randn(1063, 130, generator=torch.Generator().manual_seed(0))
    x[:, 0], x[:, 1], x[:, 2] = 0.1, 1e30, -3e35
    x[0, 3], x[1062, 4], x[1062, 5] = 1e6, 1e6, torch.nan
    x[:, 6] += 1e3
    x[:, 7], x[3, 8] = 1e30 * x[:, 7], torch.inf
    module, _ = compiled(lambda x: (x.mean(1), *torch.var_mean(x, 0)), x)
    assert kernels(module) == 2
    _, variance, mean = run_module(module, [x])
    assert torch.equal(variance[:3], torch.zeros(3)) and torch.equal(mean[:3], x[0, :3])
    wide = x[:, 3:].double()
    torch.testing.assert_close(variance[3:], wide.var(0).float(), rtol=3e-6, atol=0, equal_nan=True)
    ordinary = [i for i in range(130) if i not in (7, 8)]
    torch.testing.assert_close(
        mean[ordinary].double(), x.double().mean(0)[ordinary], rtol=3e-6, atol=1e-7, equal_nan=True
    )
    assert mean[7].isfinite() and not mean[8].isfinite()


def rms_gradient(dy, x, w):
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-6)
    gradient, unit = dy.float() * w.float(), wide * rstd
    dx = (gradient - unit * (gradient * unit).mean(1, keepdim=True)) * rstd
    return dx.to(x.dtype), (dy.float() * unit).sum(0)


def shares_of(rows):
    return rows / rows.sum(1, keepdim=True), rows.float().sum(0)


@pytest.mark.parametrize(
    ("function", "widths"),
    [(rms_gradient, [(9, 8200), (9, 8200), (8200,)]), (shares_of, [(7, 16384)])],
    ids=["gradient of a norm", "shares"],
)
def test_wide_rows_of_bfloat16_are_visited_again_in_the_walk(function, widths, always):
    """They are held as they were loaded; what is computed of them is computed again."""
    args = [(torch.rand(*shape) + 0.5).bfloat16() for shape in widths]
    module, remarks = compiled(function, *args)
    assert kernels(module) <= 2
    assert "wide-row-again" in {r.rule for r in remarks.items if r.pass_name == "choose-tiling"}
    rows, columns = run_module(module, args)
    wanted, sums = function(*(a.double() for a in args))
    assert (rows.double() - wanted).norm() <= 2**-8 * wanted.norm()
    assert (columns.double() - sums).norm() <= (2**-8 if function is shares_of else 1e-5) * sums.norm()


@pytest.mark.parametrize(
    ("function", "shape", "element", "weights"),
    [
        (backward, (8192, 8192), torch.bfloat16, torch.bfloat16),
        (backward, (8192, 33), torch.bfloat16, torch.bfloat16),
        (means_and_variances, (8192, 16384), torch.float32, torch.float32),
        (means_and_variances, (8191, 16384), torch.float32, torch.float32),
        (rms_gradient, (8192, 16384), torch.bfloat16, torch.bfloat16),
        (rms_gradient, (8192, 16384), torch.bfloat16, torch.float32),
    ],
    ids=["wide", "narrow", "widest", "unequal shares", "widest again", "no walk for weights of float32"],
)
def test_walks_fit_in_registers_and_shared_memory(function, shape, element, weights, always):
    """The widest rows that may be visited again, and that may not; and rows of which 64 are a step."""
    rows, columns = shape
    sizes = {
        backward: [shape, shape, (rows, 1), (rows, 1), (columns,), (columns,)],
        means_and_variances: [shape],
        rms_gradient: [shape, shape, (columns,)],
    }[function]
    args = [torch.empty(*s, dtype=element if len(s) > 1 else weights) for s in sizes]
    module, remarks = compiled(function, *args, level="planned")
    again = "wide-row-again" in {r.rule for r in remarks.items if r.pass_name == "choose-tiling"}
    assert again == (function is rms_gradient and weights == torch.bfloat16)
    walk = next(iter(kernel_sources(module).values()))
    cubin = compile_ttir(walk.text, target=Target(90), num_warps=walk.num_warps, num_stages=walk.num_stages)
    assert cubin.stack == 0 and cubin.shared <= hardware_named("h200").shared_bytes


@pytest.mark.parametrize(
    ("rows", "width", "one_warp", "shares"),
    [
        (16384, 4096, False, 264),
        (2047, 4096, False, 264),
        (1000, 4096, False, 132),
        (2047, 8192, False, 132),
        (16384, 8192, False, 264),
        (8192, 16384, False, 132),
        (127, 4096, False, 63),
        (32768, 768, True, 1056),
        (4096, 768, True, 384),
        (2047, 768, True, 511),
        (8192, 200, True, 800),
        (100, 40, True, 1),
    ],
)
def test_shares_of_rows(rows, width, one_warp, shares):
    """Of 16-bit elements on an H200, as they were measured to be fastest."""
    assert walk_shares(rows, width, 2, one_warp=one_warp, hardware=H200) == shares


def test_shares_are_equal_where_a_number_near_the_wanted_one_divides_the_rows():
    assert [equal_shares(rows, 132) for rows in (8192, 1000, 132, 2053, 2 * 2053)] == [
        128,
        125,
        132,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "walks"),
    [(127, 4096, False), (1000, 4096, True), (8192, 64, False), (65536, 64, True)],
)
def test_the_estimate_decides_of_few_and_of_narrow_rows(rows, columns, walks):
    """As was measured, of 16 bits on an H200."""
    sizes = [(rows, columns), (rows, columns), (rows, 1), (rows, 1), (columns,), (columns,)]
    module, remarks = compiled(
        backward, *(torch.empty(*s, dtype=torch.bfloat16) for s in sizes), level="scheduled"
    )
    assert (kernels(module) == 1) == walks
    refused = [dict(r.numbers) for r in remarks.items if r.rule == "slower"]
    assert bool(refused) != walks
    assert all({"us_together", "us_apart"} <= numbers.keys() for numbers in refused)


def test_sums_beside_a_walk_join_it_where_that_is_no_slower():
    walk = Walk(1000, 4096, 2, 2 * 4 * 4096)
    assert walk.pays(10.0, 10.0, further=True, hardware=H200) and not walk.pays(8.0, 10.0, False, H200)
    one = Walk(1000, 4096, 2, 4 * 4096)
    matrix = 2 * 1000 * 4096
    alone = one.microseconds(3 * matrix, H200)
    moving = matrix / (H200.bandwidth * 1e3)
    assert walk.apart([3 * matrix, matrix], [one, None], 0, H200) == pytest.approx(
        alone + moving + H200.launch
    )
    assert walk.microseconds(3 * matrix, H200) > alone


@pytest.mark.parametrize(
    ("function", "shape", "why"),
    [
        (sums, (8192, 20000), "registers hold rows of at most 16384 elements, not of 20000"),
        (
            lambda x: (x / x.sum(1, keepdim=True), x.sum(0)),
            (8192, 9000),
            "at most 8192 elements, not of 9000",
        ),
        (lambda x: (x.cumsum(1), x.sum(0)), (2112, 256), "one of them scans"),
        (lambda x: (x.sum(1), x.sum(0).square().sum()), (2112, 256), "finished column sums"),
    ],
    ids=["long", "long and visited again", "scan", "finished column sums"],
)
def test_why_there_is_no_walk(function, shape, why):
    _, remarks = compiled(function, torch.empty(*shape), level="scheduled")
    said = [dict(r.numbers)["no_walk"] for r in remarks.items if r.rule == "reduction-dims"]
    assert any(why in text for text in said), said


def weighed_shares(x, *weights):
    rows = sum((x[0] * w for w in weights), x[1])
    return rows / x[0].sum(1, keepdim=True), x[0].sum(0)


@pytest.mark.parametrize(
    ("function", "weights"),
    [
        (lambda x: (x[0] / x[0].sum(1, keepdim=True), *torch.var_mean(x[0], 0)), ()),
        (lambda x: ((x[0] + x[1] * x[2]) / x[0].sum(1, keepdim=True), x[0].sum(0)), ()),
        (weighed_shares, (torch.float32,)),
        (weighed_shares, (torch.bfloat16, torch.bfloat16)),
    ],
    ids=["two numbers of each column", "three tensors", "wide weights", "two weights"],
)
def test_wide_rows_that_would_spill_are_not_visited_again(function, weights):
    args = [torch.empty(3, 8192, 9000, dtype=torch.bfloat16), *(torch.empty(9000, dtype=w) for w in weights)]
    _, remarks = compiled(function, *args, level="scheduled")
    said = [dict(r.numbers)["no_walk"] for r in remarks.items if r.rule == "reduction-dims"]
    assert any("at most 8192 elements, not of 9000" in text for text in said), said


def test_columns_that_points_wait_for_are_kept_apart():
    _, remarks = compiled(lambda x: (x.sum(1), x - x.sum(0)), torch.empty(2112, 256), level="scheduled")
    assert "reduction-dims" in {r.rule for r in remarks.items}


def test_a_masked_mean_of_columns_is_one_kernel():
    """The number of rows that the mask keeps is added up by each program of some columns."""
    x, mask = torch.randn(3, 50, 40), (torch.rand(3, 50) < 0.7).float()

    def mean(x, mask):
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    module, _ = compiled(mean, x, mask)
    assert kernels(module) == 1
    [result] = run_module(module, [x, mask])
    wanted = mean(x.double(), mask.double())
    assert (result.double() - wanted).norm() <= 3e-6 * wanted.norm()


def test_a_masked_mean_of_rows_is_two_kernels():
    """A program has one row: it would count again for each of them."""
    x, mask = torch.randn(3, 40, 50), (torch.rand(3, 50) < 0.7).float()
    module, remarks = compiled(lambda x, m: (x * m[:, None]).sum(2) / m.sum(1, keepdim=True), x, mask)
    assert kernels(module) == 2
    assert "lost-parallelism" in {r.rule for r in remarks.items}
