"""Calls that write to their arguments in the graphs of higher-order ops: in place there, too."""

import operator

import pytest
import torch
from compiling import Compiled, cloned
from random_user_kernels import KERNELS
from torch import Tensor
from torch._higher_order_ops import scan, while_loop
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._ordered_set import OrderedSet
from user_kernels import triton_without_a_gpu
from versions import TORCH

from fuse_mlir.compiler.rewrites.graph.mutating_calls import write_calls_in_place

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")

X = torch.linspace(-2, 2, 16).reshape(4, 4)
TRUE, FALSE = torch.tensor(True), torch.tensor(False)
EXACT = False


@torch.library.custom_op("fuse_tests::nested_add_twice_", mutates_args=("x",))
def add_twice_(x: Tensor, y: Tensor) -> None:
    x.add_(y * 2)


def kernel(name):
    """A user's kernel, or the same in torch's ops."""
    user, plain = KERNELS[name]
    return lambda *given: plain(*given) if EXACT else user(*given)


add, rows, twice = kernel("add"), kernel("rows"), kernel("twice")


def in_branches(x, p):
    """One branch writes to what it makes; the other may not write to its argument, and copies it."""
    return torch.cond(p, lambda x: add(x.sin(), x).cos(), lambda x: twice(x) + 1, (x,)), x * 2


def old_contents(x, p):
    def true(x):
        y = x.clone()
        add_twice_(y, x)
        return y + x, y

    def false(x):
        y = x * 2
        old = y[0].clone()
        add_twice_(y.t(), x)
        return y, y + old

    return torch.cond(p, true, false, (x,))


def in_a_branch_of_a_branch(x, p):
    def inner(x):
        return torch.cond(x.sum() > 0, lambda x: twice(x) + add(x, x), lambda x: add(x, x.cos()), (x,))

    return torch.cond(p, lambda x: inner(x + 1) * 2, lambda x: rows(inner(x)), (x,))


def in_a_loop(x, p):
    def body(i, x):
        y = x.clone()
        add_twice_(y, x)
        return i + 1, add(y * 0.1, rows(x)).sin()

    return while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x))[1], x + 1


def in_a_scan(x, p):
    def body(carried, row):
        y = carried.clone()
        add_twice_(y, row)
        return add(carried, row), y

    return scan(body, x[0].clone(), x)


@torch.compiler.nested_compile_region
def region(x):
    return add(x.sin(), x).cos()


def in_a_region(x, p):
    return region(region(x)), x


@pytest.mark.parametrize(
    "function", [in_branches, old_contents, in_a_branch_of_a_branch, in_a_loop, in_a_scan, in_a_region]
)
def test_like_eager(function, monkeypatch):
    with triton_without_a_gpu(), torch.no_grad():
        compiled = Compiled(function, {"interpret_level": "planned"})
        for predicate in (TRUE, FALSE):
            eager, own = X.clone(), X.clone()
            found = compiled(own, predicate)
            with monkeypatch.context() as patch:
                patch.setitem(globals(), "EXACT", True)
                expected = function(eager, predicate)
            torch.testing.assert_close((found, own), (expected, eager), rtol=1e-4, atol=1e-4)


def names(function, *given, **options):
    with triton_without_a_gpu(), torch.no_grad():
        compiled = Compiled(function, options)
        found = compiled(*cloned(given))
    (graph,) = compiled.graphs
    assert not [f for f in graph.fallbacks if "higher_order" in f.target]
    return [launch.name for launch in graph.launches], found


def test_a_kernel_in_a_branch_fuses_and_copies_nothing():
    found, _ = names(in_branches, X, TRUE)
    assert [n for n in found if n.startswith("true")] == ["true_graph_0.fused_sin_add_kernel_cos"]
    assert [n for n in found if n.startswith("false")] == [
        f"false_graph_0.{n}" for n in ("clone", "double_kernel", "add")
    ]
    found, _ = names(in_a_scan, X, TRUE)
    assert [n for n in found if n.startswith("scan")] == [
        "scan_combine_graph_0.clone",
        "scan_combine_graph_0.add_kernel",
    ]
    found, _ = names(in_a_region, X, TRUE)
    second = 1 if TORCH < (2, 13) else 0  # torch 2.11 makes a graph of each call
    assert found == [f"repeated_subgraph{n}.fused_sin_add_kernel_cos" for n in (0, second)]


def test_a_kernel_in_a_branch_fuses_for_symbolic_sizes():
    """The kernel walks over all elements of a matrix whose rows and columns are symbols."""
    x = torch.linspace(-2, 2, 48).reshape(6, 8)
    with triton_without_a_gpu(), torch.no_grad():
        compiled = Compiled(in_branches, {"interpret_level": "planned"}, dynamic=True)
        for given in (x, x[:5, :7].contiguous()):
            found, _ = compiled(given, TRUE)
            torch.testing.assert_close(found, (given.sin() + given).cos(), rtol=1e-4, atol=1e-4)
    for graph in compiled.graphs:
        launches = [launch.name for launch in graph.launches]
        assert "true_graph_0.fused_sin_add_kernel_cos" in launches


def ordered(x, y):
    return x.cos(), add(x.sin(), x).exp() * y


def ordered_op(x, y):
    z = x * 2
    made = y.cos()
    add_twice_(z, y)
    return made, z.exp()


def after(first, second):
    """An ``fx_pass``: the node named ``second`` waits for ``first``."""

    def wait(graph):
        nodes = {node.name: node for node in graph.nodes}
        preserve_node_ordering(graph, {nodes[second]: OrderedSet([nodes[first]])})

    return wait


def test_a_kernel_of_an_ordered_group_fuses():
    """Its empty tensor is made inside the group; what fuses with it waits for what the group waits for."""
    waits = after("cos", "triton_kernel_wrapper_functional_proxy")
    found, values = names(ordered, X, X, fx_pass=waits, verify="on")
    assert found == ["cos", "fused_cos_sin_add_kernel_exp_mul"]
    torch.testing.assert_close(values, (X.cos(), (X.sin() + X).exp() * X))
    waits = after("cos", "auto_functionalized_v2")
    found, values = names(ordered_op, X, X + 1, fx_pass=waits, verify="on")
    assert "fuse_tests.nested_add_twice_.default" in found
    torch.testing.assert_close(values, ((X + 1).cos(), (X * 2 + 2 * (X + 1)).exp()))


def test_an_argument_of_a_nested_graph_is_copied():
    """Its caller may read it afterwards, although the graph itself copies the new contents into it."""
    value = FakeTensorMode().from_tensor(torch.ones(8))
    aten, op = torch.ops.aten, torch.ops.fuse_tests.nested_add_twice_.default

    def made():
        graph = torch.fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        given = {"y": y, "_x_base_index": 0, "_all_bases": [x]}
        call = graph.call_function(torch.ops.higher_order.auto_functionalized_v2, (op,), given)
        new = graph.call_function(operator.getitem, (call, 1))
        graph.call_function(aten.copy_.default, (x, new))
        for node in graph.nodes:
            node.meta["val"] = (None, value) if node is call else value
        graph.output(())
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    inner, alone = made(), made()
    outer = torch.fx.Graph()
    outer.get_attr("inner")
    outer.output(())
    assert write_calls_in_place(torch.fx.GraphModule({"inner": inner}, outer)) == 1
    assert write_calls_in_place(alone) == 1
    written = [next(n for n in gm.graph.nodes if n.target is op).kwargs["x"] for gm in (inner, alone)]
    assert [node.target for node in written] == [aten.clone.default, "x"]
