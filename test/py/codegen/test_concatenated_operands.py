"""Products of tensors that are concatenated first: a block of tiles that lies in one of them is one load."""

from collections.abc import Callable

import pytest
import torch
from tiling_cases import Case, parsed, tensor
from torch import Tensor

import fuse_mlir
from fuse_mlir.compiler.analysis.kernel.shape import KernelShape
from fuse_mlir.compiler.analysis.tiling.product_rules import Products
from fuse_mlir.compiler.ir.kernel import Kernel


def compiled(function: Callable[..., Tensor], *args: Tensor) -> str:
    """The final module of a function whose results in tile code are as those in float64."""
    torch._dynamo.reset()
    graphs = []
    options = {"products": "generated", "interpret_level": "planned", "on_compiled": graphs.append}
    want = function(*(a.double() if a.is_floating_point() else a for a in args))
    got = torch.compile(function, backend=fuse_mlir.backend, options=options)(*args)
    for mine, exact in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
        limit = 2**-8 * exact.abs().max().item()
        torch.testing.assert_close(mine.double(), exact, rtol=0, atol=limit)
    [graph] = graphs
    return str(graph.module)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).bfloat16()


def of_pointers(module: str) -> int:
    """Selects of addresses in a module."""
    return sum("arith.select" in line and "!tt.ptr" in line for line in module.splitlines())


@pytest.mark.parametrize(
    ("columns", "selects"),
    [
        pytest.param((128, 64), 1, id="whole blocks"),
        pytest.param((64, 128, 100), 2, id="three tensors, the last block is cut"),
        pytest.param((96, 96), 0, id="the border lies in a block"),
        pytest.param((1, 191), 0, id="one column"),
    ],
)
def test_columns_side_by_side(columns: tuple[int, ...], selects: int) -> None:
    def function(w: Tensor, *parts: Tensor) -> Tensor:
        return torch.cat(parts, 1) @ w

    parts = [normal(33, n) for n in columns]
    module = compiled(function, normal(sum(columns), 70), *parts)
    assert '"tt.dot"' in module and of_pointers(module) == selects
    assert not selects or module.count("arith.select") == selects  # no value is
    assert len(parts) + 1 - selects == module.count('"tt.load"')


def test_what_is_computed_of_all() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x, y), 1).relu() @ w

    module = compiled(function, normal(33, 64), normal(33, 128), normal(192, 48))
    assert of_pointers(module) == 1 and "arith.maximumf" in module


def test_what_is_computed_of_one_tensor_is_selected_itself() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x.relu(), y), 1) @ w

    module = compiled(function, normal(33, 64), normal(33, 64), normal(128, 48))
    assert '"tt.dot"' in module and of_pointers(module) == 0


def test_the_right_operand_and_both() -> None:
    def function(x: Tensor, y: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x, y), 1) @ torch.cat((v, w), 0)

    module = compiled(function, normal(33, 64), normal(33, 128), normal(64, 48), normal(128, 48))
    assert of_pointers(module) == 2


def test_rows_of_both_tensors() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x, y), 0) @ w

    module = compiled(function, normal(256, 200), normal(70, 200), normal(200, 48))
    assert '"tt.dot"' in module and of_pointers(module) == 1


def test_matrices_of_both_tensors() -> None:
    """Rows of all matrices are one axis, of which a block has points of both."""

    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x, y), 0) @ w

    module = compiled(function, normal(64, 3, 200), normal(64, 3, 200), normal(200, 48))
    assert '"tt.dot"' in module and of_pointers(module) == 0


def test_other_strides_of_each_tensor() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((x.t(), y[:, ::2]), 1) @ w

    assert of_pointers(compiled(function, normal(64, 33), normal(33, 256), normal(192, 48))) == 1


def test_rows_that_are_looked_up() -> None:
    def function(table: Tensor, rows: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.cat((table[rows], y), 1) @ w

    rows = torch.randint(0, 50, (33,), generator=torch.Generator().manual_seed(1))
    module = compiled(function, normal(50, 64), rows, normal(33, 64), normal(128, 48))
    assert '"tt.dot"' in module


def test_a_tensor_that_is_read_by_itself_too() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat((x, y), 1)
        return both @ w, both * 2

    module = compiled(function, normal(33, 64), normal(33, 64), normal(128, 48))
    assert '"tt.dot"' in module


def test_a_tensor_that_is_overwritten() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        y.copy_(torch.cat((x, y), 1) @ w)
        return y

    module = compiled(function, normal(33, 64), normal(33, 64), normal(128, 64))
    assert '"tt.dot"' in module


def test_batches_of_both_tensors() -> None:
    def function(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.bmm(torch.cat((x, y), 0), w)

    module = compiled(function, normal(2, 33, 70), normal(3, 33, 70), normal(5, 70, 48))
    assert '"tt.dot"' in module and of_pointers(module) == 1


@pytest.mark.parametrize(("border", "read"), [(128, 2), (96, 4)])
def test_what_a_block_of_the_sum_reads(border: int, read: int) -> None:
    """Of both tensors where it can have points of both."""
    x, y = (tensor(256, n, element="bf16") for n in (border, 256 - border))
    body = f"""%border = "fuse.index"() {{expr = "d2 - {border}"}} : () -> i64
    %i0 = arith.constant 0 : i64
    %z = arith.constant 0.0 : bf16
    %below = arith.cmpi slt, %border, %i0 : i64
    %above = arith.cmpi sge, %border, %i0 : i64
    %ax = "fuse.load"(%x, %below, %z) {{at = ["d0", "d2"]}} : ({x}, i1, bf16) -> bf16
    %ay = "fuse.load"(%y, %above, %z) {{at = ["d0", "d2 - {border}"]}} : ({y}, i1, bf16) -> bf16
    %a = arith.select %below, %ax, %ay : bf16
    load w[d2, d1] -> b
    %c = "fuse.dot"(%a, %b) {{over = ["d2"]}} : (bf16, bf16) -> f32
    store c -> o[d0, d1]"""
    inputs = {"x": x, "y": y, "w": tensor(256, 64, element="bf16")}
    case = Case({"d0": "256", "d1": "64", "d2": "256"}, inputs, {"o": tensor(256, 64)}, body)
    module = parsed(case.text())
    [kernel] = [op for op in module.body.operations if "fuse.kernel" in op.operation.attributes]
    form = Products(KernelShape.of(Kernel.of(kernel.operation))).form
    assert (form.left_bytes, form.border) == (read, 128 if read == 2 else 0)
