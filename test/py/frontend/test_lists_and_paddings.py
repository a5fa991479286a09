"""Ops of lists of tensors that no pointwise rule covers, and padding with elements of the tensor itself."""

import pytest
import torch
from compiling import Compiled
from lowering import check, check_training
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.autograd.decompositions import decomposition_table

TABLE = decomposition_table()
aten = torch.ops.aten


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


def test_zeros_in_place():
    """As ``zero_grad`` of an optimiser: nothing runs in torch."""

    def function(xs):
        torch._foreach_zero_(xs)
        return xs[0] + 1

    xs = [given(3), given(2, 2).double(), torch.ones(4, dtype=torch.int64), given(0)]
    compiled = Compiled(function)
    assert torch.equal(compiled(xs), torch.ones(3))
    assert not any(x.any() for x in xs)
    (graph,) = compiled.graphs
    assert (graph.externs, graph.fallbacks) == (0, [])


LISTS = {
    "clone": lambda a, b: aten._foreach_clone.default([a, b]),
    "max": lambda a, b: aten._foreach_max.default([a, b]),
    "powsum": lambda a, b: (aten._foreach_powsum.Scalar([a, b]), aten._foreach_powsum.Scalar([a, b], 3)),
    "zero": lambda a, b: aten._foreach_zero.default([a, b]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists(name):
    if not hasattr(aten, f"_foreach_{name}"):
        pytest.skip("newer torch has it")
    check(LISTS[name], given(3, 2), given(5), table=TABLE)


#: (padding, shape): one copy and several, edges that are one element, and cuts on either side.
PADDINGS = (
    ((2, 1), (2, 3, 5)), ((2, 1), (3, 1)), ((0, 3), (2, 3, 5)), ((-1, 2), (2, 3, 5)), ((-1, 2), (2, 3, 1)),
    ((2, 1, 0, 3), (2, 3, 5, 4)), ((0, 0, -1, 2), (3, 5, 4)), ((2, 1, 0, 3, 1, 1), (2, 3, 3, 2, 3)),
    ((1, 1, 1, 1, 1, 1), (2, 1, 1, 1)), ((1, 2), (0, 3, 5)),
)  # fmt: skip


@pytest.mark.parametrize(("padding", "shape"), PADDINGS)
def test_padding_that_repeats_edges(padding, shape):
    graphs = check_training(lambda x: F.pad(x, padding, mode="replicate"), given(*shape), table=TABLE)
    assert len(graphs) == 2


def test_padding_of_other_types_and_sizes():
    check_training(
        lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"),
        given(2, 3, 5, 4).bfloat16(),
        table=TABLE,
        dynamic=True,
    )
    extern = ["aten.replication_pad1d_backward.default"]
    check_training(lambda x: F.pad(x, (5, -4), mode="replicate"), given(1, 3, 3), table=TABLE, extern=extern)


@pytest.mark.parametrize(("padding", "shape"), [(p, s) for p, s in PADDINGS if p[0] + s[-1] > 0])
def test_padding_that_repeats_edges_backwards(padding, shape):
    """As far as elements reach."""
    most = [shape[-1 - n // 2] - 1 for n in range(len(padding))]
    check(lambda x: F.pad(x, [*map(min, padding, most)], mode="reflect"), given(*shape), table=TABLE)


@pytest.mark.parametrize("mode", ("reflect", "replicate"))
def test_a_stencil_of_a_padded_image_is_one_kernel(mode):
    def around(x):
        p = F.pad(x, (1, 1, 1, 1), mode=mode)
        return p[..., 2:, 1:-1] + p[..., :-2, 1:-1] + p[..., 1:-1, 2:] + p[..., 1:-1, :-2] - 4 * x

    x = given(2, 3, 37, 41)
    compiled = Compiled(around, {"hardware": "h200"})
    torch.testing.assert_close(compiled(x).double(), around(x.double()), rtol=1e-5, atol=1e-5)
    [graph] = compiled.graphs
    assert graph.launches_after == 1


def test_zeros_that_are_looked_up_are_not_stored():
    def around(x):
        return x + F.pad(torch.zeros_like(x), (1, 1), mode="replicate")[..., 2:]

    compiled = Compiled(around, {"hardware": "h200"})
    x = given(3, 400)
    assert torch.equal(compiled(x), x)
    [graph] = compiled.graphs
    assert graph.launches_after == 1
