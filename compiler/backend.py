"""The torch.compile backend: AOTAutograd -> frontend -> passes -> runtime.

``torch.compile(model, backend="fuse", options={...})`` calls ``fuse`` through the entry point
``torch_dynamo_backends``.  AOTAutograd
functionalises and splits the captured graph (min-cut partitioner); each of its graphs goes through
``compile_graph``.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import unset_fake_temporarily

from .collector import collector_paused
from .direct_call import (
    differentiable_results,
    direct_call,
    needs_gradients,
    plain_inputs,
    share_storage,
    written_inputs,
)
from .frontend.attention import fuse_attention
from .frontend.attention_layout import lay_out_queries
from .frontend.attention_mask_layout import lay_out_masks
from .frontend.attention_masks import simplify_masks
from .frontend.decompositions import decomposition_table
from .frontend.embedding_gradients import compact_embedding_gradients
from .frontend.gathers import sink_gathers
from .frontend.graph_text import NotCacheable, held
from .frontend.interface import OutputResult
from .frontend.one_hot import sum_one_hots
from .frontend.partition import partition
from .frontend.product_epilogues import fuse_epilogues
from .frontend.saved_strides import ALL_KEPT, KeptStrides, kept_strides, report_strides
from .frontend.stand_in import (
    StandInMismatch,
    StoredStep,
    TrainingStep,
    backward_call,
    cut,
    forward_call,
    stand_in,
    training_step,
)
from .options import Options
from .program import Account, CompiledGraph, GpuProgram, Interface
from .program_cache import ProgramCache, captured_key, program_key
from .runtime.bound_plan import LaunchPlan, Plan
from .runtime.cuda_graphs import static_placeholders
from .runtime.deterministic import deterministic_algorithms
from .runtime.gpu import load_plan
from .timing import PassTime, Timing

if TYPE_CHECKING:
    from .mlir import ir

log = logging.getLogger(__name__)

__all__ = ["CompiledGraph", "compile_graph", "fuse", "graph_device"]


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
    if chosen.attention:
        fuse_attention(gm)
        lay_out_queries(gm)
        simplify_masks(gm)
        lay_out_masks(gm)

    direct: list[Callable[..., Any]] = []
    cuts: dict[str, Any] = {}  #: what was learnt of the two graphs of a training step
    differentiated = needs_gradients(example_inputs)
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
            with _algorithms(chosen):  # a backward graph is compiled when it first runs
                kept = kept_strides(name, padded=chosen.output_strides == "padded")
                compiled = compile_graph(graph, inputs, chosen, name=name, kept=kept)
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
        both = partition(joint, joint_inputs, epilogues=chosen.library_epilogues(on_gpu), **given)
        cuts["backward"] = both[1]
        return both

    wrapped: Callable[..., Any] = aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=part,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )(gm, example_inputs)
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
    compiled = _load(found[0], options, "inference", timing, key, len(example_inputs))
    _report(compiled, options)
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
                compiled = _load(forward, options, name, timing, key, inputs)
            else:
                compiled = _load(backward, options, name, Timing(name), key, len(step.saved) + tangents)
        _report(compiled, options)
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


@unset_fake_temporarily()  # AOTAutograd compiles under fake tensors; the constants of a program are real ones
def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str = "graph",
    kept: KeptStrides = ALL_KEPT,
) -> CompiledGraph:
    """Compiles one post-AOTAutograd graph (functional, decomposed by ``decomposition_table``, metadata in
    ``meta["val"]``).

    kept: which results must have the strides of their metadata; ``strides`` of what is returned says those of
    all.
    Raises ``UnsupportedOp`` with ``strict``, and what a pass, the verifier or Triton says of an internal
    error.
    """
    timing = Timing(name)
    if options.fx_pass is not None:
        options.fx_pass(gm.graph)
        gm.recompile()
    device = graph_device(gm)
    on_gpu = runs_on_gpu(device, options)
    static = static_placeholders(gm, name) if options.cudagraphs else frozenset()
    key, program = None, None
    if on_gpu:
        with timing.measured("cache"):
            key = _key(gm, example_inputs, options, device, name, static, kept)
            program = ProgramCache(options).read(key) if key is not None else None
    if program is not None:
        placeholders = len(gm.graph.find_nodes(op="placeholder"))
        compiled = _load(program, options, name, timing, key, placeholders, gm)
    else:
        compiled = _compile(gm, example_inputs, options, name, device, on_gpu, static, key, timing, kept)
    _report(compiled, options)
    return compiled


def _key(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    device: str,
    name: str,
    static: frozenset[int],
    kept: KeptStrides,
) -> str | None:
    try:
        return program_key(gm, example_inputs, options, device, static, kept)
    except NotCacheable as reason:
        log.info("%s: the program cache is passed by: %s", name, reason)
        return None


def _load(
    program: GpuProgram,
    options: Options,
    name: str,
    timing: Timing,
    key: str | None,
    placeholders: int,
    gm: torch.fx.GraphModule | None = None,
) -> CompiledGraph:
    """A program from the cache: neither MLIR nor Triton is loaded.  ``placeholders``: how many its graph has.
    ``gm``: the graph, which holds the program's constants if there are any.
    """

    def module() -> "ir.Module":
        from .compilation import read_module

        return read_module(program.module)

    with timing.measured("load"):
        run = load_plan(program.plan, program.kernels, {}, options, name, program.account.launches)
    call = _boxed(run, program.interface, placeholders, gm)
    return _told(
        name, program.account, program.interface, program.plan, call, timing, module, key=key, cached=True
    )


def _compile(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    name: str,
    device: str,
    on_gpu: bool,
    static: frozenset[int],
    key: str | None,
    timing: Timing,
    kept: KeptStrides,
) -> CompiledGraph:
    with timing.measured("load the compiler"):
        from .compilation import compile_program
    guards = _guards(gm)
    sink_gathers(gm)
    sum_one_hots(gm)
    compact_embedding_gradients(gm)
    if options.library_epilogues(on_gpu):
        fuse_epilogues(gm)
    done = compile_program(
        gm,
        example_inputs,
        options,
        name=name,
        kept=kept,
        device=device,
        on_gpu=on_gpu,
        static=static,
        timing=timing,
    )
    if key is not None and not done.objects and done.tuned and _guards(gm) == guards:
        done.executable.when_loaded.append(
            lambda kernels: ProgramCache(options).write(key, done.program(kernels))
        )
    placeholders = len(gm.graph.find_nodes(op="placeholder"))
    call = _boxed(done.executable.run, done.interface, placeholders, gm)
    plan = done.executable.plan
    return _told(
        name,
        done.account,
        done.interface,
        plan,
        call,
        timing,
        lambda: done.module,
        key=key,
        passes=done.passes,
    )


def _told(
    name: str,
    account: Account,
    interface: Interface,
    plan: Plan | None,
    call: Callable[[list[Any]], list[Any]],
    timing: Timing,
    load_module: "Callable[[], ir.Module]",
    *,
    key: str | None = None,
    passes: tuple[PassTime, ...] = (),
    cached: bool = False,
) -> CompiledGraph:
    """What is told of a graph, compiled or from the cache; ``plan`` is None on the interpreter."""
    return CompiledGraph(
        name=name,
        remarks=account.remarks,
        fallbacks=list(account.fallbacks),
        launches_before=account.launches_before,
        launches=account.launches,
        timing=timing,
        passes=passes,
        source="" if plan is None else plan.source,
        cached=cached,
        key=key,
        load_module=load_module,
        call=call,
        strides=interface.strides,
        partitions=() if plan is None else plan.partitions,
        unrecorded=() if plan is None else plan.unrecorded,
    )


def _guards(gm: torch.fx.GraphModule) -> int:
    """How many guards the sizes of a graph have: one that a compilation adds would be missing after a hit."""
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.shape_env is not None:
            return len(value.node.shape_env.guards)
    return 0


def runs_on_gpu(device: str, options: Options) -> bool:
    """Whether a graph on ``device`` is launched; else the interpreter runs it."""
    return device.startswith("cuda") and options.execute == "auto"


def graph_device(gm: torch.fx.GraphModule) -> str:
    """The device of a graph, captured by Dynamo or made by AOTAutograd: that of the first CUDA tensor in it,
    else "cpu".
    """
    for node in gm.graph.nodes:
        value = node.meta.get("val", node.meta.get("example_value"))
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
                return f"cuda:{tensor.device.index or 0}"
    return "cpu"


def _boxed(
    run: Callable[[list[Any]], list[Any]],
    interface: Interface,
    placeholders: int,
    gm: torch.fx.GraphModule | None,
) -> Callable[[list[Any]], list[Any]]:
    """AOTAutograd's calling convention: takes (and empties) a list of arguments, gives the flat list of
    outputs.

    ``@main`` takes the placeholders that have a value when it runs, then the tensors that ``gm`` holds; its
    results also hold the mutated arguments.
    """
    inputs, outputs = interface.inputs, interface.outputs
    constants = [held(gm, name) for name in interface.constants] if gm is not None else []
    in_order = inputs == tuple(range(len(inputs)))
    plain = outputs == tuple(OutputResult(i) for i in range(interface.results))
    pick = _outputs(interface)
    as_it_is = in_order and plain and not constants and len(inputs) == placeholders
    if as_it_is and isinstance(run, LaunchPlan):
        return run  # it empties the list itself

    def call(args: list[Any]) -> list[Any]:
        given = [*(args if in_order and len(args) == len(inputs) else [args[i] for i in inputs]), *constants]
        args.clear()
        return pick(run(given))

    def call_as_it_is(args: list[Any]) -> list[Any]:
        results = run(args)
        args.clear()
        return results

    chosen = call_as_it_is if as_it_is else call
    chosen._boxed_call = True  # type: ignore[attr-defined]
    return chosen


def _outputs(interface: Interface) -> Callable[[list[Any]], list[Any]]:
    """From the results of ``@main`` to the outputs of the graph, which a training graph has hundreds of."""
    fixed = [o.value for o in interface.outputs if not isinstance(o, OutputResult)]
    after = count(interface.results)
    places = [o.index if isinstance(o, OutputResult) else next(after) for o in interface.outputs]
    if len(places) < 2:  # `itemgetter` gives one item as it is
        return lambda results: [[*results, *fixed][place] for place in places]
    pick = itemgetter(*places)
    return lambda results: [*pick([*results, *fixed])]


def _report(compiled: CompiledGraph, options: Options) -> None:
    compiled.timing.seconds = sum(compiled.seconds.values())
    log.info(
        "%s: %d kernels -> %d launches, %d torch ops (%d fallbacks); %s",
        compiled.name,
        compiled.launches_before,
        compiled.launches_after,
        compiled.externs,
        len(compiled.fallbacks),
        ", ".join(f"{stage} {s:.2f} s" for stage, s in compiled.seconds.items()),
    )
    if options.cudagraphs:
        recorded, between = len(compiled.partitions), len(compiled.unrecorded)
        log.info("%s: %d CUDA graphs, %d calls run between them", compiled.name, recorded, between)
        for call in compiled.unrecorded:
            log.info("%s: not recorded: %s", compiled.name, call)
    if log.isEnabledFor(logging.DEBUG):
        for number, launch in enumerate(compiled.launches):
            log.debug("%s: launch %d: %s", compiled.name, number, launch)
        log.debug("%s: the module that runs:\n%s", compiled.name, compiled.module)
        if compiled.source:
            log.debug("%s: the program that launches it:\n%s", compiled.name, compiled.source)
        if options.remarks == "none":
            log.debug("%s: remarks:\n%s", compiled.name, compiled.remarks.render("text"))
    if options.remarks != "none":
        log.info("%s", compiled.remarks.render(options.remarks))
    if options.on_compiled is not None:
        options.on_compiled(compiled)
