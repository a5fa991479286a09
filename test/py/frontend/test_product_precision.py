"""torch's switches for TF32 as an attribute of the products of float32 that run on a GPU."""

from typing import Any

import pytest
import torch
from import_one import graph_of, imported
from versions import TORCH

aten = torch.ops.aten
MATMUL, CONVOLUTIONS = torch.backends.cuda.matmul, torch.backends.cudnn.conv


@pytest.fixture(autouse=True)
def restored() -> Any:
    before = [b.fp32_precision for b in (MATMUL, CONVOLUTIONS)]
    yield
    for backend, value in zip((MATMUL, CONVOLUTIONS), before, strict=True):
        backend.fp32_precision = value


def precisions(op: Any, *args: Any, dtype: torch.dtype = torch.float32, device: str = "cuda:0") -> int:
    """How many declarations say TF32."""
    given = [torch.empty(a, dtype=dtype) if isinstance(a, tuple) else a for a in args]
    return str(imported(graph_of(op, given), device=device).module).count('fuse.precision = "tf32"')


def test_products_follow_their_switch() -> None:
    sizes = (4, 8), (8, 6)
    MATMUL.fp32_precision, CONVOLUTIONS.fp32_precision = "ieee", "tf32"
    assert precisions(aten.mm.default, *sizes) == 0
    MATMUL.fp32_precision, CONVOLUTIONS.fp32_precision = "tf32", "ieee"
    assert precisions(aten.mm.default, *sizes) == 1
    assert precisions(aten.mm.default, *sizes, device="cpu") == 0
    assert precisions(aten.mm.default, *sizes, dtype=torch.bfloat16) == 0
    torch.set_float32_matmul_precision("highest")
    assert precisions(aten.mm.default, *sizes) == 0
    torch.set_float32_matmul_precision("high")
    assert precisions(aten.mm.default, *sizes) == 1


def test_nine_products_of_bfloat16_are_no_rounding() -> None:
    if TORCH < (2, 15):
        pytest.skip(f"torch {torch.__version__} has no precision bfx9")
    MATMUL.fp32_precision = "bfx9"
    sizes = (4, 8), (8, 6)
    assert precisions(aten.mm.default, *sizes) == precisions(aten.addmm.default, (6,), *sizes) == 0


def test_convolutions_follow_theirs() -> None:
    arguments = (2, 3, 4, 4), (5, 3, 1, 1), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    MATMUL.fp32_precision, CONVOLUTIONS.fp32_precision = "tf32", "ieee"
    assert precisions(aten.convolution.default, *arguments) == 0
    CONVOLUTIONS.fp32_precision = "tf32"
    assert precisions(aten.convolution.default, *arguments) == 1


def test_what_multiplies_nothing_says_nothing() -> None:
    MATMUL.fp32_precision = "tf32"
    assert precisions(aten.sort.default, (4, 8)) == 0
