"""Kernels that visit one tensor in different orders become one without a round that reorders loops: dims have
names, and which of them runs innermost is decided by tiling, after all fusion.
"""

import pytest
from fusion_checks import SCHEDULED, check, kernel_names, run_passes, softmax
from fusion_modules import Graph

from fuse_mlir.passes.fusion.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.graph.fold_views import FoldViews
from fuse_mlir.passes.pass_base import Pass

HORIZONTAL: tuple[Pass, ...] = (FoldViews(), FuseHorizontal(), MaterializeFusion())


def test_readers_of_a_matrix_and_of_its_transpose_share_a_read() -> None:
    g = Graph()
    x = g.input(6, 5)
    after, _ = check(
        g, g.pointwise("neg", x), g.pointwise("sin", g.transpose(x, 0, 1)), kernels=1, passes=HORIZONTAL
    )
    assert after.count('"fuse.load"') == 1


def test_readers_of_a_tensor_and_of_its_elements_in_a_row_share_a_read() -> None:
    g = Graph()
    x = g.input(6, 5)
    after, _ = check(g, g.pointwise("neg", x), g.pointwise("sin", g.flatten(x)), kernels=1, passes=HORIZONTAL)
    assert after.count('"fuse.load"') == 1


def test_three_orders_of_one_tensor_share_a_read() -> None:
    g = Graph()
    x = g.input(4, 6, 5)
    parts = [
        g.pointwise("neg", x),
        g.pointwise("sin", g.transpose(x, 0, 2)),
        g.pointwise("exp", g.flatten(x)),
    ]
    after, _ = check(g, *parts, kernels=1, passes=HORIZONTAL)
    assert after.count('"fuse.load"') == 1


def test_sums_over_the_same_elements_in_two_orders_are_one_kernel() -> None:
    g = Graph()
    x = g.input(6, 5)
    rows = g.reduce("sum", x, (1,))
    columns = g.reduce("max", g.transpose(x, 0, 1), (0,))
    check(g, rows, columns, kernels=1, passes=HORIZONTAL)


@pytest.mark.parametrize("op", ["neg", "exp"])
def test_a_producer_joins_a_reader_that_visits_it_flattened_and_transposed(op: str) -> None:
    g = Graph()
    y = g.pointwise(op, g.input(6, 5))
    check(g, y, g.pointwise("sin", g.flatten(y)), g.pointwise("neg", g.transpose(y, 0, 1)), kernels=1)


def test_a_reduction_joins_readers_in_another_order() -> None:
    g = Graph()
    y = softmax(g, g.input(6, 5), 1)
    turned = g.transpose(y, 0, 1)
    check(g, y, g.pointwise("sin", turned), g.reduce("max", turned, (0,)), kernels=1, passes=SCHEDULED)


def test_a_norm_of_groups_joins_what_has_one_of_its_dims_in_pieces_and_two_as_one() -> None:
    """Group norm as torch writes it for a GPU: channels are two dims where groups are reduced, and the pixels
    one; where weights of the channels are multiplied it is the other way round.
    """
    g = Graph()
    x, w = g.input(2, 6, 4, 5), g.input(1, 6, 1, 1)
    grouped = g.view(
        x,
        (2, 3, 2, 20),
        ["v0", "v1*2 + v2", "v3 floordiv 5", "v3 mod 5"],
        (120, 40, 20, 1),
    )
    normal = g.pointwise("sub", grouped, g.reduce("sum", grouped, (2, 3)))
    images = g.view(
        normal,
        (2, 6, 4, 5),
        ["v0", "v1 floordiv 2", "v1 mod 2", "v2*5 + v3"],
        (120, 20, 5, 1),
    )
    check(g, g.pointwise("exp", g.pointwise("mul", images, w)), kernels=1)


@pytest.mark.parametrize("height", [5, 6])
def test_sums_that_only_look_alike_stay_apart(height: int) -> None:
    """Two tensors of as many points, one of them with rows of the other's number of rows: to fuse their sums,
    one would be read across its rows.
    """
    g = Graph()
    x, y = g.input(2, 5, 6), g.input(2, *((6, 5) if height == 6 else (5, 6)))
    sums = [g.reduce("sum", g.pointwise("exp", t), (1, 2)) for t in (x, y)]
    after, _ = check(g, g.pointwise("add", *sums))
    assert len(kernel_names(after)) == (2 if height == 6 else 1)


def test_sums_in_two_orders_of_one_tensor_still_share_its_read() -> None:
    g = Graph()
    x = g.input(5, 6)
    sums = [g.reduce("sum", x, (0, 1)), g.reduce("max", g.transpose(x, 0, 1), (0, 1))]
    check(g, g.pointwise("add", *sums), kernels=1)


@pytest.mark.parametrize("first", [0, 1])
def test_a_sum_of_sums_is_a_kernel_of_its_own(first: int) -> None:
    """A program that walks down its share of the rows has a part of each column's sum.  The whole sums of its
    rows it has, but to add these up shares no read.
    """
    g = Graph()
    sums = g.reduce("sum", g.input(2112, 256), (first,))
    total = g.reduce("sum", g.pointwise("mul", sums, sums), (1 - first,))
    after, _ = run_passes(g.text(sums, total))
    assert len(kernel_names(after)) == 2


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_sums_of_rows_and_of_columns_share_a_walk_where_rows_lie_in_memory(turned: bool, first: int) -> None:
    """Of 2112 rows, whichever sum comes first; a program cannot walk down rows whose elements lie apart."""
    g = Graph()
    x = g.transpose(g.input(256, 2112), 0, 1) if turned else g.input(2112, 256)
    y = g.pointwise("exp", x)
    sums = [g.reduce("sum", y, (dim,)) for dim in (first, 1 - first)]
    after, _ = run_passes(g.text(*sums), SCHEDULED)
    assert len(kernel_names(after)) == (2 if turned else 1)


def test_a_long_chain_with_turns_is_one_kernel() -> None:
    """What a kernel keeps to itself is no access: only two are left of eighty."""
    g = Graph()
    x = g.input(6, 5)
    for i in range(40):
        x = g.pointwise("neg", x if i % 7 else g.transpose(x, 0, 1))
    after, _ = check(g, x, kernels=1)
    assert len(kernel_names(after)) == 1 and after.count('"fuse.load"') == 1
