"""One graph of AOTAutograd: frontend -> passes -> runtime, or what the program cache has of it."""

import logging
from collections.abc import Callable, Sequence
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ..base.errors import CompilerFailed, ImportGraphError
from ..base.options import OptionError, Options
from ..base.remarks import Remarks
from ..base.timing import PassTime, Timing
from ..frontend.importer.interface import Fallback, OutputArgument, OutputConstant, OutputResult
from ..fx.graph_text import NotCacheable, held
from ..fx.saved_strides import ALL_KEPT, KeptStrides, result_strides
from ..rewrites.stages import GRAPH, KEYED, Switch, switched_on
from ..runtime.as_torch import run_as_torch
from ..runtime.cuda_graphs.trees import static_placeholders
from ..runtime.gpu.load import load_plan
from ..runtime.plans.bound_plan import BoundPlan, LaunchPlan
from .program import Account, CompiledGraph, GpuProgram, Interface
from .program_cache import ProgramCache, program_key

if TYPE_CHECKING:
    from ..mlir import ir

log = logging.getLogger(__name__)

__all__ = ["compile_graph", "graph_device", "load_program", "report", "runs_on_gpu"]


@unset_fake_temporarily()  # AOTAutograd compiles under fake tensors; the constants of a program are real ones
def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str = "graph",
    kept: KeptStrides = ALL_KEPT,
    remarks: Remarks | None = None,
) -> CompiledGraph:
    """Compiles one post-AOTAutograd graph (functional, decomposed by ``decomposition_table``, metadata in
    ``meta["val"]``).

    kept: which results must have the strides of their metadata; ``strides`` of what is returned says those of
    all.  remarks: what was done to the graph before; a graph from the cache tells what it was stored with.
    Raises ``UnsupportedOp`` with ``strict``, and what a builder, a pass or the verifier says of an internal
    error where ``Options.recovers`` is false.
    """
    timing, told = Timing(name), Remarks() if remarks is None else remarks
    KEYED.run(gm, (Switch.ALWAYS,), told)
    if options.fx_pass is not None:
        _run_fx_pass(gm, options.fx_pass, name)
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
        compiled = load_program(program, options, name, timing, key, placeholders, gm)
    else:
        compiled = _compile(
            gm, example_inputs, options, name, device, on_gpu, static, key, timing, kept, told
        )
    report(compiled, options)
    return compiled


def _run_fx_pass(gm: torch.fx.GraphModule, fx_pass: Callable[..., Any], name: str) -> None:
    """The user's pass over the FX graph.  Raises ``OptionError`` where it leaves a graph that is none."""
    before = _interface(gm.graph)
    fx_pass(gm.graph)
    after = _interface(gm.graph)
    what = None
    if after != before:
        parts = ("arguments", "output nodes", "results")
        was, now = (
            ", ".join(f"{n} {part}" for n, part in zip(counts, parts, strict=True))
            for counts in (before, after)
        )
        what = f"it had {was}, it has {now}"
    else:
        try:
            gm.graph.lint()
            gm.recompile()
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            what = str(error)
    if what is not None:
        raise OptionError(f"the fx_pass {getattr(fx_pass, '__name__', fx_pass)} broke {name}: {what}")


def _interface(graph: torch.fx.Graph) -> tuple[int, int, int]:
    """How many arguments, output nodes and results a graph has."""
    outputs = graph.find_nodes(op="output")
    results = [node.args[0] for node in outputs if node.args]
    listed = [r for r in results if isinstance(r, (tuple, list))]
    return len(graph.find_nodes(op="placeholder")), len(outputs), sum(map(len, listed))


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


def load_program(
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
    remarks: Remarks,
) -> CompiledGraph:
    with timing.measured("load the compiler"):
        from .compilation import compile_program
    guards = _guards(gm)
    GRAPH.run(gm, switched_on(options, kind=name, on_gpu=on_gpu), remarks)
    try:
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
            remarks=remarks,
        )
    except ImportGraphError as reason:
        if options.strict:
            raise
        return _as_torch(gm, name, str(reason), timing)
    except CompilerFailed as failure:
        assert failure.__cause__ is not None
        if not options.recovers:
            raise failure.__cause__ from None
        return _as_torch(gm, name, str(failure), timing, failure.__cause__)
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


def _as_torch(
    gm: torch.fx.GraphModule, name: str, reason: str, timing: Timing, error: BaseException | None = None
) -> CompiledGraph:
    """A graph that no module can hold, of quantised or sparse tensors for instance, or that the compiler
    fails on with ``error``: torch runs all of it.
    """
    from .compilation import empty_module

    log.warning("%s: torch runs the whole graph: %s", name, reason, exc_info=error)
    account = Account(Remarks(), (Fallback("the whole graph", reason, name),), 0, ())
    strides = result_strides(gm)
    call = run_as_torch(gm, strides)
    return _told(name, account, Interface((), (), (), 0, strides), None, call, timing, empty_module)


def _told(
    name: str,
    account: Account,
    interface: Interface,
    plan: BoundPlan | None,
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
    passed_on = [o.index for o in outputs if isinstance(o, OutputArgument)]
    as_it_is = in_order and plain and not constants and len(inputs) == placeholders
    if as_it_is and isinstance(run, LaunchPlan):
        return run  # it empties the list itself

    def call(args: list[Any]) -> list[Any]:
        given = [*(args if in_order and len(args) == len(inputs) else [args[i] for i in inputs]), *constants]
        passed = [args[i] for i in passed_on]
        args.clear()
        return pick([*run(given), *passed])

    def call_as_it_is(args: list[Any]) -> list[Any]:
        results = run(args)
        args.clear()
        return results

    chosen = call_as_it_is if as_it_is else call
    chosen._boxed_call = True  # type: ignore[attr-defined]
    return chosen


def _outputs(interface: Interface) -> Callable[[list[Any]], list[Any]]:
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


def report(compiled: CompiledGraph, options: Options) -> None:
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
