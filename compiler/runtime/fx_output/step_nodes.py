"""The FX nodes of each step of a launch plan.

Memory is torch's: an allocation is a node, and what the plan frees is none, as a GraphModule lets a value go
after its last use.  Nor is alignment: the op that launches a kernel sees to it (``kernels.py``).
"""

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ...index import Expr, const
from ..plans import steps
from ..plans.steps import TensorType, Value
from ..torch_types import TORCH_DTYPES
from .control_flow import branch, call_region, scan, while_loop
from .extern_nodes import extern_nodes
from .graph_maker import GraphMaker, value_of
from .operators import DRAW, FIT_LAYOUT, LAUNCH

aten = torch.ops.aten
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt}


def nothing(maker: GraphMaker, step: Any) -> None:
    """What needs no node."""


def align(maker: GraphMaker, step: steps.Align) -> None:
    if step.given is not None:
        maker.define(step.given, maker.operand(step.name))


def alloc(maker: GraphMaker, step: steps.Alloc) -> None:
    assert isinstance(step.result.type, TensorType)
    maker.define(step.result, maker.empty(step.result.type))


def reuse(maker: GraphMaker, step: steps.Reuse) -> None:
    donor = maker.operand(step.donor)
    if step.result.name == step.donor:
        return
    node = as_strided(maker, step.result, donor, const(0))
    if donor in maker.owned:
        maker.owned.remove(donor)
        maker.owned.add(node)


def view(maker: GraphMaker, step: steps.View) -> None:
    base = maker.operand(step.base)
    as_strided(maker, step.result, base, step.offset)
    maker.owned.discard(base)


def as_strided(maker: GraphMaker, result: Value, base: Node, offset: Expr) -> Node:
    """Defines a tensor ``offset`` elements behind where ``base`` begins."""
    assert isinstance(result.type, TensorType)
    layout = maker.layout(result.type)
    first: tuple[Any, ...] = ()  # the same as where ``base`` begins
    if base in maker.starts:
        first = (maker.size(maker.starts[base] + offset),)
    elif offset.constant != 0:
        own = maker.call(aten.sym_storage_offset.default, (base,), value=value_of(base).storage_offset())
        first = (maker.arithmetic(operator.add, (own, maker.size(offset))),)
    with maker.known.values.mode:
        sizes, strides = ([*map(value_of, part)] for part in layout)
        fake = value_of(base).as_strided(sizes, strides, *map(value_of, first))
    node = maker.call(aten.as_strided.default, (base, *layout, *first), value=fake)
    if base in maker.starts:
        maker.starts[node] = maker.starts[base] + offset
    maker.define(result, node)
    return node


def size(maker: GraphMaker, step: steps.Size) -> None:
    tensor = maker.operand(step.tensor)
    value = maker.scope.sizes.get(step.name, value_of(tensor).shape[step.dim])
    maker.define(Value(step.name, "index"), maker.call(aten.sym_size.int, (tensor, step.dim), value=value))


def compute(maker: GraphMaker, step: steps.Compute) -> None:
    maker.define(Value(step.name, "index"), maker.size(step.value))


def draw(maker: GraphMaker, step: steps.DrawNumbers) -> None:
    with maker.known.values.mode:
        both = torch.empty((2,), dtype=torch.int64)
        each = [torch.empty((), dtype=torch.int64) for _ in step.names]
    drawn = maker.call(DRAW, (maker.anchor, torch.device(step.device), step.count), value=both)
    for place, (name, fake) in enumerate(zip(step.names, each, strict=True)):
        part = maker.call(aten.select.int, (drawn, 0, place), value=fake)
        number = maker.call(aten._local_scalar_dense.default, (part,), value=maker.new_value("i64"))
        maker.define(Value(name, "i64"), number)


def launch(maker: GraphMaker, step: steps.LaunchKernel) -> None:
    kernel = maker.known.kernels[step.kernel]
    grid = [maker.size(extent) for extent in step.grid]
    read, written, numbers = kernel.divided([maker.operand(a) for a in step.arguments])
    maker.call(LAUNCH, (kernel.name, grid, read, written, numbers))


def tune(maker: GraphMaker, step: steps.LaunchTuned) -> None:
    """A graph measures nothing: the first form."""
    launch(maker, step.launches[0])


def check(maker: GraphMaker, step: steps.Check) -> None:
    tensor = maker.operand(step.name)
    sizes, strides = (
        [_own(maker, tensor, op, dim) if e is None else maker.size(e) for dim, e in enumerate(parts)]
        for op, parts in ((aten.sym_size.int, step.sizes), (aten.sym_stride.int, step.strides))
    )
    made = maker.promised[step.name]
    dtype = TORCH_DTYPES[made.element]
    given = (tensor, sizes, strides, dtype, step.made_by, made.where, made.shares)
    maker.scope.nodes[step.name] = maker.call(FIT_LAYOUT, given, value=value_of(tensor))


def _own(maker: GraphMaker, tensor: Node, op: Any, dim: int) -> Node:
    """A size or stride that only the tensor tells."""
    found = value_of(tensor)
    value = found.shape[dim] if op is aten.sym_size.int else found.stride(dim)
    return maker.call(op, (tensor, dim), value=value)


def call(maker: GraphMaker, step: steps.CallFunction) -> None:
    function = maker.known.functions[step.function]
    operands = [maker.operand(a) for a in step.arguments]
    if function.kind == "control" or maker.inlines:
        results = maker.function(function, operands)
    else:
        results = call_region(maker, function, operands, step)
    for variable, result in zip(step.results, results, strict=True):
        maker.define(variable, result)


def lay_out(maker: GraphMaker, step: steps.LayOut) -> None:
    """A copy, where it is not plain that the tensor lies so already, in storage of its own."""
    tensor = maker.operand(step.name)
    if tensor in maker.owned and _lies_as(maker, value_of(tensor), step.type):
        return
    copy = maker.empty(step.type)
    maker.call(aten.copy_.default, (copy, tensor), value=value_of(copy))
    maker.define(Value(step.name, step.type), copy)


def _lies_as(maker: GraphMaker, tensor: torch.Tensor, type_: TensorType) -> bool:
    wanted = [maker.known.values.size(e, maker.scope.sizes) for e in (*type_.sizes, *type_.strides)]
    return [*map(str, (*tensor.shape, *tensor.stride()))] == [*map(str, wanted)]


def recorded(maker: GraphMaker, step: steps.Recorded) -> None:
    maker.run(step.steps)


def constant(maker: GraphMaker, step: steps.Constant) -> None:
    maker.define(step.result, step.value)


def arithmetic(maker: GraphMaker, step: steps.HostArithmetic) -> None:
    operands = maker.operand(step.left), maker.operand(step.right)
    maker.define(step.result, maker.arithmetic(_OPERATORS[step.operator], operands))


STEP_NODES: dict[type, Callable[[GraphMaker, Any], None]] = {
    steps.Align: align,
    steps.Alloc: alloc,
    steps.HostArithmetic: arithmetic,
    steps.Branch: branch,
    steps.CallExtern: extern_nodes,
    steps.CallFunction: call,
    steps.Check: check,
    steps.Compute: compute,
    steps.Constant: constant,
    steps.CopyBack: nothing,
    steps.DrawNumbers: draw,
    steps.For: scan,
    steps.Free: nothing,
    steps.LaunchKernel: launch,
    steps.LaunchTuned: tune,
    steps.LayOut: lay_out,
    steps.Recorded: recorded,
    steps.Reuse: reuse,
    steps.Size: size,
    steps.View: view,
    steps.Watch: nothing,
    steps.While: while_loop,
}
