"""What a module of a level must not contain: the postconditions of the levels of docs/architecture.md."""

from collections.abc import Callable

from ..ir.dialects import fuse
from ..mlir import func, ir
from .rules import Broken, Report


def _is_kernel(op: ir.Operation) -> bool:
    return isinstance(op, func.FuncOp) and "fuse.kernel" in op.attributes


def _no_control_deps(op: ir.Operation) -> None:
    if isinstance(op, func.FuncOp) and "fuse.control_deps" in op.attributes:
        raise Broken("expected no ordered groups (fuse.control_deps) below the graph level")


def _no_groups(op: ir.Operation) -> None:
    if isinstance(op, func.CallOp) and "fuse.group" in op.attributes:
        raise Broken("expected merged kernels below the graph level, got a call with fuse.group")


def _tiled(op: ir.Operation) -> None:
    if _is_kernel(op) and "fuse.grid" not in op.attributes:
        raise Broken("expected tile code (a kernel with fuse.grid) at the tiled level, got a scalar kernel")


def _launched(op: ir.Operation) -> None:
    if _is_kernel(op):
        raise Broken("expected launches at the planned level, got a kernel")


def _planned(op: ir.Operation) -> None:
    if isinstance(op, fuse.Empty) and any(
        not isinstance(use.owner, fuse.After) for use in op.results[0].uses
    ):
        raise Broken("expected fuse.alloc at the planned level, got fuse.empty")


_SCHEDULED: tuple[Callable[[ir.Operation], None], ...] = (_no_control_deps, _no_groups)

#: Level -> what holds for each function of a module at that level, and for each op of a graph function.
POSTCONDITIONS: dict[str, tuple[Callable[[ir.Operation], None], ...]] = {
    "graph": (),
    "scheduled": _SCHEDULED,
    "tiled": (*_SCHEDULED, _tiled),
    "planned": (*_SCHEDULED, _launched, _planned),
}


def check_level(module: ir.Module, level: str, report: Report) -> None:
    """Complains about every op that does not belong to ``level``."""
    for op in module.body.operations:
        ops = [op]
        if isinstance(op, func.FuncOp) and not _is_kernel(op) and len(op.regions[0].blocks):
            ops += op.regions[0].blocks[0].operations
        for each in ops:
            for rule in POSTCONDITIONS[level]:
                report.check(each, rule, each)
