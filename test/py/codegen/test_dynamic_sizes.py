"""Sizes that are not the hint, and tensors too large for 32-bit offsets."""

import contextlib
import gc
import re
import weakref

import pytest
import torch
from compiling import Compiled, check
from interpreted_gpu import interpreted_gpu
from tiling_cases import Case, axis, lowered, tensor, tile
from torch import nn
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.fusion.walk import Walk
from fuse_mlir.compiler.runtime.errors import OutOfBounds
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers
from fuse_mlir.passes.tiling.apply_tiling import ApplyTiling
from fuse_mlir.passes.tiling.lower_to_tt import LowerToTt

HINT = 8
ROWS = (1000, 2, 1)  # 1 is another graph: torch specialises it


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


# ---- a graph made for 8 rows -------------------------------------------------------------------------------

FUNCTIONS = {
    "softmax": lambda x, i: F.softmax(x, -1),
    "softmax over rows": lambda x, i: F.softmax(x, 0),
    "layer norm": lambda x, i: F.layer_norm(x, (20,)) * 2,
    "sum over rows": lambda x, i: x.sum(0),
    "sum of all": lambda x, i: (x * x).sum(),
    "mean over rows": lambda x, i: x - x.mean(0),
    "cat": lambda x, i: torch.cat([x, x.flip(0) + 1]) * 2,
    "embedding": lambda x, i: F.embedding(i, x[:2] + 1) + x,
}


def inputs(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 20), torch.randint(0, min(rows, 2), (rows,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_that_are_not_the_hint(name):
    f = FUNCTIONS[name]
    compiled = Compiled(f, {"interpret_level": "planned"}, dynamic=True)
    for rows in (HINT, *ROWS):
        x, i = inputs(rows)
        found, exact = compiled(x, i), f(x.double(), i)
        assert found.shape == exact.shape and found.dtype == torch.float32
        torch.testing.assert_close(found.double(), exact, rtol=2e-5, atol=2e-5 * float(exact.abs().max()))
        if rows > 1:
            assert len(compiled.graphs) == 1, f"{rows} rows made another graph"
    assert f"fuse.hint = {HINT} : i64" in str(compiled.graphs[0].module)


@pytest.mark.parametrize("rows, columns", [(20, 30), (3, 50)])
def test_places_may_be_divided_by_sizes(rows, columns):
    """A GPU's blocks ask where loads begin, of sizes that a place is divided by."""

    def window(x, y):
        return (x + y).view(-1, 10)[:, 2:5] * 3

    compiled = Compiled(window, dynamic=True)
    args = torch.randn(rows, columns), torch.randn(rows, columns)
    with interpreted_gpu():
        found = compiled(*args)
    torch.testing.assert_close(found, window(*args))


def test_training_with_sizes_that_are_not_the_hint():
    table, norm = nn.Embedding(11, 20), nn.LayerNorm(20)
    parameters = {
        f"{n}.{p}": v for n, m in (("table", table), ("norm", norm)) for p, v in m.named_parameters()
    }

    def loss(i, p):
        x = F.embedding(i, p["table.weight"])
        y = F.layer_norm(torch.cat([x, x * 2]), (20,), p["norm.weight"], p["norm.bias"])
        return (F.softmax(y, -1) * y).sin().sum(0).square().sum()

    compiled = Compiled(loss, {"interpret_level": "planned"}, dynamic=True)
    for rows in (HINT, 200, 2):
        i = torch.randint(0, 11, (rows,))
        given = {n: p.detach().clone().requires_grad_() for n, p in parameters.items()}
        wide = {n: p.detach().double().requires_grad_() for n, p in parameters.items()}
        found = torch.autograd.grad(compiled(i, given), list(given.values()))
        exact = torch.autograd.grad(loss(i, wide), list(wide.values()))
        for mine, true in zip(found, exact, strict=True):
            torch.testing.assert_close(
                mine.double(), true, rtol=1e-4, atol=1e-5 * float(true.abs().max()) + 1e-6
            )
    assert {graph.name for graph in compiled.graphs} == {"forward", "backward"}


@pytest.mark.parametrize("of_columns", [torch.sum, torch.var], ids=["sums", "variances"])
def test_row_and_column_sums_of_rows_that_are_not_the_hint(of_columns, monkeypatch):
    """One walk over the rows reads them once, in shares that need not be equal."""
    monkeypatch.setattr(Walk, "pays", lambda *_: True)

    def f(x):
        return x - x.sum(1, keepdim=True), of_columns(x, 0)

    compiled = Compiled(f, {"interpret_level": "planned", "hardware": "h200"}, dynamic=None)
    for rows in (2200, 2053, 3):
        x = torch.randn(rows, 256)
        torch._dynamo.mark_dynamic(x, 0)
        for found, exact in zip(compiled(x), f(x.double()), strict=True):
            assert (found.double() - exact).norm() <= 3e-6 * exact.norm()
    [graph] = compiled.graphs
    assert "warp-walks" in {remark.rule for remark in graph.remarks.items}


# ---- offsets beyond 32 bits --------------------------------------------------------------------------------

DOUBLE = """
load x[d0, d1] -> v
%w = arith.addf %v, %v : f32
store w -> o[d0, d1]
"""


def doubled(rows: int | str, columns: int, chosen: str, element_strides: str | None = None, **kwargs) -> str:
    """Tile code of ``o = x + x`` of ``rows`` x ``columns`` f32."""
    t = tensor(rows, columns, strides=element_strides)
    o = tensor(rows, columns)
    case = Case({"d0": str(rows), "d1": str(columns)}, {"x": t}, {"o": o}, DOUBLE, tile=chosen, **kwargs)
    return str(lowered(case.text(), ApplyTiling()))


def offsets(text: str) -> list[str]:
    """The element types of all address offsets."""
    found = [
        re.sub(r"tensor<(?:\d+x)*|>", "", m)
        for m in re.findall(r'"?tt\.addptr"?\(?.*?\)? : \(.*?, ((?:tensor<[\dx]+i\d+>)|i\d+)\)', text)
    ]
    assert found, text
    return found


ROWWISE = tile(axis("d0", 1, "grid"), axis("d1", 64, "grid"))
FLAT = tile(axis("d0,d1", 256, "grid"))
LOOPED = tile(axis("d0", 64, "grid"), axis("d1", 64, "looped"))


@pytest.mark.parametrize("chosen", [ROWWISE, FLAT, LOOPED], ids=["rowwise", "flat", "looped"])
def test_small_tensors_have_32_bit_offsets(chosen):
    assert set(offsets(doubled(1000, 4096, chosen))) == {"i32"}


@pytest.mark.parametrize("chosen", [ROWWISE, FLAT, LOOPED], ids=["rowwise", "flat", "looped"])
@pytest.mark.parametrize("rows", [1 << 21, 1 << 26])
def test_large_tensors_have_64_bit_offsets(chosen, rows):
    assert "i64" in offsets(doubled(rows, 4096, chosen))


def test_a_stride_may_be_large_where_the_sizes_are_small():
    assert "i64" in offsets(doubled(64, 64, ROWWISE, f"{1 << 28},1"))


def test_a_symbolic_size_without_maximum_has_64_bit_offsets():
    """Scalar parts are 64 bits wide; vectors only where a proof bounds them."""
    widths = {
        name: set(offsets(doubled("s0", 4096, chosen, sizes={"s0": HINT})))
        for name, chosen in (("rowwise", ROWWISE), ("flat", FLAT), ("looped", LOOPED))
    }
    assert all("i64" in found for found in widths.values()), widths


def test_a_maximum_of_a_symbolic_size_is_a_proof():
    def widths(most: int) -> set[str]:
        facts = f", fuse.min = 2 : i64, fuse.max = {most} : i64"
        return set(offsets(doubled("s0", 4096, LOOPED, sizes={"s0": HINT}, facts=facts)))

    assert widths(1 << 10) == {"i32"}
    assert "i64" in widths(1 << 21)


@pytest.mark.parametrize("on_gpu", [False, True], ids=["interpreter", "launch plan"])
def test_a_torch_op_whose_strides_are_computed_by_the_host(on_gpu):
    """Strides of three equal dims are products of maxima, which come before an op that takes none of them."""

    with interpreted_gpu() if on_gpu else contextlib.nullcontext():
        check(nn.MaxPool3d(2), torch.randn(2, 3, 8, 8, 8), dynamic=True)


@pytest.mark.parametrize("rows", [40, 20])
def test_a_size_that_only_the_grid_of_a_launch_has(rows):
    """A program for each row: the kernel takes no number of rows, the interpreter finds it in the grid."""
    with interpreted_gpu():
        check(lambda x, w: (x @ w).softmax(-1), torch.randn(rows, 4), torch.randn(4, 70), dynamic=True)


def test_launches_keep_their_module():
    """An error asks ops for their location."""
    case = Case({"d0": "2", "d1": "64"}, {"x": tensor(2, 64)}, {"o": tensor(2, 64)}, DOUBLE, tile=ROWWISE)
    module = lowered(case.text(), ApplyTiling(), LowerToTt())
    [launch] = interpreted_launchers(module).values()
    kept = weakref.ref(module)
    del module
    gc.collect()
    assert kept() is not None
    x, o = torch.randn(2, 64), torch.empty(2, 64)
    launch(0, 1, 2, 1, x.data_ptr(), o.data_ptr())
    assert torch.equal(2 * x, o)
    with pytest.raises(OutOfBounds, match="accesses offset"):
        launch(0, 1, 3, 1, x.data_ptr(), o.data_ptr())


@pytest.mark.parametrize("module", [nn.MaxPool3d(2), nn.Conv1d(3, 4, 3)], ids=lambda m: type(m).__name__)
def test_arguments_whose_strides_are_maxima(module):
    """The backward graph takes what the forward saved; its strides hold sizes that are at least 1."""
    compiled = Compiled(module, dynamic=True)
    for batch in (2, 3):
        sizes = (3, 8, 8, 8) if isinstance(module, nn.MaxPool3d) else (3, 8)
        x = torch.randn(batch, *sizes, dtype=torch.float64, requires_grad=True)
        module.double()
        found, want = (torch.autograd.grad(f(x).square().sum(), x)[0] for f in (compiled, module))
        torch.testing.assert_close(found, want)


def repeated(x):
    """The positive elements four times, between other ones."""
    some = x[x > 0]
    row = some.expand(4, some.shape[0]).reshape(-1)
    return torch.nn.functional.pad(row * 2, (1, 5)).exp(), torch.cat([row, x]) + 1, row.sum()


def test_a_size_that_data_makes_zero_divides_coordinates(fresh_dynamo):
    x = torch.tensor([1.0, -2.0, 3.0])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(repeated, {}, dynamic=True)
        for given in (x, -x.abs()):
            for found, expected in zip(compiled(given), repeated(given), strict=True):
                torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x[:, 2:].exp().t() @ x, id="transposed"),
        pytest.param(lambda x: torch.cat([x[:, 2:].exp(), x[1:, 2:]])[3:].sin().t(), id="rows"),
    ],
)
def test_views_of_arguments_whose_strides_are_maxima(function):
    """What a backward graph views has strides of one spelling with the views, whatever is empty."""
    compiled = Compiled(function, {"verify": "on"}, dynamic=True)
    for shape in ((3, 8), (5, 4), (4, 2)):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        weight = torch.randn(function(x).shape, dtype=torch.float64)
        found, want = (torch.autograd.grad((f(x) * weight).sum(), x)[0] for f in (compiled, function))
        torch.testing.assert_close(found, want)


def test_a_stride_that_the_program_computes_is_no_size():
    """The program's own maximum with 1 stays one: its tensor has elements where the other number is 0."""

    def strided(x):
        return (x * 1).as_strided((2, 2), (max(1, x.shape[1] - 2), 1)) * 2

    check(strided, torch.arange(4.0).view(2, 2), dynamic=True)
