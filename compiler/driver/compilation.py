"""From a graph to something that runs: import, passes, kernels.  The half of the backend that needs MLIR.

Loaded only where a program does not come from the cache.
"""

import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from ...passes.manager import Observer, PassManager
from ...passes.observers import DumpIR
from ...passes.pass_base import Pass
from ...passes.pipeline import default_pipeline, level_ends
from ...passes.pipeline_text import parse_pipeline
from ..analysis.program.lifetimes import planned_peak
from ..analysis.program.provenance import kernel_calls, launch_numbers, launches
from ..base.collector import collector_paused
from ..base.errors import CompilerFailed, ImportGraphError
from ..base.hardware import hardware_named
from ..base.launch import Launch, line_text
from ..base.options import OptionError, Options
from ..base.remarks import Remarks
from ..base.timing import PassTime, Timing
from ..codegen.launches import KernelSource, kernel_sources
from ..frontend.importer.importer import ImportedGraph, import_graph
from ..fx.saved_strides import KeptStrides, result_strides
from ..ir.context import make_context
from ..ir.storage import functions_of
from ..mlir import ir
from ..report.schedule import schedule_of
from ..report.schedule_svg import draw_schedule
from ..rewrites.layouts.choose import choose_layouts
from ..rewrites.stages import IMPORTED, switched_on
from ..runtime.cache.places import cache_folder
from ..runtime.checks.launch_watch import LaunchWatch
from ..runtime.checks.numeric_check import NumericVerifier
from ..runtime.cuda_graphs.partitions import partitioned_plan
from ..runtime.gpu.kernel_timer import KernelTimer
from ..runtime.gpu.load import PlanKernel, hardware_name, load_plan, start_kernels
from ..runtime.interpreter.program import InterpretedProgram
from ..runtime.plans.bound_plan import BoundPlan, LaunchPlan
from ..runtime.plans.launch_plan import write_plan
from ..verifier.verifier import VerificationError, verify_level
from .dumps import describe, new_folder
from .program import Account, GpuProgram, Interface
from .program_cache import toolchain
from .tiling_search import TilingSearch


@dataclass
class Compilation:
    """One graph, compiled.  objects: what only this process has, by the name that the module has for it.
    tuned: False where the time of ``autotune`` did not suffice, so that another compilation may do better.
    """

    interface: Interface
    account: Account
    module: ir.Module
    objects: Mapping[str, Any]
    passes: tuple[PassTime, ...]
    executable: "Executable"
    tuned: bool = True

    def program(self, kernels: Mapping[str, PlanKernel]) -> GpuProgram:
        """The program as plain data, for a GPU."""
        assert self.executable.plan is not None, "the interpreter runs the module itself"
        stream = io.BytesIO()
        self.module.operation.write_bytecode(stream)
        return GpuProgram(
            self.interface,
            self.account,
            self.executable.plan,
            kernels,
            stream.getvalue(),
        )


def compile_program(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str,
    kept: KeptStrides,
    device: str,
    on_gpu: bool,
    static: Collection[int] = (),
    timing: Timing,
    remarks: Remarks,
) -> Compilation:
    """Compiles ``gm``; see ``backend.compile_graph``.  ``static``: numbers of the placeholders whose address
    never changes, for CUDA graphs.  ``remarks``: what was done to the graph before; the rest is added.

    Raises ``ImportGraphError`` for a graph that no module can hold, ``OptionError`` and ``OSError`` for what
    the options ask, and ``CompilerFailed`` for everything else: ``gm`` is whole then, and torch can run it.
    """
    with timing.measured("import"), collector_paused():
        on = switched_on(options, kind=name, on_gpu=on_gpu)
        choose_layouts(gm, example_inputs, on=on, kept=kept, remarks=remarks)
        IMPORTED.run(gm, on, remarks)
    try:
        return _compile_rewritten(gm, example_inputs, options, name, device, on_gpu, static, timing, remarks)
    except (ImportGraphError, OptionError, OSError):
        raise
    except Exception as error:
        raise CompilerFailed(error=f"{type(error).__name__}: {error}") from error


def _compile_rewritten(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    name: str,
    device: str,
    on_gpu: bool,
    static: Collection[int],
    timing: Timing,
    remarks: Remarks,
) -> Compilation:
    """Compiles a graph that is not rewritten any more."""
    with timing.measured("import"), collector_paused():
        imported = import_graph(
            gm,
            example_inputs,
            context=make_context(),
            device=device,
            strict=options.strict,
            recovers=options.recovers,
        )
    module = imported.module
    remarks.items += imported.remarks.items
    launches_before = kernel_calls(module)
    folder = None if options.dump is None else new_folder(Path(options.dump), name)
    observers: list[Observer] = [] if folder is None else [DumpIR(folder)]
    if options.verify == "numeric":
        observers.append(
            NumericVerifier(constants=list(imported.constants.values()), objects=imported.objects)
        )
    with (
        _search(options, folder, device)
        if on_gpu and options.autotune
        else contextlib.nullcontext() as search
    ):
        observers += [search] if search is not None else []
        tiles = str(search.table) if search is not None else ""
        passes = _passes(options, on_gpu, tiles)
        if folder is not None and not passes:
            DumpIR(folder).before_any(module)
        level = _level(options, on_gpu)
        ends = (
            [len(passes) - 1] if options.pipeline is not None else level_ends(level, tiles, options.rounding)
        )
        manager = PassManager(
            passes,
            options.verify in ("on", "numeric"),
            observers,
            checkpoints=ends if options.verify == "levels" else (),
        )
        with timing.measured("passes"), collector_paused(), _hint(options):
            manager.run(module, remarks)
    with timing.measured("passes"), collector_paused(), _hint(options):
        if options.pipeline is None and options.verify != "off":
            verify_level(module, _level(options, on_gpu))
    for time in manager.times:
        part = timing.part("passes").add(time.name, time.run + time.verify)
        if time.verify:
            part.add("verify", time.verify)
    ran = launches(module)
    with timing.measured("kernels"):
        fixed = _fixed_arguments(imported, static)
        program = executable(
            module,
            imported.objects,
            options,
            on_gpu=on_gpu,
            kind=name,
            static=fixed,
            calls=ran,
            timing=timing.part("kernels"),
        )
    if folder is not None:
        program.dump(folder)
        hardware = hardware_named(_hardware(options, on_gpu))
        (folder / "schedule.svg").write_text(draw_schedule(schedule_of(module), hardware, name))
        describe(folder, _about(launches_before, ran))
    return Compilation(
        Interface(
            imported.inputs,
            tuple(imported.constants),
            imported.output_spec,
            _results(module),
            result_strides(gm),
        ),
        Account(remarks, imported.fallbacks, launches_before, ran),
        module,
        imported.objects,
        tuple(manager.times),
        program,
        search is None or search.complete,
    )


@dataclass
class Executable:
    """What runs a lowered module.  ``run`` takes ``@main``'s arguments as a list and gives all its results.

    plan: the launch plan; None on the interpreter.  sources: what Triton compiles, by launch.  Kernels are
    compiled in other threads and loaded at the first call; each of ``when_loaded`` gets them then.
    """

    run: Callable[[list[Any]], list[Any]]
    plan: BoundPlan | None = None
    sources: Mapping[str, KernelSource] = field(default_factory=dict)
    when_loaded: list[Callable[[Mapping[str, PlanKernel]], None]] = field(default_factory=list)

    def dump(self, folder: Path) -> None:
        """Writes ``plan.py`` and a ``.ttir`` file for each kernel."""
        if self.plan is not None:
            (folder / "plan.py").write_text(self.plan.source)
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
        watched = _watched(module, options)
        return Executable(InterpretedProgram(module, objects=objects, watched=watched, checked=False))
    with timing.measured("print"):
        sources = kernel_sources(module)
    with timing.measured("plan"):
        if options.cudagraphs:
            plan = partitioned_plan(module, static)
        else:
            plan = write_plan(module, options.watched)
        if options.check_memory:
            plan = replace(plan, peak=planned_peak(module))
    what_runs = launches(module) if calls is None else calls
    wait = start_kernels(plan, sources, options)
    made = Executable(lambda args: args, plan, sources)

    def load() -> Callable[[list[Any]], list[Any]]:
        with timing.measured("wait for Triton"):
            kernels = wait()
        for kernel in kernels.values():
            # threads: their sum may exceed what the step took
            part = timing.part("wait for Triton").part(kernel.cubin.name)
            for stage, milliseconds in kernel.cubin.timings_ms.items():
                part.seconds += part.add(stage, milliseconds / 1e3).seconds
        with timing.measured("load"):
            run = load_plan(plan, kernels, objects, options, kind, what_runs)
        for use in made.when_loaded:
            use(kernels)
        made.when_loaded.clear()
        return run

    made.run = LaunchPlan.at_first_call(plan, load)
    return made


def _about(launches_before: int, ran: Sequence[Launch]) -> str:
    """One line that tells a graph from others in a dump."""
    kernels, torch_ops = (sum(launch.kind == kind for launch in ran) for kind in ("kernel", "torch"))
    lines = list(dict.fromkeys(line_text(line) for launch in ran for line in launch.lines))
    where = f"; lines {', '.join(lines[:3])}{', ..' if len(lines) > 3 else ''}" if lines else ""
    return f"{launches_before} kernels became {kernels}, beside {torch_ops} torch ops{where}"


def _results(module: ir.Module) -> int:
    """How many results ``@main`` has."""
    type_ = ir.TypeAttr(functions_of(module)["main"].attributes["function_type"]).value
    return len(ir.FunctionType(type_).results)


def _watched(module: ir.Module, options: Options) -> dict[ir.Operation, Callable[..., None]]:
    """What the interpreter calls after each launch."""
    if not options.watched:
        return {}
    watch = LaunchWatch(launches(module), options.check_values, options.synchronous)
    return {op: partial(watch, number) for op, number in launch_numbers(module).items()}


def _fixed_arguments(imported: ImportedGraph, static: Collection[int]) -> frozenset[int]:
    """The arguments of ``@main`` that are static placeholders or tensors that the graph holds."""
    count = len(imported.inputs)
    kept = {number for number, placeholder in enumerate(imported.inputs) if placeholder in static}
    return frozenset(kept | set(range(count, count + len(imported.constants))))


def empty_module() -> ir.Module:
    """Stands for a graph that no module can hold."""
    with make_context(), ir.Location.unknown():
        return ir.Module.create()


def read_module(bytecode: bytes) -> ir.Module:
    """The module that ``Compilation.program`` wrote."""
    with make_context(), ir.Location.unknown():
        return ir.Module.parse(bytecode)


@contextlib.contextmanager
def _hint(options: Options) -> Iterator[None]:
    """Says how to learn which pass broke what the verifier found at the end of a level."""
    try:
        yield
    except VerificationError as error:
        if options.verify == "levels":
            error.add_note('options={"verify": "on"} names the pass after which the module is wrong')
        raise


@contextlib.contextmanager
def _search(options: Options, dump: Path | None, device: str) -> Iterator[TilingSearch]:
    """What measures tiles for a graph; its table lasts as long as the passes, or is part of its dump."""
    index = torch.device(device).index or 0
    identity = f"{torch.cuda.get_device_name(index)} {toolchain()}"
    with TemporaryDirectory() as temporary:
        place = Path(temporary) if dump is None else dump
        timer = KernelTimer(index, options)
        folder = cache_folder(options, ".tile")
        yield TilingSearch(timer, place / "tiles.json", folder, identity, options.autotune_seconds)


def _passes(options: Options, on_gpu: bool, tiles: str = "") -> list[Pass]:
    if options.pipeline is not None:
        return parse_pipeline(options.pipeline)
    return default_pipeline(_level(options, on_gpu), _hardware(options, on_gpu), tiles, options.rounding)


def _hardware(options: Options, on_gpu: bool) -> str:
    """The name of the hardware model.  Raises ``OptionError`` where the option names none."""
    if options.hardware == "auto":
        return hardware_name() if on_gpu else "generic"
    try:
        return hardware_named(options.hardware).name
    except ValueError as error:
        raise OptionError(f"option 'hardware': {error}") from None


def _level(options: Options, on_gpu: bool) -> str:
    """The level that is run."""
    return "planned" if on_gpu else options.interpret_level
