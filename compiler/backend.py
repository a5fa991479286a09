"""The torch.compile backend: AOTAutograd -> frontend -> passes -> runtime.

``torch.compile(model, backend="fuse", options={...})`` calls ``fuse`` through the entry point
``torch_dynamo_backends``.  AOTAutograd
functionalises and splits the captured graph (min-cut partitioner); each of its graphs goes through
``compile_graph``.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..passes.manager import Observer, PassManager, PassTime
from ..passes.observers import DumpIR
from ..passes.pass_base import Pass
from ..passes.pipeline import default_pipeline
from ..passes.pipeline_text import parse_pipeline
from .analysis.provenance import Launch, launches
from .analysis.remarks import Remarks
from .codegen.launches import KernelSource, kernel_sources
from .collector import collector_paused
from .context import make_context
from .dialects.verifier import verify_level
from .frontend.attention import fuse_attention
from .frontend.attention_layout import lay_out_queries
from .frontend.attention_masks import simplify_masks
from .frontend.decompositions import decomposition_table
from .frontend.gathers import sink_gathers
from .frontend.importer import ImportedGraph, OutputResult, import_graph
from .mlir import ir
from .options import Options
from .runtime.gpu import bind_plan, hardware_name
from .runtime.interpreter import Program
from .runtime.launch_plan import write_plan
from .runtime.numeric_check import NumericVerifier

log = logging.getLogger(__name__)


@dataclass
class CompiledGraph:
    """One compiled graph, as handed to ``options={"on_compiled": f}``.

    name: "inference", "forward" or "backward".  module: the final IR.  launches_before/after: kernel calls
    when imported and when lowered.
    launches: the kernels and torch ops that run, in order, each with the FX nodes and the user's lines that
    it came from.
    externs: calls of torch ops.  seconds: compile time by stage; ``passes``: what each pass and the verifier
    after it took of ``seconds["passes"]``, in order.  call: what runs, a function from the list of arguments
    to the list of results.
    """

    name: str
    module: ir.Module
    remarks: Remarks
    fallbacks: list[Any]
    launches_before: int
    launches_after: int
    launches: tuple[Launch, ...]
    externs: int
    seconds: dict[str, float]
    passes: tuple[PassTime, ...]
    source: str
    call: Callable[[list[Any]], list[Any]] = field(repr=False)


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
    if chosen.attention:
        fuse_attention(gm)
        lay_out_queries(gm)
        simplify_masks(gm)

    def compiler(name: str) -> Callable[..., Any]:
        return lambda graph, inputs: compile_graph(graph, inputs, chosen, name=name).call

    return aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )(gm, example_inputs)


@unset_fake_temporarily()  # AOTAutograd compiles under fake tensors; the constants of a program are real ones
def compile_graph(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options, *, name: str = "graph"
) -> CompiledGraph:
    """Compiles one post-AOTAutograd graph (functional, decomposed by ``decomposition_table``, metadata in
    ``meta["val"]``).

    Raises ``UnsupportedOp`` with ``strict``, and what a pass, the verifier or Triton says of an internal
    error.
    """
    seconds: dict[str, float] = {}
    clock = _Clock(seconds)
    if options.fx_pass is not None:
        options.fx_pass(gm.graph)
        gm.recompile()
    device = graph_device(gm)
    on_gpu = device.startswith("cuda") and options.execute == "auto"
    with clock("import"), collector_paused():
        context = make_context()
        sink_gathers(gm)
        imported = import_graph(gm, example_inputs, context=context, device=device, strict=options.strict)
    remarks = imported.remarks
    launches_before = _count(launches(imported.module), "kernel")
    observers: list[Observer] = []
    if options.dump is not None:
        observers.append(DumpIR(Path(options.dump) / name))
    if options.verify == "numeric":
        observers.append(
            NumericVerifier(constants=list(imported.constants.values()), objects=imported.objects)
        )
    manager = PassManager(_passes(options, on_gpu), options.verify != "off", observers)
    with clock("passes"), collector_paused():
        manager.run(imported.module, remarks)
        if options.pipeline is None and options.verify != "off":
            verify_level(imported.module, _level(options, on_gpu))
    with clock("kernels"):
        program = executable(imported.module, imported.objects, options, on_gpu=on_gpu)
    if options.dump is not None:
        program.dump(Path(options.dump) / name)
    run = launches(imported.module)
    compiled = CompiledGraph(
        name=name,
        module=imported.module,
        remarks=remarks,
        fallbacks=list(imported.fallbacks),
        launches_before=launches_before,
        launches_after=_count(run, "kernel"),
        launches=run,
        externs=_count(run, "torch"),
        seconds=seconds,
        passes=tuple(manager.times),
        source=program.source,
        call=_boxed(program.run, imported),
    )
    _report(compiled, options)
    return compiled


@dataclass
class Executable:
    """What runs a lowered module.  ``run`` takes ``@main``'s arguments as a list and gives all its results.

    source: the launch plan's Python, empty on the interpreter.  kernels: what Triton compiled, by launch.
    """

    run: Callable[[list[Any]], list[Any]]
    source: str = ""
    kernels: Mapping[str, KernelSource] = field(default_factory=dict)

    def dump(self, folder: Path) -> None:
        """Writes ``plan.py`` and a ``.ttir`` file for each kernel."""
        if self.source:
            (folder / "plan.py").write_text(self.source)
        for name, kernel in self.kernels.items():
            (folder / f"{name}.ttir").write_text(kernel.text)


def executable(
    module: ir.Module, objects: Mapping[str, Any], options: Options, *, on_gpu: bool
) -> Executable:
    """A launch plan for a planned module on the GPU, else the interpreter."""
    if not on_gpu:
        return Executable(Program(module, objects=objects))
    plan, kernels = write_plan(module), kernel_sources(module)
    return Executable(bind_plan(plan, kernels, module, objects, options), plan.source, kernels)


def graph_device(gm: torch.fx.GraphModule) -> str:
    """The device of a graph: that of the first CUDA tensor in it, else "cpu"."""
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cuda":
                return f"cuda:{tensor.device.index or 0}"
    return "cpu"


def _passes(options: Options, on_gpu: bool) -> list[Pass]:
    if options.pipeline is not None:
        return parse_pipeline(options.pipeline)
    hardware = options.hardware if options.hardware != "auto" else (hardware_name() if on_gpu else "generic")
    return default_pipeline(_level(options, on_gpu), hardware)


def _level(options: Options, on_gpu: bool) -> str:
    """The level that is run."""
    return "planned" if on_gpu else options.interpret_level


def _boxed(
    run: Callable[[list[Any]], list[Any]], imported: ImportedGraph
) -> Callable[[list[Any]], list[Any]]:
    """AOTAutograd's calling convention: takes (and empties) a list of arguments, gives the flat list of
    outputs.

    ``@main`` takes the placeholders that have a value when it runs, then the lifted constants; its results
    also hold the mutated arguments.
    """
    inputs, constants, outputs = imported.inputs, list(imported.constants.values()), imported.output_spec
    in_order = inputs == tuple(range(len(inputs)))

    def call(args: list[Any]) -> list[Any]:
        given = [*(args if in_order and len(args) == len(inputs) else [args[i] for i in inputs]), *constants]
        args.clear()
        results = run(given)
        return [results[o.index] if isinstance(o, OutputResult) else o.value for o in outputs]

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _count(calls: Sequence[Launch], kind: str) -> int:
    return sum(call.kind == kind for call in calls)


def _report(compiled: CompiledGraph, options: Options) -> None:
    log.info(
        "%s: %d kernels -> %d launches, %d torch ops (%d fallbacks); %s",
        compiled.name,
        compiled.launches_before,
        compiled.launches_after,
        compiled.externs,
        len(compiled.fallbacks),
        ", ".join(f"{stage} {s:.2f} s" for stage, s in compiled.seconds.items()),
    )
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


class _Clock:
    """``with clock("stage"):`` adds the stage's wall time."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def __call__(self, stage: str) -> "_Clock":
        self.stage = stage
        return self

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + time.perf_counter() - self.start
