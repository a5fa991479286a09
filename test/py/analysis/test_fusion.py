"""Fusion keeps the numbers: modules run before and after the scheduling passes on the interpreter, in float64
and with poisoned memory.
"""

import pytest
from fusion_checks import SCHEDULED, check, rules, run_passes, softmax
from fusion_modules import Graph, Tensor

from fuse_mlir.compiler.analysis.program.dependences import Dependences, check_order
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.passes.fusion.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.graph.fold_views import FoldViews
from fuse_mlir.passes.pass_base import PassError


def layer_norm(g: Graph, x: Tensor, w: Tensor, b: Tensor, dims: tuple[int, ...]) -> Tensor:
    c = g.pointwise("sub", x, g.reduce("sum", x, dims))
    var = g.reduce("sum", g.pointwise("square_plus", c), dims)
    return g.pointwise("add", g.pointwise("mul", g.pointwise("mul", c, g.pointwise("rsqrt", var)), w), b)


def test_softmax_is_one_kernel() -> None:
    g = Graph()
    check(g, softmax(g, g.input(5, 7), 1), kernels=1)


def test_softmax_over_the_first_dim_is_one_kernel() -> None:
    g = Graph()
    check(g, softmax(g, g.input(5, 7), 0), kernels=1)


def test_dynamic_softmax_is_one_kernel() -> None:
    g = Graph(symbols=("s0",))
    after, _ = check(g, softmax(g, g.input("s0", 7), 1), kernels=1)
    assert 'd0 = "s0"' in after


@pytest.mark.parametrize("sizes", [(4, 6), (4, 4), (2, 4, 4)])
def test_layer_norm_is_one_kernel(sizes: tuple[int, ...]) -> None:
    g = Graph()
    x = g.input(*sizes)
    dims = tuple(range(1, len(sizes)))
    w, b = g.input(*sizes[1:]), g.input(*sizes[1:])
    check(g, layer_norm(g, x, w, b, dims), kernels=1)


def test_normalisation_over_outer_dims_of_equal_extent_is_one_kernel() -> None:
    g = Graph()
    x, w, b = g.input(4, 3, 4, 4), g.input(3, 1, 1), g.input(3, 1, 1)
    check(g, layer_norm(g, x, w, b, (0, 2, 3)), kernels=1)


def test_reduced_dim_pairs_with_the_pieces_that_its_reader_has() -> None:
    g = Graph()
    x = g.input(4, 3, 5)
    flat = g.view(x, (4, 15), ["v0", "v1 floordiv 5", "v1 mod 5"], (15, 1))
    total = g.reduce("sum", flat, (1,), keep=False)
    rows = g.view(total, (4, 1, 1), ["v0"], (1, 1, 1))
    check(g, g.pointwise("sub", x, rows), kernels=1)


def test_reduced_dims_pair_with_one_dim_that_its_reader_has() -> None:
    g = Graph()
    x = g.input(4, 3, 5)
    total = g.reduce("sum", x, (1, 2), keep=False)
    rows = g.view(total, (4, 1), ["v0"], (1, 1))
    flat = g.view(x, (4, 15), ["v0", "v1 floordiv 5", "v1 mod 5"], (15, 1))
    check(g, g.pointwise("sub", flat, rows), kernels=1)


def test_a_result_that_others_need_is_stored_once() -> None:
    g = Graph()
    x = g.input(5, 7)
    y = g.pointwise("exp", x)
    after, _ = check(g, y, g.pointwise("neg", y), kernels=1)
    assert after.count("math.exp") == 1 and after.count('"fuse.store"') == 2


def test_softmax_then_flattened_pointwise_is_one_kernel() -> None:
    g = Graph()
    y = softmax(g, g.input(5, 7), 1)
    check(g, g.pointwise("exp", g.flatten(y)), kernels=1)


def test_row_and_column_reductions_stay_apart() -> None:
    g = Graph()
    y = g.pointwise("exp", g.input(5, 7))
    _, remarks = check(g, g.reduce("sum", g.reduce("max", y, (1,)), (0,)), kernels=2)
    assert "reduction-dims" in rules(remarks)


def nested_reductions(columns: int, small: tuple[int, ...]) -> Graph:
    """A sum over the last two dims, and a maximum over ``small`` of what it scales."""
    g = Graph()
    x = g.input(5, 4, columns)
    y = g.pointwise("mul", x, g.reduce("sum", x, (1, 2)))
    g.result = g.pointwise("sub", y, g.reduce("max", y, small))
    return g


def test_groups_of_a_row_are_reduced_with_the_row() -> None:
    g = nested_reductions(8, (2,))
    check(g, g.result, kernels=1)


def test_groups_of_a_row_that_no_program_holds_are_reduced_apart() -> None:
    g = nested_reductions(4096, (2,))
    _, remarks = check(g, g.result, kernels=2)
    assert "reduction-dims" in rules(remarks)


@pytest.mark.parametrize(("rows", "kernels"), [(160, 1), (200, 2)])
def test_of_many_rows_columns_and_columns_of_all_batches_are_reduced_apart(rows: int, kernels: int) -> None:
    """Where 512 rows or fewer are held, a program has 16 columns or more side by side in memory."""
    g = Graph()
    x = g.input(3, rows, 40)
    y = g.pointwise("sub", x, g.reduce("sum", x, (1,)))
    _, remarks = check(g, y, g.reduce("max", y, (0, 1)), kernels=kernels)
    assert ("reduction-dims" in rules(remarks)) == (kernels > 1)


def test_reduction_is_not_repeated_for_other_dims() -> None:
    g = Graph()
    s = g.reduce("sum", g.input(7), (0,))
    _, remarks = check(g, g.pointwise("mul", g.input(5, 7), s), kernels=2)
    assert "lost-parallelism" in rules(remarks)


def test_slices_of_a_pointwise_result_are_inlined() -> None:
    g = Graph()
    y = g.pointwise("sin", g.input(9, 4))
    out = g.pointwise("sub", g.slice(y, 0, 1, 8), g.slice(y, 0, 0, 8))
    after, _ = check(g, out, kernels=1)
    assert after.count('"fuse.load"') == 2


def test_an_expensive_row_is_not_computed_again_for_each_row_of_its_reader() -> None:
    g = Graph()
    row = g.pointwise("exp", g.input(4))
    _, remarks = check(g, g.pointwise("mul", g.input(60, 4), row), kernels=2)
    assert rules(remarks) == {"recompute"}


def test_a_cheap_row_is_computed_where_it_is_needed() -> None:
    g = Graph()
    row = g.pointwise("square_plus", g.input(4))
    check(g, g.pointwise("mul", g.input(60, 4), row), kernels=1)


def test_dynamic_flattening_is_fused_though_its_bounds_are_not_proven() -> None:
    g = Graph(symbols=("s0", "s1"))
    y = g.pointwise("sin", g.input("s0", "s1"))
    check(g, g.pointwise("neg", g.flatten(y)), kernels=1)


def test_readers_of_a_padded_producer_take_its_guard() -> None:
    g = Graph()
    a = g.pointwise("neg", g.pointwise("sin", g.input(3, 4)))
    check(g, g.cat(a, g.input(5, 4), 0), kernels=1)
    check(g, g.cat(g.input(5, 4), g.pointwise("sin", a), 0), kernels=1)


def test_a_reshape_that_mixes_dims_inlines_its_source() -> None:
    g = Graph()
    y = g.pointwise("sin", g.input(2, 4, 5, 3))
    mixed = [
        "v0 floordiv 5",
        "((v0*12 + v1) floordiv 15) mod 4",
        "((v0*12 + v1) floordiv 3) mod 5",
        "v1 mod 3",
    ]
    check(g, g.reduce("sum", g.view(y, (10, 12), mixed, (12, 1)), (1,)), kernels=1)


def test_slice_of_a_result_that_is_returned_stays_apart() -> None:
    g = Graph()
    y = g.pointwise("exp", g.input(9, 4))
    _, remarks = check(g, y, g.pointwise("neg", g.slice(y, 0, 1, 8)), kernels=2)
    assert "index-mismatch" in rules(remarks)


def test_concatenation_takes_its_producers_with_guards() -> None:
    g = Graph()
    a, b = g.pointwise("exp", g.input(3, 4)), g.pointwise("neg", g.input(5, 4))
    after, _ = check(g, g.pointwise("square_plus", g.cat(a, b, 0)), kernels=1)
    assert "arith.select" in after


def test_transposed_consumer_is_fused() -> None:
    g = Graph()
    y = softmax(g, g.input(5, 7), 1)
    check(g, g.pointwise("exp", g.transpose(y, 0, 1)), kernels=1)


def test_scan_then_pointwise_is_one_kernel() -> None:
    g = Graph()
    check(g, g.pointwise("neg", g.cumsum(g.pointwise("exp", g.input(3, 6)), 1)), kernels=1)


def test_sum_of_a_constant_is_a_sum_over_every_point() -> None:
    g = Graph()
    ones = g.fill(1.5, 4, 6)
    check(g, g.pointwise("mul", g.input(4, 6), g.reduce("sum", ones, (1,))), kernels=1)


def test_reduction_of_one_point_seen_through_a_view_stays_legal() -> None:
    g = Graph()
    x = g.input(1, 4)
    wide = g.view(x, (4, 1), ["v1", "v0"], (1, 4))
    y = g.cumsum(g.reduce("sum", wide, (1,)), 1)
    check(g, y)
    check(g, y, passes=(FoldViews(),))


def test_a_scanned_dim_is_not_cut_for_another_reader() -> None:
    g = Graph()
    x = g.input(4)
    square = g.view(x, (2, 2), ["v0*2 + v1"], (2, 1))
    passes = (FoldViews(), FuseHorizontal(), MaterializeFusion())
    check(g, g.cumsum(x, 0), g.reduce("sum", square, (1,)), kernels=2, passes=passes)
    check(g, g.cumsum(x, 0), g.cumsum(g.pointwise("neg", square), 0), passes=SCHEDULED)


def test_a_refined_space_pairs_only_the_dims_that_it_still_has() -> None:
    g = Graph()
    x = g.input(2, 2, 2)
    total = g.reduce("sum", x, (0,))
    spread = g.pointwise("neg", x)
    out = g.pointwise("neg", g.flatten(total))
    check(g, total, spread, g.pointwise("neg", spread), out)
    check(g, total, spread, g.pointwise("neg", spread), out, passes=SCHEDULED)


def test_a_reduced_dim_of_one_point_survives_when_spaces_unite() -> None:
    g = Graph()
    x = g.pointwise("sin", g.input(3, 1))
    parts = (g.reduce("max", x, (1,)), g.pointwise("neg", x), g.reduce("sum", x, (1,)))
    check(g, *parts)
    check(g, *parts, passes=SCHEDULED)


def test_reducing_a_total_of_one_point_again_beside_its_other_reader() -> None:
    g = Graph()
    x = g.input(2, 2)
    total = g.reduce("sum", x, (0, 1), keep=True)
    spread, again = g.pointwise("neg", x), g.reduce("sum", total, (0, 1), keep=True)
    out = g.pointwise("neg", g.flatten(total))
    check(g, total, spread, again, out)
    check(g, total, spread, again, out, passes=SCHEDULED)


def test_diamond_is_one_kernel() -> None:
    g = Graph()
    y = g.pointwise("exp", g.input(6, 5))
    check(g, g.pointwise("add", g.pointwise("neg", y), g.pointwise("sin", y)), kernels=1)


def test_readers_of_few_long_rows_wait_for_the_reduction() -> None:
    g = Graph()
    x = g.input(2, 40000)
    _, remarks = check(g, g.pointwise("div", x, g.reduce("sum", x, (1,))), kernels=2)
    assert rules(remarks) == {"too-long-row"}


def test_two_readers_of_one_tensor_become_one_kernel() -> None:
    g = Graph()
    x = g.input(6, 5)
    passes = (FuseHorizontal(), MaterializeFusion())
    after, _ = check(g, g.pointwise("neg", x), g.reduce("sum", x, (1,)), kernels=1, passes=passes)
    assert after.count('"fuse.load"') == 1


def test_readers_of_different_extents_stay_apart() -> None:
    g = Graph()
    row = g.pointwise("square_plus", g.input(5))
    _, remarks = check(g, g.pointwise("add", g.input(6, 5), row), g.pointwise("mul", g.input(9, 5), row))
    assert "uneven" in rules(remarks)


def test_a_reader_of_fewer_points_stays_apart_horizontally() -> None:
    g = Graph()
    x, row = g.input(6, 5), g.input(5)
    passes = (FuseHorizontal(), MaterializeFusion())
    _, remarks = check(g, g.pointwise("add", x, row), g.pointwise("neg", row), kernels=2, passes=passes)
    assert rules(remarks) == {"uneven"}


def test_in_place_update_fuses_and_keeps_the_argument() -> None:
    g = Graph()
    p, grad = g.input(6, 5), g.input(6, 5)
    new = g.pointwise("sub", p, g.pointwise("exp", grad))
    p2 = g.pointwise("square_plus", new, into=p)
    check(g, p2, kernels=1, mutates={0: 0})


def test_reader_of_the_old_value_elsewhere_stays_before_the_update() -> None:
    g = Graph()
    p = g.input(6, 6)
    old = g.pointwise("exp", g.transpose(p, 0, 1))
    p2 = g.pointwise("square_plus", old, into=p)
    _, remarks = check(g, p2, kernels=2, mutates={0: 0})
    assert "order" in rules(remarks)


def test_overwritten_broadcast_argument_stays_apart() -> None:
    g = Graph()
    p, x = g.input(6), g.input(5, 6)
    p2 = g.pointwise("exp", p, into=p)
    check(g, g.pointwise("add", x, p2), p2, mutates={1: 0})


def test_third_operation_in_between_refuses() -> None:
    g = Graph()
    x = g.input(6, 6)
    a = g.pointwise("exp", x)
    middle = g.reduce("sum", g.reduce("max", a, (1,)), (0,))
    _, remarks = check(g, g.pointwise("mul", a, middle))
    assert rules(remarks) == {"cycle", "reduction-dims", "lost-parallelism"}
    (missed,) = [r for r in remarks.items if r.rule == "cycle"]
    assert dict(missed.numbers)["between"] in {r.ops[1] for r in remarks.items if r.rule == "reduction-dims"}


def test_group_without_a_common_space_is_an_error() -> None:
    g = Graph()
    y = g.pointwise("exp", g.input(6, 5))
    z = g.pointwise("neg", g.input(3))
    text = g.text(y, z).replace(") : (tensor<6x5xf32>", ") {fuse.group = 0 : i64} : (tensor<6x5xf32>")
    text = text.replace(") : (tensor<3xf32>", ") {fuse.group = 0 : i64} : (tensor<3xf32>")
    with pytest.raises(PassError, match="cannot become one kernel"):
        run_passes(text, (MaterializeFusion(),))


def test_stale_read_is_a_violation() -> None:
    g = Graph()
    p = g.input(6)
    new = g.pointwise("exp", p, into=p)
    late = g.pointwise("neg", p)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(g.text(new, late))
        violation = check_order(module)
        assert violation is not None and "has overwritten" in violation.message
        reasons = {(e.reason, e.strength) for e in Dependences.of(module).edges}
        assert ("data", "whole") in reasons


def test_what_reads_two_regions_deep_comes_before_the_write() -> None:
    module = ir.Module.parse(
        """module attributes {fuse.device = "cpu"} {
          func.func @main(%x: tensor<8xf32>, %c: i1) {
            %zero = arith.constant 0 : index
            %three = arith.constant 3 : index
            %one = arith.constant 1 : index
            scf.for %i = %zero to %three step %one {
              scf.if %c { func.call @show(%x) : (tensor<8xf32>) -> () }
            }
            call @clear(%x) : (tensor<8xf32>) -> ()
            return
          }
          func.func private @show(tensor<8xf32>) attributes {fuse.extern = "mylib.show.default", fuse.effect}
          func.func private @clear(tensor<8xf32>)
              attributes {fuse.extern = "aten.zero_.default", fuse.mutated = array<i64: 0>}
        }""",
        make_context(),
    )
    graph = Dependences.of(module)
    loop, clear = (node.index for node in graph.nodes if node.name in ("scf.for", "clear"))
    assert (loop, clear, "war") in [(e.before, e.after, e.reason) for e in graph.edges]


def test_a_refusal_names_the_rule_the_numbers_and_both_places() -> None:
    g = Graph()
    s = g.reduce("sum", g.input(7), (0,))
    _, remarks = check(g, g.pointwise("mul", g.input(5, 7), s))
    (missed,) = [r for r in remarks.items if r.kind == "missed"]
    assert missed.rule == "lost-parallelism" and len(missed.locations) == 2
    assert dict(missed.numbers)["repeats"] == 5
    assert all(name in place for name, place in zip(missed.ops, missed.locations, strict=True))
