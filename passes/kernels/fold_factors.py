"""``fold-factors``: constant factors between the products of a cascade become few, or move behind them."""

from collections.abc import Iterator
from functools import reduce
from math import e, log2
from typing import ClassVar

from ...compiler.analysis.kernel.precision import IMPLICIT
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.ir.contractions import DOT
from ...compiler.ir.defining import constant_number, defining_op
from ...compiler.ir.kernel import LOOPED, Kernel, is_tiled, string
from ...compiler.mlir import arith, ir, math
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import kernel_body
from ..base.program import Program
from ..pass_base import AnalysisPass, Numerics, remark_on

#: exp(x) = 2**(x * _LOG2_E).
_LOG2_E = log2(e)
#: Constants and their products within these bounds keep all bits of a float32.
_LEAST, _MOST = 2.0**-100, 2.0**100
_PRODUCTS = ("arith.mulf", "arith.divf")


@dataclass(frozen=True)
class FoldFactors(AnalysisPass):
    """In a kernel that goes through the columns of a product (``fuse.looped``), what is computed for each row
    and column takes fewer multiplications.

    Before, in a gradient of attention, with x of row and column, m and g of the row::

        %y = arith.subf %x, %m : f32
        %d = arith.subf %y, %g : f32
        %p = math.exp %d : f32
        ...
        %g = arith.mulf %ds, %scale : f32
        %r = arith.truncf %g {fuse.implicit} : f32 to bf16
        %o = "fuse.dot"(%r, %k) {over = ["d3"]} : (bf16, bf16) -> f32

    After::

        %y = arith.subf %x, %m : f32
        %z = arith.mulf %y, %log2e : f32
        %h = arith.mulf %g, %log2e : f32                // once for a row
        %d = arith.subf %z, %h : f32                    // one instruction with %z
        %p = math.exp2 %d : f32
        ...
        %r = arith.truncf %ds {fuse.implicit} : f32 to bf16
        %t = "fuse.dot"(%r, %k) {over = ["d3"]} : (bf16, bf16) -> f32
        %o = arith.mulf %t, %scale : f32                // once for a result

    - Constants that multiply or divide one value, with others between them, are one constant.
    - An exponential of a difference from a number of the row or of the column is a power of 2.
    - A constant factor of what a product in bfloat16 sums is a factor of its result.

    Each changes a result by roundings of float32 alone.  So it does not fire with ``rounding="eager"``.  The
    last one does not fire on float16, where what is not scaled may be too large, nor across a rounding that
    the program asks for.  Constants beyond 2**100 or below 2**-100, infinities and NaN stay where they are.

    Remarks: ``passed: folded``, with the number of multiplications that are gone or stand elsewhere.
    """

    name: ClassVar[str] = "fold-factors"
    numerics: ClassVar[Numerics] = "precision"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for func in dict.fromkeys(kernel for _, kernel in program.kernel_calls()):
            if LOOPED not in func.attributes or is_tiled(func):
                continue
            count = sum(1 for _ in _folded(func))
            if count:
                program.clean(func)
                name = string(func.attributes["sym_name"])
                message = f"@{name} multiplies by fewer constants for each row and column"
                remark_on(func, remarks, self.name, "passed", "folded", message, factors=count)


def _folded(func: ir.Operation) -> Iterator[ir.Operation]:
    """Folds what it can in a kernel; an op for each factor that was folded."""
    dims = Kernel.of(func).value_dims
    for op in kernel_body(func):
        if op.name == "math.exp" and _becomes_power_of_two(op, dims.get):
            yield op
    for op in reversed(kernel_body(func)):
        types = [str(v.type) for v in (*op.operands, *op.results)] if op.name == DOT else []
        if types == ["bf16", "bf16", "f32"] and _moves_behind(op):
            yield op
    for op in reversed(kernel_body(func)):
        if op.name in _PRODUCTS and str(op.results[0].type) == "f32" and not _is_inner(op) and _joins(op):
            yield op


# --- exponentials -----------------------------------------------------------------------------------------
def _becomes_power_of_two(op: ir.Operation, dims_of) -> bool:  # type: ignore[no-untyped-def]
    """Writes exp(x - n) as 2**(x * log2(e) - n * log2(e)), where n lacks a dim of x."""
    difference = defining_op(op.operands[0], arith.SubFOp)
    if difference is None or str(op.results[0].type) != "f32":
        return False
    x, number = difference.operands
    if not dims_of(number, frozenset()) < dims_of(x, frozenset()):
        return False
    with ir.InsertionPoint(op), op.location:
        scaled = _times(x, _LOG2_E)
        power = math.exp2(arith.subf(scaled, _times(number, _LOG2_E)))
    op.results[0].replace_all_uses_with(power)
    return True


def _times(value: ir.Value, factor: float) -> ir.Value:
    return arith.mulf(value, arith.constant(value.type, factor))


# --- products ---------------------------------------------------------------------------------------------
def _moves_behind(dot: ir.Operation) -> bool:
    """Multiplies the result of a product by a constant factor of one of its operands, in place of that."""
    for place, operand in enumerate(dot.operands):
        rounding = defining_op(operand, arith.TruncFOp)
        if rounding is None or IMPLICIT not in rounding.attributes or not _is_read_once(operand):
            continue
        source = rounding.operands[0]
        if not _is_read_once(source) or source.owner.operation.name not in _PRODUCTS:
            continue
        factors, constant = _factors(source)
        if constant == 1.0 or not _LEAST < abs(constant) < _MOST or not factors:
            continue
        with ir.InsertionPoint(rounding), rounding.location:
            narrow = _narrow(_joined(factors), operand.type)
        dot.operands[place] = narrow
        result = dot.results[0]
        with ir.InsertionPoint.after(dot), dot.location:
            scaled = _times(result, constant)
        result.replace_all_uses_except(scaled, scaled.owner.operation)
        return True
    return False


def _narrow(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A value rounded to 16 bits: as it was before it was widened, if it was."""
    widened = defining_op(value, arith.ExtFOp)
    if widened is not None and widened.operands[0].type == type_:
        return widened.operands[0]
    return ir.Operation.create(
        "arith.truncf", [type_], [value], attributes={IMPLICIT: ir.UnitAttr.get()}
    ).results[0]


# --- constants --------------------------------------------------------------------------------------------
def _joins(op: ir.Operation) -> bool:
    """Writes a tree of products and quotients with one constant in place of several."""
    factors, constant = _factors(op.results[0])
    count = _constants_of(op.results[0])
    if count < 2 or not factors or not (_LEAST < abs(constant) < _MOST):
        return False
    with ir.InsertionPoint(op), op.location:
        value = _joined(factors)
        if constant != 1.0:
            value = _times(value, constant)
    op.results[0].replace_all_uses_with(value)
    return True


def _is_inner(op: ir.Operation) -> bool:
    """Whether a product is a part of another one, which is its only reader."""
    uses = list(op.results[0].uses)
    return (
        len(uses) == 1
        and uses[0].owner.operation.name in _PRODUCTS
        and _is_part(uses[0].owner.operation, uses[0].operand_number)
    )


def _is_part(user: ir.Operation, place: int) -> bool:
    """Whether an operand of a product is a factor of the tree: of a quotient, what a constant divides."""
    return user.name == "arith.mulf" or (place == 0 and _constant(user.operands[1]) is not None)


def _factors(value: ir.Value, top: bool = True) -> tuple[list[ir.Value], float]:
    """The factors of a tree that are no constants, in order, and the product of those that are."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name not in _PRODUCTS or not (top or _is_read_once(value)):
        number = _constant(value)
        return ([value], 1.0) if number is None else ([], number)
    if op.name == "arith.divf":
        number = _constant(op.operands[1])
        if number is None:
            return [value], 1.0
        factors, constant = _factors(op.operands[0], False)
        return factors, constant / number
    (left, one), (right, other) = (_factors(v, False) for v in op.operands)
    return [*left, *right], one * other


def _constants_of(value: ir.Value, top: bool = True) -> int:
    """How many constants a tree has."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if op is None or op.name not in _PRODUCTS or not (top or _is_read_once(value)):
        return int(_constant(value) is not None)
    if op.name == "arith.divf":
        return 0 if _constant(op.operands[1]) is None else 1 + _constants_of(op.operands[0], False)
    return sum(_constants_of(v, False) for v in op.operands)


def _joined(factors: list[ir.Value]) -> ir.Value:
    return reduce(arith.mulf, factors)


def _constant(value: ir.Value) -> float | None:
    """A constant that products may take up."""
    number = constant_number(value)
    return number if number is not None and _LEAST < abs(number) < _MOST else None


def _is_read_once(value: ir.Value) -> bool:
    return len(list(value.uses)) == 1
