"""Launch plans on the CPU, with interpreted kernels.  Shared by tests, no test itself."""

import json
from collections.abc import Mapping
from typing import Any

import torch

from fuse_mlir.compiler.base.json_data import from_json, to_json
from fuse_mlir.compiler.driver.compilation import Executable
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.plan import Plan
from fuse_mlir.compiler.runtime.plans.validate import validate
from fuse_mlir.compiler.runtime.rng import RngState


def cpu_plan(module: ir.Module, objects: Mapping[str, Any]) -> Executable:
    """What `compilation.executable` gives on the GPU, for a planned module on the CPU."""
    made = make_plan(module)
    plan = from_json(Plan, json.loads(json.dumps(to_json(made))))  # what is stored is what runs
    validate(plan)
    assert plan == made
    launchers = interpreted_launchers(module)
    assert {kernel.name for kernel in plan.kernels} <= launchers.keys()
    bound = LaunchPlan.bind(plan, launchers, bind_externs(plan, objects), RngState().draw)

    def run(args: list[Any]) -> list[Any]:
        with torch.no_grad():
            return bound.run([a.detach() if isinstance(a, torch.Tensor) else a for a in args])

    return Executable(run, plan)
