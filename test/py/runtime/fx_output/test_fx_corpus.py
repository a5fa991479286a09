"""FX output gives the bits of the launch plan, for the graphs of the corpus and the small models."""

import hashlib

import pytest
import torch
from compiling import Compiled
from corpus import GRAPHS
from fx_beside_plan import fx_beside_plan
from random_programs import gradients
from torch import Tensor
from torch.utils import _pytree as pytree

from fuse_mlir.bench.models import select

CASES = [(name, dynamic) for name in GRAPHS for dynamic in (False, True)]
MODELS = [(case, mode) for case in select(size="tiny") if case.unavailable() is None for mode in case.modes]

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def _chosen(name: str, one_in: int) -> bool:
    """Whether a case runs each time, by its name's hash, so that a new one moves no other."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % one_in == 0


def _marked(cases: list, names: list[str], one_in: int) -> list:
    return [
        pytest.param(*case, id=name, marks=[] if _chosen(name, one_in) else pytest.mark.slow)
        for case, name in zip(cases, names, strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "dynamic"),
    _marked(CASES, [f"{name}-{'dynamic' if dynamic else 'static'}" for name, dynamic in CASES], 64),
)
def test_graph(name, dynamic):
    graph = GRAPHS[name]
    with fx_beside_plan() as equal:
        compiled = Compiled(graph.function, {"output": "fx"}, dynamic)
        args = graph.make()
        results = [r for r in pytree.tree_leaves(compiled(*args)) if isinstance(r, Tensor)]
        if graph.gradient:
            gradients(results, [a for a in args if isinstance(a, Tensor)])
    assert len(equal) >= len(compiled.graphs) >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode"), MODELS, ids=[f"{case.name}-{mode}" for case, mode in MODELS])
def test_model(case, mode):
    training = mode == "training"
    module = case.new_module("cpu", torch.bfloat16).train(training)
    with fx_beside_plan() as equal:
        compiled = Compiled(module, {"output": "fx"})
        inputs = case.inputs(2, torch.device("cpu"), torch.bfloat16)
        case.step(compiled.call, module, inputs, training)
    assert len(equal) >= len(compiled.graphs) >= 1
