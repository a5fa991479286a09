"""`simplify`: uses ranges to go beyond the canonical form, and joins a floordiv with its mod.

Simplifying needs bounds, and finding a bound needs simplifying. To avoid a circle of imports, the protocol
`Prover` states here which bounds are needed; `Facts` in `facts.py` implements it and imports this module.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from .atoms import FloorDiv, Mod, common_atoms
from .expr import ONE, ZERO, Expr, atom_expr, const, exact_quotient, floordiv, lone_floor, mod, split

_ROUNDS = 8


class Prover(Hashable, Protocol):
    """The facts that `simplify` asks for; hashable, since results are cached by them."""

    @property
    def extents(self) -> tuple[tuple[str, Expr], ...]:
        """(dim, N) where 0 <= dim < N."""
        ...

    @property
    def multiple(self) -> Mapping[str, int]:
        """By symbol, the largest known number above 1 that divides it."""
        ...

    @property
    def residue(self) -> Mapping[tuple[Expr, int], int]:
        """By (x, k), what x mod k is known to be; x has no constant term."""
        ...

    def interval(self, e: Expr) -> tuple[int | None, int | None]:
        """The least and the greatest value of e, both included, None where not known."""
        ...

    def nonnegative(self, e: Expr) -> bool:
        """Whether e >= 0 is proven."""
        ...

    def less(self, left: Expr, right: Expr) -> bool:
        """Whether left < right is proven."""
        ...


@lru_cache(maxsize=1 << 15)
def simplify(e: Expr, facts: Prover) -> Expr:
    """An expression that equals e wherever the facts hold, without the divisions that the facts decide.

    Before: (d0*64 + d1) floordiv 128   with d1 < 64          After: d0 floordiv 2
    Before: (d0*s1 + d1) mod s1         with d1 < s1          After: d1
    Before: (d0 floordiv 4)*4 + d0 mod 4                      After: d0
    Before: (d0 floordiv 4)*4            with d0 mod 4 == 0   After: d0
    """
    for _ in range(_ROUNDS):
        before = e
        e = _recombine(_rebuild(e, facts), facts)
        if e == before:
            break
    return e


def _rebuild(e: Expr, facts: Prover) -> Expr:
    """Simplifies each atom by itself; dims of extent 1 become 0."""
    unit = {dim: ZERO for dim, extent in facts.extents if extent == ONE and dim in e.symbols()}
    if unit:
        e = e.subs(unit)
    if not any(not isinstance(atom, str) for monomial in e.by_monomial for atom in monomial):
        return e
    total = ZERO
    for monomial, c in e.terms:
        term = const(c)
        for atom in monomial:
            if isinstance(atom, str):
                term = term * atom_expr(atom)
            else:
                divide = _floor if isinstance(atom, FloorDiv) else _mod
                term = term * divide(simplify(atom.num, facts), simplify(atom.den, facts), facts)
        total = total + term
    return total


def _window(num: Expr, den: Expr, facts: Prover) -> int | None:
    """The k for which k*den <= num < (k+1)*den is proven, or None."""
    low, high = facts.interval(num)
    n = den.constant
    if n is not None:
        return low // n if low is not None and high is not None and low // n == high // n else None
    for k in (0, -1, 1):
        rest = num - den * k
        if facts.nonnegative(rest) and facts.less(rest, den):
            return k
    return None


def _factors(num: Expr, den: Expr) -> list[Expr]:
    """Divisors of den that some term of num is a multiple of, the largest numbers first."""
    found: dict[Expr, None] = {}
    if len(den.by_monomial) != 1:
        return []
    ((head, scale),) = den.by_monomial.items()
    for monomial, c in num.terms:
        if monomial:
            g = Expr({common_atoms(head, monomial): math.gcd(c, scale)})
            if g != ONE:
                found[g] = None
    return sorted(
        found, key=lambda g: (-len(next(iter(g.by_monomial))), -next(iter(g.by_monomial.values())), str(g))
    )


def _part(num: Expr, g: Expr, facts: Prover) -> tuple[Expr, Expr] | None:
    """(A, B) with num = g*A + B and 0 <= B < g proven, B not a number."""
    taken, rest = ZERO, ZERO
    n = g.constant
    for monomial, c in num.terms:
        term = Expr({monomial: c})
        quotient = exact_quotient(term, g) if monomial else None
        if quotient is not None:
            taken = taken + quotient
        elif not monomial and n is not None:
            taken, rest = taken + c // n, rest + c % n
        else:
            rest = rest + term
    if not taken.by_monomial or (rest.is_constant and g.is_constant):
        return None
    k = _window(rest, g, facts)
    return None if k is None else (taken + k, rest - g * k)


def _drop_multiples(num: Expr, den: Expr, facts: Prover) -> tuple[Expr, Expr]:
    """(Q, R) with num = Q*den + R, for a constant den. The terms in Q are those that den divides because a
    symbol in them is a known multiple of some number.
    """
    n = den.constant
    quotient = ZERO
    if n is not None and facts.multiple:
        for monomial, c in num.terms:
            for atom in monomial:
                if isinstance(atom, str) and facts.multiple.get(atom, 1) * c % n == 0:
                    rest = list(monomial)
                    rest.remove(atom)
                    g = n // math.gcd(c, n)
                    if g > 1:
                        quotient = quotient + Expr({tuple(rest): c * g // n}) * atom_expr(
                            FloorDiv(atom_expr(atom), const(g))
                        )
                        num = num - Expr({monomial: c})
                    break
    return quotient, num


@lru_cache(maxsize=1 << 15)
def _divide(num: Expr, den: Expr, facts: Prover) -> tuple[Expr, Expr]:
    """(num floordiv den, num mod den) under the facts; both operands are simplified already."""
    quotient, rest, den, factor, kept = split(num, den)
    if not rest.by_monomial:
        return quotient, kept
    if den == ONE:
        return quotient + rest, kept
    k = _window(rest, den, facts)
    if k is not None:
        return quotient + k, factor * (rest - den * k) + kept
    more, fewer = _drop_multiples(rest, den, facts)
    if fewer != rest:
        floor, remainder = _divide(fewer, den, facts)
        return quotient + more + floor, factor * remainder + kept
    for g in _factors(rest, den):
        parts = _part(rest, g, facts)
        if parts is not None:
            floor, remainder = _divide(parts[0], exact_quotient(den, g), facts)
            return quotient + floor, factor * (g * remainder + parts[1]) + kept
    n = den.constant
    known = None if n is None else facts.residue.get((rest - rest.shift, n))
    remainder = mod(rest, den) if n is None or known is None else const((known + rest.shift) % n)
    return quotient + floordiv(rest, den), factor * remainder + kept


def _floor(num: Expr, den: Expr, facts: Prover) -> Expr:
    return _divide(num, den, facts)[0]


def _mod(num: Expr, den: Expr, facts: Prover) -> Expr:
    return _divide(num, den, facts)[1]


def _recombine(e: Expr, facts: Prover) -> Expr:
    """Applies q*(x floordiv q) + x mod q = x, scaled and chained, wherever it makes e smaller."""
    shrunk = True
    while shrunk:
        shrunk = False
        for monomial, c in e.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    continue
                rest = list(monomial)
                rest.remove(atom)
                smaller = _joined(e, Expr({tuple(rest): c}), atom, facts)
                if smaller is not None:
                    e, shrunk = smaller, True
                    break
            if shrunk:
                break
    return e


def _joined(e: Expr, around: Expr, atom: FloorDiv | Mod, facts: Prover) -> Expr | None:
    """e with `around*atom` and its partner replaced by their sum, if that makes e smaller; else None."""
    if isinstance(atom, FloorDiv):
        x, q = atom.num, atom.den
        scale = exact_quotient(around, q)
        if scale is None:
            return None
        whole = x
    else:
        inner = lone_floor(atom.num)  # ((x floordiv q) mod b)*q + x mod q = x mod (q*b)
        if inner is None:
            return None
        x, q = inner
        scale = exact_quotient(around, q)
        if scale is None:
            return None
        whole = _mod(x, q * atom.den, facts)
    candidate = e - around * atom_expr(atom) + scale * (whole - _mod(x, q, facts))
    return candidate if candidate.cost < e.cost else None


def linear(e: Expr, dims: Sequence[str]) -> tuple[dict[str, Expr], Expr] | None:
    """({dim: coefficient}, rest) with e = sum of coefficient*dim + rest, all free of the dims.

    None if e is not linear in them. Every dim of `dims` has an entry, 0 where e lacks it.
    """
    names = frozenset(dims)
    parts: dict[str, dict] = {dim: {} for dim in dims}
    rest: dict = {}
    for monomial, c in e.by_monomial.items():
        dim = None
        for atom in monomial:
            if not isinstance(atom, str):
                if not names.isdisjoint(atom.num.symbols() | atom.den.symbols()):
                    return None
            elif atom in names:
                if dim is not None:
                    return None
                dim = atom
        if dim is None:
            rest[monomial] = c
        else:
            parts[dim][tuple(a for a in monomial if a != dim)] = c
    return {dim: Expr(terms) for dim, terms in parts.items()}, Expr(rest)


def offset(coords: Sequence[Expr], strides: Sequence[Expr], base: Expr, facts: Prover) -> Expr:
    """The storage offset `base + sum(coordinate*stride)`, in elements, simplified."""
    if len(coords) != len(strides):
        raise ValueError(f"an access has {len(coords)} coordinates for {len(strides)} strides")
    total = base
    for coordinate, stride in zip(coords, strides, strict=True):
        total = total + coordinate * stride
    return simplify(total, facts)
