"""Random products with what is around them as kernels, against float64.

Examples derive from the test's name, so every run tries the same ones; the test marked `slow` tries more.
"""

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from random_products import (
    AFTER,
    BEFORE,
    DTYPES,
    OPS,
    REDUCTIONS,
    UPDATES,
    Contraction,
    check_contraction,
    contractions,
)

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=[*HealthCheck])


#: Neither factor has a dim of no points along which both are summed.
NO_POINTS = Contraction(
    "bmm", (3, 5, 0, 0), torch.float16, ("transposed", "strided", "plain"), dynamic=True, level="scheduled"
)

F32, BF16, F16, F64 = torch.float32, torch.bfloat16, torch.float16, torch.float64
#: Programs of tiles that together have each op, each thing in front of a product and behind it.
COVERING = (
    Contraction("mm", (1, 70, 130, 33), F32, before=("silu", "widened"), after=("bias",), tf32=True),
    Contraction("mm", (1, 33, 130, 70), BF16, before=("gathered", "joined"), gated=True, kept=True),
    Contraction("bmm", (2, 17, 70, 33), F16, before=("joined", "scaled"), after=("softmax",)),
    Contraction("matmul", (3, 17, 64, 33), F64, before=("normed", "relu"), after=("residual", "dropout")),
    Contraction("addmm", (1, 130, 33, 70), F32, before=("shifted", "flipped"), after=("gate", "largest")),
    Contraction("baddbmm", (2, 33, 70, 17), BF16, ("strided",) * 3, after=("silu",), updates="residual"),
    Contraction("addbmm", (3, 33, 17, 33), F16, ("transposed",) * 3, after=("turned",), updates="left"),
    Contraction("linear", (2, 33, 70, 64), BF16, before=("gathered", "widened"), gated=True, dynamic=True),
    Contraction("einsum", (2, 17, 33, 33), F32, ("expanded", "plain", "expanded"), after=("sum",)),
    Contraction("conv1d", (2, 33, 64, 17), F16, after=("scale", "rms"), kept=True),
    Contraction("int8", (1, 33, 130, 70), F32, ("plain", "transposed", "plain"), after=("bias",), gated=True),
    Contraction("fp8", (1, 70, 130, 33), F32, before=("joined", "itself"), after=("rms",), kept=True),
    Contraction("fp8 by row", (1, 33, 64, 70), F32, before=("itself", "gathered"), after=("residual",)),
)


def test_the_programs_of_tiles_have_everything() -> None:
    assert all(c.is_tiled for c in COVERING)
    assert {c.op for c in COVERING} >= OPS.keys() - {*REDUCTIONS}
    assert {name for c in COVERING for name in c.before} == BEFORE.keys()
    assert {name for c in COVERING for name in c.after} == AFTER.keys()
    assert {c.dtype for c in COVERING} == {*DTYPES}
    assert {c.updates for c in COVERING} == {*UPDATES}


@pytest.mark.parametrize("contraction", [c for c in COVERING if c.op in OPS], ids=lambda c: c.op)
def test_products_of_tiles(contraction: Contraction) -> None:
    check_contraction(contraction)


@examples(14)
@given(contractions())
@example(NO_POINTS)
def test_products(contraction: Contraction) -> None:
    check_contraction(contraction)


@pytest.mark.slow
@examples(600)
@given(contractions())
def test_many_products(contraction: Contraction) -> None:
    check_contraction(contraction)
