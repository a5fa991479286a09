"""What a template answers for a node, checked, as the launch of a user's kernel.

The importer asks a template once for each call of its op, and once before where sizes are symbols
(``settle_sizes``).  The program cache asks once more.  The kernel enters the module as one that a user wrote
(``frontend/ops/user_kernels``).  What is computed at its loads and stores is decided by the passes that fuse
with users' kernels.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import SymInt, fx
from torch.utils._pytree import tree_leaves

from ..base.dataclass import dataclass
from ..base.errors import TemplateError
from ..base.launch import line_text
from ..base.ttir_function import TtirFunction
from .frames import user_line
from .table import target_name
from .templates import (
    Operator,
    Size,
    Template,
    TemplateCall,
    TemplateConfigurations,
    TemplateKernel,
    TemplateTensor,
    TemplateTtir,
    template_of,
)
from .user_kernels import Opaque, UserLaunch, launch_text


@dataclass(frozen=True)
class TemplateLaunch:
    """What a template answered for a node.

    launch: with ``TemplateTensor`` for the tensors of ``given``.  inputs: the nodes of the tensors that the
    op takes, by name.  outputs: names.  apart: the tensors that the fusion spec leaves out.  tuned_by: the
    sizes by which one of several configurations is chosen.
    """

    launch: UserLaunch
    inputs: Mapping[str, fx.Node]
    outputs: tuple[str, ...]
    apart: frozenset[str]
    tuned_by: tuple[Size, ...] = ()


def template_launch(node: fx.Node, template: Template) -> TemplateLaunch:
    """Asks the template.  Raises TemplateError for a wrong answer, Opaque where it declines."""
    nodes: dict[str, fx.Node] = {}
    call = _call(node, template, nodes)
    try:
        found = template.generate(call)
    except Exception as error:
        raise template_error(node, template, f"it raises {type(error).__name__}: {error}") from error
    if found is None:
        raise Opaque("its template declines")
    kernels, tuned_by = _kernels(node, template, found)
    asked = _Asked(node, template, call)
    first, *others = [asked.launch(kernel) for kernel in kernels]
    apart = frozenset[str]().union(*map(asked.left_out, kernels))
    return TemplateLaunch(replace(first, others=tuple(others)), nodes, tuple(call.outputs), apart, tuned_by)


def settle_sizes(gm: fx.GraphModule) -> None:
    """Asks each template whose call has symbolic sizes, in the graphs inside ``gm`` too, for the guards that
    an answer adds: ``int(size)`` makes a symbol a number, which all that is imported in front of the call has
    to know as well.  What is wrong with an answer is said when the call is imported.
    """
    graphs = [held.graph for held in gm.modules() if isinstance(held, fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        template = template_of(node)
        if template is not None and _has_symbols(node):
            with contextlib.suppress(Opaque, TemplateError):
                template_launch(node, template)


def _has_symbols(node: fx.Node) -> bool:
    for leaf in tree_leaves([part.meta.get("val") for part in (node, *node.all_input_nodes)]):
        sizes = (*leaf.shape, *leaf.stride()) if isinstance(leaf, torch.Tensor) else (leaf,)
        if any(isinstance(size, SymInt) for size in sizes):
            return True
    return False


def template_error(node: fx.Node, template: Template, reason: str) -> TemplateError:
    """About the answer for a node, with the user's line."""
    line = user_line(node)
    where = None if line is None else line_text(line)
    return TemplateError(op=target_name(template.op), where=template.where, reason=reason, location=where)


def template_key(node: fx.Node, template: Template, spell: Callable[[Any], str]) -> str:
    """The answer for a node as text that is equal in every process; ``spell`` prints sizes.  Raises Opaque
    for a constant that has no text, TemplateError.
    """
    answer = template_launch(node, template)
    texts = [_launch_key(launch, spell) for launch in (answer.launch, *answer.launch.others)]
    return f"{' | '.join(texts)} {answer.outputs} {sorted(answer.apart)} {spell(answer.tuned_by)}"


def _launch_key(launch: UserLaunch, spell: Callable[[Any], str]) -> str:
    given = {n: v.name if isinstance(v, TemplateTensor) else v for n, v in launch.given.items()}
    plain = {n: v if isinstance(v, str) else spell(v) for n, v in given.items() if n not in launch.constants}
    return f"{launch_text(launch)} {plain} {spell(launch.grid)}"


def _call(node: fx.Node, template: Template, nodes: dict[str, fx.Node]) -> TemplateCall:
    """What the template is told.  ``nodes`` gets the tensors among the arguments."""
    given = {name: _described(name, value, nodes) for name, value in _arguments(node, template.op)}
    made = [t for t in tree_leaves(node.meta["val"]) if isinstance(t, torch.Tensor)]
    names = template.names(len(made))
    outputs = {name: _tensor(name, fake) for name, fake in zip(names, made, strict=True)}
    return TemplateCall(given, outputs)


def _arguments(node: fx.Node, op: Operator) -> list[tuple[str, Any]]:
    """The arguments of a node by name."""
    if not isinstance(op, torch._ops.OpOverload):
        return [*((f"arg{n}", value) for n, value in enumerate(node.args)), *node.kwargs.items()]
    names = [parameter.name for parameter in op._schema.arguments]
    defaults = {parameter.name: parameter.default_value for parameter in op._schema.arguments}
    given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return [(name, given.get(name, defaults[name])) for name in names]


def _described(name: str, value: Any, nodes: dict[str, fx.Node]) -> Any:
    """An argument of a node as a template sees it."""
    if isinstance(value, (list, tuple)):
        return [_described(f"{name}[{n}]", v, nodes) for n, v in enumerate(value)]
    if isinstance(value, dict):
        return {n: _described(f"{name}[{n}]", v, nodes) for n, v in value.items()}
    known = value.meta.get("val") if isinstance(value, fx.Node) else value
    if isinstance(known, torch.Tensor):
        nodes[name] = value
        return _tensor(name, known)
    if isinstance(known, (torch.SymFloat, torch.SymBool)):
        raise Opaque(f"its argument '{name}' is a number that only a call knows")
    return known


def _tensor(name: str, fake: torch.Tensor) -> TemplateTensor:
    return TemplateTensor(name, tuple(fake.shape), tuple(fake.stride()), fake.dtype, fake.device)


def _tensors(value: Any) -> list[TemplateTensor]:
    if isinstance(value, (list, dict)):
        return [t for v in (value.values() if isinstance(value, dict) else value) for t in _tensors(v)]
    return [value] if isinstance(value, TemplateTensor) else []


def _kernels(
    node: fx.Node, template: Template, found: Any
) -> tuple[Sequence[TemplateKernel], tuple[Size, ...]]:
    """The kernels of an answer, and the sizes by which they are chosen.  Raises TemplateError."""
    if isinstance(found, TemplateKernel):
        return [found], ()
    if not isinstance(found, TemplateConfigurations):
        expected = "a TemplateKernel, TemplateConfigurations or None"
        raise template_error(node, template, f"expected {expected}, got {type(found).__name__}")
    if not found.kernels:
        raise template_error(node, template, "expected TemplateConfigurations of at least one kernel")
    for kernel in found.kernels:
        if not isinstance(kernel, TemplateKernel):
            reason = f"expected each configuration to be a TemplateKernel, got {type(kernel).__name__}"
            raise template_error(node, template, reason)
    for size in found.tuned_by:
        if isinstance(size, bool) or not isinstance(size, (int, SymInt)):
            raise template_error(node, template, f"expected tuned_by to list sizes, got {size}")
    return found.kernels, tuple(found.tuned_by)


@dataclass(frozen=True)
class _Asked:
    """A template and the call that it was asked about; checks one kernel of the answer at a time."""

    node: fx.Node
    template: Template
    call: TemplateCall

    @property
    def inputs(self) -> dict[str, TemplateTensor]:
        """The input tensors by name."""
        return {t.name: t for v in self.call.inputs.values() for t in _tensors(v)}

    def launch(self, found: TemplateKernel) -> UserLaunch:
        """The launch of a kernel.  Raises TemplateError."""
        kernel = found.kernel
        if isinstance(kernel, TemplateTtir):
            kernel = TtirFunction.of(kernel.text, list(found.arguments), self.template.line)
        self._check_arguments(found, kernel)
        given = {p.name: found.arguments.get(p.name, p.default) for p in kernel.params}
        x, y, z = (*found.grid, 1, 1)[:3]
        outputs = self.call.outputs
        written = tuple(n for n, v in given.items() if isinstance(v, TemplateTensor) and v.name in outputs)
        return UserLaunch(kernel, given, (x, y, z), written, found.num_warps, found.num_stages)

    def left_out(self, found: TemplateKernel) -> frozenset[str]:
        """The tensors that the fusion spec of a kernel does not have.  Raises TemplateError."""
        inputs = self._left_out("prologues", found.prologues, self.inputs)
        return inputs | self._left_out("epilogues", found.epilogues, self.call.outputs)

    def _fail(self, reason: str) -> TemplateError:
        return template_error(self.node, self.template, reason)

    def _check_arguments(self, found: TemplateKernel, kernel: Any) -> None:
        fail, outputs = self._fail, self.call.outputs
        tensors = (*self.inputs.values(), *outputs.values())
        if not hasattr(kernel, "cache_key"):
            raise fail(f"expected kernel to be a function under @triton.jit, got {type(kernel).__name__}")
        parameters = kernel.params
        names = [p.name for p in parameters]
        for name, value in found.arguments.items():
            if name not in names:
                raise fail(f"the kernel has no parameter '{name}': expected one of {', '.join(names)}")
            if isinstance(value, TemplateTensor) and value not in tensors:
                raise fail(f"the argument '{name}' is the tensor '{value.name}' of another call")
            if isinstance(value, SymInt) and parameters[names.index(name)].is_constexpr:
                raise fail(f"the tl.constexpr '{name}' is a size that only a call knows: make it an int")
            if isinstance(value, torch.Tensor):
                raise fail(f"expected the argument '{name}' to be a tensor of the call, got a torch.Tensor")
        for parameter in parameters:
            if parameter.name not in found.arguments and not parameter.has_default:
                raise fail(f"the kernel's parameter '{parameter.name}' has no argument")
        taken = [v.name for v in found.arguments.values() if isinstance(v, TemplateTensor)]
        for name in outputs:
            if taken.count(name) != 1:
                raise fail(f"expected one argument that is the output '{name}', got {taken.count(name)}")
        if not isinstance(found.grid, (tuple, list)) or not 1 <= len(found.grid) <= 3:
            raise fail(f"expected a grid of one to three extents, got {found.grid}")
        for name, number in (("num_warps", found.num_warps), ("num_stages", found.num_stages)):
            kind = "power of two" if name == "num_warps" else "integer"
            if type(number) is not int or number < 1 or (name == "num_warps" and number & (number - 1)):
                raise fail(f"expected {name} to be a positive {kind}, got {number}")

    def _left_out(
        self, kind: str, allowed: Sequence[str] | None, tensors: Mapping[str, TemplateTensor]
    ) -> frozenset[str]:
        if allowed is None:
            return frozenset()
        what = "input" if kind == "prologues" else "output"
        for name in allowed:
            if name not in tensors:
                known = ", ".join(tensors) or "none"
                raise self._fail(f"its {kind} name '{name}', which is no {what} tensor: expected {known}")
        return frozenset(tensors.keys() - set(allowed))


__all__ = ["TemplateLaunch", "settle_sizes", "template_error", "template_key", "template_launch"]
