"""From a graph to something that runs: import, passes, kernels.  The half of the backend that needs MLIR.

Loaded only where a program does not come from the cache.
"""

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..passes.manager import Observer, PassManager
from ..passes.observers import DumpIR
from ..passes.pass_base import Pass
from ..passes.pipeline import default_pipeline
from ..passes.pipeline_text import parse_pipeline
from .analysis.provenance import kernel_calls, launches
from .analysis.storage import callees
from .codegen.launches import KernelSource, kernel_sources
from .collector import collector_paused
from .context import make_context
from .dialects.verifier import verify_level
from .frontend.importer import ImportedGraph, import_graph
from .mlir import ir
from .options import Options
from .program import Account, GpuProgram, Interface
from .runtime.bound_plan import Plan
from .runtime.gpu import Kernel, compile_kernels, hardware_name, load_plan
from .runtime.graph_partitions import partitioned_plan
from .runtime.interpreter import Program
from .runtime.launch_plan import write_plan
from .runtime.numeric_check import NumericVerifier
from .timing import PassTime, Timing


@dataclass
class Compilation:
    """One graph, compiled.  objects: what only this process has, by the name that the module has for it."""

    interface: Interface
    account: Account
    module: ir.Module
    objects: Mapping[str, Any]
    passes: tuple[PassTime, ...]
    executable: "Executable"

    def program(self) -> GpuProgram | None:
        """The program as plain data; None for the interpreter's."""
        if self.executable.plan is None:
            return None
        stream = io.BytesIO()
        self.module.operation.write_bytecode(stream)
        return GpuProgram(
            self.interface,
            self.account,
            self.executable.plan,
            self.executable.kernels,
            stream.getvalue(),
        )


def compile_program(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    *,
    name: str,
    device: str,
    on_gpu: bool,
    static: Collection[int] = (),
    timing: Timing,
) -> Compilation:
    """Compiles ``gm``; see ``backend.compile_graph``.  ``static``: numbers of the placeholders whose address
    never changes, for CUDA graphs.
    """
    with timing.measured("import"), collector_paused():
        context = make_context()
        imported = import_graph(gm, example_inputs, context=context, device=device, strict=options.strict)
    module, remarks = imported.module, imported.remarks
    launches_before = kernel_calls(module)
    observers: list[Observer] = []
    if options.dump is not None:
        observers.append(DumpIR(Path(options.dump) / name))
    if options.verify == "numeric":
        observers.append(
            NumericVerifier(constants=list(imported.constants.values()), objects=imported.objects)
        )
    manager = PassManager(_passes(options, on_gpu), options.verify != "off", observers)
    with timing.measured("passes"), collector_paused():
        manager.run(module, remarks)
        if options.pipeline is None and options.verify != "off":
            verify_level(module, _level(options, on_gpu))
    for time in manager.times:
        timing.part("passes").add(time.name, time.run + time.verify).add("verify", time.verify)
    with timing.measured("kernels"):
        fixed = _fixed_arguments(imported, static)
        program = executable(module, imported.objects, options, on_gpu=on_gpu, kind=name, static=fixed)
    if options.dump is not None:
        program.dump(Path(options.dump) / name)
    return Compilation(
        Interface(imported.inputs, tuple(imported.constants), imported.output_spec, _results(module)),
        Account(remarks, imported.fallbacks, launches_before, launches(module)),
        module,
        imported.objects,
        tuple(manager.times),
        program,
    )


@dataclass
class Executable:
    """What runs a lowered module.  ``run`` takes ``@main``'s arguments as a list and gives all its results.

    plan, kernels: the launch plan and what it launches; None and empty on the interpreter.  sources: what
    Triton compiled, by launch.
    """

    run: Callable[[list[Any]], list[Any]]
    plan: Plan | None = None
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    sources: Mapping[str, KernelSource] = field(default_factory=dict)

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
) -> Executable:
    """A launch plan for a planned module on the GPU, else the interpreter.

    kind, static: for CUDA graphs, what the graph is to autograd, and which arguments of ``@main`` never
    change their address.
    """
    if not on_gpu:
        return Executable(Program(module, objects=objects))
    plan = partitioned_plan(module, static) if options.cudagraphs else write_plan(module)
    sources = kernel_sources(module)
    kernels = compile_kernels(plan, sources, options)
    return Executable(load_plan(plan, kernels, objects, options, kind), plan, kernels, sources)


def _results(module: ir.Module) -> int:
    """How many results ``@main`` has."""
    type_ = ir.TypeAttr(callees(module)["main"].attributes["function_type"]).value
    return len(ir.FunctionType(type_).results)


def _fixed_arguments(imported: ImportedGraph, static: Collection[int]) -> frozenset[int]:
    """The arguments of ``@main`` that are static placeholders or tensors that the graph holds."""
    count = len(imported.inputs)
    kept = {number for number, placeholder in enumerate(imported.inputs) if placeholder in static}
    return frozenset(kept | set(range(count, count + len(imported.constants))))


def read_module(bytecode: bytes) -> ir.Module:
    """The module that ``Compilation.program`` wrote."""
    with make_context(), ir.Location.unknown():
        return ir.Module.parse(bytecode)


def _passes(options: Options, on_gpu: bool) -> list[Pass]:
    if options.pipeline is not None:
        return parse_pipeline(options.pipeline)
    hardware = options.hardware if options.hardware != "auto" else (hardware_name() if on_gpu else "generic")
    return default_pipeline(_level(options, on_gpu), hardware)


def _level(options: Options, on_gpu: bool) -> str:
    """The level that is run."""
    return "planned" if on_gpu else options.interpret_level
