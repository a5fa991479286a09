"""Sizes that data decides, wherever a graph uses them: the op that finds one is kept and runs first."""

import pytest
import torch
from compiling import Compiled
from torch.utils import _pytree as pytree
from versions import TORCH

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

USES = {
    "nothing but the size": lambda x, y, w: y * x.nonzero().shape[0],
    "memory": lambda x, y, w: y.new_ones(x.nonzero().shape[0]).cumsum(0),
    "kernel": lambda x, y, w: x.nonzero() * 2 + 1,
    "views": lambda x, y, w: (x.nonzero().t().reshape(-1).sin(), x.nonzero().float().cos()[:, 1].exp()),
    "view of what is returned": lambda x, y, w: x.nonzero().t(),
    "concatenation": lambda x, y, w: torch.cat([x.nonzero(), x.nonzero() + 1, torch.ones(2, 2).long()]),
    "no op": lambda x, y, w: (x.nonzero() + 0).contiguous().view(-1, 2),
    "torch's op": lambda x, y, w: x.nonzero().float() @ w,
    "two of one": lambda x, y, w: x.masked_select(x > 0)[:, None] * x.masked_select(x > 0)[None],
    "sub-graph": lambda x, y, w: torch.cond(
        y.sum() > 0, lambda z: (z * 2).sum(0), lambda z: z.sum(0), (x.nonzero(),)
    ),
    "predicate": lambda x, y, w: torch.cond(
        x.nonzero().shape[0] > 5, lambda z: z.sin(), lambda z: z.cos(), (y,)
    ),
    "counts": lambda x, y, w: x.long().flatten().bincount(minlength=2) * 2 + 1,
    "dead": lambda x, y, w: (x.nonzero() * 2, y + 1)[1],
}


if TORCH > (2, 11):  # torch 2.11's fake kernel says int64 of sums of weights, too
    USES["weighed counts"] = lambda x, y, w: x.long().flatten().bincount(y.repeat(2)[: x.numel()]) * 2 + 1


#: Torch fails on a graph that has one of these beside others, whatever the backend.
ALONE = ("sub-graph", "predicate")


@pytest.mark.parametrize("name", [*ALONE, "others"])
def test_uses_of_a_size_that_data_decides(name):
    names = [name] if name in ALONE else [n for n in USES if n not in ALONE]

    def function(x, y, w):
        return [USES[n](x, y, w) for n in names]

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = Compiled(function, {"interpret_level": "planned", "verify": "on"})
        for x in (torch.tensor([[1.0, 0, 2], [0, 3, 0]]), torch.ones(2, 3)):
            args = (x, torch.arange(4.0), torch.arange(6.0).view(2, 3))
            found, expected = (pytree.tree_leaves(f(*args)) for f in (compiled, function))
            for one, other in zip(found, expected, strict=True):
                torch.testing.assert_close(one, other)
    [graph] = compiled.graphs
    assert not graph.fallbacks
