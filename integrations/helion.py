"""Helion kernels as templates: what stands in front of them and behind them is computed in the Triton kernel
that Helion generates.  Needs helion; docs/templates.md says how it is used.

    from fuse_mlir.integrations.helion import helion_op

    softmax_op = helion_op("mylib::softmax", softmax, torch.empty_like)

Helion makes two functions of a kernel and a configuration: a Triton kernel, and a host function.  The host
function makes the outputs and calls ``_launcher(kernel, grid, *arguments, num_warps=.., num_stages=..)``.  It
runs here on fake tensors, with a launcher that records the call.  Its code is for fixed sizes, so that a call
with others compiles anew.

A compiled model may also call a Helion kernel itself.  Newer versions of torch capture such a call as one op
(``helion_kernel_wrapper_functional``), whose template importing this module registers.  With older versions
Dynamo traces the host function down to the launch, which is then a launch like any user's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from helion._compiler._dynamo.higher_order_ops import get_helion_kernel, helion_kernel_wrapper_functional
from torch._subclasses.fake_tensor import FakeTensorMode

from ..compiler.fx.user_kernels import with_effect
from ..templates import TemplateCall, TemplateConfigurations, TemplateKernel, TemplateTensor, register


def helion_op(
    name: str, kernel: Any, fake: Callable[..., Any], configs: Sequence[Any] = ()
) -> Callable[..., Any]:
    """An op ``lib::name`` that runs a Helion kernel, and the template of it.

    kernel: a function under ``@helion.kernel`` that writes to no argument.  fake: what it returns, without
    values.  configs: each a ``helion.Config``; by default those of the kernel, and where it has none the one
    that Helion starts its search from.  Several are measured on the GPU with what is fused into them.
    """
    schema = torch.library.infer_schema(kernel.fn, mutates_args=())
    op = torch.library.custom_op(name, kernel.__call__, mutates_args=(), schema=schema)
    op.register_fake(fake)

    @register(op._opoverload)
    def template(call: TemplateCall) -> TemplateConfigurations | None:
        return answer(kernel, list(call.inputs.values()), list(call.outputs.values()), configs)

    return op


@register(helion_kernel_wrapper_functional)
def called_directly(call: TemplateCall) -> TemplateConfigurations | None:
    """The template of the op that Dynamo makes of a call of a Helion kernel."""
    kernel = get_helion_kernel(call["kernel_idx"])
    given: Mapping[str, Any] = {**call["constant_args"], **call["tensor_args"]}
    parameters = kernel.signature.parameters
    if call["tensors_to_clone"] or given.keys() - parameters.keys():
        return None  # it writes to an argument, or takes a list of tensors
    values = [given.get(name, parameter.default) for name, parameter in parameters.items()]
    return answer(kernel, values, list(call.outputs.values()))


def answer(
    kernel: Any, given: list[Any], outputs: list[TemplateTensor], configs: Sequence[Any] = ()
) -> TemplateConfigurations | None:
    """What a template answers with the Triton kernels of a Helion kernel, one for each configuration.

    given: the arguments of the Helion kernel, with a ``TemplateTensor`` for each tensor.  Configurations with
    which the host function does more than to launch one kernel are left out; None where no other is left.
    """
    with FakeTensorMode():
        fakes = [_fake(value) for value in given]
        bound = kernel.bind(tuple(fakes))
        chosen = configs or kernel.configs or [bound.config_spec.default_config()]
        runs = [_Run(bound.compile_config(config), fakes) for config in chosen]
    found = [made for run in runs if (made := run.answer(given, outputs)) is not None]
    return TemplateConfigurations(found) if found else None


class _Run:
    """A run of a host function on fake tensors, and what it launched."""

    def __init__(self, host: Callable[..., Any], given: list[Any]) -> None:
        self.given = given
        self.launches: list[tuple[Any, Any, tuple[Any, ...], dict[str, Any]]] = []
        made = host(*given, _launcher=self._launch)
        self.made: list[Any] = list(made) if isinstance(made, (tuple, list)) else [made]

    def _launch(self, kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        self.launches.append((kernel, grid, arguments, options))

    def answer(self, given: list[Any], outputs: list[TemplateTensor]) -> TemplateKernel | None:
        """The kernel; None where there is more to do than to launch it."""
        made = [value for value in self.made if isinstance(value, torch.Tensor)]
        if len(self.launches) != 1 or len(made) != len(outputs):
            return None
        kernel, grid, arguments, options = self.launches[0]
        options = with_effect(options)
        fakes = [*self.given, *made]
        tensors = {id(f): t for f, t in zip(fakes, [*given, *outputs], strict=True) if _is_tensor(f)}
        inside = [value for value in arguments if _is_tensor(value)]
        if len(tensors) < sum(map(_is_tensor, fakes)) or any(id(value) not in tensors for value in inside):
            return None  # it returns an argument, or makes a tensor that it does not return
        if options.keys() - {"num_warps", "num_stages"}:
            return None
        named = dict(zip((parameter.name for parameter in kernel.params), arguments, strict=True))
        named = {name: tensors.get(id(value), value) for name, value in named.items()}
        return TemplateKernel(kernel, named, grid, **options)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _fake(value: Any) -> Any:
    """A fake tensor like a tensor of the template's call.  Helion generates code for these sizes."""
    if isinstance(value, TemplateTensor):
        sizes = ([int(n) for n in numbers] for numbers in (value.shape, value.strides))
        return torch.empty_strided(*sizes, dtype=value.dtype, device=value.device)
    return value


__all__ = ["answer", "called_directly", "helion_op"]
