"""Relating two index spaces: `solve` inverts a store's coordinates, `is_bijection` compares boxes."""

from collections.abc import Mapping, Sequence

from ..base.dataclass import dataclass
from .atoms import FloorDiv, Mod
from .expr import ONE, ZERO, Atom, Expr, atom_expr, exact_quotient, lone_floor, sym
from .facts import Facts, as_expr, is_indirect
from .simplify import linear, simplify

Extents = Mapping[str, "Expr | int | str"]


@dataclass(frozen=True)
class Solution:
    """The producer's point for each point of a consumer.

    mapping: producer dim -> Expr over the consumer's dims, indirect operands and sizes, for each dim that the
             stored coordinates name.
    inside:  whether every mapped dim is proven to lie in its extent at every consumer point. When False (a
             padded or concatenated read, an indirect one), the caller must have a guard that says so.
    """

    mapping: dict[str, Expr]
    inside: bool = False


def solve(
    stored: Sequence[Expr], read: Sequence[Expr], producer: Extents, consumer: Extents, facts: Facts
) -> Solution | None:
    """The producer's dims as expressions with stored(producer) == read(consumer) at every consumer point.

    stored: coordinates that the producer writes, over its own dims (a name may mean another dim in `read`).
    read:   coordinates that the consumer reads, as many as stored ones; more or fewer raise ValueError.
    Each stored coordinate must be one of: free of unknown dims (and then proven equal to the read one);
    k*dim + c with k dividing `read - c`; a mixed-radix sum such as `a0*64 + a1` with 0 <= a1 < 64; or
    floordiv and mod digits of one dim. None when a dim that `stored` names stays undetermined, when a
    coordinate cannot be proven equal, or when `stored` names an indirect operand (the consumer's operand of
    that name is another one).
    """
    if len(stored) != len(read):
        raise ValueError(f"a store with {len(stored)} coordinates cannot match a read with {len(read)}")
    if any(is_indirect(name) for e in stored for name in e.symbols()):
        return None  # a producer's indirect operand is not the consumer's of the same name
    inner = facts.with_extents(consumer)
    # The producer's dims get names of their own, since both sides may call a dim d0.
    alias = {dim: f"{dim}'stored" for dim in producer}
    rename = {dim: sym(name) for dim, name in alias.items()}
    extents = {alias[dim]: as_expr(extent).subs(rename) for dim, extent in producer.items()}
    outer = Facts((), facts.ranges, facts.multiples).with_extents(extents)
    unknown = {alias[dim] for e in stored for dim in e.symbols() if dim in alias}
    named = sorted(unknown)
    pending = [(e.subs(rename), simplify(r, inner)) for e, r in zip(stored, read, strict=True)]
    found: dict[str, Expr] = {}

    def settle(values: dict[str, Expr]) -> None:
        found.update(values)
        unknown.difference_update(values)

    while pending:
        waiting = []
        for left, right in pending:
            free = left.symbols() & unknown
            if not free:
                if not inner.equal(left.subs(found), right):
                    return None
                continue
            values = _invert_one(left, right, free, found, inner) if len(free) == 1 else None
            if values is None:
                waiting.append((left, right))
            else:
                settle(values)
        if len(waiting) < len(pending):
            pending = waiting
            continue
        values = _digits(pending, unknown, extents, inner, outer) or _first_radix(
            pending, unknown, found, inner, outer
        )
        if values is None:
            return None
        settle(values)
    mapping = {dim: simplify(found[alias[dim]], inner) for dim in producer if alias[dim] in found}
    if len(mapping) != len(named):
        return None
    inside = all(inner.nonnegative(e) and inner.less(e, as_expr(producer[dim])) for dim, e in mapping.items())
    return Solution(mapping, inside)


def _invert_one(
    left: Expr, right: Expr, free: frozenset[str], found: Mapping[str, Expr], facts: Facts
) -> dict[str, Expr] | None:
    """left = k*dim + c over the one unknown dim: {dim: (right - c) / k}."""
    parts = linear(left, sorted(free))
    if parts is None:
        return None
    ((dim, k),) = parts[0].items()
    target = simplify(right - parts[1].subs(found), facts)
    value = _quotient(target, k.subs(found), facts)
    return None if value is None else {dim: value}


def _quotient(target: Expr, k: Expr, facts: Facts) -> Expr | None:
    """target / k where k is proven to divide it and to be non-zero."""
    if k.constant == 0:
        return None
    exact = exact_quotient(target, k)
    if exact is not None and (k.is_constant or facts.positive(k) or facts.positive(-k)):
        return exact
    if facts.positive(-k):
        target, k = -target, -k
    if not facts.positive(k) or not facts.divides(k, target):
        return None
    return simplify(target.floordiv(k), facts)


def _first_radix(
    pending: Sequence[tuple[Expr, Expr]],
    unknown: set[str],
    found: Mapping[str, Expr],
    inner: Facts,
    outer: Facts,
) -> dict[str, Expr] | None:
    for left, right in pending:
        values = _radix(left, right, unknown, found, inner, outer)
        if values is not None:
            return values
    return None


def _radix(
    left: Expr, right: Expr, unknown: set[str], found: Mapping[str, Expr], inner: Facts, outer: Facts
) -> dict[str, Expr] | None:
    """left = sum of k*dim + c where the terms below each k add up to [0, k): the digits of right - c."""
    dims = sorted(left.symbols() & unknown)
    parts = linear(left, dims)
    if parts is None:
        return None
    strides, rest = parts
    target = simplify(right - rest.subs(found), inner)
    values = {dim: ZERO for dim in dims if outer.extent[dim] == ONE}
    strides = {dim: k for dim, k in strides.items() if dim not in values}
    while len(strides) > 1:
        for dim, k in strides.items():
            below = sum((sym(other) * stride for other, stride in strides.items() if other != dim), ZERO)
            if outer.nonnegative(below) and outer.less(below, k):
                k = k.subs(found)
                values[dim] = simplify(target.floordiv(k), inner)
                target = simplify(target.mod(k), inner)
                del strides[dim]
                break
        else:
            return None
    for dim, k in strides.items():
        last = _quotient(target, k.subs(found), inner)
        if last is None:
            return None
        values[dim] = last
    if not strides and not inner.equal(target, ZERO):
        return None
    return values


def _digits(
    pending: Sequence[tuple[Expr, Expr]],
    unknown: set[str],
    extents: Mapping[str, Expr],
    inner: Facts,
    outer: Facts,
) -> dict[str, Expr] | None:
    """From coordinates `dim mod b`, `(dim floordiv a) mod b`, `dim floordiv a`: the dim put together."""
    for dim in sorted(unknown):
        digits: dict[Expr, tuple[Expr | None, Expr]] = {}
        for left, right in pending:
            if left.symbols() & unknown == {dim}:
                digit = _as_digit(left, outer)
                if digit is not None and digit[0] == sym(dim):
                    digits.setdefault(digit[1], (digit[2], right))
        value, stride, top = ZERO, ONE, False
        while not top and stride in digits:
            span, right = digits[stride]
            top = span is None
            if span is not None and not (inner.nonnegative(right) and inner.less(right, span)):
                break
            value = value + stride * right
            stride = stride if span is None else simplify(stride * span, outer)
        if top or (digits and outer.less_equal(extents[dim], stride)):
            return {dim: simplify(value, inner)}
    return None


def _as_digit(e: Expr, facts: Facts) -> tuple[Expr, Expr, Expr | None] | None:
    """(base, a, b) with e = (base floordiv a) mod b, or base floordiv a when b is None."""
    if len(e.by_monomial) != 1:
        return None
    ((monomial, c),) = e.by_monomial.items()
    if c != 1 or len(monomial) != 1:
        return None
    atom = monomial[0]
    if isinstance(atom, FloorDiv):
        return atom.num, atom.den, None
    if isinstance(atom, Mod):
        inner = lone_floor(atom.num)
        return (atom.num, ONE, atom.den) if inner is None else (*inner, atom.den)
    return e, ONE, None


@dataclass(frozen=True)
class _Digit:
    base: Expr
    divisor: Expr
    span: Expr


def is_bijection(
    mapping: Mapping[str, Expr], producer_extents: Extents, consumer_extents: Extents, facts: Facts
) -> bool:
    """Whether the mapping is one-to-one from the box of the consumer dims it names onto the producer's box.

    mapping: producer dim -> Expr over consumer dims and sizes; without an entry for each producer dim the
    answer is False. Proven for expressions that are mixed-radix sums (flipped or not) of digits, where the
    digits of each base cover it exactly once; False when not proven.
    """
    if set(mapping) != set(producer_extents):
        return False
    facts = facts.with_extents(consumer_extents)
    expressions = {dim: simplify(e, facts) for dim, e in mapping.items()}
    consumed = {dim: as_expr(extent) for dim, extent in consumer_extents.items()}
    digits: list[_Digit] = []
    for dim in sorted(expressions):
        found = _mixed_radix(
            expressions[dim], simplify(as_expr(producer_extents[dim]), facts), consumed, facts
        )
        if found is None:
            return False
        digits += found
    named = {name for e in mapping.values() for name in e.symbols()}
    reached = {name for digit in digits for name in digit.base.symbols()}
    if any(dim in named - reached and not facts.equal(extent, ONE) for dim, extent in consumed.items()):
        return False  # `d0 floordiv 4` over 0 <= d0 < 2 names d0 and forgets it
    return _cover(digits, consumed, facts)


def _mixed_radix(e: Expr, extent: Expr, dims: Mapping[str, Expr], facts: Facts) -> list[_Digit] | None:
    """The digits whose mixed-radix sum e runs over exactly [0, extent), or None."""
    strides: list[tuple[Expr, _Digit]] = []
    grouped: dict[Expr, Expr] = {}
    rest = ZERO
    for monomial, c in e.terms:
        varying = [a for a in monomial if not _symbols_of(a).isdisjoint(dims)]
        if not varying:
            rest = rest + Expr({monomial: c})
            continue
        factor = list(monomial)
        factor.remove(varying[0])
        atom = atom_expr(varying[0])
        grouped[atom] = grouped.get(atom, ZERO) + Expr({tuple(factor): c})
    for atom, stride in grouped.items():
        digit = _digit_of(atom, dims, facts)
        if digit is None:
            return None
        if facts.positive(-stride):  # flipped: -k*x = k*(span - 1 - x) - k*(span - 1)
            stride = -stride
            rest = rest - stride * (digit.span - 1)
        elif not facts.positive(stride):
            return None
        strides.append((stride, digit))
    if not facts.equal(rest, ZERO):
        return None
    total, found = ONE, []
    while strides:
        for position, (stride, digit) in enumerate(strides):
            if facts.equal(stride, total):
                total = simplify(total * digit.span, facts)
                found.append(digit)
                del strides[position]
                break
        else:
            return None
    return found if facts.equal(total, extent) else None


def _symbols_of(atom: Atom) -> frozenset[str]:
    return frozenset((atom,)) if isinstance(atom, str) else atom.num.symbols() | atom.den.symbols()


def _digit_of(atom: Expr, dims: Mapping[str, Expr], facts: Facts) -> _Digit | None:
    digit = _as_digit(atom, facts)
    if digit is None:
        return None
    base, divisor, span = digit
    if not (divisor.symbols() | (ONE if span is None else span).symbols()).isdisjoint(dims):
        return None
    if span is None:
        whole = _whole(base, dims, facts)
        span = None if whole is None else simplify(whole, facts).over(divisor)
        if span is None:
            return None
    return _Digit(base, divisor, span)


def _whole(base: Expr, dims: Mapping[str, Expr], facts: Facts) -> Expr | None:
    """How many values a base takes: a dim's extent, or one past the greatest value of a sum."""
    top = facts.upper(base)
    return None if top is None or not facts.nonnegative(base) else top + 1


def _cover(digits: Sequence[_Digit], dims: Mapping[str, Expr], facts: Facts) -> bool:
    """Whether the digits of each base tile it once, each base takes its whole range, and no dim is shared."""
    by_base: dict[Expr, list[_Digit]] = {}
    for digit in digits:
        by_base.setdefault(digit.base, []).append(digit)
    seen: set[str] = set()
    for base, members in by_base.items():
        used = base.symbols() & set(dims)
        if seen & used:
            return False
        seen |= used
        whole = _whole(base, dims, facts)
        if whole is None:
            return False
        total, left = ONE, list(members)
        while left:
            for position, digit in enumerate(left):
                if facts.equal(digit.divisor, total):
                    total = simplify(total * digit.span, facts)
                    del left[position]
                    break
            else:
                return False
        if not facts.equal(total, whole):
            return False
        plain = len(used) == 1 and base == sym(next(iter(used)))
        if not plain:
            inner = _mixed_radix(base, whole, dims, facts)
            if inner is None or not _cover(inner, dims, facts):
                return False
    return True
