"""From ``@main`` to AOTAutograd's calling convention: a function that takes, and empties, a list of arguments
and gives the flat list of a graph's outputs.
"""

from collections.abc import Callable, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

import torch

from ..frontend.importer.interface import OutputArgument, OutputConstant, OutputResult
from ..runtime.plans.bound_plan import LaunchPlan
from .direct_call import direct_call
from .program import Interface


def boxed(
    run: Callable[[list[Any]], list[Any]],
    interface: Interface,
    placeholders: int,
    constants: Sequence[torch.Tensor] = (),
) -> Callable[[list[Any]], list[Any]]:
    """What AOTAutograd calls.  ``run``: calls ``@main``.  ``placeholders``: how many the graph has.
    ``constants``: the tensors that the graph holds and ``@main`` takes.

    ``@main`` takes the placeholders that have a value when it runs, then the ``constants``; its
    results also hold the mutated arguments.
    """
    inputs, outputs = interface.inputs, interface.outputs
    in_order = len(inputs) == placeholders  # a graph's placeholders are numbered in order
    plain = outputs == tuple(OutputResult(i) for i in range(interface.results))
    pick = pick_outputs(interface)
    passed = passed_on(interface)
    as_it_is = in_order and plain and not constants
    if as_it_is and isinstance(run, LaunchPlan):
        return run  # it empties the list itself

    def call(args: list[Any]) -> list[Any]:
        given = [*(args if in_order else [args[i] for i in inputs]), *constants]
        kept = [args[i] for i in passed]
        args.clear()
        return pick([*run(given), *kept])

    def call_as_it_is(args: list[Any]) -> list[Any]:
        results = run(args)
        args.clear()
        return results

    chosen = call_as_it_is if as_it_is else call
    chosen._boxed_call = True  # type: ignore[attr-defined]
    return chosen


def pick_outputs(interface: Interface) -> Callable[[list[Any]], list[Any]]:
    """From the results of ``@main``, and the arguments that the graph passes on, to the outputs of the graph,
    which a training graph has hundreds of.
    """
    fixed = [o.value for o in interface.outputs if isinstance(o, OutputConstant)]
    passed = count(interface.results)
    after = count(interface.results + sum(isinstance(o, OutputArgument) for o in interface.outputs))
    places = [
        o.index if isinstance(o, OutputResult) else next(passed if isinstance(o, OutputArgument) else after)
        for o in interface.outputs
    ]
    if len(places) < 2:  # `itemgetter` gives one item as it is
        return lambda results: [[*results, *fixed][place] for place in places]
    pick = itemgetter(*places)
    return lambda results: [*pick([*results, *fixed])]


def passed_on(interface: Interface) -> list[int]:
    """The arguments of the graph that are outputs and nothing else."""
    return [o.index for o in interface.outputs if isinstance(o, OutputArgument)]


def called_by_dynamo(call: Callable[[list[Any]], list[Any]], written: tuple[int, ...]) -> Callable[..., Any]:
    """What Dynamo calls where no wrapper of AOTAutograd is needed.  ``written``: as in ``direct_call``."""
    return call.of_arguments() if isinstance(call, LaunchPlan) and not written else direct_call(call, written)


__all__ = ["boxed", "called_by_dynamo", "passed_on", "pick_outputs"]
