"""Tensors of a list that share memory are updated one after the other, as in eager mode."""

import pytest
import torch
from compiling import Compiled

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

aten = torch.ops.aten

#: Updates of a tensor of [4, 4] in which it occurs twice, or is read after it was written.
UPDATES = {
    "twice": lambda z, a, b: torch._foreach_add_([z, z], [a, b]),
    "a row": lambda z, a, b: torch._foreach_mul_([z, z[1:]], 2.0),
    "numbers": lambda z, a, b: torch._foreach_mul_([z, z], [2.0, 3.0]),
    "a number that is a tensor": lambda z, a, b: torch._foreach_add_([z, z[0]], torch.tensor(2.0)),
    "read for a later one": lambda z, a, b: torch._foreach_add_([z, a], [b, z]),
    "two lists": lambda z, a, b: torch._foreach_addcmul_([z, z], [a, b], [b, z], value=0.5),
    "an overload": lambda z, a, b: aten._foreach_add_.List([z, z.t()], [a, b], alpha=2),
    "one list": lambda z, a, b: torch._foreach_neg_([z[:3], z[1:]]),
    "copies": lambda z, a, b: torch._foreach_copy_([z[:2], z[1:3]], [a[:2], b[:2]]),
    "what it returns": lambda z, a, b: a.add_(torch._foreach_add_([z, z], 1.0)[1]),
}
APART = {
    "halves": lambda z, a, b: torch._foreach_add_([z[:2], z[2:]], [a[:2], b[:2]]),
    "what is read first": lambda z, a, b: torch._foreach_add_([a, z], [z, b]),
    "not in place": lambda z, a, b: a.copy_(torch._foreach_add([z, z], [a, b])[0]),
    "one": lambda z, a, b: torch._foreach_add_([z], [z]),
}


def fired(updates, args, **options) -> bool:
    """Whether the rewrite fired, once all updates gave what they give in eager mode."""

    def function(x, a, b):
        results = []
        for update in updates.values():
            z, p, q = x * 2, a + 1, b + 2
            update(z, p, q)
            results += [z, p]
        return results

    compiled = Compiled(function, **options)
    torch.testing.assert_close(compiled(*args), function(*args))
    return any(r.pass_name == "overlapping-lists" for g in compiled.graphs for r in g.remarks.items)


def test_updated_one_after_the_other():
    if torch._foreach_add_([torch.ones(1)], 1.0) is None:  # torch 2.11 returns nothing
        UPDATES.pop("what it returns")
    args = [torch.arange(16.0).reshape(4, 4) * n - 7 for n in (1, 2, 3)]
    assert fired(UPDATES, args)
    assert fired({"a row": UPDATES["a row"]}, args, dynamic=True)


def test_a_shared_weight_and_gradients():
    """Eager mode has the wrong gradient of ``b``: it saves all tensors before it writes any."""

    def step(w, a, b):
        torch._foreach_add_([w, w], [a, b], alpha=-0.5)

    def function(x, a, b):
        z = x.sin()
        torch._foreach_mul_([z, z[1:]], [a, b[1:]])
        return z.cos()

    def one_by_one(x, a, b):
        z = x.sin()
        z.mul_(a)
        z[1:].mul_(b[1:])
        return z.cos()

    given = [torch.ones(4, 4) * n for n in (1, 2, 3)]
    Compiled(step)(*given)
    assert (given[0] == -1.5).all()
    args = [torch.rand(4, 4, requires_grad=True) for _ in range(3)]
    found, wanted = (torch.autograd.grad(f(*args).sum(), args) for f in (Compiled(function), one_by_one))
    torch.testing.assert_close(found, wanted)


def test_left_alone():
    args = [torch.arange(16.0).reshape(4, 4) * n - 7 for n in (1, 2, 3)]
    for name, update in APART.items():
        assert not fired({name: update}, args), name
