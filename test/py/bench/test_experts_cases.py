"""The suite `experts`: each form is judged in eager mode, and a few agree as they are compiled on a CPU."""

import pytest
from bench_runs import assert_compiles, assert_judged

from fuse_mlir.bench.cases_experts import EXPERTS, MANY, MANY_TO_FEW, WIDE, WIDE_TO_ALL

FORMS = [name for name in EXPERTS if name.endswith("_4096")]
QUICK = ("layer_64", "layer_skewed_64", "layer_trained_8", "layer_fp8_8", "products_fp8_8", "capacity_8")


def test_layers_stand_beside_their_products_alone():
    named = [
        *(f"{kind}{n}x{k}_{t}" for n, k, *_ in (WIDE, MANY) for kind in ("", "fp8_") for t in (4096, 32768)),
        *(f"{n}x{k}_4096" for n, k, *_ in (WIDE_TO_ALL, MANY_TO_FEW)),
    ]
    assert {f"experts_{what}_{name}" for what in ("layer", "products") for name in named} <= {*EXPERTS}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.removeprefix("experts_").startswith(QUICK) else pytest.mark.slow)
        for name in FORMS
    ],
)
def test_a_form_is_judged(name):
    assert_judged(EXPERTS[name])


@pytest.mark.parametrize("name", ["experts_layer_8x2_4096", "experts_layer_fp8_8x2_4096"])
def test_two_compile_and_agree(name):
    assert_compiles(EXPERTS[name])
