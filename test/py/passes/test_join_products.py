"""``join-products`` on tile code that only a file can have: products of other halves than it looks for."""

import pytest
from repository import LIT
from tiling_cases import lowered

from fuse_mlir.passes.pipeline_text import parse_pipeline

TILED, JOINED = (
    parse_pipeline(f"builtin.module({passes})")
    for passes in ("choose-tiling{hardware=h200},apply-tiling", "join-products")
)


@pytest.fixture(scope="module")
def tiled() -> str:
    """The first kernel of the pass's lit file, tiled: 128 rows of bytes times both halves of 64 rows."""
    text = (LIT / "passes/join-products.mlir").read_text(encoding="utf-8").partition("\n// -----")[0]
    return str(lowered(text, *TILED))


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("", "", True),
        ("order = array<i32: 0, 2, 1>", "order = array<i32: 2, 0, 1>", False),
        ("dense<0.000000e+00> : tensor<128x64xf32>", "dense<1.000000e+00> : tensor<128x64xf32>", False),
        ("inputPrecision = 2 : i32", "inputPrecision = 0 : i32", False),
        ("tensor<64x2x64xbf16>", "tensor<2x64x64xbf16>", False),
    ],
    ids=["even and odd rows", "columns", "a sum goes on", "another precision", "upper and lower rows"],
)
def test_which_halves(before: str, after: str, joined: bool, tiled: str) -> None:
    """``before`` becomes ``after`` where it stands first, or in the types of one value."""
    everywhere = before.startswith("tensor")
    text = tiled.replace(before, after, -1 if everywhere else 1) if before else tiled
    if everywhere:
        text = text.replace("order = array<i32: 0, 2, 1>", "order = array<i32: 1, 2, 0>")
    assert (text == tiled) == (not before)
    assert ('"tt.join"' in str(lowered(text, *JOINED))) == joined
