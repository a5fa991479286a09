"""At which columns a row of scores is not masked, as far as index algebra says it.

``where(i >= j, s, -inf)`` admits the columns ``i - j >= 0`` of row i.  A block of columns that none of its
rows admits adds nothing to a softmax, and need not be computed; one that all rows admit need not be compared.
"""

import math
from dataclasses import field

from ...base.dataclass import dataclass
from ...index import Expr, const, parse
from ...ir.defining import defining_op, is_true
from ...ir.kernel import string
from ...mlir import ir

#: Numbers of comparisons.
_EQ, _SLT, _SLE, _SGT, _SGE = 0, 2, 3, 4, 5
_OPPOSITE = {_SLT: _SGE, _SLE: _SGT, _SGT: _SLE, _SGE: _SLT}


@dataclass(frozen=True)
class Admitted:
    """``bounds``: expressions over dims and sizes that are at least 0 wherever a value is not masked.
    ``choices``: the selects that mask it, each with the number of the operand that it takes elsewhere.
    ``complete``: whether nothing is masked where all bounds hold.  ``finite``: whether a mask fills in a
    finite number, which counts in a row that admits nothing.
    """

    bounds: tuple[Expr, ...]
    choices: tuple[tuple[ir.Operation, int], ...]
    complete: bool
    finite: bool = False


#: Finite fillers: the lowest numbers of 16 bits, and all below these.
_FILLERS = (-65504.0, -1e30)

#: Of a value that no comparison masks.
NOTHING_MASKED = Admitted((), (), True)


def admitted(value: ir.Value) -> Admitted:
    """Where a value is not masked by a comparison of indices, which selects it, or -inf for a term of it."""
    found = _Masks()
    if not found.fills(value):
        found.read(value)
    return Admitted(tuple(found.bounds), tuple(found.choices), found.complete, found.finite)


@dataclass
class _Masks:
    """What ``Admitted`` says, while it is gathered."""

    bounds: list[Expr] = field(default_factory=list)
    choices: list[tuple[ir.Operation, int]] = field(default_factory=list)
    complete: bool = True
    finite: bool = False

    def fills(self, value: ir.Value) -> bool:
        """Whether a value itself is a choice between scores, computed of a product alone, and a finite
        filler.
        """
        op = defining_op(value, "arith.select")
        fillers = [] if op is None else [_number(v) for v in list(op.operands)[1:]]
        lowest = [n is not None and (n == _FILLERS[0] or -math.inf < n <= _FILLERS[1]) for n in fillers]
        if op is None or lowest.count(True) != 1 or not _is_score(op.operands[2 if lowest[0] else 1]):
            return False
        self._choose(op, 2 if lowest[0] else 1)
        self.finite = True
        return True

    def _choose(self, op: ir.Operation, kept: int) -> None:
        bounds, whole = _conjunction(op.operands[0], kept == 1)
        self.bounds += bounds
        self.choices.append((op, kept))
        self.complete = self.complete and whole

    def read(self, value: ir.Value) -> None:
        """Adds what masks a value.  A sum is -inf where a term is; a rounding keeps -inf."""
        if isinstance(value.owner, ir.Block):
            return
        op = value.owner.operation
        if op.name == "arith.addf":
            for term in op.operands:
                self.read(term)
        elif op.name in ("arith.extf", "arith.truncf"):
            self.read(op.operands[0])
        elif op.name == "arith.select":
            masked = [_number(v) == -math.inf for v in list(op.operands)[1:]]
            if masked[0] != masked[1] and op not in (choice for choice, _ in self.choices):
                kept = 2 if masked[0] else 1
                self._choose(op, kept)
                self.read(op.operands[kept])


def _is_score(value: ir.Value) -> bool:
    """Whether a value is computed of products and indices alone, so that nothing masks it: no tensor, and no
    infinite number.
    """
    pending, seen = [value], set[ir.Operation]()
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or owner.operation.name == "fuse.load":
            return False
        op = owner.operation
        if op in seen or op.name == "fuse.dot":
            continue
        seen.add(op)
        number = _number(op.results[0]) if str(op.results[0].type)[0] in "bf" else None
        if number is not None and math.isinf(number):
            return False
        pending += op.operands
    return True


def _number(value: ir.Value) -> float | None:
    constant = defining_op(value, "arith.constant")
    return None if constant is None else ir.FloatAttr(constant.attributes["value"]).value


def _conjunction(condition: ir.Value, holds: bool) -> tuple[list[Expr], bool]:
    """What is at least 0 where a condition holds, or does not hold; and whether that is all it says."""
    inverse = defining_op(condition, "arith.xori")
    if inverse is not None and is_true(inverse.operands[1]):
        return _conjunction(inverse.operands[0], not holds)
    parts = defining_op(condition, "arith.andi" if holds else "arith.ori")
    if parts is not None:
        found = [_conjunction(v, holds) for v in parts.operands]
        return [e for bounds, _ in found for e in bounds], all(whole for _, whole in found)
    compare = defining_op(condition, "arith.cmpi")
    if compare is not None:
        first, second = map(_expression, compare.operands)
        predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
        if first is not None and second is not None:
            bounds = _compared(predicate if holds else _OPPOSITE.get(predicate, -1), first - second)
            return bounds, bool(bounds)
    return [], False


def _compared(predicate: int, difference: Expr) -> list[Expr]:
    """What is at least 0 where ``a - b`` compares so with 0; nothing of other comparisons."""
    less = -difference
    known = {
        _EQ: [difference, less],
        _SLT: [less - 1],
        _SLE: [less],
        _SGT: [difference - 1],
        _SGE: [difference],
    }
    return known.get(predicate, [])


def _expression(value: ir.Value) -> Expr | None:
    """An integer of a kernel as an expression over dims and sizes; None where it is another."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "fuse.index":
        return None if len(op.operands) else parse(string(op.attributes["expr"]))
    if op.name == "arith.constant":
        return const(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in ("arith.addi", "arith.subi") and str(value.type) == "i64":
        first, second = map(_expression, op.operands)
        if first is None or second is None:
            return None
        return first + second if op.name == "arith.addi" else first - second
    return None
