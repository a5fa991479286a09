"""Templates of higher-order ops, as which newer torch captures calls of other generators' kernels: Helion's
own, where it is installed, and a stand-in of the same form (``template_answers.py``).
"""

import importlib.util
import math

import pytest
import torch
from compiling import Compiled
from import_one import graph_of, imported
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    track_tensor_tree,
)
from torch.utils import _pytree as pytree
from user_kernels import triton, triton_without_a_gpu

from fuse_mlir.compiler.base.errors import TemplateError
from fuse_mlir.templates import TemplateKernel, register, unregister
from templates import registered, scale_kernel

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class Scale(HigherOrderOperator):
    """``factors["by"] * tensors["x"]`` in a tuple, and a dict of what it overwrites: nothing."""

    def __init__(self):
        super().__init__("template_tests_scale", cacheable=True)

    def __call__(self, *, factors, tensors):
        return super().__call__(factors=factors, tensors=tensors)


SCALE = Scale()


@torch.compiler.allow_in_graph
def scale(x, by):
    """Makes a node of the op, as a call of a generated kernel does."""
    (out,), _ = SCALE(factors={"by": by}, tensors={"x": x})
    return out


@SCALE.py_functionalize_impl
def _(ctx, factors, tensors):
    with ctx.redispatch_to_next():
        return ctx.wrap_tensors(SCALE(factors=factors, tensors=ctx.unwrap_tensors(tensors)))


@SCALE.py_impl(FakeTensorMode)
def _(mode, *, factors, tensors):
    with mode:
        return (torch.empty_like(tensors["x"]),), {}


@SCALE.py_impl(ProxyTorchDispatchMode)
def _(mode, *, factors, tensors):
    with disable_proxy_modes_tracing():
        out = SCALE(factors=factors, tensors=tensors)
    given = {"factors": factors, "tensors": pytree.tree_map(mode.tracer.unwrap_proxy, tensors)}
    proxy = mode.tracer.create_proxy("call_function", SCALE, (), given, name="scale")
    return track_tensor_tree(out, proxy, constant=None, tracer=mode.tracer)


@SCALE.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)
def _(*, factors, tensors):
    return (tensors["x"] * factors["by"],), {}


for key in ("PythonDispatcher", "PythonTLSSnapshot", "ADInplaceOrView", "BackendSelect", "AutogradCPU"):
    SCALE.fallthrough(getattr(torch._C.DispatchKey, key))


def answer(call, **changed):
    x = call["tensors"]["x"]
    n = math.prod(x.shape)
    arguments = {"x": x, "out": call["out"], "by": call["factors"]["by"], "n": n, "block": 64}
    return TemplateKernel(scale_kernel, arguments, (triton.cdiv(n, 64),), **changed)


def around(x):
    return scale(x.exp(), 3.0).sigmoid()


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_around_a_higher_order_op_is_computed_in_its_kernel(dynamic):
    x = torch.randn(300)
    with registered(SCALE, answer), torch.no_grad():
        compiled = Compiled(around, {"verify": "numeric"}, dynamic=dynamic)
        torch.testing.assert_close(compiled(x), (x.double().exp() * 3).sigmoid().float())
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])


@pytest.mark.parametrize("declines", [False, True])
def test_torch_runs_an_op_without_a_kernel(declines):
    x = torch.randn(300)
    compiled = Compiled(around)
    if declines:
        with registered(SCALE, lambda call: None), torch.no_grad():
            found = compiled(x)
    else:
        found = compiled(x)
    torch.testing.assert_close(found, (x.double().exp() * 3).sigmoid().float())
    assert [g.externs for g in compiled.graphs] == [1]


def test_a_wrong_answer_names_the_op_and_the_tensor_in_a_dict():
    graph = torch.fx.Graph()
    with FakeTensorMode():
        x = graph.placeholder("x")
        x.meta["val"] = torch.empty(8)
        node = graph.call_function(SCALE, (), {"factors": {"by": 2.0}, "tensors": {"x": x}})
        node.meta["val"] = ((torch.empty(8),), {})
    graph.output(())
    said = r"of higher_order.template_tests_scale at .*: its prologues name 'x', .*: expected tensors\[x\]"
    with (
        registered(SCALE, lambda call: answer(call, prologues=["x"])),
        pytest.raises(TemplateError, match=said),
    ):
        imported(torch.fx.GraphModule(torch.nn.Module(), graph))


def test_torchs_own_higher_order_ops_take_no_template():
    with pytest.raises(ValueError, match="the op cond is torch's own"):
        register(torch.ops.higher_order.cond)
    with (
        registered(SCALE, answer),
        pytest.raises(ValueError, match="template_tests_scale has a template already"),
    ):
        register(SCALE)
    with pytest.raises(KeyError):
        unregister(SCALE)


# ---- Helion ------------------------------------------------------------------------------------------------


needs_helion = pytest.mark.skipif(
    importlib.util.find_spec("helion") is None, reason="helion is not installed"
)


@needs_helion
@pytest.mark.parametrize("way", ["op", "configurations", "default", "direct"])
def test_what_is_around_a_helion_kernel_is_computed_in_it(way):
    import helion_softmax

    x, scale = torch.randn(40, 100), torch.randn(100)
    with triton_without_a_gpu(), torch.no_grad():
        run = helion_softmax.way(way, x)
        compiled = Compiled(lambda x, scale: run(x * scale).to(torch.float16))
        found = compiled(x, scale)
    torch.testing.assert_close(found.double(), (x * scale).double().softmax(1), rtol=2**-10, atol=1e-6)
    (graph,) = compiled.graphs
    assert (graph.launches_after, graph.externs, graph.fallbacks) == (1, 0, [])
    assert ("fuse.configs" in str(graph.module)) == (way == "configurations")


@needs_helion
def test_a_helion_kernel_with_a_tensor_of_its_own_is_run_by_torch():
    import helion_softmax

    with triton_without_a_gpu():
        graph = imported(graph_of(helion_softmax.SCRATCH._opoverload, (torch.randn(8, 16),)))
    assert [fallback.reason for fallback in graph.fallbacks] == ["its template declines"]
