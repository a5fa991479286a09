"""Which graphs dynamo calls without AOTAutograd's wrappers, and that those which need them keep them."""

import sys
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from compiling import check
from made_up_gpu import made_up_gpu
from torch import nn
from torch._guards import TracingContext, tracing
from torch.testing._internal.two_tensor import TwoTensor

from fuse_mlir.compiler import backend
from fuse_mlir.compiler.driver import calling_convention
from fuse_mlir.compiler.driver.direct_call import plain_inputs, written_inputs
from fuse_mlir.compiler.driver.program import CompiledGraph, Interface
from fuse_mlir.compiler.frontend.importer.interface import OutputConstant, OutputResult


@pytest.fixture
def direct(monkeypatch):
    """How many graphs were handed out without wrappers."""
    count, real = [0], calling_convention.direct_call

    def counted(*args):
        count[0] += 1
        return real(*args)

    monkeypatch.setattr(calling_convention, "direct_call", counted)
    return count


def test_a_plain_inference_graph_is_called_directly(direct):
    check(lambda x, y: (x * y, x.sum(0)), torch.randn(4, 6), torch.randn(6))
    assert direct == [1]


def test_with_sizes_and_parameters(direct):
    with torch.no_grad():
        weight = torch.randn(3, 6, requires_grad=True)
        check(lambda x, w: nn.functional.linear(x, w).relu(), torch.randn(4, 6), weight)
        assert direct == [1]
        check(lambda x, w: nn.functional.linear(x, w).sum(), torch.randn(4, 6), weight, dynamic=True)
        assert direct == [2]
        check(lambda x: x * 2, torch.randn(4, 6), dynamic=True)  # dynamo wants to hear of the sizes
        assert direct == [2]


def wrapped_cases():
    yield "a view of an input", lambda x: (x.view(2, 2), x * 2), (torch.randn(4),)
    yield "a gradient", lambda x: x * 2, (torch.randn(4, requires_grad=True),)
    same = torch.randn(4)
    leaf = torch.randn(4, requires_grad=True)
    yield "mutates a leaf", torch.no_grad()(lambda x, y: (x.mul_(2), y + 1)[1]), (leaf, torch.randn(4))
    yield "mutates a view", lambda x, y: (x.mul_(2), y + 1)[1], (same[:2], same[2:])


CASES = list(wrapped_cases())


@pytest.mark.parametrize(("name", "function", "args"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_wrappers_stay(direct, name, function, args):
    check(function, *args)
    assert direct == [0], name


def test_versions_of_what_a_graph_writes_are_counted(direct, fresh_dynamo):
    def step(x, y):
        x.add_(y)
        return x * 2

    x, y = torch.randn(4), torch.randn(4, requires_grad=True)
    run = torch.compile(step, backend=backend.fuse)
    kept = (x * y).sum()  # its gradient needs x as it is
    before = x._version
    with torch.no_grad():
        assert direct == [0]
        wanted = x + y
        torch.testing.assert_close(run(x, y), wanted * 2)
    assert direct == [1] and x._version > before
    torch.testing.assert_close(x, wanted.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()


def test_autocast_stays_outside(direct):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check(lambda x: (x @ x) * 2, torch.randn(4, 4))
    assert direct == [0]


def test_the_same_tensor_twice_and_views_of_a_result():
    x = torch.randn(4)
    check(lambda a, b: a * b + 1, x, x)
    check(lambda x: (x, x * 2), x)
    check(lambda x: (lambda y: (y, y[1:]))(x * 2), x)


def test_results_need_no_gradient_while_grad_mode_is_on():
    run = check(lambda x: (x @ x, x + 1), torch.randn(4, 4))
    assert all(not r.requires_grad and r.grad_fn is None for r in run(torch.randn(4, 4)))


def test_a_graph_that_takes_a_list_keeps_the_wrapper_that_opens_it():
    graph = torch.fx.symbolic_trace(lambda xs: (xs[0] * 2,))
    assert written_inputs(graph, plain_inputs([[torch.randn(4)]])) is None
    call = backend.fuse(graph, [[torch.randn(4)]])
    x = torch.randn(4)
    torch.testing.assert_close(call([x])[0], x * 2, rtol=0, atol=0)


def test_a_graph_that_makes_a_subclass_keeps_the_wrapper_that_wraps_it():
    graph = torch.fx.symbolic_trace(lambda x: (torch.sin(x), torch.cos(x)))
    (output,) = graph.graph.find_nodes(op="output")
    with graph.graph.inserting_before(output):
        output.args = ((graph.graph.call_function(TwoTensor, output.args[0]),),)
    graph.recompile()
    x = torch.randn(4)
    (made,) = backend.fuse(graph, [x])(x)
    assert isinstance(made, TwoTensor)
    torch.testing.assert_close((made.a, made.b), (x.sin(), x.cos()), rtol=1e-6, atol=1e-6)


@pytest.mark.products("auto")  # it counts launches
@pytest.mark.parametrize(("function", "count"), [(lambda x: x.sin() * 2, 2), (lambda x: (x @ x).sin(), 3)])
def test_plans_of_a_training_step_get_lists(function, count, tmp_path, fresh_dynamo):
    """Kernels are not run here, so nothing is said of the numbers."""
    with made_up_gpu() as launched:
        call = torch.compile(function, backend=backend.fuse, options={"cache_dir": str(tmp_path)})
        x = torch.randn(32, 32, requires_grad=True)
        call(x).backward(torch.ones(32, 32))
    assert len(launched) == count and x.grad is not None


def test_a_plan_is_called_with_the_arguments_themselves(tmp_path, fresh_dynamo):
    with made_up_gpu() as launched:
        call = torch.compile(lambda x, y: x * y, backend=backend.fuse, options={"cache_dir": str(tmp_path)})
        assert call(torch.randn(32), torch.randn(32)).shape == (32,)
    assert len(launched) == 1


#: What AOTAutograd does around a graph, by the field of its metadata that says so.
DONE_AROUND = {
    "subclass_fw_graph_out_meta": [object()],
    "input_info": [SimpleNamespace(mutation_type=SimpleNamespace(name="MUTATED_OUT_GRAPH"))],
    "num_outputs_aliased": 1,
    "num_intermediate_bases": 1,
    "tokens": {"print": object()},
    "dynamic_outputs": True,
    "is_rng_op_functionalized": True,
    "grad_enabled_mutation": False,
}


@pytest.mark.parametrize("field", [None, *DONE_AROUND])
def test_a_graph_around_which_something_is_done_keeps_its_wrapper(field):
    info = SimpleNamespace(
        mutation_type=SimpleNamespace(name="MUTATED_IN_GRAPH"), mutates_metadata=False, mutates_data=True
    )
    plain = {
        **dict.fromkeys(DONE_AROUND),
        "input_info": [info],
        "num_outputs": 1,
        "mutated_graph_handled_indices_seen_by_autograd": [0],
    }
    graph = torch.fx.symbolic_trace(lambda x: (x * 2,))
    context = TracingContext(None)
    context.fw_metadata = SimpleNamespace(**plain | ({field: DONE_AROUND[field]} if field else {}))
    with tracing(context):
        assert written_inputs(graph, 1) == (None if field else (0,))
        assert written_inputs(graph, 2) is None  # AOTAutograd gives the graph an argument of its own
        info.mutates_metadata = True
        assert written_inputs(graph, 1) is None
    assert written_inputs(graph, 1) is None


def test_placeholders_that_are_no_arguments_are_left_out():
    """Those that have no value when the graph runs."""
    interface = Interface((0, 2), (), (OutputResult(0),), 1)
    given = []
    call = calling_convention.boxed(lambda args: given.extend(args) or args[:1], interface, 3)
    arguments = ["a", "b", "c"]
    assert call(arguments) == ["a"] and given == ["a", "c"] and arguments == []


@pytest.mark.parametrize("spec", [[], [2], [None], [0, 2], [1, None, 0, 0, 7], [2, 1, 0]])
def test_outputs_are_picked_from_results_and_constants(spec):
    outputs = tuple(OutputResult(s) if s in (0, 1, 2) else OutputConstant(s) for s in spec)
    pick = calling_convention.pick_outputs(Interface((), (), outputs, 3))
    results = ["a", "b", "c"]
    for _ in range(2):
        picked = pick(results)
        assert picked == [results[s] if s in (0, 1, 2) else s for s in spec] and type(picked) is list
    assert results == ["a", "b", "c"]


def test_what_a_call_does_for_each_tensor(tmp_path, fresh_dynamo):
    """One address a tensor, one allocation a result, and no more Python around them than one function."""
    seen: list[CompiledGraph] = []
    options = {"cache_dir": str(tmp_path), "on_compiled": seen.append}
    given = [torch.randn(64, 64) for _ in range(32)]
    with made_up_gpu() as launched:
        call = torch.compile(
            lambda *xs: [torch.relu(x * 2 + 1) for x in xs], backend=backend.fuse, options=options
        )
        call(*given)
        launched.clear()
        made: Counter[str] = Counter()

        def count(frame: object, event: str, what: object) -> None:
            if event == "call":
                made["python"] += 1
            elif event == "c_call":
                made[what.__name__] += 1  # type: ignore[attr-defined]

        plan = seen[0].call.of_arguments()  # type: ignore[attr-defined]
        sys.setprofile(count)
        try:
            plan(*given)
        finally:
            sys.setprofile(None)
    assert len(launched) == 1
    assert made.pop("data_ptr") == 64 and made.pop("_empty_strided_cpu") == 32
    assert made.pop("python") == 3, "the plan, what dynamo calls, and the launch made up here"
    assert made == {"clear": 1, "append": 1, "setprofile": 1}
