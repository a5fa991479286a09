"""Products that are concatenated: which are written into the result, the numbers and the bytes."""

import pytest
import torch
from compiling import Compiled, check, cloned
from peaks import eager_peak, planned_peak
from torch.nn import functional as F

#: The tests are about calls of the library.
pytestmark = [pytest.mark.usefixtures("fresh_dynamo", "one_thread"), pytest.mark.products("auto")]


def beside(x, v, w):
    return torch.cat([x @ v, x @ w], 1)


def below(x, v, w):
    return torch.cat([x @ v, x[:4] @ v])


def read_again(x, v, w):
    return torch.cat([x @ v, x @ w], 1).exp().sum(0)


def projections(x, v, w):
    """As modules have them: three dims, and weights that are transposed."""
    tokens = x.view(2, 4, 8)
    return torch.cat([F.linear(tokens, v.t()), F.linear(tokens, w.t())], -1)


def batches(x, v, w):
    return torch.cat(
        [
            torch.bmm(x.view(2, 4, 8), v.expand(2, *v.shape)),
            torch.bmm(x.view(2, 4, 8), w.expand(2, *w.shape)),
        ],
        2,
    )


def biased_below(x, v, w):
    return torch.cat([torch.addmm(v[0], x, v), torch.addmm(v[1], x, v)])


def of_what_stays(x, v, w):
    """The norm is read by both products, so it is there until the last one."""
    n = F.layer_norm(x, (8,))
    return torch.cat([n @ v, n @ w], 1)


def filled(x, v, w):
    """Updates that replace all of a tensor, in any order."""
    y = x.new_zeros(12, 8)
    y[4:] = x @ v
    y[:4].copy_(x[:4] @ v)
    return y


def filled_columns(x, v, w):
    y = x.new_empty(8, 8 + w.shape[1])
    y[:, 8:].copy_(x @ w)
    y[:, :8] = x @ v
    return y


def replaced(x, v, w):
    """The old values, which nothing reads, are not computed."""
    y = v.softmax(-1)
    y[:4] = x[:4] @ v
    y[4:].copy_(x[4:] @ v)
    return y


FIRES = (
    beside,
    below,
    read_again,
    projections,
    batches,
    biased_below,
    of_what_stays,
    filled,
    filled_columns,
    replaced,
)


def biased_beside(x, v, w):
    return torch.cat([torch.addmm(v[0], x, v), torch.addmm(w[0], x, w)], 1)


def with_a_computed_part(x, v, w):
    return torch.cat([x @ v, x.sin()], 1)


def read_twice(x, v, w):
    y = x @ v
    return torch.cat([y, x @ w], 1), y


def twice(x, v, w):
    y = x @ v
    return torch.cat([y, y], 1)


def unaligned(x, v, w):
    return torch.cat([x @ v[:, :3], x @ w], 1)


def along_a_middle_dim(x, v, w):
    return torch.cat([(x @ v).view(2, 4, 8), (x[:4] @ v).view(2, 2, 8)], 1)


def of_what_dies(x, v, w):
    """What the first product reads is given back before the second runs."""
    return torch.cat([x.sin() @ v, x.cos() @ w], 1)


def of_two_ranks(x, v, w):
    return torch.cat([torch.bmm(x.view(2, 4, 8), v.expand(2, 8, 8)), (x @ w).view(2, 4, 12)], -1)


def filled_but_for_a_row(x, v, w):
    y = torch.zeros(13, 8)
    y[:4] = x[:4] @ v
    y[4:12] = x @ v
    return y


def filled_twice(x, v, w):
    """A row of the first product is replaced."""
    y = torch.zeros(12, 8)
    y[:8] = x @ v
    y[4:] = x @ w[:, :8]
    return y


def filled_by_rows_and_columns(x, v, w):
    y = torch.zeros(8, 8)
    y[:, :4] = x @ v[:, :4]
    y[:4] = x[:4] @ v
    y[4:, 4:] = x[4:] @ v[:, 4:]
    return y


def replaced_but_asserted(x, v, w):
    """The old values are looked up, which asserts."""
    y = v[x[:, 0].long()]
    y[:4] = x[:4] @ v
    y[4:].copy_(x[4:] @ v)
    return y


#: Concatenations that stay, and the rule that says why, of products alone.
STAYS = {
    biased_beside: ["bias"],
    with_a_computed_part: [],
    read_twice: [],
    twice: [],
    unaligned: ["unaligned"],
    along_a_middle_dim: ["views"],
    of_two_ranks: ["views"],
    of_what_dies: ["lifetime"],
    filled_but_for_a_row: [],
    filled_twice: [],
    filled_by_rows_and_columns: [],
    replaced_but_asserted: [],
}


def given():
    return torch.randn(8, 8), torch.randn(8, 8), torch.randn(8, 12)


def said(compiled):
    """The rules of the pass's remarks."""
    [graph] = compiled.graphs
    return [r.rule for r in graph.remarks.items if r.pass_name == "concat-products-in-place"]


def written(compiled):
    return sum(str(graph.module).count('.out"') for graph in compiled.graphs)


@pytest.mark.parametrize("function", FIRES, ids=lambda f: f.__name__)
def test_products_are_written_where_they_lie(function):
    assert written(check(function, *given(), interpret_level="planned", verify="numeric")) == 2
    assert planned_peak(function, given()) <= eager_peak(function, given())


@pytest.mark.parametrize("function", STAYS, ids=lambda f: f.__name__)
def test_concatenations_that_stay(function):
    compiled = check(function, *given())
    assert written(compiled) == 0
    assert said(compiled) == STAYS[function]


def test_sizes_that_are_unknown_stay():
    assert written(check(beside, *given(), dynamic=True)) == 0


def test_other_types_stay():
    def function(x, v, w):
        return torch.cat([x @ v, (x.double() @ w.double())], 1)

    assert written(check(function, *given())) == 0


def test_the_gradients():
    args = [a.requires_grad_() for a in given()]
    compiled = Compiled(beside)
    eager = torch.autograd.grad(beside(*args).sin().sum(), args)
    mine = cloned(args)
    found = torch.autograd.grad(compiled(*mine).sin().sum(), mine)
    assert written(compiled) == 2
    for a, b in zip(eager, found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("function", FIRES, ids=lambda f: f.__name__)
def test_on_the_gpu(function, dtype):
    args = [torch.randn(shape, device="cuda").to(dtype) for shape in ((8, 8), (8, 8), (8, 16))]
    check(function, *args, check_memory=True)
