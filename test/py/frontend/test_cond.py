"""torch.cond: both branches are scheduled, the host picks one."""

import pytest
import torch
from nesting import WHERE, check

from fuse_mlir.compiler.frontend.ops.effects import control_flow
from fuse_mlir.compiler.fx.table import Refused

X = torch.arange(32.0).reshape(8, 4).sin()
W = torch.arange(16.0).reshape(4, 4).cos()


def by_value(x, w):
    return torch.cond(x.sum() > 0, lambda x: (x.sin() @ w).relu() + 1, lambda x: x.cos() + 1, (x,))


@pytest.mark.parametrize("where", WHERE)
def test_both_branches(where):
    compiled = check(by_value, (X, W), (X - 1, W), where=where)
    (graph,) = compiled.graphs
    assert "scf.if" in str(graph.module) and "higher_order.cond" not in str(graph.module)


@pytest.mark.products("auto")  # a product is a call
def test_branches_are_fused():
    (graph,) = check(by_value, (X, W)).graphs
    names = [launch.name for launch in graph.launches]
    assert [n for n in names if n.startswith("false_graph_0.")] == ["false_graph_0.fused_cos_add_0"]
    assert [n for n in names if n.startswith("true_graph_0.")] == [
        "true_graph_0.sin",
        "true_graph_0.fused_relu_add_0",
    ]


def test_every_pass_keeps_the_numbers():
    check(by_value, (X, W), (X - 1, W), verify="numeric")


def test_the_symbol_of_a_predicate_is_kept():
    def function(x):
        return torch.cond(x.shape[0] > 6, lambda x: x.sin() * x.shape[0], lambda x: x.cos(), (x,))

    (graph,) = check(function, (X,), (X[:5].clone(),), dynamic=True).graphs
    assert "scf.if" in str(graph.module)


def test_a_size_that_only_the_predicate_needs():
    def function(x, y):
        return torch.cond(y.shape[0] * 2 > 6, lambda x: x.sin(), lambda x: x.cos(), (x,))

    check(function, (X, X), (X, X[:3].clone()), dynamic=True)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_a_predicate_of_a_number_that_the_data_give(where):
    """The number is a size of its own making, which the branches take, too."""

    def function(x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        return torch.cond(n > 16, lambda x: x.sin() * n, lambda x: x.cos() + n, (x,))

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        check(function, (X,), (X.abs() + 1,), (-X.abs() - 1,), where=where)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
@pytest.mark.parametrize("dynamic", (False, True))
def test_mismatched_branch_shapes(dynamic, where):
    def function(p, x):
        return torch.cond(p, lambda x: torch.cat([x, x]) + 1, lambda x: x.cos()[:5] * 2, (x,))

    def further(p, x):
        return function(p, x).exp().sum(1)

    for f in (function, further):
        check(f, (torch.tensor(True), X), (torch.tensor(False), X), dynamic=dynamic, where=where)


def test_a_predicate_of_another_type_is_left_to_torch():
    """Each number but 0 is true."""

    def function(p, x):
        return torch.cond(p, lambda x: x.sin(), lambda x: x.cos(), (x * 2,))

    runs = [(torch.tensor(p), X) for p in (0.5, 0.0)]
    compiled = check(function, *runs, whole=False)
    assert "scf.if" not in str(compiled.graphs[0].module)


def test_training():
    compiled = check(by_value, (X, W), (X - 1, W), train=True)
    assert [g.name for g in compiled.graphs] == ["forward", "backward"]


def test_training_with_dynamic_sizes():
    check(by_value, (X, W), (X[:3] - 1, W), (X[:5] + 1, W), train=True, dynamic=True, where="launch plan")


def test_closure_over_a_parameter():
    layer = torch.nn.Linear(4, 4).double()
    narrow = torch.nn.Linear(4, 4)
    narrow.load_state_dict(layer.state_dict())

    def function(x):
        held = narrow if x.dtype == torch.float32 else layer
        return torch.cond(x.sum() > 0, lambda x: held(x).relu(), lambda x: x.tanh(), (x,))

    check(function, (X,), (X - 1,))


def test_several_results_and_strides():
    def function(p, x):
        return torch.cond(
            p, lambda x: (x.t() + 1, x.sum(), x > 0), lambda x: (x.t() * 2, x.mean(), x < 0), (x,)
        )

    check(function, (torch.tensor(True), X), (torch.tensor(False), X))


def test_operands_that_are_views():
    def function(p, x, y):
        return torch.cond(p, lambda a, b: a.sin() + b, lambda a, b: a * b, (x[2:6, 1:3], y.t()[1:3, 2:6].t()))

    check(function, (torch.tensor(True), X, X + 1), (torch.tensor(False), X, X + 1), where="launch plan")


def test_one_result_unused():
    def function(p, x):
        return torch.cond(p, lambda x: (x + 1, x.exp()), lambda x: (x * 2, x.log()), (x,))[0]

    (graph,) = check(function, (torch.tensor(True), X), (torch.tensor(False), X)).graphs
    assert "math.exp" not in str(graph.module), "what no branch needs is still computed"


def test_an_unused_cond_is_dead():
    def function(p, x):
        torch.cond(p, lambda x: x + 1, lambda x: x * 2, (x,))
        return x - 1

    (graph,) = check(function, (torch.tensor(True), X)).graphs
    assert "scf.if" not in str(graph.module) and str(graph.module).count("module") == 1


def test_nested():
    def inner(x):
        return torch.cond(x.max() > 2, lambda x: x * 3, lambda x: x - 3, (x,))

    def function(x):
        return torch.cond(x.sum() > 0, lambda x: inner(x.sin() + 1), lambda x: inner(x + 4), (x,))

    compiled = check(function, (X,), (X - 1,), (X * 4 + 2,), where="launch plan")
    assert str(compiled.graphs[0].module).count("scf.if") == 3


def test_storage_that_the_result_is_in_is_its_own():
    """What follows may write over the result; the operands stay."""

    def function(p, x):
        y = x.exp()
        z = torch.cond(p, lambda y: y.clone(), lambda y: y + 1, (y,))
        return (z * 2).sin() @ (z + 1).t(), y

    check(function, (torch.tensor(True), X), (torch.tensor(False), X))


def test_a_constant_of_a_branch():
    def function(p, x):
        return torch.cond(
            p,
            lambda x: x * torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=x.dtype),
            lambda x: x + torch.tensor(2.0, dtype=x.dtype),
            (x,),
        )

    check(function, (torch.tensor(True), X), (torch.tensor(False), X))


def test_what_cannot_be_a_module_runs_as_itself(monkeypatch):
    """Whole, as torch runs it, with a remark; nothing of the attempt is left."""

    def refuse(*_):
        raise Refused("a reason")

    monkeypatch.setattr(control_flow, "import_subgraph", refuse)
    compiled = check(by_value, (X, W), (X - 1, W), whole=False)
    (graph,) = compiled.graphs
    assert [(f.target, f.reason) for f in graph.fallbacks] == [("higher_order.cond", "a reason")]
    assert "higher_order.cond runs as itself: a reason" in graph.remarks.render("text")
    assert "scf.if" not in str(graph.module) and str(graph.module).count("module") == 1


def test_random_numbers_in_a_branch():
    """Drawn by the branch that runs, and by nobody where it does not run."""

    def function(p, x):
        return torch.cond(p, lambda x: x + torch.rand_like(x), lambda x: x * 2, (x,)), torch.rand(4)

    from compiling import Compiled

    compiled = Compiled(function, {"interpret_level": "planned"})
    drawn, _ = compiled(torch.tensor(True), X)
    assert (drawn - X).min() >= 0 and (drawn - X).max() < 1 and (drawn - X).std() > 0.1
    kept, _ = compiled(torch.tensor(False), X)
    assert torch.equal(kept, X * 2)
    assert "fuse.effect" in str(compiled.graphs[0].module)
