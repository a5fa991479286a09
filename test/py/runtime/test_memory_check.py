"""`check_memory`: a plan that keeps to its memory runs, planted errors are found."""

import dataclasses

import pytest
import torch
from compiling import Compiled
from torch.nn import functional as F

from fuse_mlir.compiler.analysis.program.lifetimes import planned_peak
from fuse_mlir.compiler.base.options import OptionError, Options
from fuse_mlir.compiler.runtime.checks.memory_check import MemoryCalls, MemoryCheck
from fuse_mlir.compiler.runtime.errors import MemoryPlanError
from fuse_mlir.compiler.runtime.interpreter.launchers import interpreted_launchers
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.make_plan import make_plan
from fuse_mlir.compiler.runtime.plans.steps import Free


def program(x, v, w):
    h = F.gelu(x @ v)
    h = F.layer_norm(h @ v.t(), (16,)).softmax(-1)
    return (h @ v).relu(), h.sum(), w.mul_(2)


@pytest.fixture(scope="module")
def module():
    compiled = Compiled(program, {"interpret_level": "planned", "hardware": "h200", "products": "auto"})
    compiled(*arguments())
    torch._dynamo.reset()
    return compiled.graphs[0].module


def arguments():
    torch.manual_seed(0)
    return [torch.randn(8, 16), torch.randn(16, 32), torch.randn(4)]


def run(module, *, args=None, change=lambda steps: steps, planned=None, hold=None):
    """Runs a checked plan; ``change`` its steps, ``hold`` results of torch ops."""
    plan = make_plan(module)
    main = dataclasses.replace(plan.main, steps=tuple(change(plan.main.steps)))
    plan = dataclasses.replace(plan, functions=(*plan.functions[:-1], main))
    externs = bind_externs(plan, {})
    if hold is not None:
        externs = {name: lambda *a, f=f: hold.append(f(*a)) or hold[-1] for name, f in externs.items()}
    memory = MemoryCheck(planned_peak(module) if planned is None else planned)
    launchers, calls = interpreted_launchers(module), MemoryCalls()
    bound = LaunchPlan.bind(plan, launchers, externs, lambda d, n: (0, 0), memory=memory, around=calls)
    with torch.no_grad():
        return bound.run(arguments() if args is None else args), memory


def test_a_right_plan_runs_and_peaks_where_planned(module):
    results, memory = run(module)
    exact = program(*(a.double() for a in arguments()))
    by_shape = {tuple(t.shape): t for t in results}
    for value in exact:
        torch.testing.assert_close(by_shape[tuple(value.shape)].double(), value, rtol=2e-5, atol=2e-5)
    assert memory.peak == planned_peak(module) > 0


def test_a_view_that_a_torch_op_wrote_to_goes_with_its_storage():
    """The op's result shows the same part: both variables are let go."""

    def halves(x, v, w):
        return torch.cat([x @ v, x @ w], 1).exp().sum(0)

    args = [torch.randn(8, 8), torch.randn(8, 8), torch.randn(8, 16)]
    compiled = Compiled(halves, {"interpret_level": "planned", "hardware": "h200", "products": "auto"})
    compiled(*args)
    torch._dynamo.reset()
    module = compiled.graphs[0].module
    (found,), memory = run(module, args=list(args))
    exact = halves(*(a.double() for a in args))
    torch.testing.assert_close(found.double(), exact, rtol=2e-5, atol=2e-5)
    assert memory.peak == planned_peak(module)


def test_an_alias_that_outlives_its_free(module):
    with pytest.raises(MemoryPlanError, match="is held by something else after `del t"):
        run(module, hold=[])


def test_storage_that_is_never_given_back(module):
    def without_frees(steps):
        return [s for s in steps if not isinstance(s, Free) or not s.names[0].startswith("t")]

    with pytest.raises(MemoryPlanError, match="neither given back nor returned"):
        run(module, change=without_frees, planned=1 << 20)


def test_more_than_planned(module):
    with pytest.raises(MemoryPlanError, match=r"bytes are allocated, and the plan has \d+ at most"):
        run(module, planned=planned_peak(module) - 1)


def test_use_after_free(module):
    """A variable that was given back is gone."""

    def twice(steps):
        number = next(i for i, s in enumerate(steps) if isinstance(s, Free) and s.names[0].startswith("t"))
        return [*steps[:number], steps[number], *steps[number:]]

    with pytest.raises((NameError, UnboundLocalError)):
        run(module, change=twice)


def test_sizes_that_only_the_program_knows_have_no_planned_peak():
    compiled = Compiled(lambda x: x * 2, {"interpret_level": "planned"}, dynamic=True)
    compiled(torch.randn(5, 3))
    torch._dynamo.reset()
    assert planned_peak(compiled.graphs[0].module) is None


def test_the_option():
    assert Options.of({"check_memory": True}).check_memory
    with pytest.raises(OptionError, match="check_memory follows each allocation"):
        Options.of({"check_memory": True, "cudagraphs": True})
