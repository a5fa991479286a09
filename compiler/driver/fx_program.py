"""A compiled program as FX output.  Loaded only where that is asked for."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from ...passes.manager import PassManager
from ...passes.pipeline import Settings, default_pipeline
from ..base.options import Options
from ..codegen.launches import kernel_sources
from ..ir.context import make_context
from ..mlir import ir
from ..runtime.checks.made_inputs import size_symbols
from ..runtime.fx_output.kernels import by_address
from ..runtime.fx_output.make_module import fx_module
from ..runtime.interpreter.launchers import interpreted_kernels
from ..runtime.plans.make_plan import make_plan
from .calling_convention import passed_on, pick_outputs
from .program import FxParts


def fx_program(parts: FxParts) -> GraphModule:
    """The module of a program.  What the interpreter runs on an earlier level is lowered to the end first."""
    final = parts.load()
    module, plan, launchers = final.module, final.plan, final.launchers
    if plan is None:
        module = _planned(module, parts.options)
        plan = make_plan(module)
    interface, outputs, passed = parts.interface, pick_outputs(parts.interface), passed_on(parts.interface)
    device = "cpu" if launchers is None else plan.device

    def load() -> dict[str, Any]:
        if launchers is None:
            return interpreted_kernels(module)
        return {name: by_address(launcher, torch.device(device)) for name, launcher in launchers().items()}

    def results(found: list[Any], arguments: Sequence[Any]) -> list[Any]:
        return outputs([*found, *(arguments[number] for number in passed)])

    return fx_module(
        plan,
        kernel_sources(module),
        load,
        device,
        objects=parts.objects,
        hints={name: size.hint for name, size in size_symbols(module).items()},
        placeholders=parts.placeholders,
        inputs=interface.inputs,
        constants=parts.constants,
        results=results,
    )


def _planned(module: ir.Module, options: Options) -> ir.Module:
    """A copy of a module of the level that the interpreter runs, lowered by the rest of the passes."""
    with make_context(), ir.Location.unknown():
        copy = ir.Module.parse(module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True))
    hardware = "generic" if options.hardware == "auto" else options.hardware
    settings = Settings(hardware, rounding=options.rounding, collectives=options.collectives)
    done = len(default_pipeline(options.interpret_level, settings))
    PassManager(default_pipeline("planned", settings)[done:]).run(copy)
    return copy
