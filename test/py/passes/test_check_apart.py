"""``check-apart``: products whose rows are looked up, through the default pipeline for an H200."""

import pytest
import torch
from tiling_cases import Case, parsed, run, tensor

from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import Settings, default_pipeline

M, N, K, ROWS = 130, 70, 96, 40
LOOKED_UP = f"""%most = arith.constant {ROWS} : i64
%nothing = arith.constant 0.0 : bf16
load index[d0] -> row
%inside = arith.cmpi ult, %row, %most : i64
"fuse.device_assert"(%inside, %true) {{fuse.index_check, message = "index out of bounds"}} : (i1, i1) -> ()
%a = "fuse.load"(%x, %inside, %nothing, %row) {{at = ["i0", "d2"]}} : (TABLE, i1, bf16, i64) -> bf16
load w[d2, d1] -> b
%c = "fuse.dot"(%a, %b) {{over = ["d2"]}} : (bf16, bf16) -> f32
store c -> o[d0, d1]"""


def module() -> ir.Module:
    table = tensor(ROWS, K, element="bf16")
    inputs = {"x": table, "w": tensor(K, N, element="bf16"), "index": tensor(M, element="i64")}
    dims = {"d0": str(M), "d1": str(N), "d2": str(K)}
    made = parsed(Case(dims, inputs, {"o": tensor(M, N)}, LOOKED_UP.replace("TABLE", table)).text())
    with made.context, ir.Location.unknown():
        PassManager(default_pipeline(settings=Settings("h200"))).run(made)
    return made


def given() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    x, w = (torch.randn(s, generator=draw).to(torch.bfloat16) for s in ((ROWS, K), (K, N)))
    return [x, w, torch.randint(0, ROWS, (M,), generator=draw)]


def test_no_kernel_multiplies_and_asserts() -> None:
    functions = [str(op) for op in module().body.operations if op.operation.name == "tt.func"]
    assert (
        sum('"tt.assert"' in text for text in functions) == sum('"tt.dot"' in text for text in functions) == 1
    )
    assert not any('"tt.assert"' in text and '"tt.dot"' in text for text in functions)
    x, w, index = given()
    [got] = run(module(), [x, w, index])
    torch.testing.assert_close(got.double(), x[index].double() @ w.double(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("wrong", [-1, ROWS])
def test_rows_outside_are_an_error_still(wrong: int) -> None:
    x, w, index = given()
    index[77] = wrong
    with pytest.raises(IndexError, match="index out of bounds"):
        run(module(), [x, w, index])
