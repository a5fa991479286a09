"""while_loop and scan: the sub-graphs are scheduled, the host goes round."""

import pytest
import torch
from nesting import WHERE, check
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

X = torch.arange(16.0).reshape(4, 4).sin()
W = torch.arange(16.0).reshape(4, 4).cos() / 2


def counted(x, w):
    def more(i, x):
        return i < 5

    def body(i, x):
        return i + 1, (x @ w).tanh() + x

    return while_loop(more, body, (torch.tensor(0), x))


@pytest.mark.parametrize("where", WHERE)
def test_a_counter_on_the_device(where):
    (graph,) = check(counted, (X, W), where=where).graphs
    assert "scf.while" in str(graph.module)


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_a_counter_on_the_host(where):
    def function(x, w):
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, (x @ w).sin() * 2), (0, x))

    check(function, (X, W), where=where)


def test_as_long_as_the_data_say():
    def function(x):
        return while_loop(lambda x: x.abs().sum() > 0.5, lambda x: (x.sin() / 2,), (x,))

    check(function, (X,), (X / 100,), where="launch plan")


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_no_round_at_all(where):
    """The result is storage of its own, not the first value's."""

    def function(x):
        (y,) = while_loop(lambda x: x.sum() > 1e6, lambda x: (x * 2,), (x,))
        return y, (y + 1).sin(), x * 1

    compiled = check(function, (X,), where=where)
    x = X.clone()
    with torch.no_grad():
        y, _, _ = compiled(x)
    assert y.data_ptr() != x.data_ptr()


def test_dynamic_sizes():
    check(counted, (X, W), (X[:3], W), dynamic=True, where="launch plan")


def test_a_cond_in_a_loop():
    def function(x):
        def body(i, x):
            return i + 1, torch.cond(i.sum() > 2, lambda x: x * 2, lambda x: x + 1, (x,))

        return while_loop(lambda i, x: i < 5, body, (torch.tensor(0), x))

    (graph,) = check(function, (X,), dynamic=True, where="launch plan").graphs
    assert "scf.while" in str(graph.module) and "scf.if" in str(graph.module)


def test_a_loop_in_a_loop():
    def function(x):
        def outer(i, x):
            _, y = while_loop(lambda j, x: j < 3, lambda j, x: (j + 1, x.cos() + j), (torch.tensor(0), x))
            return i + 1, y.sin()

        return while_loop(lambda i, x: i < 2, outer, (torch.tensor(0), x))

    check(function, (X,), where="launch plan")


def test_the_first_value_is_a_view():
    def function(x, w):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x @ w), (torch.tensor(0), x[2:]))

    check(function, (torch.cat([X, X])[:6], W), where="launch plan")


def running(x, w):
    def step(carry, row):
        new = (carry + row @ w).tanh()
        return new, new * row

    return scan(step, x.new_zeros(4), x, dim=0)


@pytest.mark.parametrize("where", WHERE)
def test_scan(where):
    (graph,) = check(running, (X, W), where=where).graphs
    assert "scf.for" in str(graph.module)


@pytest.mark.parametrize("reverse", (False, True))
def test_scan_along_the_last_dim(reverse):
    def function(x):
        return scan(lambda c, y: (c * 0.5 + y, (c.sin(), c + y)), x[:, 0] * 1, x, dim=1, reverse=reverse)

    check(function, (X,), where="launch plan")


def test_scan_with_dynamic_sizes():
    check(running, (X, W), (X[:3], W), dynamic=True, where="launch plan")


def test_scan_of_several_inputs():
    def function(x, y):
        def step(carry, rows):
            a, b = rows["a"], rows["b"]
            return {"s": carry["s"] + a.sum(), "m": torch.maximum(carry["m"], b)}, (a * b, a > 0)

        return scan(step, {"s": x.new_zeros(()), "m": y[0] * 1}, {"a": x, "b": y}, dim=0)

    check(function, (X, W), where="launch plan")


def test_training_through_scan():
    def function(x, w):
        def step(carry, row):
            new = carry * w + row.sin()
            return new, (new * 2).tanh()

        return scan(step, x.sum(0), x, dim=0)

    compiled = check(function, (X, W[1]), train=True, where="launch plan")
    assert [g.name for g in compiled.graphs] == ["forward", "backward"]
    assert all("scf.for" in str(g.module) for g in compiled.graphs)


def test_training_through_a_loop():
    """The forward op that stacks what backward needs runs as itself; backward is a loop of ours."""

    def function(x, w):
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, (x * w).sin()), (torch.tensor(0), x))

    check(function, (X, W), train=True, whole=False)
