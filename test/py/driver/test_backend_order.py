"""Order and assertions from torch.compile down to every level: a user's control_deps, torch's asserts."""

from collections.abc import Callable

import pytest
import torch
from compiling import Compiled, check
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from fuse_mlir.compiler.runtime.errors import DeviceAssertError
from fuse_mlir.passes.pipeline import LEVELS

LOWERED = LEVELS[1:]


def ordering(*pairs: tuple[str, str]) -> Callable[[torch.fx.Graph], None]:
    """An `fx_pass`: in each pair of node names, the second waits for the first."""

    def fx_pass(graph: torch.fx.Graph) -> None:
        nodes = {node.name: node for node in graph.nodes}
        preserve_node_ordering(graph, {nodes[after]: OrderedSet([nodes[before]]) for before, after in pairs})
        graph.lint()

    return fx_pass


def around(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two kernels that read x, and would be one, with a product between them."""
    return x.sin(), x @ w, x.cos() * 2


X, W = torch.randn(5, 6), torch.randn(6, 7)


def launched(level: str, *pairs: tuple[str, str]) -> list[tuple[str, ...]]:
    """The ops of each launch, in order; the numbers are checked.  Inside an ordered group torch calls a node
    `cos_default`, which is `cos` here.
    """
    fx_pass = ordering(*pairs) if pairs else None
    [graph] = check(around, X, W, fx_pass=fx_pass, interpret_level=level).graphs
    return [tuple(node.partition("_")[0] for node in launch.nodes) for launch in graph.launches]


@pytest.mark.parametrize("level", LOWERED)
def test_without_an_order_the_kernels_are_one(level: str) -> None:
    assert len(launched(level)) == 2


@pytest.mark.products("auto")  # it is a call
@pytest.mark.parametrize("level", LOWERED)
def test_a_product_between_two_kernels_keeps_them_apart(level: str) -> None:
    sine, product, cosine = launched(level, ("sin", "mm"), ("mm", "cos"))
    assert (sine, product, cosine) == (("sin",), ("mm",), ("cos", "mul"))


@pytest.mark.parametrize("level", LOWERED)
def test_fusion_goes_on_where_the_order_is_kept(level: str) -> None:
    assert launched(level, ("mm", "cos")) == [("mm",), ("sin", "cos", "mul")]


def test_the_numbers_of_an_ordered_graph() -> None:
    launched("graph", ("sin", "mm"), ("mm", "cos"))


def asserting(x: torch.Tensor) -> torch.Tensor:
    torch._assert_async((x > 0).all(), "all are positive")
    return x + 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_an_assertion_holds_or_names_message_and_line(level: str, dynamic: bool) -> None:
    compiled = Compiled(asserting, {"interpret_level": level}, dynamic)
    x = torch.ones(5)  # lanes past the fifth assert nothing
    assert torch.equal(compiled(x), x + 1)
    line = asserting.__code__.co_firstlineno + 1
    with pytest.raises(DeviceAssertError, match=rf"all are positive.*{__file__}\W+{line}"):
        compiled(torch.tensor([1.0, 2.0, 3.0, 4.0, -5.0]))
    assert torch.equal(compiled(x), x + 1)


@pytest.mark.parametrize("level", LEVELS)
def test_an_assertion_whose_graph_returns_something_else_stays(level: str) -> None:
    def checks_only(x, y):
        torch._assert_async(x.sum() > 0, "positive")
        return y * 2

    compiled = Compiled(checks_only, {"interpret_level": level})
    y = torch.arange(3.0)
    assert torch.equal(compiled(torch.ones(4), y), y * 2)
    with pytest.raises(DeviceAssertError, match="positive"):
        compiled(-torch.ones(4), y)


@pytest.mark.parametrize("level", LEVELS)
def test_an_index_out_of_bounds_is_an_error_with_its_line(level: str) -> None:
    def rows(w, i):
        return w[i] * 2

    compiled = Compiled(rows, {"interpret_level": level})
    w = torch.randn(5, 3)
    for good in ([0, 4, -1], [-5, 2, 2]):
        assert torch.equal(compiled(w, torch.tensor(good)), w[good] * 2)
    line = rows.__code__.co_firstlineno + 1
    for bad in ([0, 5, 1], [0, -6, 1]):
        with pytest.raises(DeviceAssertError, match=rf"out of bounds.*size 5.*{__file__}\W+{line}"):
            compiled(w, torch.tensor(bad))
