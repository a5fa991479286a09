"""Sums weighted by a softmax, made one fold.  Helpers of ``combine-reductions``, not a pass.

**What an expectation is.**  A *row* is what a sum reduces.  Along it, a value x has the maximum ``m = max x``
and the sum of exponentials ``s = sum exp(x - m)``; ``fuse.online_softmax`` gives both.  The softmax of x is
``p = exp(x - m) / s``, and the expectation of a weight w is ``E[w] = sum p * w``.  As it is written, it reads
the row twice: for m and s, then for the sum.  ``fuse.online_expectation`` gives m, s and
``sum exp(x - m) * w`` in one read, since it corrects its sum wherever the maximum rises.  Its weight may hold
terms ``x_k - m_k``, with maxima of the same row, which it corrects likewise.

**Identities.**  These bring a weight to that form.  c does not vary along the row::

    exp(x - m - log s)             =  exp(x - m) / s                      (1)  a softmax from its logarithm
    sum (exp(x - m) / s) * w       =  (sum exp(x - m) * w) / s            (2)  1/s is a factor of the sum
    sum exp(x - m) * (c * w)       =  c * sum exp(x - m) * w              (3)  as is what does not vary
    sum p * (w + c)                =  (sum p * w) + c                     (4)  probabilities sum to 1
    sum exp(x - m) * (w + c)       =  (sum exp(x - m) * w) + c * s        (5)  and their numerators to s
    x_k - m_k - log s_k            =  (x_k - m_k) + c                     (6)  a log-softmax is such a term

So the divergence of two softmaxes, ``sum p_0 * (log p_0 - log p_1)``, has the terms ``x_0 - m_0`` and
``-(x_1 - m_1)`` and the constant ``log s_1 - log s_0``.

**The code.**  ``combine_expectation`` flattens the product under the sum into factors, finds the one ``exp``
among them, of ``x - m`` or of ``x - m - log s`` (1), and takes the factors that do not vary out of the sum
(2, 3).  If one other factor is left, it is the weight: flattened into terms, of which those ``x_k - m_k`` are
left to the fold (6) and those that do not vary are added behind it (4, 5).  Several are a product that the
fold takes as it is.  What was found is an ``_Expectation``, which ``_replace`` writes.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import NamedTuple

from ...compiler.analysis.kernel.precision import IMPLICIT
from ...compiler.base.dataclass import dataclass
from ...compiler.ir.defining import backward_slice, defining_op, forward_slice
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import REDUCTIONS, Kernel, over
from ...compiler.mlir import arith, ir, math


class Signed(NamedTuple):
    """A term of a sum or a factor of a product; with the sign -1 it is subtracted, or divides."""

    sign: int
    value: ir.Value


class _Tree(NamedTuple):
    """The two ops that trees of terms, or of factors, are made of, and what an empty tree is."""

    plus: type[ir.OpView]
    minus: type[ir.OpView]
    neutral: float


TERMS = _Tree(arith.AddFOp, arith.SubFOp, 0.0)
FACTORS = _Tree(arith.MulFOp, arith.DivFOp, 1.0)


@dataclass
class _Expectation:
    """``sum(exp(x_0 - m_0) * w) / s_0 * scale`` with
    ``w = product * (sum of signs[k] * (x_k - m_k), + terms + constants)``; a weight has several factors or
    several terms, not both.

    ``softmaxes`` are the online softmaxes of x_0, x_1, ..; signs[0] is 0 where x_0 is not in the weight.
    ``terms`` and ``product`` vary along the row, ``constants`` and ``scale`` do not.  ``normalised``: whether
    the sum is divided by s_0.
    """

    softmaxes: list[ir.Operation]
    signs: list[int]
    normalised: bool
    terms: list[Signed] = field(default_factory=list)
    product: list[Signed] = field(default_factory=list)
    constants: list[Signed] = field(default_factory=list)
    scale: list[Signed] = field(default_factory=list)


def combine_expectation(total: ir.Operation, kernel_of: Callable[[], Kernel]) -> bool:
    """Replaces ``total``, a sum weighted by a softmax over its own dims, and the softmaxes in it, by one
    ``fuse.online_expectation``.

    False, and nothing is changed, where it is no such sum; where a weight depends on another reduction over
    these dims; and where something else reads the row after its softmax, which needs a second read anyway.
    """
    factors = flat(total.operands[0], FACTORS)
    powers = [op for sign, value in factors if sign > 0 and (op := defining_op(value, math.ExpOp))]
    if not powers or not any(_softmax(term.value, 0) for term in flat(powers[0].operands[0], TERMS)):
        return False  # most sums: without looking at the kernel
    row = SoftmaxRow(kernel_of(), total)
    found = row.expectation(factors)
    if found is None or not row.is_last(found.softmaxes):
        return False
    _replace(total, found)
    return True


def _softmax(value: ir.Value, result: int) -> ir.Operation | None:
    """The online softmax of which a value is the maximum (``result`` 0) or the sum (1)."""
    op = defining_op(value, fuse.OnlineSoftmax)
    return op if op is not None and op.results[result] == value else None


def flat(value: ir.Value, tree: _Tree, sign: int = 1) -> list[Signed]:
    """The terms of a tree of sums and differences, or the factors of one of products and quotients.

    A value whose softmax is known is not taken apart: it is an x_k.
    """
    op = defining_op(value, tree.plus, tree.minus)
    if op is None or any(isinstance(use.owner, fuse.OnlineSoftmax) for use in value.uses):
        return [Signed(sign, value)]
    second = -sign if isinstance(op, tree.minus) else sign
    return flat(op.operands[0], tree, sign) + flat(op.operands[1], tree, second)


def factors_of(value: ir.Value) -> list[Signed]:
    """What a factor of a product is the product of, before it is rounded to the type in which it is
    multiplied, and before roundings that the program does not ask for.
    """
    rounding = defining_op(value, arith.TruncFOp)
    found = list[Signed]()
    for sign, factor in flat(value if rounding is None else rounding.operands[0], FACTORS):
        widened = defining_op(factor, arith.ExtFOp)
        rounding = None if widened is None else defining_op(widened.operands[0], arith.TruncFOp)
        if rounding is None or IMPLICIT not in rounding.attributes:
            found.append(Signed(sign, factor))
        else:
            found += [Signed(sign * inner.sign, inner.value) for inner in factors_of(rounding.results[0])]
    return found


class SoftmaxRow:
    """The row that a sum folds: which values vary along it, and what is known of them."""

    def __init__(self, kernel: Kernel, total: ir.Operation) -> None:
        self.kernel, self.total, self.dims = kernel, total, set(over(total))

    def varies(self, value: ir.Value) -> bool:
        """Whether a value has one of the dims that are folded."""
        return bool(self.kernel.value_dims.get(value, frozenset()) & self.dims)

    def expectation(self, factors: list[Signed]) -> _Expectation | None:
        """The sum of a product of factors as an expectation; None where it is none."""
        varying = [f for f in factors if self.varies(f.value)]
        powers = [f for f in varying if f.sign > 0 and defining_op(f.value, math.ExpOp)]
        found = self._probabilities(powers[0].value) if len(powers) == 1 else None
        if found is None:
            return None
        for factor in factors:
            if self.varies(factor.value):
                continue
            divides = factor.sign < 0 and factor.value == found.softmaxes[0].results[1]
            if divides and not found.normalised:
                found.normalised = True  # (2)
            else:
                found.scale.append(factor)  # (3)
        weights = [f for f in varying if f.value != powers[0].value]
        if len(weights) == 1 and weights[0].sign > 0:
            self._take_apart(weights[0].value, found)
        else:
            found.product = weights
        free = [value for _, value in (*found.terms, *found.product)]
        return None if self._need_another_reduction(free) else found

    def _probabilities(self, power: ir.Value) -> _Expectation | None:
        """The expectation, without its weight, of ``exp(x - m)`` or ``exp(x - m - log s)`` (1); None of
        another power.
        """
        terms = flat(power.owner.operation.operands[0], TERMS)
        varying = [t for t in terms if self.varies(t.value)]
        softmaxes = [op for sign, value in terms if sign < 0 and (op := _softmax(value, 0)) is not None]
        if len(varying) != 1 or len(softmaxes) != 1:
            return None
        [x], [softmax] = varying, softmaxes
        if x != (1, softmax.operands[0]) or set(over(softmax)) != self.dims:
            return None
        others = [t for t in terms if t != x and t.value != softmax.results[0]]
        if len(terms) != 2 + len(others) or len(others) > 1:
            return None
        if others and not (others[0].sign < 0 and _is_log(others[0].value, softmax.results[1])):
            return None
        return _Expectation([softmax], [0], normalised=bool(others))

    def _take_apart(self, weight: ir.Value, found: _Expectation) -> None:
        """Sorts the terms of the only weight: those ``x_k - m_k`` (6), those that do not vary (4, 5), the
        rest.
        """
        terms = flat(weight, TERMS)
        for x in list(terms):
            if not self.varies(x.value) or x not in terms:
                continue
            maximum = self._maximum_of(x, terms)
            if maximum is None:
                continue
            softmax = maximum.value.owner.operation
            if softmax == found.softmaxes[0] and found.signs[0] == 0:
                found.signs[0] = x.sign
            elif softmax not in found.softmaxes:
                found.softmaxes.append(softmax)
                found.signs.append(x.sign)
            else:
                continue
            terms.remove(x)
            terms.remove(maximum)
        found.terms = [t for t in terms if self.varies(t.value)]
        found.constants = [t for t in terms if not self.varies(t.value)]

    def _maximum_of(self, x: Signed, terms: list[Signed]) -> Signed | None:
        """The term that is the maximum of x over the row, with the other sign."""
        for term in terms:
            op = _softmax(term.value, 0) if term.sign == -x.sign else None
            if op is not None and op.operands[0] == x.value and self._crosses(op):
                return term
        return None

    def _crosses(self, op: ir.Operation) -> bool:
        """Whether an op reduces the dims of the row."""
        return op.name in REDUCTIONS and set(over(op)) == self.dims

    def _need_another_reduction(self, values: Iterable[ir.Value]) -> bool:
        """Whether values depend on a reduction over the row, which has to be complete first."""
        return any(map(self._crosses, backward_slice(values)))

    def is_last(self, softmaxes: list[ir.Operation]) -> bool:
        """Whether all that depends on the softmaxes and runs along the row ends in the sum."""
        made = forward_slice((r for op in softmaxes for r in op.results), lambda op: op == self.total)
        ends = (op for op in made if not len(op.results) or op.name in ("fuse.store", *REDUCTIONS))
        return not any(op != self.total and self.kernel.op_dims.get(op, set()) & self.dims for op in ends)


def _is_log(value: ir.Value, of: ir.Value) -> bool:
    log = defining_op(value, math.LogOp)
    return log is not None and log.operands[0] == of


def _replace(total: ir.Operation, found: _Expectation) -> None:
    """Writes the fold in front of the sum, and what follows from it behind."""
    type_ = total.results[0].type
    with ir.InsertionPoint(total), total.location:
        terms, product = joined(found.terms, TERMS), joined(found.product, FACTORS)
        weight = [v for v in (terms, product) if v is not None]
        if not weight and not any(found.signs):
            weight = [arith.constant(type_, 1.0)]  # the weight does not vary: the fold sums the probabilities
        fold = ir.Operation.create(
            fuse.OnlineExpectation.OPERATION_NAME,
            results=[type_] * (1 + 2 * len(found.softmaxes)),
            operands=[*(op.operands[0] for op in found.softmaxes), *weight],
            attributes={"over": total.attributes["over"], "signs": ir.DenseI64ArrayAttr.get(found.signs)},
        )
        value, sum_ = fold.results[0], fold.results[2]
        if found.normalised:
            value = arith.divf(value, sum_)
        constants = joined(found.constants, TERMS)
        if constants is not None:
            if not found.normalised:
                constants = arith.mulf(constants, sum_)  # (5)
            value = arith.addf(value, constants)
        scale = joined(found.scale, FACTORS)
        if scale is not None:
            value = arith.mulf(value, scale)
    total.results[0].replace_all_uses_with(value)
    for number, op in enumerate(found.softmaxes):
        for result, new in zip(op.results, list(fold.results)[1 + 2 * number :], strict=False):
            result.replace_all_uses_with(new)
    erase_dead(total, *found.softmaxes)
    move_behind(fold)


def joined(parts: list[Signed], tree: _Tree) -> ir.Value | None:
    """Terms added up, or factors multiplied, those with the sign 1 first; None where there are none."""
    if not parts:
        return None
    first, *others = sorted(parts, key=lambda part: -part.sign)
    whole = first.value
    if first.sign < 0:
        whole, others = arith.constant(first.value.type, tree.neutral), [first, *others]
    for sign, value in others:
        whole = (tree.plus if sign > 0 else tree.minus)(whole, value).result
    return whole


def erase_dead(*ops: ir.Operation) -> None:
    """Erases those of some ops of a block that have no uses, and what only they used."""
    reached = {*ops, *backward_slice(v for op in ops for v in op.operands)}
    for op in reversed([view.operation for view in ops[0].operation.block.operations]):
        if op in reached and len(op.results) and not any(list(result.uses) for result in op.results):
            op.erase()


def move_behind(fold: ir.Operation) -> None:
    """Moves what stands in front of the fold and needs its results behind it, in order."""
    ops = [view.operation for view in fold.operation.block.operations]
    late, last = {fold}, fold
    for op in ops[: ops.index(fold)]:
        owners = [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]
        if any(owner in late for owner in owners):
            op.move_after(last)
            late.add(op)
            last = op
