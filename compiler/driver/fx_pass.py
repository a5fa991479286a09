"""The user's pass over the FX graph, ``options={"fx_pass": f}``, and the check of what it leaves."""

from collections.abc import Callable
from typing import Any

import torch

from ..base.options import OptionError


def run_fx_pass(gm: torch.fx.GraphModule, fx_pass: Callable[..., Any], name: str) -> None:
    """Runs the pass on the graph called ``name``.  Raises ``OptionError`` where it leaves a graph that torch
    refuses, or one with other arguments or results.
    """
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


__all__ = ["run_fx_pass"]
