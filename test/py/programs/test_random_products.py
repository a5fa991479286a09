"""Random products with what is around them as kernels, against float64.

Examples derive from the test's name, so every run tries the same ones; the test marked `slow` tries more.
"""

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from random_products import Contraction, check_contraction, contractions

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def examples(count: int) -> settings:
    return settings(max_examples=count, suppress_health_check=[*HealthCheck])


#: Neither factor has a dim of no points along which both are summed.
NO_POINTS = Contraction(
    "bmm",
    (3, 5, 0, 0),
    torch.float16,
    ("transposed", "strided", "plain"),
    ("itself",) * 2,
    (),
    True,
    "scheduled",
    0,
)


@examples(8)
@given(contractions())
@example(NO_POINTS)
def test_products(contraction: Contraction) -> None:
    check_contraction(contraction)


@pytest.mark.slow
@examples(600)
@given(contractions())
def test_many_products(contraction: Contraction) -> None:
    check_contraction(contraction)
