"""Which kernels have a product whose tiles descriptors may copy (``analysis/kernel/descriptors.py``)."""

import pytest
from tiling_cases import Case, parsed, tensor

from fuse_mlir.compiler.analysis.kernel.descriptors import streams_of
from fuse_mlir.compiler.ir.kernel import Kernel, is_kernel

LOADS = "load x[d0, d2] -> a\nload w[d2, d1] -> b\n"
DOT = '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\n'
STORE = "%h = arith.truncf %c : f32 to bf16\nstore h -> o[d0, d1]\n"
DIMS = {"d0": "64", "d1": "32", "d2": "16"}


def matrix(rows: int, columns: int, strides: str | None = None, element: str = "bf16") -> str:
    return tensor(rows, columns, element=element, strides=strides)


X, W, RESULT = matrix(64, 16), matrix(16, 32), matrix(64, 32)


def forms(body: str, dims: dict[str, str] = DIMS, x: str = X, w: str = W, **outputs: str):
    case = Case(dims, {"x": x, "w": w}, outputs or {"o": RESULT}, body)
    module = parsed(case.text())
    [function] = [op.operation for op in module.body.operations if is_kernel(op)]
    found = streams_of(Kernel.of(function))
    return None if found is None else [stream.dims for stream in found.values()]


def test_rows_and_columns_in_memory() -> None:
    """The dims of rows come first, whichever side of the product they are."""
    assert forms(LOADS + DOT + STORE) == [("d0", "d2"), ("d2", "d1"), ("d0", "d1")]
    turned = forms(LOADS + DOT + STORE, w=matrix(16, 32, "1,16"), o=matrix(64, 32, "1,64"))
    assert turned == [("d0", "d2"), ("d1", "d2"), ("d1", "d0")]


OTHERS = {
    "a factor that is computed": (
        LOADS + "%n = arith.negf %b : bf16\n" + DOT.replace("%b", "%n") + STORE,
        {},
    ),
    "a second result": (LOADS + DOT + STORE + "store h -> q[d0, d1]\n", {"o": RESULT, "q": RESULT}),
    "a result of 32 bits": (LOADS + DOT + "store c -> o[d0, d1]\n", {"o": matrix(64, 32, element="f32")}),
    "a reduction behind": (
        LOADS + DOT + "fold max c[d1] -> m : f32\n%h = arith.truncf %m : f32 to bf16\nstore h -> o[d0]\n",
        {"o": tensor(64, element="bf16")},
    ),
    "rows that start anywhere": (LOADS + DOT + STORE, {"w": matrix(16, 32, "33,1")}),
    "elements that lie apart": (LOADS + DOT + STORE, {"w": matrix(16, 32, "64,2")}),
    "a part of a matrix": (LOADS + DOT + STORE, {"x": matrix(128, 16)}),
    "a row for all": (LOADS.replace("w[d2, d1]", "w[0, d1]") + DOT + STORE, {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_plain_copy_of_whole_matrices(name: str) -> None:
    body, more = OTHERS[name]
    assert forms(body, **more) is None
