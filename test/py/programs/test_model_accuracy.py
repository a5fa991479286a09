"""Every small model of `bench.models`, compiled by the backend on the CPU, is as accurate as eager.

`bench.accuracy` compares outputs, gradients, mutations and strides with a float64 run. Float32 with static
sizes is what each run of the tests covers, at the last level of the IR and with a check of the numbers before
and after every pass: a training step where a case has one, as its forward graph holds the ops of inference.
Stacks of blocks have that check in a test marked `slow`. Inference of these cases, bfloat16 and dynamic sizes
are marked `slow`, too, and each has a few quick representatives, the latter two at the level that is the
default on a CPU.
"""

import pytest
import torch

import fuse_mlir
from fuse_mlir.bench.accuracy import compare
from fuse_mlir.bench.models import CASES, ModelCase, select
from fuse_mlir.bench.randomness import check_random_case

QUICK = ("mlp", "gpt2_block_explicit", "resnet_bottleneck", "adam_step")
#: An op that is neither generated nor chosen to run as itself is an error.
PLANNED = {"interpret_level": "planned", "strict": True}
EVERY_PASS = PLANNED | {"verify": "numeric"}
#: GPT-2 around `gpt2_block`, BERT around `bert_layer`, Llama around `llama_block`; T5 has two of each block.
STACKS = ("gpt2_tiny", "hf_gpt2_tiny", "hf_bert_tiny", "hf_llama_tiny", "hf_t5_tiny")


pytestmark = pytest.mark.usefixtures("one_thread")


def parameters(always):
    """(case, training) of every tiny case that is comparable; `slow` unless ``always(case, training)``."""
    return [
        pytest.param(
            case,
            mode == "training",
            id=f"{case.name}-{mode}",
            marks=() if always(case, mode == "training") else (pytest.mark.slow,),
        )
        for case in select(size="tiny")
        for mode in case.modes
        if not (case.random and mode == "training")
    ]


def judged(case: ModelCase, training: bool, **settings) -> None:
    reason = case.unavailable()
    if reason:
        pytest.skip(reason)
    report = compare(case, fuse_mlir.backend, training=training, **settings)
    assert report.passed, report.explain()
    assert report.graph_breaks == 0


def quick(case: ModelCase, training: bool) -> bool:
    return case.name in QUICK


def first(case: ModelCase, training: bool) -> bool:
    """Whether no training step of the case, nor another case, holds what this one does."""
    if case.name == "gpt2_tiny_explicit":  # `gpt2_block_explicit`, twice, in `gpt2_tiny`
        return False
    return training or case.random or "training" not in case.modes or quick(case, training)


@pytest.mark.parametrize(("case", "training"), parameters(first))
def test_float32(case, training):
    judged(case, training, options=PLANNED if case.name in STACKS else EVERY_PASS)


@pytest.mark.slow
@pytest.mark.parametrize("name", STACKS)
def test_stacks_after_every_pass(name):
    judged(CASES[name], True, options=EVERY_PASS)


@pytest.mark.parametrize(("case", "training"), parameters(quick))
def test_bfloat16(case, training):
    judged(case, training, dtype=torch.bfloat16)


@pytest.mark.parametrize(("case", "training"), parameters(quick))
def test_one_graph_for_two_batches(case, training):
    judged(case, training, dynamic="marked")


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_bfloat16_with_two_batches(training):
    judged(CASES["gpt2_tiny"], training, dtype=torch.bfloat16, dynamic="marked")


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_autocast(training):
    judged(CASES["gpt2_block"], training, autocast=torch.bfloat16)


@pytest.mark.parametrize("case", [c for c in select(size="tiny") if c.random], ids=lambda case: case.name)
def test_dropout(case):
    """Reproducible under a seed, different under another, the mean of eager, the same mask in backward."""
    report = check_random_case(case, fuse_mlir.backend, seeds=16)
    assert report.passed, str(report)
