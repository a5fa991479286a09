"""From a graph to something that runs: layouts, import, passes (``lowering.py``), launch plan, kernels.

The half of the driver that needs MLIR: it is imported only where a program does not come from the cache.  It
imports the interpreter and the reports of a dump where it needs them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..analysis.program.lifetimes import planned_peak
from ..analysis.program.provenance import kernel_calls, launch_calls, launch_numbers, launches
from ..base.collector import collector_paused
from ..base.dataclass import dataclass
from ..base.errors import CompilerFailed, ImportGraphError, ProgramError
from ..base.launch import Launch, line_text
from ..base.options import OptionError, Options
from ..base.timing import PassTime, Timing
from ..codegen.launches import KernelSource, kernel_sources
from ..frontend.importer.importer import ImportedGraph, import_graph
from ..fx.saved_strides import result_strides
from ..ir.chosen_tiles import take_tiles
from ..ir.context import make_context
from ..ir.storage import functions_of
from ..mlir import ir
from ..rewrites.layouts.choose import choose_layouts
from ..rewrites.stages import IMPORTED, switched_on
from ..runtime.checks.launch_watch import LaunchWatch
from ..runtime.cuda_graphs.partitions import partitioned_plan
from ..runtime.gpu import load as gpu
from ..runtime.gpu.load import PlanKernel, load_plan, start_kernels
from ..runtime.kernels.triton_compile import TritonCompileError
from ..runtime.module_text import module_text
from ..runtime.plans.bound_plan import LaunchPlan
from ..runtime.plans.extern_function import bind_externs
from ..runtime.plans.make_plan import make_plan
from ..runtime.plans.plan import Plan
from ..runtime.plans.plan_text import plan_text
from ..runtime.plans.python_source import python_source
from ..runtime.profiler_ranges import range_name
from ..runtime.rng import RngState
from .dumps import describe, new_folder
from .lowering import lower
from .program import Account, GpuProgram, Interface
from .request import Request
from .spilled_tiles import SpilledTiles


@dataclass
class Compilation:
    """One graph, compiled.

    objects: objects of this process that extern ops take (sub-graphs, Triton kernels), by their names in the
    module.  tuned: False where the search of ``autotune`` ran out of time; such a program is not stored.
    """

    interface: Interface
    account: Account
    module: ir.Module
    objects: Mapping[str, Any]
    passes: tuple[PassTime, ...]
    executable: "Executable"
    levels: Mapping[str, Mapping[str, str]]
    tuned: bool = True

    def program(self, kernels: Mapping[str, PlanKernel]) -> GpuProgram:
        """The program as plain data, for a GPU."""
        assert self.executable.plan is not None, "the interpreter runs the module itself"
        return GpuProgram(
            self.interface, self.account, self.executable.plan, kernels, module_text(self.module)
        )


def compile_program(request: Request) -> Compilation:
    """Chooses layouts, imports the graph, runs the passes and writes what launches the kernels.

    Raises ``ImportGraphError`` for a graph that no module can hold, ``OptionError`` and ``OSError`` for what
    the options ask, ``ProgramError`` for what the program asks, and ``CompilerFailed`` for everything else.
    Torch can still run the graph then; only what the rewrites raise, which may leave it half rewritten, is
    raised as it is.
    """
    _rewrite(request)
    try:
        return _compile_rewritten(request)
    except (ImportGraphError, OptionError, OSError, ProgramError):
        raise
    except Exception as error:
        raise CompilerFailed(error=f"{type(error).__name__}: {error}") from error


def _rewrite(request: Request) -> None:
    """The last rewrites of the FX graph: layouts, and those that need the final strides."""
    gm, remarks = request.gm, request.remarks
    on = switched_on(request.options, kind=request.name, on_gpu=request.on_gpu)
    with request.timing.measured("import"), collector_paused():
        choose_layouts(gm, request.example_inputs, on=on, kept=request.kept, remarks=remarks)
        IMPORTED.run(gm, on, remarks)


def _compile_rewritten(request: Request) -> Compilation:
    """Imports the graph, which nothing rewrites any more, lowers the module, and makes it executable.  Where
    the tile of a product takes more registers or shared memory than there are, which Triton's compilation
    shows, this is done again with another tile.
    """
    dump = None if request.options.dump is None else new_folder(Path(request.options.dump), request.name)
    remarks_before = len(request.remarks.items)
    tried = SpilledTiles(request.hardware.shared_bytes)
    while True:
        imported = _import(request)
        module = imported.module
        launches_before = kernel_calls(module)
        lowered = lower(request, imported, dump, tried.spills)
        tiles = take_tiles(module)
        ran = launches(module)
        program = _executable(request, imported, ran)
        products = program.products()
        taken = [(program.sources[name].product, kernel.cubin) for name, kernel in products.items()]
        if request.options.pipeline is not None or not tried.learn(taken, tiles, _revocable(program, ran)):
            break
        del request.remarks.items[remarks_before:]
    request.remarks.items += tried.remarks
    if dump is not None:
        from ..report.dependences_svg import draw_dependences
        from ..report.schedule import schedule_of
        from ..report.schedule_svg import draw_schedule

        program.dump(dump)
        schedule = draw_schedule(schedule_of(module), request.hardware, request.name)
        (dump / "schedule.svg").write_text(schedule)
        (dump / "dependences.svg").write_text(draw_dependences(module, request.name))
        describe(dump, _about(launches_before, ran))
    return Compilation(
        _interface(request, imported),
        Account(request.remarks, imported.fallbacks, launches_before, ran),
        module,
        imported.objects,
        lowered.passes,
        program,
        lowered.levels,
        lowered.tuned,
    )


def _revocable(program: "Executable", calls: Sequence[Launch]) -> dict[str, set[str]]:
    """By the name of a kernel with products, the FX nodes of those that may be the library's after all."""
    found: dict[str, set[str]] = {}
    for launch in calls:
        if launch.name in program.sources:
            nodes = (node for choice in launch.choices if choice.revocable for node in choice.nodes)
            found.setdefault(program.sources[launch.name].product, set()).update(nodes)
    return found


def _import(request: Request) -> ImportedGraph:
    options = request.options
    with request.timing.measured("import"), collector_paused():
        imported = import_graph(
            request.gm,
            request.example_inputs,
            context=make_context(),
            device=request.device,
            strict=options.strict,
            recovers=options.recovers,
            random=options.random,
            given=request.name == "backward",
        )
    request.remarks.items += imported.remarks.items
    return imported


def _interface(request: Request, imported: ImportedGraph) -> Interface:
    """Arguments and results of ``@main`` in terms of AOTAutograd's graph."""
    type_ = ir.TypeAttr(functions_of(imported.module)["main"].attributes["function_type"]).value
    return Interface(
        imported.inputs,
        tuple(imported.constants),
        imported.output_spec,
        len(ir.FunctionType(type_).results),
        result_strides(request.gm),
    )


def _executable(request: Request, imported: ImportedGraph, calls: tuple[Launch, ...]) -> "Executable":
    """What runs the lowered module.  ``calls``: its launches."""
    with request.timing.measured("kernels"):
        return executable(
            imported.module,
            imported.objects,
            request.options,
            on_gpu=request.on_gpu,
            kind=request.name,
            static=_fixed_arguments(imported, request.static),
            calls=calls,
            timing=request.timing.part("kernels"),
        )


@dataclass
class Executable:
    """What runs a lowered module.  ``run`` takes ``@main``'s arguments as a list and gives all its results.

    plan: the launch plan; None on the interpreter.  sources: what Triton compiles, by launch.  Kernels are
    compiled in other threads and loaded at the first call; each of ``when_loaded`` gets them then.
    launchers: loads them, too, and gives what launches each; None where they are interpreted.  products:
    waits for kernels that multiply tiles, and gives them.  kernels: the same for all; None where they are
    interpreted.
    """

    run: Callable[[list[Any]], list[Any]]
    plan: Plan | None = None
    sources: Mapping[str, KernelSource] = field(default_factory=dict)
    launchers: Callable[[], Mapping[str, Callable[..., None]]] | None = None
    when_loaded: list[Callable[[Mapping[str, PlanKernel]], None]] = field(default_factory=list)
    products: Callable[[], Mapping[str, PlanKernel]] = dict
    kernels: Callable[[], Mapping[str, PlanKernel]] | None = None

    def dump(self, folder: Path) -> None:
        """Writes ``plan.txt``, ``plan.py`` and a ``.ttir`` file for each kernel."""
        if self.plan is not None:
            (folder / "plan.txt").write_text(plan_text(self.plan))
            (folder / "plan.py").write_text(python_source(self.plan))
        for name, kernel in self.sources.items():
            (folder / f"{name}.ttir").write_text(kernel.text)


def executable(
    module: ir.Module,
    objects: Mapping[str, Any],
    options: Options,
    *,
    on_gpu: bool,
    kind: str = "inference",
    static: Collection[int] = (),
    calls: Sequence[Launch] | None = None,
    timing: Timing | None = None,
) -> Executable:
    """A launch plan for a planned module on the GPU, else the interpreter.

    kind, static: for CUDA graphs, what the graph is to autograd, and which arguments of ``@main`` never
    change their address.  calls: ``launches(module)``, where it is known.  timing: gets the time of each
    step.
    """
    timing = Timing("kernels") if timing is None else timing
    if not on_gpu:
        if options.output == "fx":
            return _planned_on_cpu(module, objects)
        from ..runtime.interpreter.program import InterpretedProgram

        watched, ranges = _watched(module, options), _ranges(module, options)
        return Executable(
            InterpretedProgram(module, objects=objects, watched=watched, ranges=ranges, checked=False)
        )
    with timing.measured("print"):
        sources = kernel_sources(module)
    with timing.measured("plan"):
        if options.cudagraphs:
            plan = partitioned_plan(module, static)
        else:
            plan = make_plan(module, options.watched)
        if options.check_memory:
            plan = replace(plan, peak=planned_peak(module))
    what_runs = launches(module) if calls is None else calls
    wait = start_kernels(plan, sources, options)
    made = Executable(lambda args: args, plan, sources)

    @cache
    def compiled() -> Mapping[str, PlanKernel]:
        budget = options.compile_budget
        with timing.measured("wait for Triton"), nullcontext() if budget is None else budget.spending():
            kernels = wait()
        for kernel in kernels.values():
            # threads: their sum may exceed what the step took
            part = timing.part("wait for Triton").part(kernel.cubin.name)
            for stage, milliseconds in kernel.cubin.timings_ms.items():
                part.seconds += part.add(stage, milliseconds / 1e3).seconds
        if budget is not None:
            budget.compiled(kind, timing, what_runs)
            budget.check_seconds()
        return kernels

    def used(kernels: Mapping[str, PlanKernel]) -> None:
        for use in made.when_loaded:
            use(kernels)
        made.when_loaded.clear()

    def load() -> Callable[[list[Any]], list[Any]]:
        kernels = compiled()
        with timing.measured("load"):
            run = load_plan(plan, kernels, objects, options, kind, what_runs)
        used(kernels)
        return run

    def launchers() -> Mapping[str, Callable[..., None]]:
        kernels = compiled()
        found = gpu.load_kernels(plan, kernels)
        used(kernels)
        return found

    def products() -> Mapping[str, PlanKernel]:
        names = [name for name, source in sources.items() if source.product]
        try:
            with timing.measured("wait for products"):
                return wait(names) if names else {}
        except TritonCompileError:  # the first call raises it
            return {}

    made.launchers = launchers
    made.products = products
    made.kernels = compiled
    made.run = LaunchPlan.at_first_call(plan, load)
    return made


def _planned_on_cpu(module: ir.Module, objects: Mapping[str, Any]) -> Executable:
    """The launch plan of a planned module, with kernels that are interpreted."""
    from ..runtime.interpreter.launchers import interpreted_launchers

    plan = make_plan(module)

    def load() -> LaunchPlan:
        launchers = interpreted_launchers(module)
        return LaunchPlan.bind(plan, launchers, bind_externs(plan, objects), RngState().draw)

    run = LaunchPlan.at_first_call(plan, load)
    return Executable(run, plan, kernel_sources(module))


def _about(launches_before: int, ran: Sequence[Launch]) -> str:
    """One line that tells a graph from others in a dump."""
    kernels, torch_ops = (sum(launch.kind == kind for launch in ran) for kind in ("kernel", "torch"))
    lines = list(dict.fromkeys(line_text(line) for launch in ran for line in launch.lines))
    where = f"; lines {', '.join(lines[:3])}{', ..' if len(lines) > 3 else ''}" if lines else ""
    return f"{launches_before} kernels became {kernels}, beside {torch_ops} torch ops{where}"


def _watched(module: ir.Module, options: Options) -> dict[ir.Operation, Callable[..., None]]:
    """What the interpreter calls after each launch."""
    if not options.watched:
        return {}
    watch = LaunchWatch(launches(module), options.check_values, options.synchronous)
    return {op: partial(watch, number) for op, number in launch_numbers(module).items()}


def _ranges(module: ir.Module, options: Options) -> dict[ir.Operation, str]:
    """The names of the ranges that profilers show around the calls of the interpreter."""
    if not options.profiler_range:
        return {}
    return {op: range_name(launch.name, launch.lines) for op, launch in launch_calls(module)}


def _fixed_arguments(imported: ImportedGraph, static: Collection[int]) -> frozenset[int]:
    """The arguments of ``@main`` that are static placeholders or tensors that the graph holds."""
    count = len(imported.inputs)
    kept = {number for number, placeholder in enumerate(imported.inputs) if placeholder in static}
    return frozenset(kept | set(range(count, count + len(imported.constants))))


def empty_module() -> ir.Module:
    """Stands for a graph that no module can hold."""
    with make_context(), ir.Location.unknown():
        return ir.Module.create()
