"""The pass `reroll-loops` with other options: short recurrences become loops."""

import pytest

from fuse_mlir.passes import pipeline
from fuse_mlir.passes.tiling.reroll_loops import RerollLoops


def rerolled(monkeypatch: pytest.MonkeyPatch, **options: int) -> None:
    """Sets options of the pass until the test ends: few steps are enough, and bytes take no time."""

    def made(hardware: str) -> RerollLoops:
        return RerollLoops(f"{hardware}:bandwidth=1000000000", **{"least_ops": 20, **options})

    monkeypatch.setattr(pipeline, "RerollLoops", made)
