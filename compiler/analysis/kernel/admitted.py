"""At which columns a row of scores is not masked, as far as index algebra says it.

``where(i >= j, s, -inf)`` admits the columns ``i - j >= 0`` of row i.  A block of columns that none of its
rows admits adds nothing to a softmax, and need not be computed; one that all rows admit need not be compared.

A column may be compared with a number that is data, too.  With ``j < lengths[b]``, a program loads how many
columns it goes through.
"""

import math
from collections.abc import Mapping
from dataclasses import field, replace

from ...base.dataclass import dataclass
from ...index import Expr
from ...ir.defining import constant_number, defining_op
from ...ir.dialects import fuse
from ...mlir import arith, ir
from ...mlir import math as mlir_math
from .conditions import bounds_where


@dataclass(frozen=True)
class Admitted:
    """``bounds``: expressions over dims and sizes that are at least 0 wherever a value is not masked.
    ``choices``: the selects that mask it, each with the number of the operand that it takes elsewhere.
    ``complete``: whether nothing is masked where all bounds hold.  ``finite``: whether a mask fills in a
    finite number, which counts in a row that admits nothing.  ``numbers``: values of the kernel that bounds
    name ``i0``, ``i1`` and so on, such as the length of a sequence; at most one in each bound.  ``divided``:
    whether it is divided by the sum of its row, which is NaN in a row that admits nothing.
    """

    bounds: tuple[Expr, ...]
    choices: tuple[tuple[ir.Operation, int], ...]
    complete: bool
    finite: bool = False
    numbers: Mapping[str, ir.Value] = field(default_factory=dict)
    divided: bool = False


#: Finite fillers: the lowest numbers of 16 bits, and all below these.
_FILLERS = (-65504.0, -1e30)

#: Of a value that no comparison masks.
NOTHING_MASKED = Admitted((), (), True)


def admitted(value: ir.Value) -> Admitted:
    """Where a value is not masked by a comparison of indices, which selects it, or -inf for a term of it."""
    found = _Masks()
    if not found.fills(value):
        found.read(value)
    return Admitted(tuple(found.bounds), tuple(found.choices), found.complete, found.finite, found.numbers)


def nonzero(value: ir.Value) -> Admitted:
    """Where a factor of a product is not 0 because of a comparison of indices: a masked gradient, or a
    probability ``exp(x - m) / l`` of masked scores x.  What it is multiplied by is taken to be finite.
    """
    op = value.owner
    if isinstance(op, ir.Block):
        return NOTHING_MASKED
    if isinstance(op, (arith.MulFOp, mlir_math.FmaOp)):
        found = next((f for v in list(op.operands)[:2] if (f := nonzero(v)).bounds), NOTHING_MASKED)
        return found if isinstance(op, arith.MulFOp) else both(found, nonzero(op.operands[2]))
    if isinstance(op, (arith.AddFOp, arith.SubFOp)):
        return both(*map(nonzero, op.operands))
    if isinstance(op, (arith.DivFOp, arith.NegFOp, arith.TruncFOp, arith.ExtFOp)):
        return nonzero(op.operands[0])
    if isinstance(op, (mlir_math.ExpOp, mlir_math.Exp2Op)):
        shifted = _unshifted(op.operands[0])
        return NOTHING_MASKED if shifted is None else replace(admitted(shifted), divided=True)
    if not isinstance(op, arith.SelectOp):
        return NOTHING_MASKED
    zeros = [constant_number(v) == 0 for v in list(op.operands)[1:]]
    if zeros[0] == zeros[1]:
        return NOTHING_MASKED
    mask = _Masks()
    mask.choose(op, 2 if zeros[0] else 1)
    return Admitted(tuple(mask.bounds), tuple(mask.choices), mask.complete, numbers=mask.numbers)


def multiplied(op: ir.Operation) -> Admitted:
    """Where both factors of a product are not 0 because of one comparison, which guards their loads too:
    elsewhere nothing is read."""
    found = [_guarded(v) for v in op.operands]
    same = found[0].bounds == found[1].bounds and found[0].numbers == found[1].numbers
    return found[0] if same else NOTHING_MASKED


def _guarded(value: ir.Value) -> Admitted:
    """As ``nonzero``, also of what is loaded as 0 where a comparison does not hold."""
    load = defining_op(value, fuse.Load)
    if load is None:
        return nonzero(value)
    zero, mask = constant_number(load.operands[2]) == 0, _Masks()
    bounds, whole = bounds_where(load.operands[1], True, mask.numbers)
    return Admitted(tuple(bounds), (), whole, numbers=mask.numbers) if zero else NOTHING_MASKED


def _unshifted(value: ir.Value) -> ir.Value | None:
    """What a value was before numbers were subtracted, and what is left multiplied by positive constants;
    None where nothing is subtracted.
    """
    found = None
    while True:
        less, scaled = defining_op(value, arith.SubFOp), defining_op(value, arith.MulFOp)
        if less is not None:
            found = value = less.operands[0]
        elif scaled is not None and (constant_number(scaled.operands[1]) or 0) > 0:
            value = scaled.operands[0]
        else:
            return found


def both(one: Admitted, other: Admitted) -> Admitted:
    """Where one of two terms, or factors of two products, is not 0: of other bounds, nothing is masked."""
    if one.bounds != other.bounds or one.numbers != other.numbers:
        return NOTHING_MASKED
    return replace(
        one,
        choices=tuple(dict.fromkeys((*one.choices, *other.choices))),
        complete=one.complete and other.complete,
        finite=one.finite or other.finite,
        divided=one.divided or other.divided,
    )


@dataclass
class _Masks:
    """What ``Admitted`` says, while it is gathered."""

    bounds: list[Expr] = field(default_factory=list)
    choices: list[tuple[ir.Operation, int]] = field(default_factory=list)
    complete: bool = True
    finite: bool = False
    numbers: dict[str, ir.Value] = field(default_factory=dict)
    seen: set[ir.Operation] = field(default_factory=set)

    def fills(self, value: ir.Value) -> bool:
        """Whether a value itself is a choice between scores, computed of a product alone, and a finite
        filler.
        """
        op = defining_op(value, arith.SelectOp)
        fillers = [] if op is None else [constant_number(v) for v in list(op.operands)[1:]]
        lowest = [n is not None and (n == _FILLERS[0] or -math.inf < n <= _FILLERS[1]) for n in fillers]
        if op is None or lowest.count(True) != 1 or not _is_score(op.operands[2 if lowest[0] else 1]):
            return False
        self.choose(op, 2 if lowest[0] else 1)
        self.finite = True
        return True

    def choose(self, op: ir.Operation, kept: int) -> None:
        """Adds what a select says, which masks where it does not take this operand.  All selects by the same
        condition take what they do.
        """
        bounds, whole = bounds_where(op.operands[0], kept == 1, self.numbers)
        self.bounds += bounds
        same = [use.owner for use in op.operands[0].uses if use.operand_number == 0]
        self.choices += [(each, kept) for each in same if isinstance(each, arith.SelectOp)]
        self.complete = self.complete and whole

    def read(self, value: ir.Value) -> None:
        """Adds what masks a value.  A sum is -inf where a term is; a rounding keeps -inf."""
        op = value.owner
        if isinstance(op, arith.AddFOp):
            for term in op.operands:
                self.read(term)
        elif isinstance(op, (arith.ExtFOp, arith.TruncFOp)):
            self.read(op.operands[0])
        elif isinstance(op, arith.SelectOp):
            masked = [constant_number(v) == -math.inf for v in list(op.operands)[1:]]
            if masked[0] != masked[1] and op not in self.seen:
                self.seen.add(op)
                kept = 2 if masked[0] else 1
                self.choose(op, kept)
                self.read(op.operands[kept])


def _is_score(value: ir.Value) -> bool:
    """Whether a value is computed of products and indices alone, so that nothing masks it: no tensor, and no
    infinite number.
    """
    pending, seen = [value], set[ir.Operation]()
    while pending:
        op = pending.pop().owner
        if isinstance(op, ir.Block | fuse.Load):
            return False
        if op in seen or isinstance(op, fuse.Dot):
            continue
        seen.add(op)
        number = constant_number(op.results[0]) if str(op.results[0].type)[0] in "bf" else None
        if number is not None and math.isinf(number):
            return False
        pending += op.operands
    return True
