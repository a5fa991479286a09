"""Ops that have a template: a tiled kernel of what the template answers, which writes to new tensors."""

from ....base.errors import UserKernelGrid, UserKernelRefused
from ....fx.table import lowers_kind
from ....fx.templates import (
    Template,
    TemplateLaunch,
    TemplateTensor,
    template_error,
    template_launch,
    template_of,
)
from ....fx.user_kernels import Opaque
from ...importer.call import Call
from ...importer.values import Tensor
from .configurations import call_kernels
from .tiled_kernel import TiledKernel


@lowers_kind("template")
def template_op(call: Call) -> Tensor | list[Tensor]:
    """One user's kernel.  Where the template declines, or its kernel is not understood, torch runs the op."""
    template = template_of(call.node)
    assert template is not None
    try:
        return _launched(call, template, template_launch(call.node, template))
    except Opaque as reason:
        call.refuse(str(reason))
    except (UserKernelGrid, UserKernelRefused) as error:
        raise template_error(call.node, template, str(error)) from error


def _launched(call: Call, template: Template, answer: TemplateLaunch) -> Tensor | list[Tensor]:
    several = isinstance(call.value, (tuple, list))
    fakes = list(call.value) if several else [call.value]
    launch, taken = answer.launch, _inputs(call)
    specs = [call.fresh(fake) for fake in fakes]
    for name, spec in (*((n, t.spec) for n, t in taken.items()), *zip(answer.outputs, specs, strict=True)):
        if spec.device is not None:
            raise Opaque(f"its tensor '{name}' is on {spec.device}")
    empty = [
        call.made(call.builder.empty(spec, call.location), fake, spec)
        for fake, spec in zip(fakes, specs, strict=True)
    ]
    named = {**taken, **dict(zip(answer.outputs, empty, strict=True))}
    given = {
        name: named[value.name] if isinstance(value, TemplateTensor) else call.resolve(value)
        for name, value in launch.given.items()
    }
    apart = {
        name for name, v in launch.given.items() if isinstance(v, TemplateTensor) and v.name in answer.apart
    }
    kernel = TiledKernel(call, launch, given, apart)
    _check_writes(call, template, answer, kernel)
    values = call_kernels([kernel], empty, [])
    made = [call.made(v, t.fake, t.spec) for v, t in zip(values, empty, strict=True)]
    return made if several else made[0]


def _inputs(call: Call) -> dict[str, Tensor]:
    """The tensors that the op takes, by the names that a template knows."""
    found: dict[str, Tensor] = {}
    for name, value in call.arguments.items():
        if isinstance(value, Tensor):
            found[name] = value
        elif isinstance(value, (list, tuple)):
            found |= {f"{name}[{n}]": v for n, v in enumerate(value) if isinstance(v, Tensor)}
    return found


def _check_writes(call: Call, template: Template, answer: TemplateLaunch, kernel: TiledKernel) -> None:
    """Raises TemplateError for an output that is never written."""
    for name, effects in zip(kernel.parameters, kernel.effects.arguments, strict=True):
        value = answer.launch.given[name]
        if not isinstance(value, TemplateTensor) or value.name not in answer.outputs:
            continue
        assert effects is not None, "a tensor is an address in the kernel"
        if not effects.written:
            reason = f"the kernel '{answer.launch.name}' never writes to the output '{value.name}'"
            raise template_error(call.node, template, reason)
