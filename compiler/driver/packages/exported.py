"""An exported program (``torch.export``) as a graph that the backend compiles, and its signature.

The graph of an exported program takes its parameters, buffers and constants as inputs, in front of the
user's.  Inputs that are no tensors are taken out: a package checks that a call gives the exported value.
"""

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind
from torch.utils import _pytree

from ...base.dataclass import dataclass
from ...base.errors import PackageError
from ...index import from_sympy
from .signature import ArgumentTensor, CallSignature, FixedArgument, Symbol, TensorLook, Weight


@dataclass(frozen=True)
class ExportedGraph:
    """gm: the graph, with fake inputs.  weights: the tensors of the signature's ``Weight``s."""

    gm: torch.fx.GraphModule
    inputs: list[torch.Tensor]
    weights: dict[str, torch.Tensor]
    signature: CallSignature


def exported_graph(program: ExportedProgram, path: Any) -> ExportedGraph:
    """The graph of an exported program.  ``path``: of the package, for messages.  Raises ``PackageError`` for
    what a package cannot hold.
    """
    gm = copy.deepcopy(program.graph_module)
    inputs: list[Weight | ArgumentTensor] = []
    fixed: list[FixedArgument] = []
    weights: dict[str, torch.Tensor] = {}
    fakes: list[torch.Tensor] = []
    number = 0  # of the flat argument
    placeholders = gm.graph.find_nodes(op="placeholder")
    for node, spec in zip(placeholders, program.graph_signature.input_specs, strict=True):
        user = spec.kind is InputKind.USER_INPUT
        fake = node.meta.get("val")
        if isinstance(fake, torch.Tensor) and user:
            inputs.append(ArgumentTensor(number, node.name, _look(fake, node.name, path)))
        elif isinstance(fake, torch.Tensor):
            name = str(spec.target)
            weights[name] = _weight(program, spec)
            inputs.append(Weight(name, _look(fake, node.name, path)))
        elif user and (fake is None or isinstance(fake, bool | int | float | str)) and not node.users:
            fixed.append(FixedArgument(number, node.name, fake))
            gm.graph.erase_node(node)
        else:
            raise PackageError(path=path, reason=f"its input {node.name} is a {type(fake).__name__}")
        number += user
        if isinstance(fake, torch.Tensor):
            fakes.append(fake)
    for node in gm.graph.nodes:  # as in a graph that Dynamo captured
        if "val" in node.meta:
            node.meta["example_value"] = node.meta["val"]
    kinds = {spec.kind for spec in program.graph_signature.output_specs}
    if kinds - {OutputKind.USER_OUTPUT}:
        raise PackageError(path=path, reason="it is decomposed: package what torch.export.export returned")
    gm.recompile()
    spec = program.call_spec
    signature = CallSignature(
        tuple(inputs),
        tuple(fixed),
        _symbols(program, inputs),
        (),
        _pytree.treespec_dumps(spec.in_spec),
        _pytree.treespec_dumps(spec.out_spec),
    )
    return ExportedGraph(gm, fakes, weights, signature)


def _weight(program: ExportedProgram, spec: InputSpec) -> torch.Tensor:
    """A parameter, a buffer or a constant."""
    name = str(spec.target)
    tensor = program.state_dict.get(name, program.constants.get(name))
    assert isinstance(tensor, torch.Tensor), f"the exported program has no {name}"
    return tensor.detach()


def _look(fake: torch.Tensor, name: str, path: Any) -> TensorLook:
    return TensorLook(
        str(fake.dtype),
        tuple(_text(size, name, path) for size in fake.shape),
        tuple(_text(stride, name, path) for stride in fake.stride()),
    )


def _text(size: Any, name: str, path: Any) -> str:
    """A size or stride as an index expression."""
    if isinstance(size, int):
        return str(size)
    found = from_sympy(size.node.expr)
    if found is None:
        raise PackageError(path=path, reason=f"the size {size} of {name} is outside the index algebra")
    return str(found)


def _symbols(program: ExportedProgram, inputs: list[Weight | ArgumentTensor]) -> tuple[Symbol, ...]:
    """The sizes that calls choose."""
    sizes = {size for each in inputs for size in each.look.sizes}
    found = []
    for symbol, limits in program.range_constraints.items():
        if str(symbol) in sizes:
            most = int(limits.upper) if limits.upper.is_finite and limits.upper < 2**62 else None
            found.append(Symbol(str(symbol), max(0, int(limits.lower)), most))
    return tuple(found)
