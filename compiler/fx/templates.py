"""Templates: functions that give the Triton kernel of a custom op, and the calls that they are asked about.

    @register(torch.ops.mylib.rms_norm.default, outputs=("out",))
    def rms_norm(call: TemplateCall) -> TemplateKernel: ...

The importer asks a template once for each call of its op, and the program cache once more.  The kernel enters
the module as one that a user wrote (``frontend/ops/user_kernels``).  What is computed at its loads and stores
is decided by the passes that fuse with users' kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import SymInt, fx

from ..base.errors import TemplateError
from ..base.launch import line_text
from .frames import user_line
from .user_kernels import Opaque, UserLaunch, launch_text

#: A size: a number, or torch's symbol where sizes are dynamic.
Size: TypeAlias = int | SymInt


@dataclass(frozen=True, eq=False)
class TemplateTensor:
    """A tensor that the op takes or returns, which a template gives to its kernel as an argument.

    name: the parameter of the op, followed by ``[n]`` for an entry of a list, or the name of the output.
    shape, strides: one ``Size`` for each dim, strides in elements.
    """

    name: str
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True)
class TemplateCall:
    """One call of the op.

    inputs: parameter of the op -> ``TemplateTensor``, a list of them, a size, or what else is given; a
    parameter that is not given has its default.  outputs: name -> tensor, in the order of the op.  They are
    new, and nothing has been written to them.
    """

    inputs: Mapping[str, Any]
    outputs: Mapping[str, TemplateTensor]

    def __getitem__(self, name: str) -> Any:
        """The output or input ``name``.  Raises KeyError, which names those that there are."""
        known = {**self.inputs, **self.outputs}
        if name not in known:
            raise KeyError(f"{name}: expected one of {', '.join(known)}")
        return known[name]


@dataclass(frozen=True)
class TemplateKernel:
    """The answer of a template.

    kernel: a function under ``@triton.jit``.  arguments: parameter of it -> a ``TemplateTensor`` of the call,
    a ``Size``, a number, or the value of a ``tl.constexpr``.  grid: up to three extents.  num_warps,
    num_stages: of the launch.

    The fusion spec: prologues are the inputs that may be computed where the kernel loads them, epilogues the
    outputs that may be read where it stores them, by name.  None: all of them.
    """

    kernel: Any
    arguments: Mapping[str, Any]
    grid: Sequence[Size]
    num_warps: int = 4
    num_stages: int = 3
    prologues: Sequence[str] | None = None
    epilogues: Sequence[str] | None = None


#: What somebody registers: it answers, or declines by None, and then torch runs the op.
Generate: TypeAlias = Callable[[TemplateCall], TemplateKernel | None]


@dataclass(frozen=True)
class Template:
    """An entry of the registry."""

    overload: torch._ops.OpOverload
    generate: Generate
    outputs: tuple[str, ...]

    @property
    def where(self) -> str:
        """The file and the line of the function."""
        code = getattr(self.generate, "__code__", None)
        return "an object" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


#: By overload, as ``table.target_name`` spells it.
TEMPLATES: dict[str, Template] = {}


def register(
    overload: torch._ops.OpOverload, *, outputs: Sequence[str] = ()
) -> Callable[[Generate], Generate]:
    """Makes a function the template of an op: ``torch.ops.mylib.rms_norm.default``.

    outputs: names of what the op returns; ``out``, or ``out0``, ``out1``, .. where none are given.  Raises
    ValueError for an op that has a template, that is torch's own, that writes to an argument or returns a
    view of one, or that returns something else than tensors.
    """
    if not isinstance(overload, torch._ops.OpOverload):
        raise ValueError(f"expected an overload such as torch.ops.mylib.norm.default, got {overload}")
    schema, name = overload._schema, str(overload)
    if name in TEMPLATES:
        raise ValueError(f"the op {name} has a template already, at {TEMPLATES[name].where}")
    if overload.namespace in ("aten", "prims", "prim", "higher_order"):
        raise ValueError(f"the op {name} is torch's own: expected an op of torch.library")
    if schema.is_mutable or any(r.alias_info is not None for r in schema.returns):
        raise ValueError(f"the op {name} writes to an argument, or returns a view of one")
    count = len(schema.returns)
    if not count or any(str(r.type) != "Tensor" for r in schema.returns):
        raise ValueError(f"the op {name} returns something else than tensors: {schema}")
    names = tuple(outputs) or (("out",) if count == 1 else tuple(f"out{n}" for n in range(count)))
    if len(names) != count or len({*names, *(a.name for a in schema.arguments)}) != count + len(
        schema.arguments
    ):
        raise ValueError(f"expected {count} names for the outputs of {name}, unlike its arguments: {names}")

    def enter(generate: Generate) -> Generate:
        TEMPLATES[name] = Template(overload, generate, names)
        return generate

    return enter


def unregister(overload: torch._ops.OpOverload) -> None:
    """Removes the template of an op.  Raises KeyError where it has none."""
    del TEMPLATES[str(overload)]


def template_of(node: fx.Node) -> Template | None:
    """The template of the op that a node calls."""
    if not TEMPLATES or not isinstance(node.target, torch._ops.OpOverload):
        return None
    return TEMPLATES.get(str(node.target))


@dataclass(frozen=True)
class TemplateLaunch:
    """What a template answered for a node.

    launch: with ``TemplateTensor`` for the tensors of ``given``.  outputs: their names.  apart: the tensors
    that the fusion spec leaves out.
    """

    launch: UserLaunch
    outputs: tuple[str, ...]
    apart: frozenset[str]


def template_launch(node: fx.Node, template: Template) -> TemplateLaunch:
    """Asks the template.  Raises TemplateError for a wrong answer, Opaque where it declines."""
    call = _call(node, template)
    try:
        found = template.generate(call)
    except Exception as error:
        raise template_error(node, template, f"it raises {type(error).__name__}: {error}") from error
    if found is None:
        raise Opaque("its template declines")
    if not isinstance(found, TemplateKernel):
        raise template_error(node, template, f"expected a TemplateKernel or None, got {type(found).__name__}")
    tensors = {t.name: t for v in call.inputs.values() for t in _tensors(v)}
    _check_arguments(node, template, call, found, tensors)
    apart = _left_out(node, template, "prologues", found.prologues, tensors)
    apart |= _left_out(node, template, "epilogues", found.epilogues, call.outputs)
    given = {p.name: found.arguments.get(p.name, p.default) for p in found.kernel.params}
    x, y, z = (*found.grid, 1, 1)[:3]
    written = tuple(n for n, v in given.items() if isinstance(v, TemplateTensor) and v.name in call.outputs)
    launch = UserLaunch(found.kernel, given, (x, y, z), written, found.num_warps, found.num_stages)
    return TemplateLaunch(launch, tuple(call.outputs), apart)


def template_error(node: fx.Node, template: Template, reason: str) -> TemplateError:
    """About the answer for a node, with the user's line."""
    line = user_line(node)
    where = None if line is None else line_text(line)
    return TemplateError(op=str(template.overload), where=template.where, reason=reason, location=where)


def template_key(node: fx.Node, template: Template, spell: Callable[[Any], str]) -> str:
    """The answer for a node as text that is equal in every process; ``spell`` prints sizes.  Raises Opaque
    for a constant that has no text, TemplateError.
    """
    answer = template_launch(node, template)
    launch = answer.launch
    given = {n: v.name if isinstance(v, TemplateTensor) else v for n, v in launch.given.items()}
    plain = {n: v if isinstance(v, str) else spell(v) for n, v in given.items() if n not in launch.constants}
    return f"{launch_text(launch)} {plain} {spell(launch.grid)} {sorted(answer.apart)}"


def _call(node: fx.Node, template: Template) -> TemplateCall:
    inputs: dict[str, Any] = {}
    for position, parameter in enumerate(template.overload._schema.arguments):
        name = parameter.name
        if position < len(node.args):
            inputs[name] = _described(name, node.args[position])
        elif name in node.kwargs:
            inputs[name] = _described(name, node.kwargs[name])
        else:
            inputs[name] = parameter.default_value
    value = node.meta["val"]
    made = [value] if isinstance(value, torch.Tensor) else list(value)
    outputs = {name: _tensor(name, fake) for name, fake in zip(template.outputs, made, strict=True)}
    return TemplateCall(inputs, outputs)


def _described(name: str, value: Any) -> Any:
    """An argument of a node as a template sees it."""
    if isinstance(value, (list, tuple)):
        return [_described(f"{name}[{n}]", v) for n, v in enumerate(value)]
    value = value.meta.get("val") if isinstance(value, fx.Node) else value
    if isinstance(value, torch.Tensor):
        return _tensor(name, value)
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        raise Opaque(f"its argument '{name}' is a number that only a call knows")
    return value


def _tensor(name: str, fake: torch.Tensor) -> TemplateTensor:
    return TemplateTensor(name, tuple(fake.shape), tuple(fake.stride()), fake.dtype, fake.device)


def _tensors(value: Any) -> list[TemplateTensor]:
    if isinstance(value, list):
        return [t for v in value for t in _tensors(v)]
    return [value] if isinstance(value, TemplateTensor) else []


def _check_arguments(
    node: fx.Node,
    template: Template,
    call: TemplateCall,
    found: TemplateKernel,
    tensors: Mapping[str, TemplateTensor],
) -> None:
    def fail(reason: str) -> TemplateError:
        return template_error(node, template, reason)

    if not hasattr(found.kernel, "cache_key"):
        raise fail(f"expected kernel to be a function under @triton.jit, got {type(found.kernel).__name__}")
    parameters = found.kernel.params
    names = [p.name for p in parameters]
    for name, value in found.arguments.items():
        if name not in names:
            raise fail(f"the kernel has no parameter '{name}': expected one of {', '.join(names)}")
        if isinstance(value, TemplateTensor) and value not in (*tensors.values(), *call.outputs.values()):
            raise fail(f"the argument '{name}' is the tensor '{value.name}' of another call")
        if isinstance(value, SymInt) and parameters[names.index(name)].is_constexpr:
            raise fail(f"the tl.constexpr '{name}' is a size that only a call knows: make it an int")
        if isinstance(value, torch.Tensor):
            raise fail(f"expected the argument '{name}' to be a tensor of the call, got a torch.Tensor")
    for parameter in parameters:
        if parameter.name not in found.arguments and not parameter.has_default:
            raise fail(f"the kernel's parameter '{parameter.name}' has no argument")
    taken = [v.name for v in found.arguments.values() if isinstance(v, TemplateTensor)]
    for name in call.outputs:
        if taken.count(name) != 1:
            raise fail(f"expected one argument that is the output '{name}', got {taken.count(name)}")
    if not isinstance(found.grid, (tuple, list)) or not 1 <= len(found.grid) <= 3:
        raise fail(f"expected a grid of one to three extents, got {found.grid}")
    for name, number in (("num_warps", found.num_warps), ("num_stages", found.num_stages)):
        kind = "power of two" if name == "num_warps" else "integer"
        if type(number) is not int or number < 1 or (name == "num_warps" and number & (number - 1)):
            raise fail(f"expected {name} to be a positive {kind}, got {number}")


def _left_out(
    node: fx.Node,
    template: Template,
    kind: str,
    allowed: Sequence[str] | None,
    tensors: Mapping[str, TemplateTensor],
) -> frozenset[str]:
    """The names in ``tensors`` that a fusion spec does not have."""
    if allowed is None:
        return frozenset()
    what = "input" if kind == "prologues" else "output"
    for name in allowed:
        if name not in tensors:
            known = ", ".join(tensors) or "none"
            raise template_error(
                node, template, f"its {kind} name '{name}', which is no {what} tensor: expected {known}"
            )
    return frozenset(tensors.keys() - set(allowed))


__all__ = [
    "TEMPLATES",
    "Generate",
    "Template",
    "TemplateCall",
    "TemplateKernel",
    "TemplateLaunch",
    "TemplateTensor",
    "register",
    "template_error",
    "template_key",
    "template_launch",
    "template_of",
    "unregister",
]
