"""What the compiler itself fails on: torch runs the op, or the graph, unless errors are asked for."""

import logging
from unittest import mock

import pytest
import torch
from compiling import Compiled

from fuse_mlir.compiler.driver import compilation
from fuse_mlir.compiler.frontend.importer.values import Tensor
from fuse_mlir.compiler.fx.table import LOWERINGS, Lowering
from fuse_mlir.compiler.verifier.verifier import VerificationError
from fuse_mlir.passes.graph.eliminate_dead import EliminateDead

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

X = torch.linspace(-3, 3, 12).reshape(3, 4)
ASKED = [{"strict": True}, {"verify": "on"}, {"verify": "numeric"}]


class Bug(Exception):
    pass


def broken(call):
    """Fails with a kernel half-made, one finished and an argument read as another."""
    whole = call.kernel([call.tensor("self")])
    at = whole.iterate(call.result.sizes)
    whole.store(0, at, whole.load(call.tensor("self"), at))
    result = call.finish(whole)
    assert isinstance(result, Tensor)
    call.symbols.name(call.expr(3) + 4, call.location)
    call.kernel([result]).iterate(call.result.sizes)
    raise Bug("on purpose")


def with_builder(function, args, **options):
    table = {"aten.sin.default": Lowering("aten.sin.default", broken, "pointwise")}
    with mock.patch.dict(LOWERINGS, table):
        compiled = Compiled(function, {"verify": "levels", **options})
        return compiled, compiled(*args)


def waves(x):
    return (x + 1).sin() * x.cos() + (x * 2).sin()


def test_an_op_whose_builder_fails_runs_as_itself(caplog):
    caplog.set_level(logging.WARNING, "fuse_mlir")
    compiled, found = with_builder(waves, (X,))
    assert torch.allclose(found, waves(X))
    (graph,) = compiled.graphs
    assert [f.target for f in graph.fallbacks] == ["aten.sin.default"] * 2
    assert "please report" in graph.fallbacks[0].reason and "Bug: on purpose" in graph.fallbacks[0].reason
    assert graph.launches_before == 5  # the other ops: nothing half-made is left
    assert [r.rule for r in graph.remarks.items if "please report" in r.message] == ["fallback"] * 2
    assert caplog.text.count("Traceback") == 1 and "on purpose" in caplog.text


def test_an_op_of_a_sub_graph():
    def function(p, x):
        return torch.cond(p, lambda x: x.sin() + 1, lambda x: x * 2, (x,))

    compiled, found = with_builder(function, (torch.tensor(True), X))
    assert torch.allclose(found, X.sin() + 1)
    assert "aten.sin.default" in [f.target for f in compiled.graphs[0].fallbacks]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_errors_of_builders_are_raised_where_asked_for(asked):
    with pytest.raises(Exception, match="Bug: on purpose"):
        with_builder(waves, (X,), **asked)


def fails(*_):
    raise Bug("on purpose")


def breaks(self, module, remarks, analyses):
    """Leaves a module that the verifier refuses."""
    module.body.operations[0].operation.attributes["fuse.ties"] = module.operation.attributes["fuse.device"]


STAGES = {
    "a pass": mock.patch.object(EliminateDead, "run_with", fails),
    "the verifier": mock.patch.object(EliminateDead, "run_with", breaks),
    "the import": mock.patch.object(compilation, "import_graph", fails),
    "the executable": mock.patch.object(compilation, "executable", fails),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_graph_that_the_compiler_fails_on_is_run_by_torch(stage, caplog):
    caplog.set_level(logging.WARNING, "fuse_mlir")
    compiled = Compiled(waves, {"verify": "levels"})
    with STAGES[stage]:
        leaf = X.clone().requires_grad_()
        found = compiled(leaf)
        found.sum().backward()
    assert torch.allclose(found, waves(X))
    own = X.clone().requires_grad_()
    waves(own).sum().backward()
    assert torch.allclose(leaf.grad, own.grad)
    assert {g.name for g in compiled.graphs} == {"forward", "backward"}
    for graph in compiled.graphs:
        (fallback,) = graph.fallbacks
        assert fallback.target == "the whole graph" and "please report" in fallback.reason
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_errors_of_passes_are_raised_where_asked_for(asked):
    with STAGES["a pass"], pytest.raises(Exception, match="Bug: on purpose"):
        Compiled(waves, {"verify": "levels", **asked})(X)


def test_what_the_verifier_finds_is_raised_where_asked_for():
    with STAGES["the verifier"], pytest.raises(Exception, match=VerificationError.__name__):
        Compiled(waves, {"verify": "on"})(X)
