"""What happens on a hit in the program cache: a stored program is loaded, without MLIR and without Triton.

What Dynamo captured is looked up first (``hit_of_captured``):

- without gradients, a hit means that Dynamo calls the stored program.  Neither AOTAutograd nor any rewrite
  runs;
- with gradients, a hit means that AOTAutograd wraps a graph of one op, which stands for the stored training
  step (``frontend/autograd/stand_in.py``).  No rewrite runs.

On a miss AOTAutograd traces the graph and, with gradients, cuts it.  Each graph that it makes is looked up
(``hit_of_graph``), and on a hit AOTAutograd gets the stored program.  The rewrites of the stages
``captured``, ``joint`` and ``keyed`` (``rewrites/stages.py``) and the user's ``fx_pass`` have run before;
others do not run.

``program_cache.py`` says what the keys hold and how entries are read; ``runtime/cache`` is the folder.
"""

import logging
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..base.dataclass import dataclass
from ..base.options import Options
from ..base.timing import Timing
from ..frontend.autograd.stand_in import (
    StandInMismatch,
    StoredStep,
    backward_call,
    cut,
    forward_call,
    stand_in,
)
from ..frontend.autograd.step_data import TrainingStep
from ..fx.graph_text import NotCacheable
from ..fx.saved_strides import keep_saved_tensors, report_strides
from ..runtime.gpu import load
from ..runtime.overlapping_arguments import with_overlaps
from ..runtime.plans.bound_plan import LaunchPlan
from .calling_convention import called_by_dynamo
from .compiled_graph import GraphFacts, compiled_graph, report
from .direct_call import needs_gradients
from .hooks_guard import leave_out_hooks_guard
from .program import CompiledGraph, FinalModule, GpuProgram
from .program_cache import ProgramCache, captured_key, program_key
from .request import Request, where_it_runs

if TYPE_CHECKING:
    from ..mlir import ir

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CapturedLookup:
    """What the cache knows of a captured graph.

    key: the name of the captured graph in the cache; None where it has none.  Then only the graphs that
    AOTAutograd makes of it are looked up.  call: what Dynamo calls; None where the graph has to be compiled.
    """

    key: str | None
    call: Callable[..., Any] | None = None


def hit_of_captured(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> CapturedLookup:
    """Looks up a graph that Dynamo captured."""
    device, on_gpu = where_it_runs(gm, options)
    if not on_gpu:
        return CapturedLookup(None)
    training = needs_gradients(example_inputs)
    timing = Timing("forward" if training else "inference")
    with timing.measured("cache"):
        try:
            key = captured_key(gm, example_inputs, options, device)
        except NotCacheable as reason:
            log.debug("a captured graph is not looked up: %s", reason)
            return CapturedLookup(None)
        cache = ProgramCache(options)
        step = cache.read_training(key) if training else None
        found = cache.read_captured(key, len(example_inputs)) if not training else None
    if step is not None:
        try:
            return CapturedLookup(
                key, _wrapped(gm, example_inputs, StoredTraining(key, *step, options, timing))
            )
        except StandInMismatch as reason:
            log.warning("a stored training step is passed by: %s", reason)
    if found is None:
        return CapturedLookup(key)
    program, link = found
    compiled = load_program(program, GraphFacts("inference", key, len(example_inputs), timing), options)
    report(compiled, options)
    leave_out_hooks_guard()
    call = called_by_dynamo(compiled.call, link.written)
    return CapturedLookup(key, with_overlaps(call, gm, example_inputs, link.mutated))


def hit_of_graph(request: Request) -> tuple[str | None, CompiledGraph | None]:
    """Looks up a graph of AOTAutograd: its name in the cache, None where it has none, and the graph with its
    stored program, None where it has to be compiled.
    """
    if not request.on_gpu:
        return None, None
    with request.timing.measured("cache"):
        key = _key(request)
        program = ProgramCache(request.options).read(key, request.placeholders) if key is not None else None
    if program is None:
        return key, None
    facts = GraphFacts(request.name, key, request.placeholders, request.timing, request.gm)
    return key, load_program(program, facts, request.options)


def _key(request: Request) -> str | None:
    try:
        return program_key(
            request.gm, request.example_inputs, request.options, request.device, request.static, request.kept
        )
    except NotCacheable as reason:
        log.info("%s: the program cache is passed by: %s", request.name, reason)
        return None


def load_program(program: GpuProgram, facts: GraphFacts, options: Options) -> CompiledGraph:
    """The graph of a stored program, whose kernels are loaded here."""

    def module() -> "ir.Module":
        from ..runtime.module_text import read_module

        return read_module(program.module)

    def final() -> FinalModule:
        return FinalModule(module(), plan, lambda: load.load_kernels(plan, program.kernels))

    def run_plan() -> Callable[[list[Any]], list[Any]]:
        return load.load_plan(plan, program.kernels, {}, options, facts.name, program.account.launches)

    plan = program.plan
    with facts.timing.measured("load"):
        run = LaunchPlan.at_first_call(plan, run_plan) if options.output == "fx" else run_plan()
    call, fx = facts.boxed(run, program.interface), facts.fx_parts(program.interface, options, final)
    return compiled_graph(
        facts,
        program.account,
        program.interface,
        plan,
        call,
        module,
        fx,
        kernels=lambda: program.kernels,
        cached=True,
    )


@dataclass(frozen=True)
class StoredTraining:
    """A stored training step, whose programs are loaded when they are first asked for.

    key: the name of the captured graph in the cache.  timing: of the forward program.
    """

    key: str
    step: TrainingStep
    forward_program: GpuProgram
    backward_program: GpuProgram
    options: Options
    timing: Timing

    @cached_property
    def forward(self) -> CompiledGraph:
        inputs = len(self.step.gradients)
        return self._loaded(self.forward_program, GraphFacts("forward", self.key, inputs, self.timing))

    @cached_property
    def backward(self) -> CompiledGraph:
        inputs = len(self.step.saved) + sum(self.step.differentiable)
        return self._loaded(
            self.backward_program, GraphFacts("backward", self.key, inputs, Timing("backward"))
        )

    def _loaded(self, program: GpuProgram, facts: GraphFacts) -> CompiledGraph:
        with unset_fake_temporarily():  # AOTAutograd asks for programs under fake tensors
            compiled = load_program(program, facts, self.options)
        report(compiled, self.options)
        return compiled


def _wrapped(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], stored: StoredTraining
) -> Callable[..., Any]:
    """What Dynamo calls: the programs of a training step, wrapped by AOTAutograd.  Raises ``StandInMismatch``
    where AOTAutograd makes other graphs of the stand-in than were stored.
    """
    programs = StoredStep(
        stored.step, lambda args: stored.forward.call(args), lambda args: stored.backward.call(args)
    )
    wrapped: Callable[..., Any] = aot_autograd(
        fw_compiler=partial(_forward_of_stand_in, stored, programs),
        bw_compiler=partial(_backward_of_stand_in, stored, programs),
        inference_compiler=_refuse,
        partition_fn=cut,
    )(stand_in(gm, programs, stored.key), example_inputs)
    return wrapped


def _forward_of_stand_in(
    stored: StoredTraining, programs: StoredStep, graph: torch.fx.GraphModule, inputs: Sequence[Any]
) -> Callable[..., Any]:
    call, numbers = forward_call(graph.graph, programs)
    strides = stored.forward.strides
    report_strides(tuple(strides[number] for number in numbers))
    return call


def _backward_of_stand_in(
    stored: StoredTraining, programs: StoredStep, graph: torch.fx.GraphModule, inputs: Sequence[Any]
) -> Callable[..., Any]:
    keep_saved_tensors()
    _ = stored.backward  # loaded now, and not in the first backward pass
    return backward_call(graph.graph, programs)


def _refuse(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    raise StandInMismatch("AOTAutograd sees no gradients")


__all__ = ["CapturedLookup", "hit_of_captured", "hit_of_graph", "load_program"]
