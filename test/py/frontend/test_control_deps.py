"""Orderings that a user's ``fx_pass`` makes with torch's helper: what is scheduled, fused, kept, freed."""

import operator

import pytest
import torch
from compiling import Compiled
from lowering import lower
from made_up_gpu import made_up_gpu
from nesting import check
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from fuse_mlir.compiler.ir.storage import callee_name
from fuse_mlir.passes.manager import PassManager
from fuse_mlir.passes.pipeline import default_pipeline

X = torch.arange(32.0).reshape(8, 4).sin()
W = torch.arange(16.0).reshape(4, 4).cos()
CALLS: list[str] = []


@torch.library.custom_op("fuse_test::scale_", mutates_args={"x"})
def scale_(x: torch.Tensor, by: float) -> None:
    CALLS.append("scale_")
    x.mul_(by)


@torch.library.custom_op("fuse_test::log", mutates_args=())
def log(x: torch.Tensor, name: str) -> None:
    CALLS.append(name)


@torch.library.custom_op("fuse_test::twice", mutates_args=())
def twice(x: torch.Tensor, name: str) -> torch.Tensor:
    CALLS.append(name)
    return x * 2


log.register_fake(lambda x, name: None)
twice.register_fake(lambda x, name: torch.empty_like(x))
scale_.register_fake(lambda x, by: None)
torch.fx.node.has_side_effect(torch.ops.fuse_test.log.default)


def after(*pairs):
    """An ``fx_pass``: for each pair of names, the second node waits for the first."""

    def ordered(graph: torch.fx.Graph) -> None:
        nodes = {node.name: node for node in graph.nodes}
        waits: dict[torch.fx.Node, OrderedSet[torch.fx.Node]] = {}
        for first, second in pairs:
            waits.setdefault(nodes[second], OrderedSet()).add(nodes[first])
        preserve_node_ordering(graph, waits)
        graph.lint()

    return ordered


def calls(compiled):
    """What the one graph calls, in order, with the nodes that each call computes."""
    (graph,) = compiled.graphs
    return [(launch.name, launch.nodes) for launch in graph.launches]


def lines(compiled):
    """The operations of `@main`: calls by what they call, others by name."""
    (graph,) = compiled.graphs
    main = graph.module.body.operations[0].operation
    ops = [op.operation for op in main.regions[0].blocks[0].operations]
    return [callee_name(op) if op.name == "func.call" else op.name for op in ops]


def test_pointwise_order_is_kept():
    """Without the ordering both are one kernel; with it the second still follows the first."""

    def function(x):
        return x.cos(), x.sin()

    free = check(function, (X,))
    assert len(calls(free)) == 1
    ordered = check(function, (X,), fx_pass=after(("cos", "sin")))
    names = [node for _, nodes in calls(ordered) for node in nodes]
    assert [n for n in names if n.startswith(("cos", "sin"))] == ["cos", "sin_default"]


def test_fusion_goes_on_where_the_order_is_kept():
    """What waits fuses with its own consumers, what is waited for with its own producers."""

    def function(x):
        a = (x + 1).sin()
        b = (x.cos() * 2).exp()
        return a, b

    compiled = check(function, (X,), fx_pass=after(("sin", "cos")))
    assert len(calls(compiled)) == 2
    first, second = (set(nodes) for _, nodes in calls(compiled))
    assert {"add", "sin"} <= first and {"mul", "exp"} <= second


@pytest.mark.products("auto")  # a product is a call
def test_matmul_waits():
    def function(x, w):
        return x.exp().sum(), x @ w

    compiled = check(function, (X, W), fx_pass=after(("sum_1", "mm")))
    names = [name for name, _ in calls(compiled)]
    assert names[-1] == "aten.mm.default" and len(names) == 2


def test_nested_arguments():
    def function(x, y):
        return x.exp(), torch.cat([x, y, x], 1)

    compiled = check(function, (X, X + 1), fx_pass=after(("exp", "cat")))
    names = [node for _, nodes in calls(compiled) for node in nodes]
    assert names.index("exp") < min(i for i, n in enumerate(names) if n.startswith("cat"))


def test_custom_ops_run_in_the_order_that_is_asked_for():
    """The graph has them in program order; the pass turns that around where the data allow it."""

    def function(x):
        return torch.ops.fuse_test.twice(x, "first"), torch.ops.fuse_test.twice(x + 1, "second")

    def turned(graph: torch.fx.Graph) -> None:
        first, second = (n for n in graph.nodes if n.name.startswith("twice"))
        second.append(first)
        preserve_node_ordering(graph, {first: OrderedSet([second])})

    CALLS.clear()
    check(function, (X,), whole=False)
    assert CALLS[:2] == ["first", "second"]
    CALLS.clear()
    check(function, (X,), whole=False, fx_pass=turned)
    assert CALLS[:2] == ["second", "first"]


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_a_mutating_op_waits(where):
    def function(x):
        y = x.exp()
        z = x * 3
        torch.ops.fuse_test.scale_(z, 0.5)
        return y, z + 1

    CALLS.clear()
    compiled = check(
        function, (X,), whole=False, where=where, fx_pass=after(("exp", "auto_functionalized_v2"))
    )
    assert CALLS and all(name == "scale_" for name in CALLS)
    names = [name for name, _ in calls(compiled)]
    exp = next(i for i, (_, nodes) in enumerate(calls(compiled)) if "exp" in nodes)
    assert exp < names.index("fuse_test.scale_.default")


@pytest.mark.parametrize("where", ("planned", "launch plan"))
def test_void_ops_are_neither_dropped_nor_moved(where):
    def function(x):
        torch.ops.fuse_test.log(x, "start")
        y = torch.ops.fuse_test.twice(x, "work")
        torch.ops.fuse_test.log(x, "end")
        return y

    CALLS.clear()
    check(function, (X,), whole=False, where=where, fx_pass=after(("twice", "log_1"), ("log", "twice")))
    assert CALLS[:3] == ["start", "work", "end"]


def test_what_only_a_void_op_is_waited_for_stays_behind_it():
    """There is no value to take the time of, so the op runs whole, ordered as what has an effect is."""

    def function(x):
        torch.ops.fuse_test.log(x, "start")
        return x.cos(), x.sin()

    compiled = check(function, (X,), whole=False, fx_pass=after(("log", "sin")))
    names = [name for name, _ in calls(compiled)]
    assert names.index("fuse_test.log.default") < names.index("higher_order.control_deps")
    (graph,) = compiled.graphs
    assert "which gives no tensor" in graph.remarks.render("text")


@pytest.mark.products("auto")  # a product is a call
def test_no_life_is_extended():
    """`a` is freed, or taken over, after its last reader, although a later op waits for it."""

    def function(x, w):
        a = x.exp()
        b = a @ w
        c = b @ w
        return c @ w, x.cos()

    plain = check(function, (X, W))
    ordered = check(function, (X, W), fx_pass=after(("exp", "cos")))
    for compiled in (plain, ordered):
        ops = lines(compiled)
        freed = next(i for i, op in enumerate(ops) if op in ("fuse.free", "fuse.reuse"))
        products = [i for i, op in enumerate(ops) if op.startswith("mm")]
        assert products[0] < freed < products[1], ops


def test_storage_is_taken_over_across_an_ordering():
    """In-place reuse is not blocked: as many allocations with the ordering as without."""

    def function(x, w):
        a = (x @ w).exp()
        b = (a @ w).sin()
        return (b @ w).cos(), x.sum()

    plain = check(function, (X, W))
    ordered = check(function, (X, W), fx_pass=after(("exp", "sum_1")))
    count = [lines(c).count("fuse.alloc") for c in (plain, ordered)]
    assert count[0] == count[1]


def test_a_group_around_a_sub_graph():
    def function(x):
        return x.exp(), torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def ordered(graph: torch.fx.Graph) -> None:
        nodes = {node.name: node for node in graph.nodes}
        preserve_node_ordering(graph, {nodes["cond"]: OrderedSet([nodes["exp"]])})

    compiled = check(function, (X,), (X - 1,), where="launch plan", fx_pass=ordered)
    (graph,) = compiled.graphs
    assert "scf.if" in str(graph.module) and "!fuse.token" in str(graph.module)


@pytest.mark.products("auto")  # a product is a call
@pytest.mark.parametrize("reads", (False, True))
def test_what_an_ordered_op_reads_is_not_written_before(reads):
    """A product adds in place to a value that nobody reads afterwards; what gives no value reads, too."""

    def function(x, w):
        kept = x @ w
        total = kept + x.relu() @ w
        torch.ops.fuse_test.log(kept if reads else total, "end")
        return total

    x, w = (torch.randn(64, 64, dtype=torch.bfloat16) for _ in range(2))
    with made_up_gpu(), torch.no_grad():
        compiled = Compiled(function, {"fx_pass": after(("relu", "log")), "epilogues": "library"})
        compiled(x, w)
    assert ("addmm_" in compiled.graphs[0].source) != reads


def triton_graph(target):
    """`(x.exp(), kernel(x))` with a call of a user's Triton kernel, as Dynamo and AOTAutograd leave it."""
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    def kernel():
        """Stands for a Triton kernel: nothing here runs it."""

    fake = torch._subclasses.FakeTensorMode()
    x = fake.from_tensor(X)
    graph = torch.fx.Graph()
    given, out = graph.placeholder("x"), graph.placeholder("out")
    exp = graph.call_function(torch.ops.aten.exp.default, (given,))
    arguments = {
        "kernel_idx": kernel_side_table.add_kernel(kernel),
        "constant_args_idx": kernel_side_table.add_constant_args({}),
        "grid": [(1, 1, 1)],
        "tma_descriptor_metadata": {},
        "kwargs": {"x": given, "out": out},
    }
    functional = "functional" in str(target)
    if functional:
        arguments["tensors_to_clone"] = ["out"]
    call = graph.call_function(target, (), arguments)
    results = [exp]
    for node in (given, out, exp):
        node.meta["val"] = x
    call.meta["val"] = {"out": x} if functional else None
    if functional:
        item = graph.call_function(operator.getitem, (call, "out"))
        item.meta["val"] = x
        results.append(item)
    graph.output(tuple(results))
    return torch.fx.GraphModule(torch.nn.Module(), graph), exp, call


@pytest.mark.parametrize("wrapper", ("functional", "mutation"))
def test_a_triton_kernel_waits(wrapper):
    """It is a call with an effect that takes the token; the graph is scheduled, and nothing is dropped."""
    from torch._higher_order_ops import triton_kernel_wrap

    target = getattr(triton_kernel_wrap, f"triton_kernel_wrapper_{wrapper}")
    gm, exp, call = triton_graph(target)
    preserve_node_ordering(gm.graph, {call: OrderedSet([exp])})
    imported = lower(gm, strict=False)
    PassManager(default_pipeline("planned")).run(imported.module)
    text = str(imported.module)
    main = text[: text.index("return")]
    assert f"higher_order.triton_kernel_wrapper_{wrapper}" in text and "fuse.control_deps" not in text
    assert (
        main.index("call @exp")
        < main.index("fuse.after")
        < main.index(f"call @triton_kernel_wrapper_{wrapper}")
    )
