"""The compilation of one graph that Dynamo captured, where the program cache has nothing of it.

In the order in which things happen: rewrites of the captured graph; AOTAutograd traces it.  Without gradients
AOTAutograd asks for one graph to be compiled.  With gradients it asks for the joint graph to be cut, and then
for the forward and the backward graph to be compiled.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config as functorch_config

from ..base.dataclass import dataclass
from ..base.errors import ImportGraphError
from ..base.options import Options
from ..base.remarks import Remarks
from ..cost.devices import hardware_named
from ..frontend.autograd.decompositions import decomposition_table
from ..frontend.autograd.float_quotients import require_no_float_quotients
from ..frontend.autograd.min_cut import partition
from ..frontend.autograd.stand_in import training_step
from ..frontend.autograd.step_data import TrainingStep
from ..frontend.user_kernels.facts import FactsStore
from ..frontend.user_kernels.tracing import user_kernel_facts
from ..fx.eager_dtypes import require_kernels
from ..fx.saved_strides import keep_saved_tensors, kept_strides, mark_donated, report_strides
from ..fx.torch_state import keeps_results
from ..report.torch_trace import TracedCapture, tracing
from ..rewrites.stages import CAPTURED, switched_on
from ..runtime.as_torch import function_of
from ..runtime.cache.places import cache_folder
from ..runtime.overlapping_arguments import with_overlaps
from .calling_convention import called_by_dynamo
from .direct_call import (
    differentiable_results,
    has_subclasses,
    mutated_inputs,
    needs_gradients,
    plain_inputs,
    share_storage,
    written_inputs,
)
from .graph_compilation import compile_graph
from .hooks_guard import leave_out_hooks_guard
from .program import CompiledGraph
from .program_cache import ProgramCache, toolchain
from .program_entry import InferenceLink
from .request import algorithms_of, hardware_model_on, where_it_runs

log = logging.getLogger(__name__)

#: How AOTAutograd begins to say which arguments that share memory it does not handle.
_REFUSES = "aot_autograd() does not yet handle"


def compile_captured(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options, key: str | None
) -> Callable[..., Any]:
    """What Dynamo calls instead of a graph that it captured.  ``key``: its name in the program cache, where
    what becomes of it is linked; None where it has none.
    """
    compilation = CapturedCompilation(
        CapturedFacts.of(example_inputs, where_it_runs(gm, options)[1]), options, key
    )
    return compilation.compile(gm, example_inputs)


@dataclass(frozen=True)
class CapturedFacts:
    """What the inputs of a captured graph, and torch's modes around it, say before it is traced.

    on_gpu: it runs on one.  differentiated: autograd records the graph.  shared: two inputs lie in one
    storage, or may.  inputs: how many there are; None where one is a container or a tensor subclass.
    """

    on_gpu: bool
    differentiated: bool
    autocast: bool
    shared: bool
    inputs: int | None

    @staticmethod
    def of(example_inputs: Sequence[Any], on_gpu: bool) -> "CapturedFacts":
        return CapturedFacts(
            on_gpu,
            needs_gradients(example_inputs),
            torch._C._is_any_autocast_enabled(),
            share_storage(example_inputs),
            plain_inputs(example_inputs),
        )


class CapturedCompilation:
    """Compiles one captured graph.  ``compile`` hands the graph to AOTAutograd, which calls back: without
    gradients ``compile_inference``, with gradients ``cut``, ``compile_forward`` and ``compile_backward``.

    AOTAutograd keeps this object as long as the graph can run, so it must not keep the graph or its inputs.
    """

    def __init__(self, facts: CapturedFacts, options: Options, key: str | None) -> None:
        self._facts, self._options, self._key = facts, options, key
        self._store = FactsStore(cache_folder(options, ".facts"), toolchain) if facts.on_gpu else None
        #: Remarks of rewrites before the graphs of AOTAutograd.  The first of these that is compiled gets
        #: them.
        self._remarks = Remarks()
        #: For torch's trace, where there is one.
        self._traced: TracedCapture | None = None
        #: What Dynamo calls where none of AOTAutograd's wrappers is needed.
        self._direct: Callable[..., Any] | None = None
        #: The inputs that a graph without gradients writes to, where it takes and gives plain tensors; what a
        #: package is made of.
        self.plain: tuple[int, ...] | None = None
        #: As ``mutated_inputs`` says.
        self._mutated: tuple[int, ...] | None = ()
        #: From the cut until the forward graph is compiled.
        self._backward_graph: torch.fx.GraphModule | None = None
        #: The step and the key of the forward program, for the link to both programs.
        self._stored_forward: tuple[TrainingStep, str] | None = None

    def compile(self, gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """Rewrites the captured graph and hands it to AOTAutograd."""
        kind = "forward" if self._facts.differentiated else "inference"
        self._traced = TracedCapture.of(gm) if tracing() else None
        try:
            require_kernels(gm, where_it_runs(gm, self._options)[0] == "cpu")
            require_no_float_quotients(gm)
            CAPTURED.run(gm, switched_on(self._options, kind=kind, on_gpu=False), self._remarks)
        except ImportGraphError as reason:
            if self._options.strict:
                raise
            log.warning("torch runs a whole graph: %s", reason)
            return function_of(gm)
        compiled = aot_autograd(
            fw_compiler=_told_of(self.compile_forward),
            bw_compiler=_told_of(self.compile_backward),
            inference_compiler=_told_of(self.compile_inference),
            partition_fn=self.cut,
            decompositions=decomposition_table(self._facts.differentiated, self._options.random),
            keep_inference_input_mutations=True,
        )
        how = {
            "unlift_effect_tokens": True,  # a graph makes and collects its tokens itself
            # While other threads compile the forward graph's kernels, the backward graph is lowered, and not
            # when it first runs.  Not where a subclass is unwrapped: `keep_saved_tensors` cannot reach all
            # metadata.
            "force_non_lazy_backward_lowering": not has_subclasses(gm, example_inputs),
        }
        with functorch_config.patch(how), user_kernel_facts(self._store):
            try:
                wrapped: Callable[..., Any] = compiled(gm, example_inputs)
            except AssertionError as error:
                if self._options.strict or not (self._facts.shared and _REFUSES in str(error)):
                    raise
                log.warning("torch runs a whole graph whose arguments share memory: %s", error)
                return function_of(gm)
        if keeps_results():
            return wrapped
        call = wrapped if self._direct is None else self._direct
        return with_overlaps(call, gm, example_inputs, self._mutated)

    # --- without gradients
    def compile_inference(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The one graph of a captured graph without gradients."""
        written = self._written_inputs(graph)
        self.plain = written_inputs(graph, self._facts.inputs, sized=True)
        self._mutated = mutated_inputs(self._facts.inputs)
        leave_out_hooks_guard()
        compiled = self._compile(graph, inputs, "inference", self._remarks)
        if written is not None:
            self._direct = called_by_dynamo(compiled.call, written)
            if self._key is not None and compiled.key is not None and not self._facts.differentiated:
                assert self._mutated is not None, "merged inputs are not called directly"
                link = InferenceLink(compiled.key, written, self._mutated)
                ProgramCache(self._options).link(self._key, link)
        return self._called(compiled, graph, inputs)

    def _written_inputs(self, graph: torch.fx.GraphModule) -> tuple[int, ...] | None:
        """The inputs that ``graph`` writes to, where Dynamo may call it directly; else None."""
        facts = self._facts
        written = None if facts.autocast else written_inputs(graph, facts.inputs)
        if written and (facts.shared or facts.differentiated):
            return None  # AOTAutograd guards on what overlaps, and switches grad mode off
        return written

    # --- with gradients
    def cut(
        self, joint: torch.fx.GraphModule, joint_inputs: Sequence[Any], **given: Any
    ) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
        """The forward and the backward graph of the joint graph."""
        device, on_gpu = where_it_runs(joint, self._options)
        on = switched_on(self._options, kind="forward", on_gpu=on_gpu)
        if self._options.products == "auto":
            given["hardware"] = hardware_named(hardware_model_on(device, on_gpu, self._options))
        given["memory_limit"] = self._options.memory_limit
        forward, backward = partition(joint, joint_inputs, on=on, remarks=self._remarks, **given)
        self._backward_graph = backward
        return forward, backward

    def compile_forward(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The forward graph, and what has to be known of both graphs to store the step."""
        step = self._training_step(graph)
        self._mutated = mutated_inputs(self._facts.inputs)
        compiled = self._compile(graph, inputs, "forward", self._remarks)
        if step is not None and compiled.key is not None:
            self._stored_forward = step, compiled.key
        return self._called(compiled, graph, inputs)

    def _training_step(self, forward: torch.fx.GraphModule) -> TrainingStep | None:
        """What is stored of the step beside its programs; None where it cannot be stored."""
        backward, self._backward_graph = self._backward_graph, None
        if self._key is None or self._facts.autocast or backward is None:
            return None
        differentiable = differentiable_results(forward, self._facts.inputs)
        return None if differentiable is None else training_step(forward, backward, differentiable)

    def compile_backward(self, graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The backward graph; with it the step is complete, and linked to its two programs in the cache."""
        donated = keep_saved_tensors()
        if not self._options.cudagraphs:  # a recording writes to no argument
            mark_donated(graph, donated)
        with user_kernel_facts(self._store):  # this may be later than `compile`
            compiled = self._compile(graph, inputs, "backward", Remarks())
        if self._key is not None and compiled.key is not None and self._stored_forward is not None:
            step, forward = self._stored_forward
            ProgramCache(self._options).link_training(self._key, step, forward, compiled.key)
        return self._called(compiled, graph, inputs)

    def _called(
        self, compiled: CompiledGraph, graph: torch.fx.GraphModule, inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        """What AOTAutograd calls of a graph, and where it keeps its results can pickle."""
        if not keeps_results():
            return compiled.call
        from .portable.output_code import FuseOutputCode  # imports Inductor's classes

        return FuseOutputCode(graph, compiled, len(inputs), self._options)

    # --- each graph
    def _compile(
        self, graph: torch.fx.GraphModule, inputs: Sequence[Any], name: str, remarks: Remarks
    ) -> CompiledGraph:
        with algorithms_of(self._options):
            kept = kept_strides(name, padded=self._options.output_strides == "padded")
            compiled = compile_graph(graph, inputs, self._options, name=name, kept=kept, remarks=remarks)
        report_strides(compiled.strides)
        if self._traced is not None:
            self._traced.trace_compiled(graph, compiled.launches)
        return compiled


def _told_of(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """What AOTAutograd calls to compile a graph; a mark of torch's tells where its own cache takes part."""
    if not torch._dynamo.config.caching_precompile:
        return compile_
    from .portable.output_code import serializable

    return serializable(compile_)


__all__ = ["compile_captured"]
