"""Lines around the launches of a plan that open and close ranges for profilers."""

from collections.abc import Sequence

from ..plans.plan import Plan
from ..plans.python_source import Around
from ..plans.steps import CallExtern, LaunchKernel, LaunchTuned, Step
from ..profiler_ranges import range_name


def range_lines(plan: Plan, inner: Around | None = None) -> Around:
    """``inner``: lines that stand inside the ranges."""
    ops = {extern.name: extern.op for extern in plan.externs}

    def around(step: Step) -> tuple[Sequence[str], Sequence[str]]:
        before, after = inner(step) if inner is not None else ((), ())
        if not isinstance(step, LaunchKernel | LaunchTuned | CallExtern):
            return before, after
        if isinstance(step, CallExtern):
            what = ops[step.extern]
        else:
            what = step.kernel if isinstance(step, LaunchKernel) else step.name
        opened = f"opened = open_range({range_name(what, step.origin.lines)!r})"
        return [opened, *before], [*after, "close_range(opened)"]

    return around


__all__ = ["range_lines"]
