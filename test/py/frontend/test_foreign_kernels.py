"""Kernels that a library captures as a higher-order op of its own, as Helion does: torch runs them.

The op here has the arguments and results of Helion's ``helion_kernel_wrapper_functional``: dicts of tensors
and constants, a description of the results, the results as a tuple, and what was written as a dict.
"""

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu
from torch._higher_order_ops.utils import register_fake
from torch._ops import HigherOrderOperator
from torch.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    track_tensor_tree,
)
from torch.utils._pytree import tree_map

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


class KernelWrapper(HigherOrderOperator):
    """Adds, times a constant; adds 1 in place to a copy of each tensor that is named."""

    def __init__(self):
        super().__init__("stand_in_kernel_wrapper_functional", cacheable=True)

    def __call__(self, **kwargs):
        return super().__call__(**kwargs)


wrapper = KernelWrapper()
for key in (torch._C.DispatchKey.AutogradCPU, torch._C.DispatchKey.ADInplaceOrView):
    wrapper.fallthrough(key)


@wrapper.py_impl(torch._C.DispatchKey.CompositeExplicitAutograd)
def run(*, kernel_idx, constant_args, tensor_args, output_spec, tensors_to_clone):
    assert output_spec["leaf_specs"][0]["dtype"] == torch.float32
    copies = {name: tensor_args[name] + 1 for name in tensors_to_clone}
    given = {**tensor_args, **copies}
    return ((given["x"] + given["y"]) * constant_args["by"],), copies


@register_fake(wrapper)
def fake(*, kernel_idx, constant_args, tensor_args, output_spec, tensors_to_clone):
    (leaf,) = output_spec["leaf_specs"]
    made = torch.empty(leaf["shape"], dtype=leaf["dtype"], device=leaf["device"])
    return (made,), {name: torch.empty_like(tensor_args[name]) for name in tensors_to_clone}


@wrapper.py_impl(ProxyTorchDispatchMode)
def traced(mode, **kwargs):
    with disable_proxy_modes_tracing():
        out = wrapper(**kwargs)
    given = {**kwargs, "tensor_args": tree_map(mode.tracer.unwrap_proxy, kwargs["tensor_args"])}
    proxy = mode.tracer.create_proxy("call_function", wrapper, (), given, name=wrapper._name)
    return track_tensor_tree(out, proxy, constant=None, tracer=mode.tracer)


@wrapper.py_functionalize_impl
def functional(ctx, tensor_args, tensors_to_clone, **kwargs):
    with ctx.redispatch_to_next():
        given = ctx.unwrap_tensors(tensor_args)
        results = wrapper(tensor_args=given, tensors_to_clone=tensors_to_clone, **kwargs)
    return ctx.wrap_tensors(results)


@torch.compiler.allow_in_graph
def launched(x, y):
    leaf = {"type": "tensor", "shape": [64], "stride": [1], "dtype": torch.float32, "device": x.device.type}
    (result,), written = wrapper(
        kernel_idx=0,
        constant_args={"by": 3.0, "name": "k"},
        tensor_args={"x": x, "y": y},
        output_spec={"leaf_specs": [leaf], "mutated_inputs": ["y"], "direct_aliases": {}},
        tensors_to_clone=["y"],
    )
    return result, written["y"]


def function(x, y):
    result, y = launched(x.sin(), y)
    return result + 1, y * 2


X, Y = torch.randn(2, 64)


@pytest.mark.parametrize("level", ["graph", "planned"])
def test_a_kernel_runs_between_others(level):
    compiled = Compiled(function, {"interpret_level": level})
    result, written = compiled(X, Y)
    torch.testing.assert_close(result, (X.sin() + Y + 1) * 3 + 1)
    torch.testing.assert_close(written, (Y + 1) * 2)
    (graph,) = compiled.graphs
    assert graph.externs == 1 and not graph.fallbacks


def test_a_program_with_it_is_not_stored(tmp_path):
    """The number of the kernel is this process's."""
    with made_up_gpu(), torch.no_grad():
        compiled = Compiled(function, {"cache_dir": str(tmp_path), "hardware": "h200"})
        compiled(X, Y)
    assert compiled.graphs[0].externs == 1
    assert not [*tmp_path.rglob("*.program"), *tmp_path.rglob("*.captured")]
