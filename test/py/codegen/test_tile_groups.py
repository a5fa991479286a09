"""Loops that go through groups of weights: which numbers of lanes are a load that reads nothing."""

import pytest
from repository import LIT
from tiling_cases import lowered

from fuse_mlir.passes.pipeline_text import parse_pipeline

CHOSEN, TILED = (
    parse_pipeline(f"builtin.module({passes})")
    for passes in ("unpack-dots,choose-tiling{hardware=h200}", "apply-tiling")
)


@pytest.mark.parametrize(("stages", "loaded"), [(3, True), (1, False)])
def test_of_several_stages_only(stages: int, loaded: bool) -> None:
    """Without loads ahead nothing lies in shared memory, where words would be converted."""
    text = (LIT / "codegen/packed-words.mlir").read_text(encoding="utf-8").partition("\n// -----")[0]
    chosen = str(lowered(text, *CHOSEN))
    assert chosen.count("num_stages = 3") == 1
    tiled = str(lowered(chosen.replace("num_stages = 3", f"num_stages = {stages}"), *TILED))
    assert ('"tt.bitcast"' in tiled) == loaded
