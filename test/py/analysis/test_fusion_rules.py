"""Every rule of fusion has a name and a file with both its answers; and cases that broke other schedulers."""

import re
from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from fusion_checks import SCHEDULED, check, kernel_names, rules, run_passes
from fusion_modules import Graph, Tensor
from repository import LIT

from fuse_mlir.compiler.analysis.fusion.placement import _Planner
from fuse_mlir.compiler.analysis.fusion.plan import RULE_NAMES, Refusal
from fuse_mlir.compiler.analysis.fusion.score import Gain
from fuse_mlir.compiler.analysis.fusion.space import Spaces
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.index import Expr, Facts, const, parse
from fuse_mlir.passes.fusion.fuse_horizontal import FuseHorizontal
from fuse_mlir.passes.fusion.fuse_vertical import FuseVertical
from fuse_mlir.passes.fusion.materialize_fusion import MaterializeFusion
from fuse_mlir.passes.graph.fold_views import FoldViews
from fuse_mlir.passes.pass_base import Pass

FILES = LIT / "passes" / "fusion-rules"
HORIZONTAL: tuple[Pass, ...] = (FoldViews(), FuseVertical(), FuseHorizontal(), MaterializeFusion())


def test_every_rule_has_a_file_and_every_file_a_rule() -> None:
    assert sorted(p.stem for p in FILES.glob("*.mlir")) == sorted(RULE_NAMES)


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_the_file_of_a_rule_shows_a_refusal_and_a_fusion(rule: str) -> None:
    text = (FILES / f"{rule}.mlir").read_text(encoding="utf-8")
    assert re.search(rf"^// REMARK: missed: fuse-(vertical|horizontal): {rule}\b", text, re.MULTILINE)
    assert re.search(r"^// Must not fire: ", text, re.MULTILINE)
    passes = text.partition("// -----")[2]
    assert re.search(r"^// CHECK-COUNT-2: fuse.group = 0", passes, re.MULTILINE)


def test_a_refusal_has_a_registered_name() -> None:
    with pytest.raises(AssertionError, match="no rule is named"):
        Refusal("mismatch", "they differ")


def test_the_estimate_adds_bytes_and_launches_and_takes_off_operations() -> None:
    h200 = hardware_named("h200")
    moved = Gain(48 << 20, 1).microseconds(h200)
    assert moved == pytest.approx((48 << 20) / 4.8e6 + h200.launch)
    assert Gain(48 << 20, 1, slots=10**9).microseconds(h200) < moved
    assert Gain(1, 2, 3) + Gain(4, 5, 6) == Gain(5, 7, 9)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_order_of_operands_does_not_matter(swapped: bool) -> None:
    def kernels(swapped: bool) -> int:
        g = Graph()
        x, y = g.input(6, 5), g.input(6, 5)
        a, b = g.pointwise("exp", x), g.reduce("sum", y, (1,))
        c = g.pointwise("mul", *((b, a) if swapped else (a, b)))
        d = g.pointwise("add", *((c, x) if swapped else (x, c)))
        after, _ = check(g, d, g.reduce("max", d, (1,)))
        return len(kernel_names(after))

    assert kernels(swapped) == 1


@pytest.mark.parametrize(("sizes", "scored"), [((7, 11, 13), False), ((7, 11, 11), True)])
def test_pairings_of_dims_are_scored_only_where_there_are_several(
    sizes: tuple[int, ...], scored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    coinciding = Spaces.coinciding

    def counted(self: Spaces, number: int, cluster: int, dims: Mapping[str, Expr]) -> int:
        seen.append(number)
        return coinciding(self, number, cluster, dims)

    monkeypatch.setattr(Spaces, "coinciding", counted)
    g = Graph()
    x = g.input(*sizes)
    after, _ = check(g, g.pointwise("add", x, g.reduce("sum", x, (1, 2), True)))
    assert (len(kernel_names(after)), bool(seen)) == (1, scored)


def test_cross_entropy_is_one_kernel_for_the_rows() -> None:
    g = Graph()
    x, target = g.input(6, 50), g.input(6, 50)
    shifted = g.pointwise("sub", x, g.reduce("max", x, (1,)))
    total = g.reduce("sum", g.pointwise("exp", shifted), (1,))
    picked = g.reduce("sum", g.pointwise("mul", shifted, target), (1,))
    check(g, g.pointwise("sub", picked, g.pointwise("rsqrt", total)), kernels=1, passes=SCHEDULED)


def test_a_write_after_a_read_elsewhere_stays_apart_when_others_join_them_in_a_later_round() -> None:
    """The pair meets only after its neighbours have fused: the order edge alone would not refuse it then."""
    g = Graph()
    p = g.input(6, 6)
    first = g.pointwise("exp", g.transpose(p, 0, 1))
    second = g.pointwise("neg", first)
    third = g.pointwise("sin", second)
    fourth = g.pointwise("square_plus", g.pointwise("neg", third))
    update = g.pointwise("add", fourth, p, into=p)
    _, remarks = check(g, update, third, mutates={0: 0}, passes=HORIZONTAL, kernels=2)
    assert "order" in rules(remarks)


def test_a_write_after_a_read_elsewhere_that_no_data_connects_stays_apart() -> None:
    g = Graph()
    p, x = g.input(6, 6), g.input(6, 6)
    old = g.pointwise("add", x, g.transpose(p, 0, 1))
    new = g.pointwise("exp", x, into=p)
    _, remarks = check(g, old, new, mutates={1: 0}, passes=HORIZONTAL, kernels=2)
    assert rules(remarks) == {"order"}


def test_a_write_after_a_read_at_the_same_point_joins() -> None:
    g = Graph()
    p, x = g.input(6, 6), g.input(6, 6)
    old = g.pointwise("add", x, p)
    new = g.pointwise("exp", x, into=p)
    check(g, old, new, mutates={1: 0}, passes=HORIZONTAL, kernels=1)


def test_what_is_recomputed_still_runs_before_its_input_is_overwritten() -> None:
    """The cheap row is computed again by each reader; both read the argument, so both precede its update."""
    g = Graph()
    p = g.input(5)
    row = g.pointwise("square_plus", p)
    a = g.pointwise("mul", g.input(60, 5), row)
    b = g.pointwise("add", g.input(70, 5), row)
    new = g.pointwise("exp", p, into=p)
    check(g, a, b, new, mutates={2: 0}, passes=SCHEDULED)


def test_readers_far_apart_do_not_raise_the_peak() -> None:
    """Each of four layers needs a wide tensor of the shared input: they must not all be made at once."""
    g = Graph()
    x = g.input(64, 64)
    outputs: list[Tensor] = []
    for _ in range(4):
        wide = g.pointwise("exp", x)
        s = g.reduce("sum", g.pointwise("mul", g.cumsum(wide, 0), g.cumsum(wide, 1)), (0, 1))
        for _ in range(4):
            s = g.cumsum(s, 0)
        outputs.append(s)
    _, remarks = run_passes(g.text(*outputs), HORIZONTAL[:3])
    numbers = [dict(r.numbers) for r in remarks.items if r.rule == "memory"]
    assert numbers and all(n["rise_bytes"] > 0 and n["peak_bytes"] >= 64 * 64 * 4 for n in numbers)


@pytest.mark.parametrize(
    ("coords", "sizes", "fills"),
    [("d0", "8", True), ("d0", "9", False), ("7 - d0", "8", False), ("0", "1", True), ("0", "2", False)],
)
def test_a_store_fills_a_tensor_where_it_visits_each_element(coords: str, sizes: str, fills: bool) -> None:
    """A read without a guard then lies where the store does."""
    planner = SimpleNamespace(facts=Facts.of(extents={"d0": 8}))
    member = SimpleNamespace(summary=SimpleNamespace(dims={"d0": const(8)}))
    write = SimpleNamespace(coords=(parse(coords),), sizes=(parse(sizes),))
    assert _Planner.fills(planner, member, write) == fills
