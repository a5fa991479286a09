"""Every graph of the corpus through every pass: its numbers before and after each, its answer beside eager.
Where sizes are symbols, the passes are checked with those of the arguments and with others.

A model's forward and backward are two graphs, one drawn program is one. `test_size` counts them.
"""

from typing import Any

import pytest
import torch
from compiling import Compiled, cloned
from corpus import GRAPHS, Graph
from corpus.models import MODELS
from fresh_seeds import FIRST
from hypothesis import HealthCheck, assume, given, seed, settings
from random_programs import check_program, epsilon, gradients, judge, programs
from torch import Tensor
from torch.utils import _pytree as pytree

from fuse_mlir.bench.models import ModelCase, select
from fuse_mlir.bench.reference import float64_reference
from fuse_mlir.compiler.runtime.checks import numeric_check
from fuse_mlir.compiler.runtime.checks.made_inputs import size_symbols
from fuse_mlir.compiler.runtime.checks.numeric_check import NumericVerifier

EVERY_PASS = {"verify": "numeric", "interpret_level": "planned"}
DRAWS, EXAMPLES = 6, 5

#: Models and whether they are trained, which makes two graphs.
CAPTURED = [(case, mode == "training") for case in select(size="tiny") for mode in case.modes]


pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def test_size():
    """At least 200 graphs; models that need a package that may be absent are not counted."""
    captured = sum(1 + training for case, training in CAPTURED if not case.requires)
    assert len(GRAPHS) + 2 * len(MODELS) + captured + DRAWS * EXAMPLES >= 200


@pytest.fixture
def verifiers(monkeypatch):
    """The numeric checks of the graphs that a test compiles."""
    made: list[NumericVerifier] = []

    class Watched(NumericVerifier):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            made.append(self)

    monkeypatch.setattr(numeric_check, "NumericVerifier", Watched)
    return made


@pytest.mark.parametrize("name", GRAPHS)
def test_written(name, verifiers):
    graph = GRAPHS[name]
    compiled = Compiled(graph.function, EVERY_PASS, graph.dynamic)
    found = _observed(graph, compiled)
    assert compiled.graphs
    for one, verifier in zip(compiled.graphs, verifiers, strict=True):
        symbols = set(size_symbols(one.module))
        assert [set(sizes) for sizes in verifier.sizes] == [set(), symbols][: 2 if symbols else 1]
        assert symbols or not graph.dynamic
    if graph.asserts:
        with pytest.raises(RuntimeError):
            compiled(*[torch.full_like(a, torch.nan) for a in graph.make()])
    if graph.random:
        return
    with float64_reference():
        reference = _observed(graph, graph.function, torch.float64)
    eager = _observed(graph, graph.function)
    floats = [t for t in (*graph.make(), *eager) if isinstance(t, Tensor) and t.is_floating_point()]
    largest = max([1.0, *(float(t[t.isfinite()].abs().max()) for t in floats if t.isfinite().any())])
    for number, (mine, theirs, true) in enumerate(zip(found, eager, reference, strict=True)):
        wrong = judge(theirs, mine, true, 32 * epsilon(floats) * largest)
        assert not wrong, f"tensor {number}: {wrong}"


def _observed(graph: Graph, call: Any, dtype: torch.dtype | None = None) -> list[Tensor]:
    """Results, arguments as they were left, gradients (whose strides are free)."""
    args = cloned(graph.make(), dtype)
    results = [r for r in pytree.tree_leaves(call(*args)) if isinstance(r, Tensor)]
    tensors = [a for a in args if isinstance(a, Tensor)]
    found = gradients(results, tensors) if graph.gradient else []
    return [*results, *tensors, *(g.contiguous() for g in found)]


@pytest.mark.parametrize("number", range(FIRST, FIRST + DRAWS))
def test_drawn(number):
    """Programs over the op table; the number seeds them."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    done = []

    @seed(number)
    @settings(max_examples=EXAMPLES, suppress_health_check=checks, derandomize=False, database=None)
    @given(programs())
    def run(program):
        assume(check_program(program, verify="numeric", dynamic=number % 4 == 3) is not None)
        done.append(program)

    run()
    assert len(done) >= EXAMPLES


#: Architectures that differ from another one in names, or in less than others do: LLaMA's (which bench has)
#: with biases, layer norms or joined products, Gemma 2's without its second norms, OLMo 2's in another order,
#: BERT's (bench, too) with fewer or narrower embeddings, Phi's in another order, DINOv2's without scales,
#: ResNet's (bench, too).
LIKE_OTHERS = (
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "starcoder2",
    "phi3",
    "stablelm",
    "roberta",
    "electra",
    "albert",
    "distilbert",
    "gpt_neox",
    "vit",
    "deit",
    "resnet",
)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LIKE_OTHERS else n for n in MODELS]
)
def test_transformers(name):
    pytest.importorskip("transformers")
    module, inputs = MODELS[name]()
    _train(module, lambda call: call(**inputs)[0].square().mean(), graphs=2)


@pytest.mark.parametrize(
    "case", [c for c, training in CAPTURED if c.random and training], ids=lambda c: c.name
)
def test_captured(case: ModelCase):
    """Models that draw random numbers; `test_model_accuracy.py` checks the passes of all others."""
    reason = case.unavailable()
    if reason:
        pytest.skip(reason)
    inputs = case.inputs(2, torch.device("cpu"), torch.float32)
    module = case.new_module("cpu", torch.float32)
    _train(module, lambda call: case.loss(call(*inputs.args, **inputs.kwargs)), graphs=2)


def _train(module: torch.nn.Module, loss: Any, graphs: int) -> None:
    """One step, forward and backward. What comes out is judged in `test_models.py`, here the passes are."""
    compiled = Compiled(module.train(), EVERY_PASS)
    loss(compiled).backward()
    assert len(compiled.graphs) == graphs
