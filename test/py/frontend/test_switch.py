"""torch.switch: one of several branches, which the host picks by an index; torch has it from 2.14 on."""

import pytest
import torch
from nesting import WHERE, check

switch = pytest.importorskip("torch._higher_order_ops.switch", reason="torch has it from 2.14 on").switch

X = torch.arange(32.0).reshape(8, 4).sin()
W = torch.arange(16.0).reshape(4, 4).cos()
#: Indices inside of three branches and, on both sides, outside of them.
INDICES = tuple(torch.tensor(n) for n in (-3, 0, 1, 2, 3, 100))


def chosen(index, x, w):
    branches = (
        lambda x: (x.sin() @ w).relu() + 1,
        lambda x: x.cos() + w[0],
        lambda x: x.exp() - w.sin().sum(),
    )
    return switch(index, branches, (x + 1,)) * 2


@pytest.mark.parametrize("where", WHERE)
def test_each_branch_and_indices_outside(where):
    (graph,) = check(chosen, *((n, X, W) for n in INDICES), where=where).graphs
    text = str(graph.module)
    assert text.count("scf.if") >= 2 and "higher_order.switch" not in text


def test_every_pass_keeps_the_numbers():
    check(chosen, *((n, X, W) for n in INDICES), verify="numeric", strict=True)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_training(where):
    compiled = check(chosen, *((n, X, W) for n in INDICES), train=True, where=where)
    assert [g.name for g in compiled.graphs] == ["forward", "backward"]
    assert all("scf.if" in str(g.module) for g in compiled.graphs)


@pytest.mark.parametrize(
    "index",
    (
        torch.tensor([1]),
        torch.tensor([[0]], dtype=torch.int32),
        torch.tensor(2, dtype=torch.uint8),
        torch.tensor(-7, dtype=torch.int8),
    ),
)
def test_kinds_of_indices(index):
    check(chosen, (index, X, W), (index - 1, X, W), where="launch plan")


def test_an_index_that_is_a_size():
    def function(x, w):
        return switch(x.shape[0] - 4, (torch.sin, lambda x: x * x.shape[0], lambda x: x @ w), (x,))

    runs = [(X[:n].clone(), W) for n in (8, 7, 6, 5, 4, 3)]
    (graph,) = check(function, *runs, dynamic=True, where="launch plan").graphs
    assert "scf.if" in str(graph.module)


def test_an_index_that_the_data_give():
    def function(x):
        return switch((x > 0).sum() % 5, (torch.sin, torch.cos, lambda x: x + 1, torch.exp, torch.neg), (x,))

    runs = [(X - torch.linspace(0, 2, n)[-1],) for n in range(2, 9)]
    check(function, *runs, (X + 5,), where="launch plan")


def test_two_branches_one_branch_and_many():
    def function(index, x):
        two = switch(index, (torch.sin, torch.cos), (x,))
        one = switch(index, (torch.exp,), (x,))
        many = switch(index, [lambda x, k=k: x * k + 1 for k in range(9)], (x,))
        return two, one, many

    check(function, *((torch.tensor(n), X) for n in range(-1, 10)), where="launch plan")


def test_a_switch_in_a_switch_and_in_a_cond():
    def inner(index, x):
        return switch(index, (torch.sin, torch.cos, lambda x: x - 3), (x * 2,))

    def function(p, index, x):
        x = torch.cond(p, lambda x: inner(index, x), lambda x: x + 1, (x,))
        return switch(index + 1, (torch.exp, lambda x: inner(index, x), torch.tanh), (x,))

    check(function, *((torch.tensor(p), torch.tensor(n), X) for p in (True, False) for n in range(-2, 3)),
          where="launch plan")  # fmt: skip


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_several_results_and_other_strides(where):
    def function(index, x):
        made = switch(
            index,
            (
                lambda x: (x.t() + 1, x.sum(), x > 0),
                lambda x: (x.t() * 2, x.mean(), x < 0),
                lambda x: (x.t() - 3, x.amax(), x == 0),
            ),
            (x,),
        )
        return made[0].exp() @ x, made[1], made[2]

    check(function, *((torch.tensor(n), X) for n in range(4)), where=where)


def test_random_numbers_in_a_branch():
    """Drawn by the branch that runs, and by nobody where it does not run."""
    from compiling import Compiled

    def function(index, x):
        return switch(index, (lambda x: x + torch.rand_like(x), lambda x: x * 2, lambda x: x * 3), (x,))

    compiled = Compiled(function, {"interpret_level": "planned"})
    drawn = compiled(torch.tensor(0), X)
    assert (drawn - X).min() >= 0 and (drawn - X).max() < 1 and (drawn - X).std() > 0.1
    assert torch.equal(compiled(torch.tensor(2), X), X * 3)
    assert "fuse.effect" in str(compiled.graphs[0].module)


@pytest.mark.parametrize("dynamic", (False, True))
def test_as_a_graph(dynamic):
    from compiling import Compiled

    compiled = Compiled(chosen, {"output": "fx"}, dynamic)
    for index in INDICES:
        torch.testing.assert_close(compiled(index, X, W), chosen(index, X, W))
    assert "higher_order.cond" in compiled.graphs[0].fx().code
