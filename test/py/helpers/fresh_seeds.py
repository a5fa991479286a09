"""The seeds of random programs: the same in every run, unless it is asked for fresh ones."""

import os

#: The first seed: 0, or the millions that ``--fresh N`` names.
FIRST = int(os.environ.get("FUSE_MLIR_FRESH", "0")) * 1_000_000


def seeds(usual: int) -> range:
    """``usual`` seeds, or as many as ``FUSE_MLIR_RANDOM`` says."""
    return range(FIRST, FIRST + int(os.environ.get("FUSE_MLIR_RANDOM", usual)))
