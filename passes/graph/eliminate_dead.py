"""``eliminate-dead``: removes what nothing needs, and nothing that has an effect."""

from collections.abc import Callable
from functools import cache
from typing import ClassVar

from ...compiler.analysis.program.dependences import callee_kind, extern_mutated, has_effect
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import is_users, kernel_ties, string
from ...compiler.ir.storage import aliased_operands
from ...compiler.mlir import ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import type_symbols
from ..base.program import Program
from ..base.results import drop_results
from ..pass_base import AnalysisPass

#: Operations of ``@main`` that are dead when nothing uses their results.
REMOVABLE = frozenset({"fuse.empty", "fuse.view", "fuse.sym", "fuse.size", "fuse.after", "arith.constant"})


@dataclass(frozen=True)
class EliminateDead(AnalysisPass):
    """Erases what nothing uses: calls, empties, views, sizes, results of kernels, functions.

    Before::

        %y, %mask = call @dropout(%x, %o, %m) ...          // nothing uses %mask
        %z = call @double(%y, %p) ...                      // nothing uses %z
        return %y

    After::

        %y = call @dropout(%x, %o) ...                     // the kernel lost the store of the mask
        return %y

    Where a kernel loses a result, the FX nodes that only this result came from disappear from the kernel's
    name and location.

    What defines a size that the type of an argument of ``@main`` names stays, and so does a ``fuse.size``
    whose source stays and has a type that names that size.  A ``fuse.after`` does not count as a use of its
    value: a call whose only uses are tokens is dead, and what was ordered after it is ordered after what the
    call itself waited for.

    Does not fire on kernels with asserts, on stores into the storage of arguments of ``@main``, on extern ops
    with an effect or with mutated operands (nor on sub-graphs that have any inside), on ``fuse.rng``
    (dropping a draw would change the later ones), nor on operations that it does not know.
    """

    name: ClassVar[str] = "eliminate-dead"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        sizes = _sizes_of_arguments(program)

        @cache
        def in_argument() -> dict[ir.Value, bool]:
            return _storage(program)  # asked for results that nothing uses: there are few

        for op in reversed([o.operation for o in program.block.operations]):
            if not (sizes and any(result in sizes for result in op.results)):
                _visit(program, op, in_argument)
        program.erase_unused()


def _storage(program: Program) -> dict[ir.Value, bool]:
    """Whether each tensor value lives in the storage of an argument of ``@main``."""
    of_argument = {argument: True for argument in program.block.arguments}
    for op in program.block.operations:
        op = op.operation
        shared: dict[int, int] = {}
        if op.name == "fuse.view":
            shared = {0: 0}
        elif op.name == "func.call":
            callee = program.callee(op)
            if "fuse.ties" in callee.attributes:
                shared = dict(enumerate(kernel_ties(callee)))
            elif callee_kind(callee) == "extern":
                shared = aliased_operands(callee)
        for i, result in enumerate(op.results):
            of_argument[result] = i in shared and of_argument[op.operands[shared[i]]]
    return of_argument


def _sizes_of_arguments(program: Program) -> set[ir.Value]:
    """The index values whose symbols the types of ``@main``'s arguments name."""
    types = {argument.type for argument in program.block.arguments}
    named = {name for type_ in types for name in type_symbols(type_)}
    if not named:
        return set()
    symbols = program.symbols()
    return {symbols[name] for name in named if name in symbols}


def _is_used(value: ir.Value) -> bool:
    return not {type(use.owner) for use in value.uses} <= {fuse.After}


def _names_type(program: Program, op: ir.Operation) -> bool:
    """Whether a ``fuse.size`` defines a size that the type of its source needs, and the source stays: a value
    that something else uses or whose call has an effect.
    """
    source, name = op.operands[0], string(op.attributes["symbol"])
    if name not in type_symbols(source.type):
        return False
    if any(use.owner.operation != op for use in source.uses):
        return True
    call = source.owner.operation
    return call.name == "func.call" and has_effect(call, program.callee(call))


def _visit(program: Program, op: ir.Operation, in_argument: Callable[[], dict[ir.Value, bool]]) -> None:
    if op.name == "fuse.after":
        if not list(op.results[0].uses):
            op.erase()
        return
    if op.name == "fuse.size" and _names_type(program, op):
        return
    if op.name in REMOVABLE:
        if not any(_is_used(r) for r in op.results) and _bypass(program, op):
            op.erase()
        return
    if op.name != "func.call":
        return
    callee = program.callee(op)
    kind = callee_kind(callee)
    if kind not in ("kernel", "extern", "graph", "control_flow"):
        return
    live = [_is_used(r) or in_argument()[r] for r in op.results]
    if kind == "kernel" and any(live) and not all(live) and not is_users(callee):
        drop_results(program, op, callee, live)
        return
    if any(live) or has_effect(op, callee) or extern_mutated(callee):
        return
    if _bypass(program, op):
        program.erase_call(op)


def _bypass(program: Program, op: ir.Operation) -> bool:
    """Makes the ``fuse.after`` of a dead ``op`` stand for what ``op`` waits for; False if that is several."""
    after = [use.owner.operation for result in op.results for use in result.uses]
    if not after:
        return True
    waits = [v for v in op.operands if isinstance(v.type, fuse.Token)]
    arguments = list(program.block.arguments)
    if len(waits) > 1 or not (waits or arguments):
        return False
    for token in after:
        if waits:
            token.results[0].replace_all_uses_with(waits[0])
            token.erase()
        else:
            token.operands[0] = arguments[0]  # complete from the start: no constraint
    return True
