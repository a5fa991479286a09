"""The torch.compile backend: what Dynamo captured -> AOTAutograd -> ``graph_compilation.py``.

``torch.compile(model, backend="fuse", options={...})`` calls ``fuse`` through the entry point
``torch_dynamo_backends``.  AOTAutograd functionalises and splits the captured graph (min-cut partitioner);
each of its graphs goes through ``compile_graph``.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config as functorch_config
from torch._subclasses.fake_tensor import unset_fake_temporarily

from .base.collector import collector_paused
from .base.options import Options
from .base.remarks import Remarks
from .base.timing import Timing
from .driver.direct_call import (
    differentiable_results,
    direct_call,
    has_subclasses,
    needs_gradients,
    plain_inputs,
    share_storage,
    written_inputs,
)
from .driver.graph_compilation import compile_graph, graph_device, load_program, report, runs_on_gpu
from .driver.program import CompiledGraph, GpuProgram
from .driver.program_cache import ProgramCache, captured_key
from .frontend.autograd.decompositions import decomposition_table
from .frontend.autograd.min_cut import partition
from .frontend.autograd.stand_in import (
    StandInMismatch,
    StoredStep,
    TrainingStep,
    backward_call,
    cut,
    forward_call,
    stand_in,
    training_step,
)
from .fx.graph_text import NotCacheable
from .fx.saved_strides import keep_saved_tensors, kept_strides, report_strides
from .rewrites.stages import CAPTURED, switched_on
from .runtime.cache.places import check_cache_dir
from .runtime.deterministic import deterministic_algorithms
from .runtime.plans.bound_plan import LaunchPlan

log = logging.getLogger(__name__)

__all__ = ["fuse"]


def fuse(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend's entry point.  Raises ``OptionError`` on an unknown mode or option; what it returns runs
    the graph.
    """
    chosen = Options.of(options, mode)
    check_cache_dir(chosen)
    with _algorithms(chosen), collector_paused():
        return _compile_captured(gm, example_inputs, chosen)


def _algorithms(options: Options) -> AbstractContextManager[None]:
    """What the importer and the attention rewrite find when they ask torch for its algorithms."""
    return deterministic_algorithms() if options.deterministic else nullcontext()


def _compile_captured(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], chosen: Options
) -> Callable[..., Any]:
    captured, stored = _from_cache(gm, example_inputs, chosen)
    if stored is not None:
        return stored
    told = Remarks()  #: of rewrites before there are graphs to compile: the first of these tells them
    direct: list[Callable[..., Any]] = []
    cuts: dict[str, Any] = {}  #: what was learnt of the two graphs of a training step
    differentiated = needs_gradients(example_inputs)
    kind = "forward" if differentiated else "inference"
    CAPTURED.run(gm, switched_on(chosen, kind=kind, on_gpu=False), told)
    shared = share_storage(example_inputs)
    autocast = torch._C._is_any_autocast_enabled()
    plain = plain_inputs(example_inputs)  # AOTAutograd keeps the compilers, which must not keep the inputs

    def compiler(name: str) -> Callable[..., Any]:
        def compile_one(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
            written = written_inputs(graph, plain) if name == "inference" and not autocast else None
            if written and (shared or differentiated):
                written = None  # AOTAutograd guards on what overlaps, and switches grad mode off
            step = None
            if name == "forward" and captured is not None and not autocast:
                step = _training_step(graph, cuts.pop("backward"), plain)
            if name == "backward":
                keep_saved_tensors()
            with _algorithms(chosen):
                kept = kept_strides(name, padded=chosen.output_strides == "padded")
                before = Remarks() if name == "backward" else told
                compiled = compile_graph(graph, inputs, chosen, name=name, kept=kept, remarks=before)
            report_strides(compiled.strides)
            call = compiled.call
            if written is not None:
                direct.append(_direct(call, written))
            if captured is not None and compiled.key is not None:
                if written is not None and not differentiated:
                    ProgramCache(chosen).link(captured, compiled.key, written)
                if step is not None:
                    cuts["forward"] = step, compiled.key
                if name == "backward" and "forward" in cuts:
                    first, forward = cuts["forward"]
                    ProgramCache(chosen).link_training(captured, first, forward, compiled.key)
            return call

        return compile_one

    def part(joint: torch.fx.GraphModule, joint_inputs: Sequence[Any], **given: Any) -> Any:
        on_gpu = runs_on_gpu(graph_device(joint), chosen)
        epilogues = chosen.library_epilogues(on_gpu)
        both = partition(joint, joint_inputs, epilogues=epilogues, remarks=told, **given)
        cuts["backward"] = both[1]
        return both

    compiled = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=part,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )
    how = {
        "unlift_effect_tokens": True,  # a graph makes and collects its tokens itself
        # While other threads compile the forward graph's kernels, the backward graph is lowered, and not when
        # it first runs.  Not where a subclass is unwrapped: `keep_saved_tensors` cannot reach all metadata.
        "force_non_lazy_backward_lowering": not has_subclasses(gm, example_inputs),
    }
    with functorch_config.patch(how):
        wrapped: Callable[..., Any] = compiled(gm, example_inputs)
    return direct[0] if direct else wrapped


def _direct(call: Callable[[list[Any]], list[Any]], written: tuple[int, ...]) -> Callable[..., Any]:
    """What Dynamo calls where no wrapper of AOTAutograd is needed.  ``written``: as in ``direct_call``."""
    return call.of_arguments() if isinstance(call, LaunchPlan) and not written else direct_call(call, written)


def _training_step(
    forward: torch.fx.GraphModule, backward: torch.fx.GraphModule, inputs: int | None
) -> TrainingStep | None:
    differentiable = differentiable_results(forward, inputs)
    if differentiable is None:
        return None
    return training_step(forward, backward, differentiable)


def _from_cache(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> tuple[str | None, Callable[..., Any] | None]:
    """The name of a captured graph in the program cache, None where only what AOTAutograd makes of it has
    one, and what Dynamo calls where what it became is there.
    """
    device = graph_device(gm)
    if not runs_on_gpu(device, options):
        return None, None
    training = needs_gradients(example_inputs)
    timing = Timing("forward" if training else "inference")
    with timing.measured("cache"):
        try:
            key = captured_key(gm, example_inputs, options, device)
        except NotCacheable as reason:
            log.debug("a captured graph is not looked up: %s", reason)
            return None, None
        cache = ProgramCache(options)
        trained = cache.read_training(key) if training else None
        found = cache.read_captured(key) if not training else None
    if trained is not None:
        try:
            return key, _stand_in(gm, example_inputs, options, key, *trained, timing)
        except StandInMismatch as reason:
            log.warning("a stored training step is passed by: %s", reason)
    if found is None:
        return key, None
    compiled = load_program(found[0], options, "inference", timing, key, len(example_inputs))
    report(compiled, options)
    return key, _direct(compiled.call, found[1])


def _stand_in(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    key: str,
    step: TrainingStep,
    forward: GpuProgram,
    backward: GpuProgram,
    timing: Timing,
) -> Callable[..., Any]:
    """What Dynamo calls: the programs of a training step, wrapped by AOTAutograd."""
    inputs, tangents = len(example_inputs), sum(step.differentiable)

    @cache
    def load(name: str) -> CompiledGraph:
        with unset_fake_temporarily():  # AOTAutograd asks for them under fake tensors
            if name == "forward":
                compiled = load_program(forward, options, name, timing, key, inputs)
            else:
                compiled = load_program(
                    backward, options, name, Timing(name), key, len(step.saved) + tangents
                )
        report(compiled, options)
        return compiled

    programs = StoredStep(
        step, lambda args: load("forward").call(args), lambda args: load("backward").call(args)
    )

    def compile_forward(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        call, numbers = forward_call(graph.graph, programs)
        strides = load("forward").strides
        report_strides(tuple(strides[number] for number in numbers))
        return call

    def compile_backward(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        keep_saved_tensors()
        load("backward")
        return backward_call(graph.graph, programs)

    def refuse(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        raise StandInMismatch("AOTAutograd sees no gradients")

    wrapped: Callable[..., Any] = aot_autograd(
        fw_compiler=compile_forward,
        bw_compiler=compile_backward,
        inference_compiler=refuse,
        partition_fn=cut,
    )(stand_in(gm, programs, key), example_inputs)
    return wrapped
