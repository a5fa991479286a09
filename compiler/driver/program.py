"""What a graph became, as plain data that needs no MLIR: enough to run it and to say how it came about."""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.dataclass import dataclass
from ..base.launch import Launch, Unrecorded
from ..base.options import Options
from ..base.remarks import Remarks
from ..base.timing import PassTime, Timing
from ..frontend.importer.interface import Fallback, Output
from ..runtime.gpu.load import PlanKernel
from ..runtime.plans.plan import Partition, Plan
from ..runtime.plans.python_source import python_source

if TYPE_CHECKING:
    import torch

    from ..mlir import ir


#: What ``Fallback.target`` is where torch runs all of a graph.
WHOLE_GRAPH = "the whole graph"


@dataclass(frozen=True)
class Interface:
    """Arguments and results of ``@main`` in terms of AOTAutograd's graph.

    inputs: numbers of the placeholders that are arguments.  constants: names of the tensors that the graph
    holds, the arguments after them.  outputs: where each output of the graph comes from.  results: how many
    ``@main`` has.  strides: of the outputs; None for what is no tensor, or has sizes unknown while compiling.
    """

    inputs: tuple[int, ...]
    constants: tuple[str, ...]
    outputs: tuple[Output, ...]
    results: int
    strides: tuple[tuple[int, ...] | None, ...] = ()
    rebinds: bool = False


@dataclass(frozen=True)
class Account:
    """What ``CompiledGraph`` tells of a compilation; its fields have the same names there."""

    remarks: Remarks
    fallbacks: tuple[Fallback, ...]
    launches_before: int
    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class GpuProgram:
    """A program for a GPU.  ``module``: the final IR as text."""

    interface: Interface
    account: Account
    plan: Plan
    kernels: Mapping[str, PlanKernel]
    module: str = field(repr=False)


@dataclass(frozen=True)
class FinalModule:
    """The final IR of a program and what runs of it.  plan, launchers (of its kernels, by name): None where
    kernels are interpreted.
    """

    module: "ir.Module"
    plan: Plan | None
    launchers: Callable[[], Mapping[str, Callable[..., None]]] | None


@dataclass(frozen=True)
class FxParts:
    """What FX output is made from.  placeholders: how many arguments the graph has.  constants: the tensors
    that it holds, objects: what only this process has, by name.
    """

    interface: Interface
    placeholders: int
    constants: "Mapping[str, torch.Tensor]"
    objects: Mapping[str, Any]
    options: Options
    load: Callable[[], FinalModule]


@dataclass
class CompiledGraph:
    """One compiled graph, as handed to ``options={"on_compiled": f}``.

    name: "inference", "forward" or "backward".  launches_before/after: kernel calls when imported and when
    lowered.
    launches: the kernels and torch ops that run, in order, each with the FX nodes and the user's lines that
    it came from.
    externs: calls of torch ops.  timing: where compile time went, as a tree; ``passes``: what each pass and
    the verifier after it took, in order.  plan: what runs, as data; None on the interpreter.  source: the
    plan's Python, empty on the interpreter.
    cached: the program came from the program cache; no pass ran.  key: the name under which it was looked up
    there, None where the cache is passed by.  call: what runs, a function from the list
    of arguments to the list of results.  interface: what the arguments and results of ``@main`` are to these.
    load_kernels: waits for the compiled kernels of the plan; None on the interpreter.  partitions: the parts
    that ``cudagraphs`` records; unrecorded: the calls that run between them, and why.  strides: of the
    results.  levels: the IR of each level, where option ``report`` is given: its functions by name, as text
    with locations; empty where no pass ran.  rebinds: ``call`` gives arguments other memory.
    """

    name: str
    remarks: Remarks
    fallbacks: list[Fallback]
    launches_before: int
    launches: tuple[Launch, ...]
    timing: Timing
    passes: tuple[PassTime, ...]
    plan: Plan | None = field(repr=False)
    cached: bool
    key: str | None
    load_module: "Callable[[], ir.Module]" = field(repr=False)
    load_fx: "Callable[[], torch.fx.GraphModule]" = field(repr=False)
    interface: Interface = field(repr=False)
    load_kernels: "Callable[[], Mapping[str, PlanKernel]] | None" = field(repr=False)
    call: Callable[[list[Any]], list[Any]] = field(repr=False)
    strides: tuple[tuple[int, ...] | None, ...] = ()
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    rebinds: bool = False

    @cached_property
    def source(self) -> str:
        return "" if self.plan is None else python_source(self.plan)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return () if self.plan is None else self.plan.partitions

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        return () if self.plan is None else self.plan.unrecorded

    @property
    def module(self) -> "ir.Module":
        """The final IR.  MLIR is loaded to read it where the program came from the cache."""
        module = self.load_module()
        self.load_module = lambda: module
        return module

    def fx(self) -> "torch.fx.GraphModule":
        """The program as a ``torch.fx.GraphModule``: takes the arguments of AOTAutograd's graph one by one,
        writes to those that the program mutates, and gives the tuple of its results, to the bit those of the
        launch plan.  Run it under ``torch.no_grad()``.  Made at the first call; the same object every time,
        so where ``output`` is "fx", what is changed in it (and recompiled) is what runs.
        """
        module = self.load_fx()
        self.load_fx = lambda: module
        return module

    def schedule_svg(self, hardware: str = "generic") -> str:
        """A picture of the schedule, as SVG; times are estimates on a hardware model.  Raises ValueError on
        an unknown one.
        """
        from ..cost.devices import hardware_named
        from ..report.schedule import schedule_of
        from ..report.schedule_svg import draw_schedule

        return draw_schedule(schedule_of(self.module), hardware_named(hardware), self.name)

    def dependences_svg(self) -> str:
        """A picture of why the calls run in their order, as SVG: which call has to follow which, and why."""
        from ..report.dependences_svg import draw_dependences

        return draw_dependences(self.module, self.name)

    @property
    def launches_after(self) -> int:
        return sum(launch.kind == "kernel" for launch in self.launches)

    @property
    def externs(self) -> int:
        return sum(launch.kind == "torch" for launch in self.launches)

    @property
    def seconds(self) -> dict[str, float]:
        """Compile time by stage: the branches of ``timing``."""
        return {name: part.seconds for name, part in self.timing.parts.items()}
