"""``keep-float32``: an op reads what the op in front of it computed, not what eager would round that to."""

from dataclasses import field
from typing import ClassVar

from ...compiler.analysis.kernel.precision import COARSE, IMPLICIT, coarse_values
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.defining import defining_op
from ...compiler.ir.kernel import string
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.dots import widened
from ..base.kernels import WITHOUT_DIMS, kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, remark_on


@dataclass(frozen=True)
class KeepFloat32(AnalysisPass):
    """Where a kernel rounds to 16 bits and widens again, and no cast of the program asks for it, what is
    widened is the number as it was before.  The option ``rounding="float32"`` runs this pass.

    Before, ``x * y + z`` in bfloat16, as eager rounds it::

        %p = arith.mulf %x, %y : f32
        %r = arith.truncf %p {fuse.implicit} : f32 to bf16
        %w = arith.extf %r : bf16 to f32
        %s = arith.addf %w, %z : f32

    After::

        %p = arith.mulf %x, %y {fuse.coarse} : f32
        %s = arith.addf %p, %z : f32

    ``fuse.coarse`` marks a value of which only rounded numbers were read.  An approximation that was good
    enough beside the rounding (``compiler/analysis/kernel/precision.py``) may still compute it.

    Where a rounded number goes through a ``select`` (a guard, a concatenation), the number from before the
    rounding is selected.  What is stored is rounded as before: memory holds what its dtype says.

    Does not fire on a rounding without ``fuse.implicit``: a cast of the program's, what an integer or a bool
    is computed from, what the backward graph reads (``compiler/fx/roundings.py``).

    Remarks: ``passed: kept``, with the number of roundings that no reader sees any more;
    ``analysis: asked-for``, with the number of those that stay.
    """

    name: ClassVar[str] = "keep-float32"
    numerics: ClassVar[Numerics] = "precision"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for func in dict.fromkeys(kernel for _, kernel in program.kernel_calls()):
            count = widen(func)
            if count:
                program.clean(func)
                _say(
                    remarks, func, "passed", "kept", count, "results in float32 that eager rounds between ops"
                )
            rounded = [op.operands[0] for op in _widening(func)]
            left = len({value for value in rounded if defining_op(value, arith.TruncFOp) is not None})
            if left:
                reason = "roundings that the program asks for, that decide, or that are saved"
                _say(remarks, func, "analysis", "asked-for", left, reason)


def _say(remarks: Remarks, func: ir.Operation, kind: str, rule: str, count: int, what: str) -> None:
    message = f"@{string(func.attributes['sym_name'])} keeps {what}"
    remark_on(func, remarks, KeepFloat32.name, kind, rule, message, roundings=count)


def widen(func: ir.Operation) -> int:
    """Gives readers of rounded numbers those from before; how many roundings they read before."""
    widening = _widening(func)
    if not widening:
        return 0
    before = _Before(coarse_values(func.regions[0].blocks[0]))
    for op in widening:
        exact = before.rounding(op.operands[0], op.results[0].type)
        if exact is not None:
            op.results[0].replace_all_uses_with(exact)
    return len(before.roundings)


def _widening(func: ir.Operation) -> list[ir.Operation]:
    return [op for op in kernel_body(func) if op.name == "arith.extf"]


@dataclass
class _Before:
    """What numbers of 16 bits were before they were rounded, in a wider type."""

    coarse: frozenset[ir.Value]  #: results of which only rounded numbers are read
    roundings: set[ir.Value] = field(default_factory=set)  #: those that were passed by
    known: dict[tuple[ir.Value, ir.Type], ir.Value | None] = field(default_factory=dict)

    def rounding(self, narrow: ir.Value, wide: ir.Type) -> ir.Value | None:
        """The number as one of ``wide``; None where nothing was rounded that need not be."""
        key = narrow, wide
        if key not in self.known:
            self.known[key] = self._rounding(narrow, wide)
        return self.known[key]

    def _rounding(self, narrow: ir.Value, wide: ir.Type) -> ir.Value | None:
        rounding = defining_op(narrow, arith.TruncFOp)
        if rounding is not None and IMPLICIT in rounding.attributes:
            self.roundings.add(narrow)
            self._mark(rounding.operands[0])
            return _as(rounding.operands[0], wide, rounding)
        choice = defining_op(narrow, arith.SelectOp)
        if choice is None:
            return None
        condition, *sides = choice.operands
        exact = [self.rounding(side, wide) for side in sides]
        if all(side is None for side in exact):
            return None
        with ir.InsertionPoint(choice), choice.location:
            filled = [
                arith.extf(wide, old) if new is None else new for old, new in zip(sides, exact, strict=True)
            ]
            return arith.select(condition, *filled)

    def _mark(self, value: ir.Value) -> None:
        """Says of a number that is read as it is now what it was beside its rounding."""
        maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if maker is not None and value in self.coarse and maker.name.startswith(WITHOUT_DIMS):
            maker.attributes[COARSE] = ir.UnitAttr.get()


def _as(value: ir.Value, wide: ir.Type, after: ir.Operation) -> ir.Value:
    """A float in a type that is as wide or wider: float64 of a product in float32."""
    with ir.InsertionPoint(after), after.location:
        return widened(value, wide)
