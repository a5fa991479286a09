"""From what the slices of a reduction give to what the whole gives.  Helpers of ``split-reductions``.

Slice i has folded its own n points.  Over all slices:

- a sum, product, maximum, .. is the same reduction of the slices' results; an argmax or argmin is that of
  their best values, with the positions of these;
- ``fuse.welford``: slice i has the mean ``c_i`` and the sum ``q_i`` of squared deviations from it.  Where
  slices have equally many points n, the mean is that of the ``c_i``, and the squared deviations from it sum
  to ``sum q_i + n * sum (c_i - mean)^2``.  The second sum is Welford's of the ``c_i``.  Where the last slices
  have fewer points, both are Welford's of the ``c_i`` with their numbers of points ``n_i`` as weights, which
  gives ``sum n_i * (c_i - mean)^2``.  A slice of no points has weight 0;
- ``fuse.online_softmax``: slice i has the maximum ``m_i`` and ``s_i = sum exp(x - m_i)``.  The maximum is
  ``m = max m_i``, the sum of exponentials ``sum s_i * f_i`` with ``f_i = exp(m_i - m)``;
- ``fuse.online_expectation`` of ``sum exp(x_0 - m_0) * (w + sum_k sign_k * (x_k - m_k))``: slice i has the
  sum ``v_i`` in which each ``x_k`` is counted from the slice's own maximum ``m_ki``.  From the maximum of the
  whole it is ``x_k - m_k = (x_k - m_ki) + (m_ki - m_k)``.  The second term is the same at all points of the
  slice, whose weights ``exp(x_0 - m_0i)`` sum to ``s_0i``.  So the whole is
  ``sum f_0i * (v_i + sum_k sign_k * (m_ki - m_k) * s_0i)``;
- ``fuse.online_dot``: its maximum and sum of exponentials are those of ``fuse.online_softmax``, and slice i
  has the sums ``o_i = sum exp(x - m_i) * w``.  The whole's are ``sum o_i * f_i``.
"""

from collections.abc import Sequence
from math import inf

from ...compiler.analysis.tiling.slicing import Slicing
from ...compiler.base.dataclass import dataclass
from ...compiler.index import Expr, const, sym
from ...compiler.ir.contractions import PRODUCTS
from ...compiler.ir.kernel import string
from ...compiler.ir.reductions import REDUCTION_OPS, identity_of
from ...compiler.mlir import arith, ir, math
from ..base.kernels import text_list
from ..base.new_ops import fold, index, number
from .slice_kernels import KernelPart

#: Predicates of ``arith.cmpf``: equal, greater.
_OEQ, _OGT = 1, 2


@dataclass(frozen=True)
class _Softmax:
    """The whole's maximum and sum of exponentials, and what each slice contributes to them."""

    top: ir.Value
    total: ir.Value
    empty: ir.Value  #: whether the slice is of nothing but minus infinities
    slice_total: ir.Value  #: the slice's own sum, 0 for an empty slice
    below: ir.Value  #: the slice's maximum less the whole's
    factor: ir.Value  #: exp(below), by which the slice's terms are multiplied


@dataclass(frozen=True)
class Combining:
    """The combination of slices, in ``part``.  ``extent``: of the dim that is cut.  ``rows``: how many points
    the other dims have that are folded with it.
    """

    part: KernelPart
    slicing: Slicing
    slice_dim: str
    extent: Expr
    rows: Expr

    def results(self, pieces: Sequence[ir.Value]) -> list[ir.Value]:
        """The results of all reductions, from those of their slices in the same order."""
        found: list[ir.Value] = []
        for op in self.slicing.reductions:
            mine = pieces[len(found) : len(found) + len(op.results)]
            with ir.InsertionPoint(self.part.block), op.location:
                found += self._combined(op, mine)
        return found

    def _combined(self, op: ir.Operation, pieces: Sequence[ir.Value]) -> list[ir.Value]:
        match op.name:
            case "fuse.reduce":
                return [self._fold(string(op.attributes["kind"]), pieces[0])]
            case "fuse.dot":
                return [self._fold("sum", pieces[0])]
            case "fuse.argreduce":
                return self._folded(op.name, pieces, kind=op.attributes["kind"])
            case "fuse.welford":
                if self.slicing.exact:
                    return self._welford(mean=pieces[0], squares=pieces[1])
                return self._unequal_welford(mean=pieces[0], squares=pieces[1])
            case "fuse.online_softmax":
                whole = self._softmax(slice_top=pieces[0], slice_total=pieces[1])
                return [whole.top, whole.total]
            case "fuse.online_dot":
                whole = self._softmax(slice_top=pieces[1], slice_total=pieces[2])
                return [self._weighted(pieces[0], whole), whole.top, whole.total]
            case "fuse.online_expectation":
                signs = list(ir.DenseI64ArrayAttr(op.attributes["signs"]))
                softmaxes = [(pieces[1 + 2 * k], pieces[2 + 2 * k]) for k in range(len(signs))]
                return self._expectation(signs, pieces[0], softmaxes)
        raise AssertionError(f"{op.name} is not split")

    def _fold(self, kind: str, value: ir.Value) -> ir.Value:
        return fold(kind, value, [self.slice_dim])

    def _folded(self, name: str, pieces: Sequence[ir.Value], **attributes: ir.Attribute) -> list[ir.Value]:
        """The two results of another reduction of the slices."""
        types = [pieces[0].type, pieces[-1].type]
        over = text_list([self.slice_dim])
        return list(ir.Operation.create(name, types, list(pieces), {**attributes, "over": over}).results)

    def _welford(self, mean: ir.Value, squares: ir.Value) -> list[ir.Value]:
        center, spread = self._folded("fuse.welford", [mean])
        between = arith.mulf(spread, self._number(self.slicing.length * self.rows, mean.type))
        return [center, arith.addf(self._fold("sum", squares), between)]

    def _unequal_welford(self, mean: ir.Value, squares: ir.Value) -> list[ir.Value]:
        zero, points = arith.constant(mean.type, 0.0), self._points(mean.type)
        center, between = self._folded("fuse.welford", [mean, points])
        within = arith.select(arith.cmpf(_OGT, points, zero), squares, zero)
        return [center, arith.addf(self._fold("sum", within), between)]

    def _points(self, element: ir.Type) -> ir.Value:
        """How many points each slice has: as many as are left, but at least none and at most ``length``."""
        left = index(self.extent - sym(self.slice_dim) * self.slicing.length)
        most, least = index(self.slicing.length), index(const(0))
        count = arith.sitofp(element, arith.maxsi(arith.minsi(left, most), least))
        return arith.mulf(count, self._number(self.rows, element))

    def _softmax(self, slice_top: ir.Value, slice_total: ir.Value) -> _Softmax:
        top = self._fold("max", slice_top)
        # A slice of nothing but minus infinities has the sum NaN; beside other slices it adds nothing.
        lowest, zero = (arith.constant(slice_top.type, value) for value in (-inf, 0.0))
        empty = arith.cmpf(_OEQ, slice_top, lowest)
        kept = arith.select(empty, zero, slice_total)
        below = arith.subf(slice_top, top)
        factor = math.exp(below)
        total = self._fold("sum", arith.mulf(kept, factor))
        return _Softmax(top, total, empty, kept, below, factor)

    def _weighted(self, sums: ir.Value, whole: _Softmax) -> ir.Value:
        """Sums of what exponentials multiply.  Those of an empty slice are NaN, and add nothing beside other
        slices; those of a row of empty slices are NaN.
        """
        kept = arith.select(whole.empty, arith.constant(sums.type, 0.0), sums)
        return self._fold("sum", arith.mulf(kept, whole.factor))

    def _expectation(
        self, signs: list[int], value: ir.Value, softmaxes: Sequence[tuple[ir.Value, ir.Value]]
    ) -> list[ir.Value]:
        """``softmaxes``: the maximum and the sum of each, of a slice.  The first has the weights."""
        wholes = [self._softmax(slice_top=top, slice_total=total) for top, total in softmaxes]
        weights = wholes[0]
        counted = arith.mulf(value, weights.factor)
        scaled = arith.mulf(weights.slice_total, weights.factor)
        for sign, whole in zip(signs, wholes, strict=True):
            if sign:
                moved = arith.mulf(whole.below, scaled)
                counted = (arith.addf if sign > 0 else arith.subf)(counted, moved)
        return [self._fold("sum", counted), *(v for whole in wholes for v in (whole.top, whole.total))]

    def _number(self, e: Expr, element: ir.Type) -> ir.Value:
        if e.constant is not None:
            return number(element, e.constant)
        return arith.sitofp(element, index(e))


def neutrals(op: ir.Operation) -> list[ir.Attribute]:
    """What the operands of a reduction have to be at a point that is to add nothing."""
    kind = string(op.attributes["kind"]) if "kind" in op.attributes else REDUCTION_OPS[op.name].starts
    values = [_neutral(kind, op.operands[0].type)]
    if op.name == "fuse.argreduce":
        values.append(ir.IntegerAttr.get(op.operands[1].type, (1 << 63) - 1))
    if op.name in PRODUCTS:
        values.append(_neutral("sum", op.operands[1].type))
    return values


def _neutral(kind: str, type_: ir.Type) -> ir.Attribute:
    """The neutral element of a kind of reduction."""
    value = identity_of(kind, type_)
    if isinstance(type_, ir.FloatType):
        return ir.FloatAttr.get(type_, value)
    if ir.IntegerType(type_).width == 1:
        return ir.BoolAttr.get(bool(value))
    return ir.IntegerAttr.get(type_, value)
