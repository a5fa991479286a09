"""Random layers of experts, as kernels and as calls, against float64."""

import pytest
from compiling import check
from random_experts import BEHINDS, FRONTS, GATES, Experts

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

QUICK, MORE = range(14), range(14, 120)


def checked(experts: Experts) -> None:
    compiled = check(
        experts.layer, *experts.given(), products=experts.products, interpret_level=experts.level
    )
    assert not any(graph.fallbacks for graph in compiled.graphs)


def test_the_layers_have_everything() -> None:
    drawn = [Experts.drawn(seed) for seed in QUICK]
    assert {e.front for e in drawn} == {*FRONTS}
    assert {e.gate for e in drawn} == {*GATES}
    assert {e.behind for e in drawn} == {*BEHINDS}
    assert {(e.lies, e.kept) for e in drawn} == {(lies, k) for lies in ("rows", "columns") for k in (0, 1)}


@pytest.mark.parametrize("seed", QUICK)
def test_a_layer_agrees_with_float64(seed: int) -> None:
    checked(Experts.drawn(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE)
def test_more_layers_agree_with_float64(seed: int) -> None:
    checked(Experts.drawn(seed))
