"""Sums weighted by a softmax, made one fold.  Helpers of ``combine-reductions``, not a pass.

With m and s, the maximum and the sum of exponentials of x, ``sum(exp(x - m - log s) * w)`` is
``sum(exp(x - m) * w) / s``; and what does not vary along the row leaves w, as the weights' sum is known.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..compiler.ir.defining import defining_op
from ..compiler.ir.kernel import REDUCTIONS, Kernel, over
from ..compiler.mlir import ir

_SOFTMAX, _EXPECTATION = "fuse.online_softmax", "fuse.online_expectation"


@dataclass
class _Match:
    """sum(exp(x0 - m0) / s0 * (sum(sign_k * (xk - mk)) + rest + constants)) * scale.

    softmaxes: those of x0, x1, ..  signs: 0 for x0 if it is not in the weight.  rest: signed values of the
    row; constants, scale: signed, or inverse, numbers of the row.  normalised: without s0, if not.
    """

    softmaxes: list[ir.Operation]
    signs: list[int]
    rest: list[tuple[int, ir.Value]] = field(default_factory=list)
    product: list[tuple[int, ir.Value]] = field(default_factory=list)
    constants: list[tuple[int, ir.Value]] = field(default_factory=list)
    scale: list[tuple[int, ir.Value]] = field(default_factory=list)
    normalised: bool = False


def combine_expectation(total: ir.Operation, kernel_of: Callable[[], Kernel]) -> bool:
    """Replaces ``total``, a sum weighted by a softmax over its own dims, and the softmaxes in it, by one
    ``fuse.online_expectation``.  False where it is none, where a weight depends on another reduction over
    these dims, or where something else reads the row after its softmax: a second read is needed then.
    """
    factors = _flat(total.operands[0], "arith.mulf", "arith.divf")
    powers = [op for sign, value in factors if sign > 0 and (op := defining_op(value, "math.exp"))]
    if not powers or not any(_softmax(leaf, 0) for _, leaf in _flat(powers[0].operands[0], *_SUMS)):
        return False
    row = _Row(kernel_of(), total)
    match = row.match(factors)
    if match is None or not row.is_last(match.softmaxes):
        return False
    _replace(total, match)
    return True


_SUMS = ("arith.addf", "arith.subf")


def _softmax(value: ir.Value, result: int) -> ir.Operation | None:
    """The online softmax of which a value is a result."""
    op = defining_op(value, _SOFTMAX)
    return op if op is not None and op.results[result] == value else None


def _flat(value: ir.Value, plus: str, minus: str, sign: int = 1) -> list[tuple[int, ir.Value]]:
    """A tree of sums and differences, or products and quotients, as signed leaves; a value whose maximum is
    known is one, whatever it is the sum of.
    """
    op = defining_op(value, plus) or defining_op(value, minus)
    if op is None or any(use.owner.operation.name == _SOFTMAX for use in value.uses):
        return [(sign, value)]
    second = -sign if op.name == minus else sign
    return _flat(op.operands[0], plus, minus, sign) + _flat(op.operands[1], plus, minus, second)


class _Row:
    """The row that a sum folds: which values vary along it, and what is known of them."""

    def __init__(self, kernel: Kernel, total: ir.Operation) -> None:
        self.kernel, self.total, self.dims = kernel, total, set(over(total))

    def varies(self, value: ir.Value) -> bool:
        """Whether a value has one of the dims that are folded."""
        return bool(self.kernel.value_dims.get(value, frozenset()) & self.dims)

    def match(self, factors: list[tuple[int, ir.Value]]) -> _Match | None:
        """The sum of a product of signed factors as a sum weighted by a softmax."""
        inside = [(sign, value) for sign, value in factors if self.varies(value)]
        powers = [value for sign, value in inside if sign > 0 and defining_op(value, "math.exp")]
        found = self._weights(powers[0]) if len(powers) == 1 else None
        if found is None:
            return None
        for sign, value in factors:
            if self.varies(value):
                continue
            if sign < 0 and not found.normalised and _softmax(value, 1) == found.softmaxes[0]:
                found.normalised = True
            else:
                found.scale.append((sign, value))
        weights = [(sign, value) for sign, value in inside if value != powers[0]]
        if len(weights) == 1 and weights[0][0] > 0:
            self._split(weights[0][1], found)
        else:
            found.product = weights
        free = [value for _, value in (*found.rest, *found.product)]
        return found if not self._depends(free, lambda op: self._crosses(op)) else None

    def _weights(self, power: ir.Value) -> _Match | None:
        """exp(x - m), of an online softmax of x over the same dims, or exp(x - m - log(s))."""
        leaves = _flat(power.owner.operation.operands[0], *_SUMS)
        values = [leaf for leaf in leaves if self.varies(leaf[1])]
        tops = [op for sign, value in leaves if sign < 0 and (op := _softmax(value, 0)) is not None]
        if len(values) != 1 or len(tops) != 1 or values[0] != (1, tops[0].operands[0]):
            return None
        [top] = tops
        others = [(s, v) for s, v in leaves if (s, v) != values[0] and v != top.results[0]]
        if set(over(top)) != self.dims or len(leaves) != 2 + len(others) or len(others) > 1:
            return None
        if others and not (others[0][0] < 0 and self._is_log(others[0][1], top.results[1])):
            return None
        return _Match([top], [0], normalised=bool(others))

    @staticmethod
    def _is_log(value: ir.Value, of: ir.Value) -> bool:
        log = defining_op(value, "math.log")
        return log is not None and log.operands[0] == of

    def _split(self, weight: ir.Value, found: _Match) -> None:
        """Takes apart a weight: what lies below its own maximum, what does not vary, the rest."""
        leaves = _flat(weight, *_SUMS)
        for leaf in list(leaves):
            sign, value = leaf
            if not self.varies(value) or leaf not in leaves:
                continue
            partners = [
                (s, v)
                for s, v in leaves
                if s == -sign and (op := _softmax(v, 0)) and op.operands[0] == value and self._crosses(op)
            ]
            if not partners:
                continue
            softmax = partners[0][1].owner.operation
            if softmax == found.softmaxes[0] and found.signs[0] == 0:
                found.signs[0] = sign
            elif softmax not in found.softmaxes:
                found.softmaxes.append(softmax)
                found.signs.append(sign)
            else:
                continue
            leaves.remove(leaf)
            leaves.remove(partners[0])
        found.rest = [leaf for leaf in leaves if self.varies(leaf[1])]
        found.constants = [leaf for leaf in leaves if not self.varies(leaf[1])]

    def _crosses(self, op: ir.Operation) -> bool:
        """Whether an op reduces the dims."""
        return op.name in REDUCTIONS and set(over(op)) == self.dims

    def _depends(self, values: Iterable[ir.Value], on: Callable[[ir.Operation], bool]) -> bool:
        pending, seen = [v.owner.operation for v in values if not isinstance(v.owner, ir.Block)], set()
        while pending:
            op = pending.pop()
            if op in seen:
                continue
            seen.add(op)
            if on(op):
                return True
            pending += [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]
        return False

    def is_last(self, softmaxes: list[ir.Operation]) -> bool:
        """Whether all that depends on the softmaxes and runs along the row ends in the sum."""
        pending = [use.owner.operation for op in softmaxes for r in op.results for use in r.uses]
        seen = set()
        while pending:
            op = pending.pop()
            if op in seen or op == self.total:
                continue
            seen.add(op)
            if self.kernel.op_dims.get(op, frozenset()) & self.dims and not len(op.results):
                return False
            if op.name in ("fuse.store", *REDUCTIONS) and self.kernel.op_dims[op] & self.dims:
                return False
            pending += [use.owner.operation for result in op.results for use in result.uses]
        return True


def _replace(total: ir.Operation, match: _Match) -> None:
    """Writes the fold in front of the sum, and what follows from it behind."""
    type_ = total.results[0].type
    with ir.InsertionPoint(total), total.location:
        rest = _signed(match.rest, "arith.addf", "arith.subf", 0.0, type_)
        weight = [v for v in (rest, _signed(match.product, "arith.mulf", "arith.divf", 1.0, type_)) if v]
        if not weight and not any(match.signs):
            weight = [_constant(type_, 1.0)]  # only numbers of the row are weighted
        fold = ir.Operation.create(
            _EXPECTATION,
            results=[type_] * (1 + 2 * len(match.softmaxes)),
            operands=[*(op.operands[0] for op in match.softmaxes), *weight],
            attributes={"over": total.attributes["over"], "signs": ir.DenseI64ArrayAttr.get(match.signs)},
        )
        value = fold.results[0]
        sum_ = fold.results[2]
        if match.normalised:
            value = _made("arith.divf", value, sum_)
        constants = _signed(match.constants, "arith.addf", "arith.subf", 0.0, type_)
        if constants is not None:
            if not match.normalised:
                constants = _made("arith.mulf", constants, sum_)
            value = _made("arith.addf", value, constants)
        scale = _signed(match.scale, "arith.mulf", "arith.divf", 1.0, type_)
        if scale is not None:
            value = _made("arith.mulf", value, scale)
    total.results[0].replace_all_uses_with(value)
    for number, op in enumerate(match.softmaxes):
        for result, new in zip(op.results, list(fold.results)[1 + 2 * number :], strict=False):
            result.replace_all_uses_with(new)
    _erase_dead(total, *match.softmaxes)
    _move_behind(fold)


def _made(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[a.type], operands=[a, b]).results[0]


def _constant(type_: ir.Type, number: float) -> ir.Value:
    value = ir.FloatAttr.get(type_, number)
    return ir.Operation.create("arith.constant", results=[type_], attributes={"value": value}).results[0]


def _signed(
    leaves: list[tuple[int, ir.Value]], plus: str, minus: str, neutral: float, type_: ir.Type
) -> ir.Value | None:
    """Leaves put together again; None where there are none."""
    if not leaves:
        return None
    ordered = sorted(leaves, key=lambda leaf: -leaf[0])
    total = ordered.pop(0)[1] if ordered[0][0] > 0 else _constant(type_, neutral)
    for sign, value in ordered:
        total = _made(plus if sign > 0 else minus, total, value)
    return total


def _erase_dead(*ops: ir.Operation) -> None:
    """Erases those of some ops of a block that have no uses, and what only they used."""
    pending, reached = list(ops), set(ops)
    while pending:
        for value in pending.pop().operands:
            if not isinstance(value.owner, ir.Block) and value.owner.operation not in reached:
                reached.add(value.owner.operation)
                pending.append(value.owner.operation)
    for op in reversed([view.operation for view in ops[0].block.operations]):
        if op in reached and len(op.results) and not any(list(result.uses) for result in op.results):
            op.erase()


def _move_behind(fold: ir.Operation) -> None:
    """Moves what stands in front of the fold and needs its results behind it, in order."""
    ops = [view.operation for view in fold.block.operations]
    late, last = {fold}, fold
    for op in ops[: ops.index(fold)]:
        owners = [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]
        if any(owner in late for owner in owners):
            op.move_after(last)
            late.add(op)
            last = op
