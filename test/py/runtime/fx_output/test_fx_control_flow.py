"""Control flow in FX output: torch's higher-order ops with graphs that the module holds."""

import pytest
import torch
from compiling import Compiled
from fx_beside_plan import assert_same_bits, fx_beside_plan
from torch import Tensor
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from fuse_mlir.compiler.runtime.errors import RunError
from fuse_mlir.compiler.runtime.fx_output.make_module import fx_module
from fuse_mlir.compiler.runtime.plans.plan import Plan, PlanFunction
from fuse_mlir.compiler.runtime.plans.steps import (
    CallFunction,
    Constant,
    For,
    HostArithmetic,
    Origin,
    Return,
    StepBlock,
    Value,
    While,
)

SLOW = pytest.mark.slow

pytestmark = pytest.mark.usefixtures("fresh_dynamo", "one_thread")


def chosen(x, y):
    return torch.cond(x.sum() > 0, lambda x, y: x.sin() + y, lambda x, y: (x * 2 - y).relu(), (x, y))


def chosen_by_a_size(x):
    return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))


def counted(i, x):
    return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x.sin() + i), (i, x))


def summed(x, rows):
    return scan(lambda c, row: (c + row.sin(), (c * row).cos()), x, rows)


@torch.compiler.nested_compile_region
def region(x):
    return x.sin().cos()


def repeated(x):
    return region(region(x)) + x


def nested(x):
    def outer(x):
        return torch.cond(x.amax() > 1, lambda x: x.exp(), lambda x: x - 1, (x,)) * 2

    return torch.cond(x.sum() > 0, outer, lambda x: x.neg(), (x,))


def rows():
    return torch.randn(4), torch.randn(5, 4)


CASES = {
    "cond": (chosen, lambda: (torch.ones(4), torch.randn(4)), {"cond": "true_graph_0 false_graph_0"}),
    "cond, the other": (
        chosen,
        lambda: (-torch.ones(4), torch.randn(4)),
        {"cond": "true_graph_0 false_graph_0"},
    ),
    "while": (
        counted,
        lambda: (torch.tensor(0), torch.randn(4)),
        {"while_loop": "while_loop_cond_graph_0 while_loop_body_graph_0"},
    ),
    "while, no round": (
        counted,
        lambda: (torch.tensor(7), torch.randn(4)),
        {"while_loop": "while_loop_cond_graph_0 while_loop_body_graph_0"},
    ),
    "scan": (summed, rows, {"scan": "scan_combine_graph_0"}),
    "region": (repeated, lambda: (torch.randn(6),), {"invoke_subgraph": "repeated_subgraph0"}),
    "nested": (nested, lambda: (torch.randn(6) + 1,), {"cond": "true_graph_0 false_graph_0"}),
}


def compiled_module(function, args, dynamic) -> GraphModule:
    """The module, which ran beside the plan; `given` of it are the arguments that it had."""
    with fx_beside_plan() as equal:
        compiled = Compiled(function, {"output": "fx"}, dynamic)
        found = compiled(*args)
    torch.testing.assert_close(found, function(*args))
    (graph,) = compiled.graphs
    assert equal == [graph]
    return graph.fx()


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=SLOW), True])
@pytest.mark.parametrize("case", CASES)
def test_higher_order_ops_hold_their_graphs(case, dynamic):
    function, make, expected = CASES[case]
    module = compiled_module(function, make(), dynamic)
    ops = {
        n.target.name(): n for n in module.graph.nodes if isinstance(n.target, torch._ops.HigherOrderOperator)
    }
    assert set(ops) == set(expected)
    places = {node: number for number, node in enumerate(module.graph.nodes)}
    for name, node in ops.items():
        graphs = [a for a in node.all_input_nodes if a.op == "get_attr"]
        assert " ".join(g.target for g in graphs) == expected[name]
        for graph in graphs:
            inner = getattr(module, graph.target)
            assert isinstance(inner, GraphModule) and f"class {graph.target}(" in module.print_readable(False)
            assert "invoke_subgraph" not in inner.code and (
                "fuse_mlir.launch" in inner.code or case == "nested"
            )
            assert all("val" in n.meta and "fuse_origin" in n.meta for n in inner.graph.nodes)
        first = min(places[n] for n in module.graph.nodes if n.op == "call_function")
        assert all(places[g] < first for g in graphs)


def multiplied(x):
    return torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x.sin(), (x,))


@pytest.mark.products("auto")  # a product is a call
def test_results_of_a_sub_graph_have_storage_of_their_own():
    """What a torch op gives may show other storage, so it is copied; a buffer of the graph's is not."""
    module = compiled_module(multiplied, (torch.ones(4, 4),), False)
    assert "aten.copy_" in module.code
    assert "aten.copy_" not in compiled_module(chosen, CASES["cond"][1](), False).code


def test_memory_of_the_same_layout_is_taken_over_without_a_view():
    module = compiled_module(repeated, CASES["region"][1](), False)
    assert "as_strided" not in module.code and module.code.count("empty_strided") == 0


def test_a_predicate_is_the_tensor():
    module = compiled_module(chosen, CASES["cond"][1](), False)
    (cond,) = module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond)
    assert isinstance(cond.args[0].meta["val"], Tensor)
    assert "_local_scalar_dense" not in module.code


def test_a_size_chooses():
    module = compiled_module(chosen_by_a_size, (torch.randn(4),), True)
    (cond,) = module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond)
    assert isinstance(cond.args[0].meta["val"], torch.SymBool)


@pytest.mark.parametrize(
    "case", ["cond", "scan", *(pytest.param(c, marks=SLOW) for c in ("while", "region"))]
)
def test_traced_again(case):
    function, make, _ = CASES[case]
    args = make()
    module = compiled_module(function, args, False)
    given = list(args)
    if case == "cond":
        given = [args[0], args[1]]
    with torch.no_grad():
        want = module(*given)
        assert_same_bits([*make_fx(module, tracing_mode="fake")(*given)(*given)], [*want])
        torch._dynamo.reset()
        assert_same_bits([*torch.compile(module, backend="eager")(*given)], [*want])


def test_a_sub_graph_that_writes_to_its_arguments_is_torch_s_own():
    """The higher-order op takes its graphs as AOTAutograd made them."""

    def function(x):
        def body(x):
            x = x.clone()
            x.add_(1)
            return x.sin()

        return torch.cond(x.sum() > 0, body, lambda x: x.cos(), (x,))

    compiled_module(function, (torch.ones(4),), False)


def loops(steps, name="f"):
    """A plan whose program calls control flow."""
    origin = Origin(("loop",), (("model.py", 7),))
    control = PlanFunction("control", "control", (Value("n", "index"),), (*steps, Return(("n",))))
    main = PlanFunction(
        "run",
        "graph",
        (Value("s0", "index"),),
        (CallFunction("control", ("s0",), (Value("t", "index"),), origin=origin), Return(("t",))),
    )
    plan = Plan("cpu", (), (), (control, main))
    return fx_module(
        plan, {}, dict, "cpu", objects={}, hints={}, placeholders=1, inputs=(0,), constants={},
        results=lambda found, _: found,
    )  # fmt: skip


def test_a_loop_that_torch_has_no_op_for_is_refused_with_its_line():
    i, j = Value("i", "index"), Value("j", "index")
    before = StepBlock((HostArithmetic(j, "+", "i", 1),), ("i", "j"))
    body = StepBlock((HostArithmetic(j, "+", "i", 1),), ("j",))
    ends = (Constant(Value("zero", "index"), 0), Constant(Value("one", "index"), 1))
    step = For(Value("k", "index"), "zero", "n", "one", (i,), ("n",), body)
    assert loops(ends)(5) == (5,)
    with pytest.raises(RunError, match=r"^a loop that hands on what its condition .* as FX at model\.py:7$"):
        loops([While((i,), ("n",), before, StepBlock((), ("i",)), (Value("r", "index"),))])
    with pytest.raises(RunError, match=r"^a loop that is no scan over rows cannot .* as FX at model\.py:7$"):
        loops([*ends, step])


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES)
def test_on_a_gpu(case):
    function, make, _ = CASES[case]
    compiled_module(function, [a.cuda() for a in make()], False)
