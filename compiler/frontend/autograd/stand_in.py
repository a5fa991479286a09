"""A captured graph whose training step is in the program cache is replaced by a graph of one op.

AOTAutograd traces and partitions that one quickly.  Before, the graph has all ops of a model.  After, the
forward and the backward graph have one op each::

    results, made = fuse_mlir.stored_forward(inputs)
    gradients = fuse_mlir.stored_backward(saved, tangents)

AOTAutograd differentiates, partitions and wraps this graph as it would the original.  ``TrainingStep`` holds
what it needs for that: sizes, strides, dtypes and devices of results, saved tensors and gradients.  It is
made from the forward and the backward graph of the original, and only if

1. no size varies;
2. at least one saved tensor has storage of its own, unless nothing but inputs and results is saved.  Where
   all saved tensors lie in the storage of results or inputs, AOTAutograd lets the graph be kept for a second
   backward pass, and it would not see that of the stand-in.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor
from torch._functorch.partitioners import default_partition
from torch.fx import Graph, GraphModule, Node

from .detached import drop_detached
from .step_data import Look, TrainingStep

Program = Callable[[list[Any]], list[Any]]

_alive: "WeakValueDictionary[str, StoredStep]" = WeakValueDictionary()


class StandInMismatch(Exception):
    """AOTAutograd made a graph of a stand-in that is more than its one op; the message says what it found."""


def training_step(
    forward: GraphModule, backward: GraphModule, differentiable: Sequence[bool]
) -> TrainingStep | None:
    """What ``forward``, whose first outputs are the captured graph's results, and ``backward`` give.
    ``differentiable``: for each result.

    None where a ``TrainingStep`` cannot say it.
    """
    inputs = forward.graph.find_nodes(op="placeholder")
    outputs, gradients = _outputs(forward.graph), _outputs(backward.graph)
    results = len(differentiable)
    given, saved = outputs[:results], outputs[results:]
    tangents = sum(differentiable)
    if (
        len({*given}) < len(given)
        or len(gradients) != len(inputs)
        or len(backward.graph.find_nodes(op="placeholder")) != len(saved) + tangents
        or any(not isinstance(node, Node) for node in outputs)
        or any(node in inputs for node in given)
    ):
        return None
    known = {_storage(node) for node in (*inputs, *given, *gradients) if isinstance(node, Node)}
    places: list[tuple[str, int]] = []
    made: list[Node] = []
    for node in saved:
        if node in inputs or node in given:
            places.append(("input", inputs.index(node)) if node in inputs else ("result", given.index(node)))
        elif node in made:
            return None
        else:
            places.append(("made", len(made)))
            made.append(node)
    if made and all(_storage(node) in known for node in made):
        return None
    looks = [Look.of(node.meta.get("val")) for node in (*given, *made)]
    of_gradients = [None if node is None else Look.of(node.meta.get("val")) for node in gradients]
    if None in looks or any((a is None) != (b is None) for a, b in zip(gradients, of_gradients, strict=True)):
        return None
    sure = [look for look in looks if look is not None]
    return TrainingStep(
        tuple(sure[:results]),
        tuple(differentiable),
        tuple(places),
        tuple(sure[results:]),
        tuple(of_gradients),
    )


class StoredStep:
    """A training step and its two programs, which take the list of their graph's arguments and give the list
    of its outputs.
    """

    def __init__(self, step: TrainingStep, forward: Program, backward: Program) -> None:
        self.step, self.forward, self.backward = step, forward, backward


def stand_in(captured: GraphModule, programs: StoredStep, name: str) -> GraphModule:
    """A graph with the inputs and outputs of a captured one that runs ``programs``, known by ``name`` while
    they live.
    """
    _define_ops()
    _alive[name] = programs
    graph = Graph()
    inputs = []
    for node in captured.graph.find_nodes(op="placeholder"):
        copy = graph.node_copy(node)
        if hasattr(node, "_dynamo_source"):
            copy._dynamo_source = node._dynamo_source
        inputs.append(copy)
    call = graph.call_function(_train, (name, *inputs))
    items = [graph.call_function(operator.getitem, (call, i)) for i in range(len(programs.step.results))]
    graph.output(tuple(items))
    made = GraphModule(torch.nn.Module(), graph)
    made.meta.update(captured.meta)
    for attribute in ("_param_name_to_source", "_source_to_user_stacks"):
        if hasattr(captured, attribute):
            setattr(made, attribute, getattr(captured, attribute))
    return made


def cut(joint: GraphModule, joint_inputs: Sequence[Any], **options: Any) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of a stand-in, as ``partition`` gives them.  Raises StandInMismatch
    where they are more than their op.
    """
    drop_detached(joint)
    forward, backward = default_partition(joint, joint_inputs, **options)
    _places_forward(forward.graph)
    _places_backward(backward.graph)
    return forward, backward


def forward_call(graph: Graph, programs: StoredStep) -> tuple[Program, list[int]]:
    """What runs the forward graph of a stand-in, and which output of the program each of its outputs is."""
    places = {("input", n): i for i, (kind, n) in enumerate(programs.step.saved) if kind == "input"}
    results = len(programs.step.results)
    made = [results + i for i, (kind, _) in enumerate(programs.step.saved) if kind == "made"]
    numbers = [
        results + places[kind, n] if kind == "input" else n if n < results else made[n - results]
        for kind, n in _places_forward(graph)
    ]
    run = programs.forward

    def call(args: list[Any]) -> list[Any]:
        outputs = run(args)
        return [outputs[n] for n in numbers]

    return _boxed(call), numbers


def backward_call(graph: Graph, programs: StoredStep) -> Program:
    """What runs the backward graph of a stand-in."""
    arguments, items = _places_backward(graph)
    given = [i for i, look in enumerate(programs.step.gradients) if look is not None]
    numbers = [None if item is None else given[item] for item in items]
    run = programs.backward

    def call(args: list[Any]) -> list[Any]:
        in_order = [args[i] for i in arguments]
        args.clear()
        outputs = run(in_order)
        return [None if n is None else outputs[n] for n in numbers]

    return _boxed(call)


def _boxed(call: Program) -> Program:
    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _places_forward(graph: Graph) -> list[tuple[str, int]]:
    """For each output ("input", its number) or ("item", its number in what the op gives)."""
    inputs = _numbers(graph)
    op = _only(graph, "stored_forward")
    if list(op.args[0]) != list(inputs):
        raise StandInMismatch("the op of the forward graph has other arguments than the graph")
    return [("input", inputs[n]) if n in inputs else ("item", _item(n, op)) for n in _outputs(graph)]


def _places_backward(graph: Graph) -> tuple[list[int], list[int | None]]:
    """For each argument of the op the number of the input, and for each output that of the op's result."""
    inputs = _numbers(graph)
    op = _only(graph, "stored_backward")
    arguments = [*op.args[0], *op.args[1]]
    if inputs.keys() != {*arguments}:
        raise StandInMismatch("the op of the backward graph has other arguments than the graph")
    places = [inputs[n] for n in arguments]
    return places, [None if n is None else _item(n, op) for n in _outputs(graph)]


def _numbers(graph: Graph) -> dict[Node, int]:
    """The inputs of a graph, in order, with their numbers."""
    return {node: number for number, node in enumerate(graph.find_nodes(op="placeholder"))}


def _only(graph: Graph, name: str) -> Node:
    calls = [n for n in graph.nodes if n.op == "call_function" and n.target is not operator.getitem]
    if len(calls) != 1 or calls[0].target is not getattr(torch.ops.fuse_mlir, name).default:
        raise StandInMismatch(f"a graph of {[str(n.target) for n in calls]} where {name} was expected")
    return calls[0]


def _item(node: Any, op: Node) -> int:
    if not isinstance(node, Node) or node.target is not operator.getitem or node.args[0] is not op:
        raise StandInMismatch(f"the output {node} is no result of {op}")
    return int(node.args[1])  # type: ignore[arg-type]


def _outputs(graph: Graph) -> list[Any]:
    (output,) = graph.find_nodes(op="output")
    return list(output.args[0])


def _storage(node: Node) -> Any:
    value = node.meta.get("val")
    strided = isinstance(value, Tensor) and value.layout is torch.strided
    return value.untyped_storage()._cdata if strided else node


class _Training(torch.autograd.Function):
    """The two ops as one that autograd knows."""

    @staticmethod
    def forward(ctx: Any, name: str, *inputs: Tensor) -> tuple[Tensor, ...]:
        step = _alive[name].step
        found = torch.ops.fuse_mlir.stored_forward(list(inputs), name)
        results = found[: len(step.results)]
        values = {"input": inputs, "result": results, "made": found[len(results) :]}
        ctx.save_for_backward(*[values[kind][number] for kind, number in step.saved])
        pairs = zip(results, step.differentiable, strict=True)
        ctx.mark_non_differentiable(*[result for result, wanted in pairs if not wanted])
        ctx.name = name
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        step = _alive[ctx.name].step
        tangents = [g for g, wanted in zip(grads, step.differentiable, strict=True) if wanted]
        found = iter(torch.ops.fuse_mlir.stored_backward(list(ctx.saved_tensors), tangents, ctx.name))
        return None, *[None if look is None else next(found) for look in step.gradients]


def _train(name: str, *inputs: Tensor) -> tuple[Tensor, ...]:
    return _Training.apply(name, *inputs)  # type: ignore[no-any-return, no-untyped-call]


@functools.cache
def _define_ops() -> torch.library.Library:
    """Defines the ops when they are first needed; they live as long as what is returned."""
    ops = torch.library.Library("fuse_mlir", "FRAGMENT")
    ops.define("stored_forward(Tensor[] inputs, str name) -> Tensor[]")
    ops.define("stored_backward(Tensor[] saved, Tensor[] tangents, str name) -> Tensor[]")
    ops.impl("stored_forward", _forward, "CompositeExplicitAutograd")
    ops.impl("stored_backward", _backward, "CompositeExplicitAutograd")
    torch.library.register_fake(
        "fuse_mlir::stored_forward", lambda inputs, name: _alive[name].step.forward, lib=ops
    )
    torch.library.register_fake(
        "fuse_mlir::stored_backward", lambda saved, tangents, name: _alive[name].step.backward, lib=ops
    )
    return ops


def _forward(inputs: Sequence[Tensor], name: str) -> list[Tensor]:
    """Runs the op itself, where somebody runs the graph as it is (compiled autograd does)."""
    programs = _alive[name]
    outputs = programs.forward(list(inputs))
    results = len(programs.step.results)
    saved = zip(programs.step.saved, outputs[results:], strict=True)
    return [*outputs[:results], *[value for (kind, _), value in saved if kind == "made"]]


def _backward(saved: Sequence[Tensor], tangents: Sequence[Tensor], name: str) -> list[Tensor]:
    return [gradient for gradient in _alive[name].backward([*saved, *tangents]) if gradient is not None]
