"""What a compiled graph takes of a budget (option ``compile_budget``), and the decision that broke it."""

from typing import Protocol

from ..analysis.program.lifetimes import peak_of
from ..analysis.program.provenance import origin
from ..base.budget import CompileBudget
from ..base.launch import Launch, line_text
from ..base.remarks import Remarks
from ..base.timing import Timing
from ..mlir import ir

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
    peak = None if budget.peak_bytes is None else peak_of(compiled.module)
    if peak is None or budget.peak_bytes is None or peak.bytes <= budget.peak_bytes:
        return
    held = [f"{bytes_} of {_named(root.owner)}" for bytes_, root in peak.held[:_SHOWN]]
    more = f" and {len(peak.held) - _SHOWN} more" if len(peak.held) > _SHOWN else ""
    sentence = (
        f"the {compiled.name} graph allocates {peak.bytes} bytes at a time and not {budget.peak_bytes}: "
        f"while {_named(peak.at)} runs it has {', '.join(held)}{more}"
    )
    place = str(peak.at.location)
    compiled.remarks.add("compile-budget", "missed", "peak-bytes", sentence, locations=(place,))
    budget.broken(f"compile_budget: {sentence}")


def _named(op: ir.Operation | ir.OpView) -> str:
    """What an operation of ``@main`` computes, and of which line."""
    nodes, where = origin(op.operation)
    at = f" at {line_text(where[0])}" if where else ""
    return f"{' + '.join(nodes) or op.operation.name}{at}"
