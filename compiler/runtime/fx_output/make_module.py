"""The ``GraphModule`` of a launch plan: takes the arguments of AOTAutograd's graph and gives its results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.fx import GraphModule

from ..plans.plan import Plan
from ..plans.steps import LaunchKernel
from .graph_maker import GraphMaker, Known
from .kernels import KernelText, Launcher, add_kernel, once
from .step_nodes import STEP_NODES


def fx_module(
    plan: Plan,
    sources: Mapping[str, KernelText],
    load: Callable[[], Mapping[str, Launcher]],
    device: str,
    *,
    objects: Mapping[str, Any],
    hints: Mapping[str, int],
    placeholders: int,
    inputs: Sequence[int],
    constants: Mapping[str, Tensor],
    results: Callable[[list[Any], list[Any]], list[Any]],
) -> GraphModule:
    """The module of a plan.

    sources: of kernels, by the plan's names.  load: gives what launches them, which is asked for at the first
    launch.  device: where they run.  objects: what only this process has, by the plan's names.  hints: a
    value for each size.
    placeholders: how many arguments the module has.  inputs: which of them the plan takes.  constants: the
    tensors that it takes after them, by name.  results: of the module, from those of the plan and the
    module's arguments.
    """
    written = {s.kernel: s.written for s in plan.steps() if isinstance(s, LaunchKernel)}
    launcher = once(load)
    kernels = {
        kernel.name: add_kernel(
            sources[kernel.name],
            kernel.parameters,
            written[kernel.name],
            device,
            lambda name=kernel.name: launcher(name),  # type: ignore[misc]
        )
        for kernel in plan.kernels
    }
    maker = GraphMaker(Known(plan, kernels, objects, STEP_NODES))
    parameters = plan.main.parameters
    sizes = {
        p.name: maker.known.values.argument(p.name, hints.get(p.name, 2))
        for p in parameters
        if p.type == "index"
    }
    maker.scope.sizes.update(sizes)
    values = [sizes[p.name] if p.name in sizes else maker.new_value(p.type) for p in parameters]
    of_placeholder = dict(zip(inputs, zip(parameters, values, strict=False), strict=False))
    arguments = []
    for number in range(placeholders):
        if number in of_placeholder:
            parameter, value = of_placeholder[number]
            arguments.append(maker.placeholder(parameter.name, value))
        else:
            arguments.append(maker.placeholder(f"unused_{number}", None))
    given = [arguments[number] for number in inputs]
    for name, value in zip(constants, values[len(inputs) :], strict=True):
        given.append(maker.attribute(name, constants[name], value))
    returned = maker.function(plan.main, given)
    return maker.module(tuple(results(returned, arguments)))
