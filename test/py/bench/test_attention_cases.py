"""The suite `attention`: each form is judged in eager mode, and a few agree as they are compiled on a CPU."""

import pytest
from bench_runs import assert_compiles, assert_judged

from fuse_mlir.bench.cases_attention import ATTENTION

#: The forms at one size; `flex_attention` is for compilers.
PLAIN = [name for name in ATTENTION if "2048" in name and not name.startswith("flex")]
#: What is no form of its own: the library's call, what it computes, and one query.
OTHERS = ("sdpa", "plain", "decoding")

QUICK = ("sinks_training", "differential_2", "documents_2")


@pytest.mark.parametrize("name", [name for name in ATTENTION if name.startswith("decoding")])
def test_decoding_is_judged(name):
    assert_judged(ATTENTION[name])


def test_ten_forms_are_timed_with_and_without_gradients():
    forms = {name.partition("_2x16")[0] for name in PLAIN if not name.startswith(OTHERS)}
    assert len([form for form in forms if form.endswith("_training")]) == 10
    assert len([form for form in forms if not form.endswith("_training")]) == 10


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name.startswith(QUICK) else pytest.mark.slow) for name in PLAIN],
)
def test_a_form_is_judged(name):
    assert_judged(ATTENTION[name])


@pytest.mark.parametrize(
    "name", ["flex_soft_cap_1x16x4096x64", "sinks_1x16x4096x64", "decoding_pages_16x32x8192x128"]
)
def test_some_compile_and_agree(name):
    assert_compiles(ATTENTION[name])
