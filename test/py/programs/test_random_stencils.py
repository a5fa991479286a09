"""Convolutions of few products with drawn sizes, strides, padding, dilation and groups, against float64; they
are cut into strips of rows and into vectors however small they are.

``FUSE_MLIR_RANDOM=n`` draws ``n`` of them.
"""

import random
from typing import Any
from unittest import mock

import pytest
import torch
from compiling import Compiled
from fresh_seeds import seeds
from interpreted_gpu import interpreted_gpu
from torch.nn import functional as F

from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.bench.tolerance import judge_all
from fuse_mlir.passes.kernels import unroll_and_jam

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
TAPS = ((3, 3), (1, 4), (4, 1), (2, 5), (5, 2), (5, 5))


def drawn(seed: int) -> tuple[torch.Size, torch.Size, dict[str, Any], torch.dtype, int]:
    """(sizes of the image, sizes of the weight, options, dtype, columns that are kept), with at least one
    place of the result.  Of half of them vectors divide the columns, before and behind.
    """
    draw = random.Random(seed)
    groups, taps = draw.randint(1, 4), draw.choice(TAPS)
    numbers = {
        name: tuple(draw.randint(least, 2) for _ in taps)
        for name, least in (("stride", 1), ("padding", 0), ("dilation", 1))
    }
    reach = [(n - 1) * d + 1 for n, d in zip(taps, numbers["dilation"], strict=True)]
    image = [r + draw.randint(0, 20) for r in reach]
    weight = (groups * draw.randint(1, 2), 1, *taps)
    options, kept = {**numbers, "groups": groups}, image[-1] + 4
    batch, dtype, vector = draw.randint(1, 2), draw.choice(DTYPES), draw.choice((1, 1, 4, 8))
    if vector > 1:
        numbers["stride"] = options["stride"] = (numbers["stride"][0], 1)
        image[-1] = -(-(image[-1] + vector) // vector) * vector
        kept = (image[-1] - reach[-1] + 1 + 2 * numbers["padding"][-1]) // vector * vector
    return torch.Size((batch, groups, *image)), torch.Size(weight), options, dtype, kept


@pytest.mark.parametrize("seed", seeds(6))
def test_drawn(seed: int) -> None:
    image, weight, options, dtype, kept = drawn(seed)
    generator = torch.Generator().manual_seed(seed)
    x, w, b = (torch.randn(s, generator=generator).to(dtype) for s in (image, weight, weight[:1]))

    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, b, **options)[..., :kept].relu() + 1

    compiled = Compiled(function)
    with interpreted_gpu(), torch.no_grad(), mock.patch.object(unroll_and_jam, "_THREADS", 0):
        found, eager = compiled(x, w, b), function(x, w, b)
        with float64_reference():
            reference = function(*(a.double() for a in (x, w, b)))
    rows = judge_all(*({"result": r} for r in (reference, eager, found)), torch.finfo(dtype).eps)
    assert all(row.passed for row in rows), (drawn(seed), rows)
    [graph] = compiled.graphs
    assert not graph.externs and not graph.fallbacks, drawn(seed)


def test_everything_is_drawn() -> None:
    found = [drawn(seed) for seed in range(200)]
    assert {weight[2:] for _, weight, *_ in found} == set(TAPS)
    assert {dtype for *_, dtype, _ in found} == set(DTYPES)
    assert {options["groups"] for _, _, options, *_ in found} == {1, 2, 3, 4}
