"""Row and column reductions in one kernel: when they fuse, and what they compute when tiled."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.base.remarks import Remarks
from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table
from fuse_mlir.compiler.frontend.importer.importer import import_graph
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.program import run_module
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import default_pipeline


def compiled(function, *args, level: str = "tiled") -> tuple[ir.Module, Remarks]:
    gm = make_fx(function, decomposition_table=decomposition_table(), tracing_mode="fake")(*args)
    imported = import_graph(gm, args, context=make_context(), device="cpu", strict=True)
    PassManager(default_pipeline(level, "h200")).run(imported.module, imported.remarks)
    return imported.module, imported.remarks


def kernels(module: ir.Module) -> int:
    return sum("fuse.kernel" in op.operation.attributes for op in module.body.operations)


def backward(dy, x, mean, rstd, w, b):
    return torch.ops.aten.native_layer_norm_backward(dy, x, [x.shape[1]], mean, rstd, w, b, [True] * 3)


@pytest.mark.parametrize("rows", [2112, 2111], ids=["equal shares", "a prime number of rows"])
def test_layer_norm_backward_reads_its_inputs_once(rows):
    columns = 256
    x, dy, w, b = (torch.randn(*s) for s in ((rows, columns), (rows, columns), (columns,), (columns,)))
    _, mean, rstd = torch.native_layer_norm(x, [columns], w, b, 1e-5)
    args = (dy, x, mean, rstd, w, b)
    module, _ = compiled(backward, *args)
    assert kernels(module) == 2
    results = run_module(module, list(args))
    expected = backward(*(a.double() for a in args))
    for result, wanted in zip(results, expected, strict=True):
        assert (result.double() - wanted).norm() <= 3e-6 * wanted.norm()


def test_row_means_and_column_variances_share_a_read():
    x = torch.randn(2112, 256) + 3

    def both(x):
        return x.mean(1), x.var(0)

    module, _ = compiled(both, x)
    assert kernels(module) == 2
    for result, wanted in zip(run_module(module, [x]), both(x.double()), strict=True):
        assert (result.double() - wanted).norm() <= 3e-6 * wanted.norm()


@pytest.mark.parametrize("shape", [(1024, 256), (2112, 128), (2112, 16384)], ids=["few", "narrow", "wide"])
def test_kept_apart(shape):
    _, remarks = compiled(lambda x: (x.sum(1), x.sum(0)), torch.empty(*shape), level="scheduled")
    assert "reduction-dims" in {r.rule for r in remarks.items}


def test_variances_of_a_prime_number_of_rows_are_kept_apart():
    """Means and spreads of shares can be combined if all shares have equally many rows."""
    _, remarks = compiled(lambda x: (x.sum(1), x.var(0)), torch.empty(2111, 256), level="scheduled")
    assert "reduction-dims" in {r.rule for r in remarks.items}


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
