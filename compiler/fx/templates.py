"""Templates: functions that give the Triton kernel of a custom op, what they are told, and what they answer.

    @register(torch.ops.mylib.rms_norm.default, outputs=("out",))
    def rms_norm(call: TemplateCall) -> TemplateKernel: ...

``template_answers.py`` asks them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import SymInt, fx

from ..base.dataclass import dataclass

#: An op as an FX graph calls it.
Operator: TypeAlias = torch._ops.OpOverload | torch._ops.HigherOrderOperator
#: A size: a number, or torch's symbol where sizes are dynamic.
Size: TypeAlias = int | SymInt


@dataclass(frozen=True, eq=False)
class TemplateTensor:
    """A tensor that the op takes or returns, which a template gives to its kernel as an argument.

    name: the parameter of the op, followed by ``[n]`` or ``[key]`` for an entry, or the name of the output.
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

    inputs: parameter of the op -> ``TemplateTensor``, a list or dict of them, a size, or what else is given;
    a parameter that is not given has its default.  outputs: name -> tensor, in the order of the op.  They are
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
class TemplateTtir:
    """A kernel as TTIR: a module with one public ``tt.func``, in any form that Triton parses."""

    text: str


@dataclass(frozen=True)
class TemplateKernel:
    """The answer of a template.

    kernel: a function under ``@triton.jit``, or a ``TemplateTtir``.  arguments: parameter of it -> a
    ``TemplateTensor`` of the call, a ``Size``, a number, or the value of a ``tl.constexpr``; for TTIR any
    names, in the order of the arguments of the function, which are tensors, sizes and numbers.  grid: up to
    three extents.  num_warps, num_stages: of the launch.

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


@dataclass(frozen=True)
class TemplateConfigurations:
    """The answer of a template that leaves the choice among several kernels to measurements on the GPU.

    kernels: at least one; each computes all outputs.  What one of them leaves out of its fusion spec, none
    takes.  tuned_by: sizes; a call with new values of them measures again.
    """

    kernels: Sequence[TemplateKernel]
    tuned_by: Sequence[Size] = ()


#: What a template answers; None declines, and then torch runs the op.
Answer: TypeAlias = TemplateKernel | TemplateConfigurations | None
#: What somebody registers.
Generate: TypeAlias = Callable[[TemplateCall], Answer]


@dataclass(frozen=True)
class Template:
    """An entry of the registry.  outputs: names; empty where the op alone gives them."""

    op: Operator
    generate: Generate
    outputs: tuple[str, ...]

    @property
    def line(self) -> tuple[str, int]:
        """The file and the line of the function."""
        code = getattr(self.generate, "__code__", None)
        return ("an object", 0) if code is None else (code.co_filename, code.co_firstlineno)

    @property
    def where(self) -> str:
        """The file and the line of the function, as text."""
        file, line = self.line
        return f"{file}:{line}" if line else file

    def names(self, count: int) -> tuple[str, ...]:
        """Of ``count`` outputs."""
        return self.outputs or (("out",) if count == 1 else tuple(f"out{n}" for n in range(count)))


TEMPLATES: dict[Operator, Template] = {}


def register(op: Operator, *, outputs: Sequence[str] = ()) -> Callable[[Generate], Generate]:
    """Makes a function the template of an op: ``torch.ops.mylib.rms_norm.default``, or a higher-order op.

    outputs: names of what the op returns; ``out``, or ``out0``, ``out1``, .. where none are given.  Raises
    ValueError for an op that has a template, that is torch's own, that writes to an argument or returns a
    view of one, or that returns something else than tensors.  What a higher-order op does is not known: its
    template has to decline where it does one of these.
    """
    if op in TEMPLATES:
        raise ValueError(f"the op {op} has a template already, at {TEMPLATES[op].where}")
    if isinstance(op, torch._ops.OpOverload):
        _require_functional(op, tuple(outputs))
    elif not isinstance(op, torch._ops.HigherOrderOperator):
        raise ValueError(f"expected an overload such as torch.ops.mylib.norm.default, got {op}")
    if type(op).__module__.partition(".")[0] == "torch" and isinstance(op, torch._ops.HigherOrderOperator):
        raise ValueError(f"the op {op} is torch's own: expected an op of torch.library")

    def enter(generate: Generate) -> Generate:
        TEMPLATES[op] = Template(op, generate, tuple(outputs))
        return generate

    return enter


def unregister(op: Operator) -> None:
    """Removes the template of an op.  Raises KeyError where it has none."""
    del TEMPLATES[op]


def _require_functional(op: torch._ops.OpOverload, outputs: tuple[str, ...]) -> None:
    """Raises ValueError for an overload that can have no template, and for wrong names of its outputs."""
    schema = op._schema
    if op.namespace in ("aten", "prims", "prim", "higher_order"):
        raise ValueError(f"the op {op} is torch's own: expected an op of torch.library")
    if schema.is_mutable or any(r.alias_info is not None for r in schema.returns):
        raise ValueError(f"the op {op} writes to an argument, or returns a view of one")
    count = len(schema.returns)
    if not count or any(str(r.type) != "Tensor" for r in schema.returns):
        raise ValueError(f"the op {op} returns something else than tensors: {schema}")
    names = outputs or Template(op, lambda call: None, ()).names(count)
    arguments = [a.name for a in schema.arguments]
    if len(names) != count or len({*names, *arguments}) != count + len(arguments):
        raise ValueError(f"expected {count} names for the outputs of {op}, unlike its arguments: {names}")


def template_of(node: fx.Node) -> Template | None:
    """The template of the op that a node calls."""
    return TEMPLATES.get(node.target) if TEMPLATES and isinstance(node.target, Operator) else None


__all__ = [
    "TEMPLATES",
    "Answer",
    "Generate",
    "Size",
    "Template",
    "TemplateCall",
    "TemplateConfigurations",
    "TemplateKernel",
    "TemplateTensor",
    "TemplateTtir",
    "register",
    "template_of",
    "unregister",
]
