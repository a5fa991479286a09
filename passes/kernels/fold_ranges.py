"""``fold-ranges``: what the extents of dims decide is decided before the kernel runs."""

import math
from collections.abc import Callable
from dataclasses import field
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, Facts, parse
from ...compiler.ir.defining import constant_number, defining_op, is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import kernel_facts, string, strings
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import adding_dims, keep_dims, kernel_body, text_list
from ..base.new_ops import made, number
from ..base.program import Program
from ..pass_base import AnalysisPass, remark_on
from .float_ranges import FloatRanges

#: Least and greatest value; None where there is no bound.
Range = tuple[int | None, int | None]
_ANY: Range = (None, None)
_INDEX_BITS, _NARROW_BITS = 64, 32
#: Operands of a ``fuse.load`` in front of its indices: tensor, guard, other.
_BEFORE_INDICES = 3


@dataclass(frozen=True)
class FoldRanges(AnalysisPass):
    """In a kernel, an integer comparison that has one answer for all values of the dims becomes a constant.
    An assert that always holds is dropped.  A load whose index is a ``fuse.index`` names its coordinate.

    Before, in a kernel with ``d0 = "256"`` (``x[torch.arange(256), columns]``)::

        %i = "fuse.index"() {expr = "d0"} : () -> i64
        %c = arith.cmpi slt, %i, %c256_i64 : i64
        "fuse.device_assert"(%c, %true) {message = "index out of bounds"} : (i1, i1) -> ()
        %v = "fuse.load"(%x, %c, %zero, %i, %j) {at = ["i0", "i1"]} : (.., i1, f32, i64, i64) -> f32

    After::

        %v = "fuse.load"(%x, %true, %zero, %j) {at = ["d0", "i0"]} : (.., i1, f32, i64) -> f32

    Such comparisons come from indices that the program computes itself, and from a concatenation of which a
    reader takes one piece: its other pieces are never read.  What is loaded has no bounds but those of its
    type, where that is unsigned or some bits are taken of it (a table of 16 numbers, looked up by half a
    byte).  What is converted from a float has those of the float, if that is computed of dims alone (the
    place of a pixel in a smaller image), or those that it is chosen by.  Where an image is sampled, that is
    ``select(x >= 0 and x < 128, fptosi(x), 0)``.  An integer of 64 bits that fits in 32, such as a distance
    between positions, is converted to a float from these: a GPU converts a quarter as many of 64.  The less
    and the greater of two such integers are taken of 32 bits, too, which is one instruction instead of four:
    a distance that is cut off, as a table of biases is looked up by.  A kernel in which nothing is decided is
    left as it is, and a store that accumulates runs as often as before.
    Raises PassError on a module without ``@main``.

    Remarks: ``passed: folded``, with the numbers of comparisons, of indices and of conversions.
    """

    name: ClassVar[str] = "fold-ranges"
    preserves: ClassVar[Analyses] = (Program,)

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        program = analyses.get(Program)
        for func in dict.fromkeys(kernel for _, kernel in program.kernel_calls()):
            fold(func, program, self.name, remarks)


def fold(func: ir.Operation, program: Program, pass_name: str, remarks: Remarks) -> None:
    """Makes constants of what has one answer in a kernel, for a pass, and says so in a remark."""
    if not any(op.name in _INDICES for op in kernel_body(func)):
        return
    adding = adding_dims(func)
    ranges = _Ranges(kernel_facts(func))
    comparisons = ranges.fold(func)
    converted = ranges.narrow(func)
    if comparisons:
        keep_dims(func, adding)
        program.clean(func)
    indices = _named_indices(func)
    if comparisons or indices or converted:
        _drop_asserts(func)
        program.clean(func)
        message = f"@{string(func.attributes['sym_name'])} computes less of its indices"
        numbers = {"comparisons": comparisons, "indices": indices, "converted": converted}
        remark_on(func, remarks, pass_name, "passed", "folded", message, **numbers)


@dataclass
class _Ranges:
    """The ranges of a kernel's integer values."""

    facts: Facts
    known: dict[ir.Value, Range] = field(default_factory=dict)
    floats: FloatRanges = field(init=False)

    def __post_init__(self) -> None:
        self.floats = FloatRanges(self.range)

    def fold(self, func: ir.Operation) -> int:
        """Replaces the comparisons that are decided by constants; how many there were."""
        count = 0
        for op in kernel_body(func):
            if not isinstance(op, arith.CmpIOp):
                continue
            answer = self.answer(op)
            if answer is not None:
                with ir.InsertionPoint(op), op.location:
                    op.results[0].replace_all_uses_with(number(op.results[0].type, answer))
                count += 1
        return count

    def narrow(self, func: ir.Operation) -> int:
        """Lets conversions to floats, and the less and the greater of two, take 32 bits of integers of 64
        that fit in these; how many there were.
        """
        narrow, wide = map(ir.IntegerType.get_signless, (_NARROW_BITS, _INDEX_BITS))
        found = [
            op
            for op in kernel_body(func)
            if (op.name == "arith.sitofp" or op.name in _EXTREMES)
            and all(value.type == wide and self._is_narrow(value) for value in op.operands)
        ]
        for op in found:
            with ir.InsertionPoint(op), op.location:
                operands = [_of_type(value, narrow) for value in op.operands]
                if op.name == "arith.sitofp":
                    [op.operands[0]] = operands
                    continue
                widened = arith.extsi(wide, made(op.name, *operands))
            self.known[widened] = self.range(op.results[0])
            op.results[0].replace_all_uses_with(widened)
            op.erase()
        return len(found)

    def _is_narrow(self, value: ir.Value) -> bool:
        low, high = self.range(value)
        most = 1 << _NARROW_BITS - 1
        return low is not None and high is not None and -most <= low and high < most

    def answer(self, comparison: ir.Operation) -> bool | None:
        """What a signed comparison gives at all points; None where that varies or is not known."""
        predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
        if predicate not in _LESS:
            return None
        (low, high), (other_low, other_high) = map(self.range, comparison.operands)
        strict, negated = _LESS[predicate]
        gap = 1 if strict else 0
        if high is not None and other_low is not None and high + gap <= other_low:
            return not negated
        if low is not None and other_high is not None and low + gap > other_high:
            return negated
        return None

    def range(self, value: ir.Value) -> Range:
        if value not in self.known:
            low, high = self._range(value)
            integer = isinstance(value.type, ir.IntegerType)
            greatest = (1 << (value.type.width if integer else _INDEX_BITS) - 1) - 1
            wraps = (low is not None and low < -greatest) or (high is not None and high > greatest)
            self.known[value] = _ANY if wraps else (low, high)
        return self.known[value]

    def _range(self, value: ir.Value) -> Range:
        if isinstance(value.owner, ir.Block):
            return _ANY
        op = value.owner.operation
        if op.name == "fuse.index" and not len(op.operands):
            return self.facts.interval(parse(string(op.attributes["expr"])))
        if op.name == "arith.constant" and isinstance(value.type, ir.IntegerType):
            number = ir.IntegerAttr(op.attributes["value"]).value
            return number, number
        if op.name == "arith.select":
            return self._chosen(op)
        if op.name == "arith.extsi":
            return self.range(op.operands[0])
        if op.name == "arith.trunci":
            found = self.range(op.operands[0])
            return _ANY if None in found else found
        if op.name in _OF_BITS:
            return self._bits(op)
        if op.name == "arith.fptosi":
            bounds = self.floats.range(op.operands[0])
            return _ANY if bounds is None else (math.trunc(bounds[0]), math.trunc(bounds[1]))
        if op.name in _EXTREMES:
            return _extreme(op.name, *map(self.range, op.operands))
        if op.name not in _SUMS:
            return _ANY
        (low, high), (other_low, other_high) = map(self.range, op.operands)
        if op.name == "arith.subi":
            other_low, other_high = (None if e is None else -e for e in (other_high, other_low))
        return _both(low, other_low, int.__add__), _both(high, other_high, int.__add__)

    def _bits(self, op: ir.Operation) -> Range:
        """Of some bits of an integer, shifted or widened without a sign."""
        type_ = op.operands[0].type
        if not isinstance(type_, ir.IntegerType):
            return _ANY
        low, high = self.range(op.operands[0])
        if op.name == "arith.andi":
            masks = [high for low, high in map(self.range, op.operands) if low is not None and low >= 0]
            most = min((m for m in masks if m is not None), default=None)
            return _ANY if most is None else (0, most)
        if low is None or low < 0 or high is None:  # as unsigned, any number of the type
            low, high = 0, 2**type_.width - 1
        if op.name == "arith.extui":
            return low, high
        by, most = self.range(op.operands[1])
        if by is None or by != most or not 0 <= by < type_.width:
            return _ANY
        return (low >> by, high >> by) if by else self.range(op.operands[0])

    def _chosen(self, choice: ir.Operation) -> Range:
        condition, first, second = choice.operands
        decided = defining_op(condition, arith.ConstantOp)
        if decided is not None:
            return self.range(first if is_true(condition) else second)
        chosen = self.range(first)
        if chosen == _ANY:
            chosen = _converted(first, condition)
        (low, high), (other_low, other_high) = chosen, self.range(second)
        return _both(low, other_low, min), _both(high, other_high, max)


def _of_type(value: ir.Value, narrow: ir.IntegerType) -> ir.Value:
    """An integer that fits in a narrow type, in it."""
    widened, constant = defining_op(value, arith.ExtSIOp), defining_op(value, arith.ConstantOp)
    if widened is not None and widened.operands[0].type == narrow:
        return widened.operands[0]
    if constant is not None:
        return number(narrow, ir.IntegerAttr(constant.attributes["value"]).value)
    return arith.trunci(narrow, value)


def _converted(value: ir.Value, condition: ir.Value) -> Range:
    """The range of an integer that is converted from a float which a condition bounds."""
    made = defining_op(value, arith.FPToSIOp)
    if made is None:
        return _ANY
    low, high = None, None
    conditions = [condition]
    while conditions:
        one = conditions.pop()
        both = defining_op(one, arith.AndIOp)
        if both is not None:
            conditions += both.operands
            continue
        comparison = defining_op(one, arith.CmpFOp)
        if comparison is None or comparison.operands[0] != made.operands[0]:
            continue
        limit = constant_number(comparison.operands[1])
        predicate = ir.IntegerAttr(comparison.attributes["predicate"]).value
        if limit is None or not math.isfinite(limit) or predicate not in _ORDERED:
            continue
        if predicate in (_OGT, _OGE):
            low = max(math.trunc(limit), math.trunc(limit) if low is None else low)
        else:
            least = math.ceil(limit) - 1 if predicate == _OLT and limit > 0 else math.trunc(limit)
            high = min(least, least if high is None else high)
    return low, high


#: Predicates of ``arith.cmpf`` that are false for NaN.
_OGT, _OGE, _OLT, _OLE = 2, 3, 4, 5
_ORDERED = (_OGT, _OGE, _OLT, _OLE)
#: Operations whose integers have bounds.
_OF_BITS = ("arith.andi", "arith.shrui", "arith.extui")
_INDICES = ("fuse.index", "arith.fptosi", *_OF_BITS)
#: Predicate of ``arith.cmpi`` (slt, sle, sgt, sge) -> whether it is "less" without "equal", and negated.
_LESS = {2: (True, False), 3: (False, False), 4: (False, True), 5: (True, True)}
_SUMS = ("arith.addi", "arith.subi")
_EXTREMES = ("arith.minsi", "arith.maxsi")


def _extreme(name: str, a: Range, b: Range) -> Range:
    """Of the less or the greater of two integers."""
    if name == "arith.maxsi":
        return max((e for e in (a[0], b[0]) if e is not None), default=None), _both(a[1], b[1], max)
    return _both(a[0], b[0], min), min((e for e in (a[1], b[1]) if e is not None), default=None)


def _both(a: int | None, b: int | None, join: Callable[[int, int], int]) -> int | None:
    return None if a is None or b is None else join(a, b)


def _drop_asserts(func: ir.Operation) -> None:
    for op in kernel_body(func):
        if isinstance(op, fuse.DeviceAssert) and is_true(op.operands[0]):
            op.erase()


def _named_indices(func: ir.Operation) -> int:
    """Lets loads name coordinates that they took as indices; how many indices that were."""
    count = 0
    for op in kernel_body(func):
        if not isinstance(op, fuse.Load):
            continue
        indices = list(op.operands)[_BEFORE_INDICES:]
        found = [_coordinate(index) for index in indices]
        named = sum(e is not None for e in found)
        if not named:
            continue
        kept = [index for index, e in zip(indices, found, strict=True) if e is None]
        numbers = iter(range(len(kept)))
        names = {f"i{n}": parse(f"i{next(numbers)}") if e is None else e for n, e in enumerate(found)}
        attributes = {name: op.attributes[name] for name in op.attributes}
        attributes["at"] = text_list([parse(at).subs(names) for at in strings(op.attributes["at"])])
        operands = [*list(op.operands)[:_BEFORE_INDICES], *kept]
        new = ir.Operation.create(
            op.name,
            [r.type for r in op.results],
            operands,
            attributes,
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        op.results[0].replace_all_uses_with(new.results[0])
        op.erase()
        count += named
    return count


def _coordinate(index: ir.Value) -> Expr | None:
    """The expression over dims that an index is."""
    op = defining_op(index, fuse.Index)
    return None if op is None or len(op.operands) else parse(string(op.attributes["expr"]))
