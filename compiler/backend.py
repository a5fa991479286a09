"""The torch.compile backend: what Dynamo captured becomes a function that Dynamo calls instead.

``torch.compile(model, backend="fuse", options={...})`` calls ``fuse`` through the entry point
``torch_dynamo_backends``.  The program of a graph that the cache knows is loaded (``driver/cache_hit.py``);
any other graph is compiled (``driver/captured_compilation.py``).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from .base.budget import CompileBudget
from .base.collector import collector_paused
from .base.options import Options
from .base.timing import stage
from .base.versions import note_versions
from .driver.cache_hit import CapturedLookup, hit_of_captured
from .driver.profiler_range import leave_out_range
from .driver.request import algorithms_of
from .fx.frames import first_line
from .fx.torch_state import keeps_results, with_torch_switches
from .report.watching import watch_stages
from .runtime.as_torch import function_of
from .runtime.cache import mega_cache  # noqa: F401  (torch's portable cache knows our entries from now on)
from .runtime.cache.places import check_cache_dir

__all__ = ["fuse"]


def fuse(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend's entry point.  Raises ``OptionError`` on an unknown mode or option, and on a switch of
    torch that nothing here honours; what it returns runs the graph.
    """
    note_versions()
    chosen = with_torch_switches(Options.of(options, mode))
    check_cache_dir(chosen)
    if not chosen.profiler_range:
        leave_out_range()
    watch_stages(chosen)
    if chosen.report is not None:
        from .report.page.page_file import place_of

        place_of(chosen.report)
    budget = chosen.compile_budget
    if budget is None:
        return _compiled(gm, example_inputs, chosen)
    over = budget.over(first_line(gm), _made_by(gm, budget))
    if over is not None:
        budget.broken(over if budget.strict else f"{over}; torch runs it")
        return function_of(gm)
    with budget.spending():
        call = _compiled(gm, example_inputs, chosen)
    budget.check_seconds()
    return call


def _compiled(
    gm: torch.fx.GraphModule, example_inputs: Sequence[Any], options: Options
) -> Callable[..., Any]:
    with algorithms_of(options), collector_paused(), stage("captured", "compile"):
        found = CapturedLookup(None) if keeps_results() else hit_of_captured(gm, example_inputs, options)
        if found.call is not None:
            return found.call
        from .driver.captured_compilation import compile_captured  # what a hit does without

        return compile_captured(gm, example_inputs, options, found.key)


def _made_by(gm: torch.fx.GraphModule, budget: CompileBudget) -> str:
    """What made Dynamo give a graph of its own, and notes where this one breaks."""
    before, reason = budget.last_break, getattr(gm, "compile_subgraph_reason", None)
    frames = reason.user_stack if reason is not None and reason.graph_break else ()
    budget.last_break = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    context = torch._guards.CompileContext.try_get()
    if context is not None and context.compile_id is not None and context.compile_id.frame_compile_id:
        return "is compiled again for other arguments (TORCH_LOGS=recompiles says which)"
    if before:
        return f"is behind the graph break at {before} (TORCH_LOGS=graph_breaks says why)"
    return "is of another function"
