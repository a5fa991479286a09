"""`step_by_one`: rewrites an offset that moves by one element from lane to lane so that Triton sees it.

Triton reads neighbouring elements at once if it can prove that they are neighbours, and its analysis looks at
one term of a sum at a time. The canonical form may hide them: `simplify` joins `q*(x floordiv q) + x mod q`
wherever that gives fewer divisions, which may leave a sum of terms that each move by more than one element.
Two identities undo that. Both hold for all integers if n, the length of a run of neighbours, is positive:

    lone_remainder   a*f + (1 - a)*(f mod n)
                         = f mod n + a*n*(f floordiv n)
    in_runs          a*x + sum of c_i*((x + n*h_i) mod m_i),  where a + sum of c_i = 1 and n divides each m_i
                         = x mod n + n*(a*(x floordiv n) + sum of c_i*((x floordiv n + h_i) mod (m_i/n)))

On the right only the first term moves inside a run, and it moves by one. The first identity is the division
with rest, f = n*(f floordiv n) + f mod n, for the terms a*f. The second is the same for a*x, and for each
remainder

    (x + n*h) mod m  =  x mod n + n*((x floordiv n + h) mod (m/n)),  where n divides m,

whose terms `x mod n` then add up to one.
"""

from collections.abc import Iterable

from .atoms import Mod
from .expr import Expr, atom_expr, sym


def step_by_one(e: Expr, lanes: Iterable[str]) -> Expr:
    """An expression equal to e in which a term of factor 1 moves along the symbols `lanes`, if one of the
    identities above gives one; else e.
    """
    lanes = tuple(lanes)
    alone = lone_remainder(e, frozenset(lanes))
    if alone is not None:
        return alone
    for lane in lanes:
        apart = in_runs(e, lane)
        e = e if apart is None else apart
    return e


def lone_remainder(e: Expr, lanes: frozenset[str]) -> Expr | None:
    """`a*f + (1 - a)*(f mod n) + rest` as `f mod n + a*n*(f floordiv n) + rest`, for the first remainder
    along one of `lanes` that has a factor other than 1. None where e has no such terms.

    >>> str(lone_remainder(parse("50176*d0 + 49*r0 - 48*(r0 mod 4)"), frozenset(["r0"])))
    'd0*50176 + (r0 floordiv 4)*196 + r0 mod 4'
    """
    for monomial, c in e.terms:
        remainder = monomial[0] if len(monomial) == 1 else None
        if not isinstance(remainder, Mod) or c == 1 or lanes.isdisjoint(remainder.num.symbols()):
            continue
        a = 1 - c
        f = _divided(e, a, remainder)
        if f is not None:
            return e + (f.floordiv(remainder.den) * remainder.den + atom_expr(remainder) - f) * a
    return None


def _divided(e: Expr, a: int, remainder: Mod) -> Expr | None:
    """For a remainder `g mod n`, the f of which e contains a*f. Its terms are those of g with the factors
    that they have in e, divided by a. None unless f mod n = g mod n, that is, unless f and g differ by
    multiples of n. They may differ, since a remainder drops multiples of n: modulo 196, blocks of 1024 become
    44.
    """
    n = remainder.den.constant
    terms = {}
    for monomial, factor in remainder.num.terms:
        terms[monomial] = factor
        if monomial:
            terms[monomial], rest = divmod(e.by_monomial.get(monomial, 0), a)
            dropped = terms[monomial] - factor
            if rest or (dropped and (n is None or dropped % n)):
                return None
    return Expr(terms)


def in_runs(e: Expr, lane: str) -> Expr | None:
    """`a*x + sum of c_i*((x + n*h_i) mod m_i) + rest`, written in runs of n, for x the symbol `lane` and n
    the least of the m_i. None where the factors do not add up to one, where n is 1 or not a number, or where
    some remainder is not of this form.

    >>> str(in_runs(parse("5*r0 - 8*((r0 + 16*b0) mod 32) + 4*(r0 mod 8)"), "r0"))
    '-((b0*2 + r0 floordiv 8) mod 4)*64 + (r0 floordiv 8)*40 + r0 mod 8'
    """
    remainders = {
        monomial[0]: c
        for monomial, c in e.terms
        if len(monomial) == 1 and isinstance(monomial[0], Mod) and lane in monomial[0].num.symbols()
    }
    a = e.by_monomial.get((lane,), 0)
    periods = [remainder.den.constant or 0 for remainder in remainders]
    if not remainders or not a or a + sum(remainders.values()) != 1:
        return None
    n, x = min(periods), sym(lane)
    others = [remainder.num - x for remainder in remainders]  # n*h_i
    if n < 2 or any(m % n for m in periods) or any(c % n for other in others for _, c in other.terms):
        return None
    if any(lane in other.symbols() for other in others):
        return None
    run = x.floordiv(n)
    runs = run * a
    for c, m, other in zip(remainders.values(), periods, others, strict=True):
        h = Expr({monomial: factor // n for monomial, factor in other.terms})
        runs = runs + (run + h).mod(m // n) * c
    moved = {(lane,), *((remainder,) for remainder in remainders)}
    rest = Expr({monomial: c for monomial, c in e.by_monomial.items() if monomial not in moved})
    return rest + x.mod(n) + runs * n
