"""What a compiled graph takes of a budget, and the decision that broke it (options ``compile_budget`` and
``memory_limit``).
"""

import logging
from typing import Protocol

from ..analysis.program.lifetimes import has_memory_plan, peak_of
from ..analysis.program.provenance import origin
from ..base.budget import CompileBudget
from ..base.errors import BudgetExceeded
from ..base.launch import Launch, line_text
from ..base.remarks import Remarks
from ..base.timing import Timing
from ..mlir import ir

log = logging.getLogger(__name__)

#: How many tensors a sentence names that are held at the peak.
_SHOWN = 3


class Compiled(Protocol):
    """What is read of a ``CompiledGraph``."""

    name: str
    timing: Timing
    remarks: Remarks

    @property
    def launches(self) -> tuple[Launch, ...]: ...

    @property
    def module(self) -> ir.Module: ...


def draw_on(budget: CompileBudget, compiled: Compiled) -> None:
    """Notes what took most of the time of a graph, and tells of a memory plan that allocates too much: with a
    remark, and as the budget does.
    """
    budget.compiled(compiled.name, compiled.timing, compiled.launches)
    if budget.peak_bytes is None:
        return
    if (over := _over(budget.peak_bytes, compiled)) is not None:
        budget.broken(f"compile_budget: {over}")
    _warn_of_no_plan("compile_budget", compiled)


def check_memory_limit(limit: int, strict: bool, compiled: Compiled) -> None:
    """Tells by how much a memory plan is over ``memory_limit``: with a remark, and with a warning, or where
    strict with ``BudgetExceeded``.
    """
    if (over := _over(limit, compiled)) is None:
        _warn_of_no_plan("memory_limit", compiled)
        return
    if strict:
        raise BudgetExceeded(message=f"memory_limit: {over}")
    log.warning("memory_limit: %s", over)


def _warn_of_no_plan(option: str, compiled: Compiled) -> None:
    """Says of a graph without a memory plan that nothing tells its peak."""
    if not has_memory_plan(compiled.module):
        why = "a CPU has one with interpret_level='planned' alone"
        log.warning(
            "%s: nothing checks the memory of the %s graph, which has no plan: %s", option, compiled.name, why
        )


def _over(limit: int, compiled: Compiled) -> str | None:
    """By how much a memory plan is over a limit, and what it has at its peak; None where it keeps it."""
    peak = peak_of(compiled.module)
    if peak is None or peak.bytes <= limit:
        return None
    held = [f"{bytes_} of {_named(root.owner)}" for bytes_, root in peak.live[:_SHOWN]]
    more = f" and {len(peak.live) - _SHOWN} more" if len(peak.live) > _SHOWN else ""
    sentence = (
        f"the {compiled.name} graph allocates {peak.bytes} bytes at a time and not {limit}, "
        f"{peak.bytes - limit} too many: "
        f"while {_named(peak.at)} runs it has {', '.join(held)}{more}"
    )
    place = str(peak.at.location)
    compiled.remarks.add("memory-limit", "missed", "peak-bytes", sentence, locations=(place,))
    return sentence


def _named(op: ir.Operation | ir.OpView) -> str:
    """What an operation of ``@main`` computes, and of which line."""
    nodes, where = origin(op.operation)
    at = f" at {line_text(where[0])}" if where else ""
    return f"{' + '.join(nodes) or op.operation.name}{at}"
