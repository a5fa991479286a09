"""At which columns a row of scores is not masked, as far as index algebra says it.

``where(i >= j, s, -inf)`` admits the columns ``i - j >= 0`` of row i.  A block of columns that none of its
rows admits adds nothing to a softmax, and need not be computed; one that all rows admit need not be compared.

A column may be compared with a number that is data, too.  With ``j < lengths[b]``, a program loads how many
columns it goes through.
"""

import math
from collections.abc import Mapping
from dataclasses import field

from ...base.dataclass import dataclass
from ...index import Expr
from ...ir.defining import defining_op
from ...mlir import ir
from .conditions import bounds_where


@dataclass(frozen=True)
class Admitted:
    """``bounds``: expressions over dims and sizes that are at least 0 wherever a value is not masked.
    ``choices``: the selects that mask it, each with the number of the operand that it takes elsewhere.
    ``complete``: whether nothing is masked where all bounds hold.  ``finite``: whether a mask fills in a
    finite number, which counts in a row that admits nothing.  ``numbers``: values of the kernel that bounds
    name ``i0``, ``i1`` and so on, such as the length of a sequence; at most one in each bound.
    """

    bounds: tuple[Expr, ...]
    choices: tuple[tuple[ir.Operation, int], ...]
    complete: bool
    finite: bool = False
    numbers: Mapping[str, ir.Value] = field(default_factory=dict)


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


@dataclass
class _Masks:
    """What ``Admitted`` says, while it is gathered."""

    bounds: list[Expr] = field(default_factory=list)
    choices: list[tuple[ir.Operation, int]] = field(default_factory=list)
    complete: bool = True
    finite: bool = False
    numbers: dict[str, ir.Value] = field(default_factory=dict)

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
        bounds, whole = bounds_where(op.operands[0], kept == 1, self.numbers)
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
