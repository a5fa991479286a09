"""Torch ops that return lists, tuples of lists, None and numbers, in every form of a program."""

import pytest
import torch
from nesting import check
from torch import Tensor
from torch.utils import _pytree as pytree

#: By schema: what the op returns.
GIVEN = {
    "(Tensor x) -> Tensor[]": lambda x: [x * 3, x + 1],
    "(Tensor x, int one) -> Tensor[]": lambda x, one: [x * 3],
    "(Tensor x, bool none) -> Tensor[]": lambda x, none: [],
    "(Tensor x) -> (Tensor, Tensor[])": lambda x: (x * 2, [x * 3, x + 1]),
    "(Tensor x) -> (Tensor[], Tensor[])": lambda x: ([x * 3], [x * 2, x + 1]),
    "(Tensor x) -> (Tensor, Tensor, Tensor[], Tensor)": lambda x: (x * 3, x * 2, [x * 1, x * 5], x + 1),
    "(Tensor x) -> (Tensor?, Tensor)": lambda x: (None, x * 3),
    "(Tensor x) -> (Tensor, int, float)": lambda x: (x * 3, 3, 2.5),
    "(Tensor x) -> (Tensor, SymInt)": lambda x: (x * 3, x.shape[0]),
    "(Tensor x) -> int[]": lambda x: [3, 4],
}
OPS = {}
for number, (schema, given) in enumerate(GIVEN.items()):
    name = f"fuse_lists::op{number}"
    torch.library.define(name, schema)
    torch.library.impl(name, "cpu", given)
    torch.library.register_fake(name, given)
    further = {"int one": (1,), "bool none": (False,)}
    OPS[schema] = (
        getattr(torch.ops.fuse_lists, f"op{number}").default,
        next((values for word, values in further.items() if word in schema), ()),
    )


def weighted(values: object) -> Tensor:
    """Of every leaf, one of its own."""
    leaves = [leaf for leaf in pytree.tree_leaves(values) if leaf is not None]
    return sum((leaf * (i + 1) for i, leaf in enumerate(leaves)), torch.zeros(()))


@pytest.mark.parametrize(
    ("where", "options", "dynamic"), (("planned", {"output": "fx"}, True), ("launch plan", {}, False))
)
def test_what_ops_return(where, options, dynamic):
    """Used whole, used in part, and handed on."""

    def function(x):
        given = [op(x.sin(), *further) for op, further in OPS.values()]
        inside = given[5][2][1] * 2 + given[3][1][1]
        return [weighted(g) for g in given], inside, given[0], given[4]

    x = torch.arange(24.0).reshape(4, 6) / 10
    check(function, (x,), where=where, dynamic=dynamic, whole=False, **options)
