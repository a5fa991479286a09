"""Ops that torch's decompositions make generated ones of, or would make wrong ones of."""

import pytest
import torch
from lowering import check, check_training
from torch.nn import functional as F

from fuse_mlir.compiler.frontend.decompositions import decomposition_table


def given(*sizes):
    torch.manual_seed(0)
    return torch.randn(sizes)


FUNCTIONS = {
    "fold": (lambda x: F.fold(x, (4, 5), 2), given(2, 12, 12)),
    "cross": (lambda x: torch.linalg.cross(x, x.flip(0), dim=-1), given(4, 3)),
    "max_unpool": (
        lambda x: F.max_unpool2d(x, torch.arange(8).view(1, 2, 2, 2) * 3 % 16, 2),
        given(1, 2, 2, 2),
    ),
    "reflection_pad3d": (lambda x: F.pad(x, (1, 1, 0, 2, 1, 0), mode="reflect"), given(1, 2, 3, 3, 3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_runs_as_itself(name):
    function, x = FUNCTIONS[name]
    check_training(function, x, table=decomposition_table())


@pytest.mark.parametrize("kind", ["amax", "amin"])
def test_index_reduce(kind):
    """Torch decomposes it on a GPU alone."""
    inputs = given(5, 3), torch.tensor([0, 2, 2, 1]), given(4, 3)
    extern = ("aten.index_reduce.default",)
    check(lambda x, i, v: x.index_reduce(0, i, v, kind), *inputs, table=decomposition_table(), extern=extern)


@pytest.mark.xfail(strict=True, reason="AOTAutograd traces torch's own wrong function, for aot_eager too")
def test_multilabel_margin_loss():
    """Classes behind the -1 that ends a row do not count, which torch's decomposition forgets."""
    target = torch.tensor([[1, 2, -1, 0, 0, 0], [0, -1, 3, 3, 3, 3]])
    check_training(
        F.multilabel_margin_loss,
        given(2, 6),
        target,
        table=decomposition_table(),
        extern=(
            "aten.multilabel_margin_loss_forward.default",
            "aten.multilabel_margin_loss_backward.default",
        ),
    )
