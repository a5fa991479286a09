"""What counts as a view in an FX graph, for those who write into storage and for those who choose strides."""

import operator

import torch
from torch._inductor.fx_passes.control_dependencies import control_deps
from torch.fx import Graph, Node

from fuse_mlir.compiler.frontend.importer import importer  # noqa: F401  (enters the lowerings)
from fuse_mlir.compiler.fx.views import is_one_view, may_share_storage, storage_readers, storage_root
from fuse_mlir.compiler.rewrites.layouts import pad_products

aten = torch.ops.aten


def call(graph: Graph, target, *args) -> Node:
    node = graph.call_function(target, args)
    values = [a.meta["val"] if isinstance(a, Node) else a for a in args]
    node.meta["val"] = target(*values)
    return node


def argument(graph: Graph) -> Node:
    node = graph.placeholder("x")
    node.meta["val"] = torch.zeros(4, 6)
    return node


def test_a_view_is_found_by_the_table_or_by_its_schema() -> None:
    graph = Graph()
    x = argument(graph)
    for view in (
        call(graph, aten.t.default, x),
        call(graph, aten._unsafe_view.default, x, [24]),  # its schema says nothing
        call(graph, aten.movedim.int, x, 0, 1),  # no entry in the table
    ):
        assert may_share_storage(view) and storage_root(view) is x
    for other in (x, call(graph, aten.exp.default, x), call(graph, aten.exp_.default, x)):
        assert not may_share_storage(other) and not is_one_view(other)


def test_parts_share_storage_but_are_no_single_view() -> None:
    graph = Graph()
    x = argument(graph)
    parts = call(graph, aten.split.Tensor, x, 2)
    part = call(graph, operator.getitem, parts, 0)
    assert may_share_storage(parts) and may_share_storage(part) and storage_root(part) is x
    assert not is_one_view(parts) and not is_one_view(part)
    assert is_one_view(call(graph, aten.slice.Tensor, x, 0, 0, 2))


def test_readers_are_those_of_views_too_and_of_what_waits() -> None:
    graph = Graph()
    x = argument(graph)
    view = call(graph, aten.t.default, x)
    first, second = call(graph, aten.exp.default, view), call(graph, aten.sin.default, x)
    assert set(storage_readers(x, {})) == {first, second}
    assert set(storage_readers(x, {first: [second]})) == {first, second}
    assert storage_readers(view, {first: [x]}) == [first, x]


def test_an_ordered_group_is_no_view_of_what_it_waits_for() -> None:
    """Its first operand is a tuple of nodes.  What is copied of it to be padded are its own bytes."""
    graph = Graph()
    x = argument(graph)
    group = graph.call_function(control_deps, ((x,), graph.get_attr("sub"), x))
    group.meta["val"] = torch.zeros(4, 6)
    assert is_one_view(group) and storage_root(group) is group
    assert pad_products._bytes(group) == 4 * 6 * 4
