"""Ops that have a template: a tiled kernel of what the template answers, which writes to new tensors."""

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ....base.errors import UserKernelGrid, UserKernelRefused
from ....fx.table import lowers_kind
from ....fx.template_answers import TemplateLaunch, template_error, template_launch
from ....fx.templates import Template, TemplateTensor, template_of
from ....fx.user_kernels import Opaque
from ...importer.call import Call
from .configurations import call_kernels, configured, tuning_key
from .tiled_kernel import TiledKernel


@lowers_kind("template")
def template_op(call: Call) -> Any:
    """One user's kernel.  Where the template declines, or its kernel is not understood, torch runs the op."""
    template = template_of(call.node)
    assert template is not None
    try:
        return _launched(call, template, template_launch(call.node, template))
    except Opaque as reason:
        call.refuse(str(reason))
    except (UserKernelGrid, UserKernelRefused) as error:
        raise template_error(call.node, template, str(error)) from error


def _launched(call: Call, template: Template, answer: TemplateLaunch) -> Any:
    """The new tensors, in the structure in which the op returns them."""
    leaves, structure = tree_flatten(call.value)
    fakes = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    launch, taken = answer.launch, {name: call.resolve(node) for name, node in answer.inputs.items()}
    specs = [call.fresh(fake) for fake in fakes]
    for name, spec in (*((n, t.spec) for n, t in taken.items()), *zip(answer.outputs, specs, strict=True)):
        if spec.device is not None:
            raise Opaque(f"its tensor '{name}' is on {spec.device}")
    empty = [
        call.made(call.builder.empty(spec, call.location), fake, spec)
        for fake, spec in zip(fakes, specs, strict=True)
    ]
    named = {**taken, **dict(zip(answer.outputs, empty, strict=True))}

    def resolve(value: Any) -> Any:
        return named[value.name] if isinstance(value, TemplateTensor) else call.resolve(value)

    given = {name: resolve(value) for name, value in launch.given.items()}
    kernels = configured(call, launch, given, resolve, [named[name] for name in answer.apart])
    for kernel in kernels:
        _check_writes(call, template, answer, kernel)
    chosen_by = {str(size): call.resolve(size) for size in answer.tuned_by}
    values = call_kernels(kernels, empty, tuning_key(chosen_by) if len(kernels) > 1 else [])
    made = iter([call.made(v, t.fake, t.spec) for v, t in zip(values, empty, strict=True)])
    return tree_unflatten([next(made) if isinstance(v, torch.Tensor) else v for v in leaves], structure)


def _check_writes(call: Call, template: Template, answer: TemplateLaunch, kernel: TiledKernel) -> None:
    """Raises TemplateError for an output that is never written."""
    for name, effects in zip(kernel.parameters, kernel.effects.arguments, strict=True):
        value = kernel.launch.given[name]
        if not isinstance(value, TemplateTensor) or value.name not in answer.outputs:
            continue
        assert effects is not None, "a tensor is an address in the kernel"
        if not effects.written:
            reason = f"the kernel '{kernel.launch.name}' never writes to the output '{value.name}'"
            raise template_error(call.node, template, reason)
