"""What is updated in place keeps its strides, as in eager mode."""

import pytest
import torch
from compiling import Compiled

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

Y = torch.arange(24.0).reshape(4, 6) / 24
MASK, AT, ROW = Y > 0.5, torch.tensor([0, 2]), torch.zeros(1, 6, dtype=torch.int64)
aten = torch.ops.aten

#: Updates whose op gives a contiguous result where it is not in place.
UPDATES = {
    "masked_fill": lambda z: z.masked_fill_(MASK, 2.0),
    "a mask of the same strides": lambda z: z.masked_fill_(z > 0.5, -1.0),
    "masked_scatter": lambda z: z.masked_scatter_(MASK, Y),
    "index_add": lambda z: z.index_add_(0, AT, Y[:2], alpha=2),
    "index_copy": lambda z: z.index_copy_(0, AT, Y[:2]),
    "index_reduce": lambda z: z.index_reduce_(0, AT, Y[:2], "amax"),
    "scatter": lambda z: z.scatter_(0, ROW, Y[:1]),
    "scatter_add": lambda z: z.scatter_add_(0, ROW, Y[:1]),
    "scatter_reduce": lambda z: z.scatter_reduce_(0, ROW, Y[:1], "amax"),
    "cumsum": lambda z: z.cumsum_(1),
    "cumprod": lambda z: z.cumprod_(0),
    "tril": lambda z: z.tril_(1),
    "addmm": lambda z: z.addmm_(Y, Y.t() @ Y),
    "renorm": lambda z: z.renorm_(2, 0, 0.5),
    "an overload": lambda z: aten.masked_fill_.Scalar(z, MASK, 2.0),
    "through a view": lambda z: z.t().view(-1, 2).t().masked_fill_(Y.view(2, 12) > 0.5, 2.0),
}


def turned(*sizes):
    return torch.linspace(0, 1, sizes[0] * sizes[1]).reshape(sizes).t()


def in_memory(z):
    return z.stride(), z.as_strided((z.numel(),), (1,))


def check(function, *given, dynamic=False, fires=True):
    compiled = Compiled(function, dynamic=dynamic)
    found, wanted = ([t.clone() for t in given] for _ in range(2))
    results = compiled(*found), function(*wanted)
    torch.testing.assert_close((*results[0], *found), (*results[1], *wanted), rtol=1e-6, atol=1e-6)
    fired = any(r.pass_name == "written-strides" for g in compiled.graphs for r in g.remarks.items)
    assert fired == fires


def test_what_follows_counts_eagers_strides():
    def function(x):
        found = []
        for update in UPDATES.values():
            z = x + 1
            update(z)
            found.append(in_memory(z))
        return found

    check(function, turned(6, 4))


def test_arguments_views_and_rows_of_what_was_updated():
    def function(x, cache):
        z = x * 2
        z.masked_fill_(MASK, -1.0)
        z.add_(1)
        y = x.t() + 1
        y.t().masked_fill_(MASK, 3.0)
        x.index_add_(0, AT, Y[:2])
        cache.transpose(0, 1).index_copy_(1, AT, torch.ones(3, 2, 2))
        return z.t().view(-1), y.view(-1), x.t().view(-1) * 2, cache.view(-1).sin()

    check(function, turned(6, 4), torch.zeros(5, 3, 2))


def test_gradients_sizes_that_are_symbols_and_branches():
    def function(x, w):
        z = x * w
        z.masked_fill_(x > 0.5, 2.0)
        return in_memory(z)[1].view(2, -1).cumsum(1), in_memory(z)[0]

    x, w = turned(6, 4), turned(6, 4).requires_grad_()
    compiled = Compiled(function)
    found, wanted = (torch.autograd.grad(f(x, w)[0].sin().sum(), w)[0] for f in (compiled, function))
    torch.testing.assert_close(found, wanted)
    check(lambda x: function(x, x), x, dynamic=True)

    def branch(x):
        return torch.cond(x.sum() > 0, lambda x: function(x, x)[0], lambda x: x.t().sin().view(2, -1), (x,))[
            None
        ]

    check(branch, x)


def test_left_alone():
    """Strides that are kept, views with gaps, contiguous tensors, and methods that change strides."""

    def function(x, square):
        z = x * 2
        z.add_(Y).mul_(x).relu_()
        z[1:3].masked_fill_(MASK[1:3], 2.0)
        y = x.contiguous()
        y.masked_fill_(MASK, 2.0)
        square = square + 1
        square.t_()
        square.transpose_(0, 1).squeeze_()
        return in_memory(z), in_memory(y), in_memory(square), square.detach_().stride()

    check(function, turned(6, 4), turned(3, 3), fires=False)
