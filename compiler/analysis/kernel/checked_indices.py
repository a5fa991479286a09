"""For which numbers of a loaded index an assertion holds: what one check of an index says of another."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...index import parse
from ...index.solve import is_bijection
from ...ir.defining import defining_op, is_true
from ...ir.dialects import fuse
from ...ir.kernel import Kernel, index_check, strings
from ...mlir import arith, ir

#: Ends of a range of integers, both in it.
Span = tuple[int, int]


class IndexCheck(NamedTuple):
    """An assertion that an index is in range.

    op:       the assertion.
    index:    the index, as it is loaded.
    argument: which argument of the kernel it is loaded from.
    passed:   the numbers for which the assertion holds, as ranges in order that do not touch.
    whole:    whether each element of that argument is asserted, however large the other dims are.
    """

    op: ir.Operation
    index: ir.Value
    argument: int
    passed: tuple[Span, ...]
    whole: bool


def index_checks(kernel: Kernel) -> list[IndexCheck]:
    """The assertions of a scalar kernel that compare an integer which is always loaded with constants, in
    their order.  Any other has no entry: one with a bound that is a symbol, with a guard, or of an index that
    is computed of numbers of another kind.
    """
    found = []
    for op in kernel.asserts:
        if not index_check(op):
            continue
        index = _loaded(op.operands[0])
        if index is None or not isinstance(index.results[0].type, ir.IntegerType):
            continue
        [access] = [a for a in kernel.loads if a.op == index.operation]
        width = index.results[0].type.width
        pieces = _pieces(op.operands[0], index.results[0], (-(1 << width - 1), (1 << width - 1) - 1))
        if pieces is not None and is_true(index.operands[1]):
            passed = _joined(piece.span for piece in pieces if piece.least)
            whole = _is_whole(kernel, index, access.argument)
            found.append(IndexCheck(op, index.results[0], access.argument, passed, whole))
    return found


def within(spans: Sequence[Span], others: Sequence[Span]) -> bool:
    """Whether each number of some ranges is in one of the others."""
    return all(any(low <= a and b <= high for low, high in others) for a, b in spans)


def common(spans: Sequence[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """The numbers that are in both."""
    met = ((max(a, c), min(b, d)) for a, b in spans for c, d in others)
    return _joined(span for span in met if span[0] <= span[1])


class _Piece(NamedTuple):
    """What a value is for the indices of a range: ``least`` at its beginning, and as much more as the index
    is, where it ``moves``.  A condition is 0 or 1.
    """

    span: Span
    least: int
    moves: bool

    def on(self, span: Span) -> "_Piece":
        """The same on a part of the range."""
        return _Piece(span, self.least + (span[0] - self.span[0] if self.moves else 0), self.moves)

    @property
    def most(self) -> int:
        return self.least + (self.span[1] - self.span[0] if self.moves else 0)


def _pieces(value: ir.Value, index: ir.Value, span: Span) -> list[_Piece] | None:
    """A value for all indices of a range, which are pieces in order; None where it depends on more, or where
    a sum does not fit its type.
    """
    if value == index:
        return [_Piece(span, span[0], True)]
    constant = defining_op(value, arith.ConstantOp)
    if constant is not None and isinstance(constant.attributes["value"], ir.IntegerAttr):
        number = ir.IntegerAttr(constant.attributes["value"]).value
        return [_Piece(span, abs(number) if value.type.width == 1 else number, False)]
    if defining_op(value, arith.ExtSIOp) is not None:
        return _pieces(value.owner.operands[0], index, span)
    choice = defining_op(value, arith.SelectOp)
    if choice is not None:
        condition, first, second = choice.operands
        found: list[_Piece] = []
        for part in _pieces(condition, index, span) or ():
            taken = _pieces(first if part.least else second, index, part.span)
            if taken is None:
                return None
            found += taken
        return found or None
    if defining_op(value, *_OF_TWO) is None:
        return None
    op = value.owner
    left, right = (_pieces(v, index, span) for v in op.operands)
    if left is None or right is None:
        return None
    result: list[_Piece] = []
    for a, b in _beside(left, right):
        made = list(_compared(op, a, b)) if isinstance(op, arith.CmpIOp) else _combined(op, a, b)
        if made is None or not made:
            return None
        result += made
    return result


def _beside(left: Sequence[_Piece], right: Sequence[_Piece]) -> Iterator[tuple[_Piece, _Piece]]:
    """Both values on the ranges on which each of them is one piece."""
    for a in left:
        for b in right:
            low, high = max(a.span[0], b.span[0]), min(a.span[1], b.span[1])
            if low <= high:
                yield a.on((low, high)), b.on((low, high))


def _combined(op: ir.OpView, a: _Piece, b: _Piece) -> list[_Piece] | None:
    if isinstance(op, arith.AddIOp):
        most = (1 << op.results[0].type.width - 1) - 1
        if (a.moves and b.moves) or a.least + b.least < -most - 1 or a.most + b.most > most:
            return None
        return [_Piece(a.span, a.least + b.least, a.moves or b.moves)]
    if op.results[0].type.width != 1:
        return None
    return [_Piece(a.span, _LOGIC[op.operation.name](a.least, b.least), False)]


def _compared(op: ir.OpView, a: _Piece, b: _Piece) -> Iterator[_Piece]:
    """Where a signed comparison holds and where not; nothing for another comparison."""
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if predicate not in _LESS:
        return
    strict, negated = _LESS[predicate]
    slope = a.moves - b.moves
    # the difference is below ``limit`` up to some index, or from some index on
    difference, limit = a.least - b.least, 0 if strict else 1
    low, high = a.span
    if not slope:
        yield _Piece(a.span, int((difference < limit) != negated), False)
        return
    below = limit - difference if slope > 0 else difference - limit + 1  # how many indices to where it turns
    turn = min(max(low + below, low), high + 1)
    for span, less in (((low, turn - 1), slope > 0), ((turn, high), slope < 0)):
        if span[0] <= span[1]:
            yield _Piece(span, int(less != negated), False)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def _loaded(condition: ir.Value) -> fuse.Load | None:
    """The one load that a condition is computed of, by few operations."""
    pending, seen, loads = [condition], set[ir.Value](), list[fuse.Load]()
    while pending and len(seen) < _MOST_OPERATIONS:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        if isinstance(value.owner, fuse.Load):
            loads.append(value.owner)
        else:
            pending += value.owner.operands
    return loads[0] if len(loads) == 1 and not pending else None


def _is_whole(kernel: Kernel, index: fuse.Load, argument: int) -> bool:
    """Whether a load reads each element of a tensor, in a kernel that has points in any case."""
    if not all((extent.constant or 0) > 0 for extent in kernel.dims.values()):
        return False
    coordinates = [parse(at) for at in strings(index.attributes["at"])]
    sizes = {f"x{n}": size for n, size in enumerate(kernel.spec(argument).sizes)}
    return is_bijection(dict(zip(sizes, coordinates, strict=True)), sizes, kernel.dims, kernel.facts)


#: Operations of a condition that is looked at: a check of the importer's has 10.
_MOST_OPERATIONS = 32
_LOGIC = {
    "arith.andi": int.__and__,
    "arith.ori": int.__or__,
    "arith.xori": int.__xor__,
}
_OF_TWO = (arith.CmpIOp, arith.AddIOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp)
#: Predicate of ``arith.cmpi`` (slt, sle, sgt, sge) -> whether it is "less" without "equal", and negated.
_LESS = {2: (True, False), 3: (False, False), 4: (False, True), 5: (True, True)}
