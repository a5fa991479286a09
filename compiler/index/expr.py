"""Integer index expressions: the canonical polynomial `Expr`, its arithmetic and its text form.

The package's docstring is the guide to this module and its neighbours. Nothing here knows about ranges: every
rewrite in this file is an identity for all integers (with positive denominators).
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Union

from .atoms import FloorDiv, Mod, atom_key, common_atoms, monomial_key, over, times

Atom = Union[str, FloorDiv["Expr"], Mod["Expr"]]  # noqa: UP007  (`|` takes no forward references)
Monomial = tuple[Atom, ...]  #: d0*d0 is ("d0", "d0"), a number is ()


class Expr:
    """An immutable integer polynomial: a map from monomials (sorted tuples of atoms) to non-zero ints."""

    __slots__ = ("_cost", "_hash", "_sorted", "_symbols", "_text", "by_monomial", "constant")

    def __init__(self, terms: dict[Monomial, int]):
        """Takes ownership of `terms`, whose values are non-zero; other modules use `const`, `sym`,
        operators.
        """
        self.by_monomial = terms  # read only
        #: The value when this is a number, else None.
        self.constant: int | None = (terms.get(()) if len(terms) == 1 else None) if terms else 0
        self._hash: int | None = None
        self._sorted: tuple[tuple[Monomial, int], ...] | None = None
        self._symbols: frozenset[str] | None = None
        self._text: str | None = None
        self._cost: int | None = None

    # Identity.
    def __hash__(self) -> int:
        if self._hash is None:
            n = self.constant
            self._hash = hash(n) if n is not None else hash(frozenset(self.by_monomial.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Expr):
            return hash(self) == hash(other) and self.by_monomial == other.by_monomial
        if isinstance(other, int):
            return self.constant == other
        return NotImplemented

    def __bool__(self) -> bool:
        raise TypeError("an index expression has no truth value: compare it, or ask Facts")

    def __reduce__(self):
        return Expr, (self.by_monomial,)

    # Structure.
    @property
    def terms(self) -> tuple[tuple[Monomial, int], ...]:
        """(monomial, coefficient) pairs in print order."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self.by_monomial.items(), key=lambda item: monomial_key(item[0])))
        return self._sorted

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    @property
    def shift(self) -> int:
        """The constant term (0 when there is none)."""
        return self.by_monomial.get((), 0)

    @property
    def cost(self) -> int:
        """Number of nodes, atoms included: simplifications must lower it."""
        if self._cost is None:
            self._cost = sum(
                (abs(c) != 1 or not m)
                + (c < 0)
                + sum(1 if isinstance(a, str) else 2 + a.num.cost + a.den.cost for a in m)
                for m, c in self.by_monomial.items()
            )
        return self._cost

    def symbols(self) -> frozenset[str]:
        """Every symbol name, also inside atoms."""
        if self._symbols is None:
            found: set[str] = set()
            for monomial in self.by_monomial:
                for atom in monomial:
                    if isinstance(atom, str):
                        found.add(atom)
                    else:
                        found |= atom.num.symbols() | atom.den.symbols()
            self._symbols = frozenset(found)
        return self._symbols

    def atoms(self) -> tuple[Atom, ...]:
        """The distinct atoms of the polynomial (not those inside other atoms), in order."""
        return tuple(sorted({atom for monomial in self.by_monomial for atom in monomial}, key=atom_key))

    @property
    def has_divisions(self) -> bool:
        """Whether some atom is a quotient or a remainder."""
        return any(not isinstance(atom, str) for monomial in self.by_monomial for atom in monomial)

    def powers(self, atom: Atom) -> dict[int, "Expr"]:
        """This as a polynomial in one atom: {power: the other factor}.  Symbols inside the atom do not
        count.
        """
        split: dict[int, dict[Monomial, int]] = {}
        for monomial, c in self.by_monomial.items():
            n = monomial.count(atom)
            rest = tuple(a for a in monomial if a != atom) if n else monomial
            split.setdefault(n, {})[rest] = c
        return {n: Expr(terms) for n, terms in split.items()}

    def coefficient(self, name: str) -> "Expr | None":
        """The factor of a linear symbol (0 when absent); None when it is inside an atom or squared."""
        if name not in self.symbols():
            return ZERO
        powers = self.powers(name)
        factor = powers.get(1, ZERO)
        if max(powers) > 1 or name in factor.symbols() or (0 in powers and name in powers[0].symbols()):
            return None
        return factor

    # Arithmetic.
    def __add__(self, other: "Expr | int") -> "Expr":
        other = other if isinstance(other, Expr) else const(other)
        if not other.by_monomial:
            return self
        if not self.by_monomial:
            return other
        terms = dict(self.by_monomial)
        for monomial, c in other.by_monomial.items():
            total = terms.get(monomial, 0) + c
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Expr(terms)

    __radd__ = __add__

    def __neg__(self) -> "Expr":
        return Expr({monomial: -c for monomial, c in self.by_monomial.items()})

    def __sub__(self, other: "Expr | int") -> "Expr":
        return self + (-other)

    def __rsub__(self, other: int) -> "Expr":
        return -self + other

    def __mul__(self, other: "Expr | int") -> "Expr":
        if not isinstance(other, Expr):
            other = const(other)
        n = other.constant
        if n == 1:
            return self
        if n is not None:
            return Expr({monomial: c * n for monomial, c in self.by_monomial.items()} if n else {})
        terms: dict[Monomial, int] = {}
        for left, a in self.by_monomial.items():
            for right, b in other.by_monomial.items():
                monomial = times(left, right)
                total = terms.get(monomial, 0) + a * b
                if total:
                    terms[monomial] = total
                else:
                    del terms[monomial]
        return Expr(terms)

    __rmul__ = __mul__

    def floordiv(self, other: "Expr | int") -> "Expr":
        """Quotient rounded down. Raises ValueError when the denominator is a number below 1."""
        return floordiv(self, other if isinstance(other, Expr) else const(other))

    def mod(self, other: "Expr | int") -> "Expr":
        """Remainder in [0, other). Raises ValueError when the denominator is a number below 1."""
        return mod(self, other if isinstance(other, Expr) else const(other))

    __floordiv__ = floordiv
    __mod__ = mod

    def over(self, other: "Expr") -> "Expr | None":
        """The exact polynomial quotient, or None."""
        return exact_quotient(self, other)

    def subs(self, mapping: "Mapping[str, Expr | int]") -> "Expr":
        """All symbols replaced at once, atoms rebuilt canonically."""
        if self.symbols().isdisjoint(mapping):
            return self
        terms: dict[Monomial, int] = {}
        for monomial, c in self.by_monomial.items():
            kept: list[Atom] = []
            factor = None
            for atom in monomial:
                value: Expr | None
                if isinstance(atom, str):
                    replaced = mapping.get(atom)
                    value = const(replaced) if isinstance(replaced, int) else replaced
                elif atom.num.symbols().isdisjoint(mapping) and atom.den.symbols().isdisjoint(mapping):
                    value = None
                else:
                    make = floordiv if isinstance(atom, FloorDiv) else mod
                    value = make(atom.num.subs(mapping), atom.den.subs(mapping))
                if value is None:
                    kept.append(atom)
                else:
                    factor = value if factor is None else factor * value
            rest = monomial if factor is None else tuple(kept)
            for found, a in ONE.by_monomial.items() if factor is None else factor.by_monomial.items():
                product = times(rest, found) if rest and found else rest or found
                terms[product] = terms.get(product, 0) + a * c
        return Expr({monomial: c for monomial, c in terms.items() if c})

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """The value at a point; the values of `env` may be ints or integer arrays and tensors that broadcast.

        Uses only `+`, `*`, `//` and `%`, which all floor on Python ints, NumPy arrays and torch tensors.
        Raises KeyError for a symbol that `env` lacks.
        """
        total: Any = self.shift
        for monomial, c in self.terms:
            if not monomial:
                continue
            product: Any = c
            for atom in monomial:
                if isinstance(atom, str):
                    value = env[atom]
                elif isinstance(atom, FloorDiv):
                    value = atom.num.evaluate(env) // atom.den.evaluate(env)
                else:
                    value = atom.num.evaluate(env) % atom.den.evaluate(env)
                product = value * product
            total = product + total
        return total

    # Text.
    def __str__(self) -> str:
        if self._text is None:
            self._text = "".join(self._pieces()) or "0"
        return self._text

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    def _pieces(self) -> Iterator[str]:
        for position, (monomial, c) in enumerate(self.terms):
            if position:
                yield " - " if c < 0 else " + "
            elif c < 0:
                yield "-"
            factors = [str(a) if isinstance(a, str) else f"({a})" for a in monomial]
            if abs(c) != 1 or not factors:
                factors.append(str(abs(c)))
            bare = len(factors) == 1 and (position or c > 0)
            yield (
                factors[0].removeprefix("(").removesuffix(")")
                if bare and factors[0][0] == "("
                else "*".join(factors)
            )


ZERO = Expr({})
ONE = Expr({(): 1})


@lru_cache(maxsize=1 << 14)
def const(value: int) -> Expr:
    """The number `value`; raises TypeError for anything but an int."""
    if not isinstance(value, int):
        raise TypeError(f"an index expression is made of integers, got {type(value).__name__}")
    return Expr({(): int(value)} if value else {})


@lru_cache(maxsize=1 << 14)
def sym(name: str) -> Expr:
    """The symbol `name`."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"a symbol is a non-empty string, got {name!r}")
    return Expr({(name,): 1})


def atom_expr(atom: Atom) -> Expr:
    return Expr({(atom,): 1})


def lead(e: Expr) -> tuple[Monomial, int]:
    """The term of highest degree, the first atoms breaking ties: a monomial order, so quotients terminate."""
    return min(e.by_monomial.items(), key=lambda item: (-len(item[0]), monomial_key(item[0])))


@lru_cache(maxsize=1 << 15)
def exact_quotient(num: Expr, den: Expr) -> Expr | None:
    """num / den as a polynomial with integer coefficients, or None when it is not one."""
    if not den.by_monomial:
        return None
    head, scale = lead(den)
    quotient = ZERO
    while num.by_monomial:
        monomial, c = lead(num)
        rest = over(monomial, head)
        if rest is None or c % scale:
            return None
        step = Expr({rest: c // scale})
        quotient = quotient + step
        num = num - step * den
    return quotient


def _pull_out(num: Expr, den: Expr) -> tuple[Expr, Expr]:
    """num = quotient*den + rest, moving terms of num into the quotient while rest gets smaller.

    Coefficients are divided towards zero, which keeps `63 - d0` recognisable; the constant rounds down.
    """
    head, scale = lead(den)
    if len(den.by_monomial) > 1:
        quotient, seen = ZERO, True
        while seen:
            seen = False
            for monomial, c in num.terms:
                rest = over(monomial, head)
                if rest is None or c % scale:
                    continue
                step = Expr({rest: c // scale})
                smaller = num - step * den
                if len(smaller.by_monomial) < len(num.by_monomial):
                    quotient, num, seen = quotient + step, smaller, True
                    break
        return quotient, num
    taken: dict[Monomial, int] = {}
    left: dict[Monomial, int] = {}
    for monomial, c in num.by_monomial.items():
        rest = over(monomial, head)
        if rest is None:
            left[monomial] = c
            continue
        times = c // scale if c > 0 or not monomial else -(-c // scale)
        if times:
            taken[rest] = times
        if c != times * scale:
            left[monomial] = c - times * scale
    return Expr(taken), Expr(left)


def _common_monomial(num: Expr, den: Expr) -> Monomial:
    """The greatest monomial that divides every term of both."""
    first, *others = (*den.by_monomial, *num.by_monomial)
    for monomial in others:
        if not first:
            return ()
        first = common_atoms(first, monomial)
    return first


def _without(e: Expr, shared: Monomial) -> Expr:
    """e / shared, which divides every term."""
    return Expr({rest: c for m, c in e.by_monomial.items() if (rest := over(m, shared)) is not None})


@lru_cache(maxsize=1 << 15)
def split(num: Expr, den: Expr) -> tuple[Expr, Expr, Expr, Expr, Expr]:
    """(Q, R, D, g, r) with num floordiv den = Q + R floordiv D and num mod den = g*(R mod D) + r.

    Q holds what den divides term by term; g is the factor that the rest shares with den, and r is below it.
    """
    n = den.constant
    if n is not None and n < 1:
        raise ValueError(f"a denominator must be positive, got {n} below {num}")
    quotient, rest = _pull_out(num, den)
    shared = _common_monomial(rest, den)
    if shared:
        rest, den = _without(rest, shared), _without(den, shared)
    g = math.gcd(*den.by_monomial.values(), *(c for m, c in rest.by_monomial.items() if m))
    kept = 0
    if g > 1:
        kept = rest.shift % g
        rest = Expr({m: c // g for m, c in (rest - kept).by_monomial.items()})
        den = Expr({m: c // g for m, c in den.by_monomial.items()})
    return quotient, rest, den, Expr({shared: g}), Expr({shared: kept} if kept else {})


def lone_floor(e: Expr) -> tuple[Expr, Expr] | None:
    """e written as `x floordiv a`, when exactly one term is a floordiv, of coefficient 1: (x, a)."""
    found = None
    for monomial, c in e.by_monomial.items():
        if len(monomial) == 1 and isinstance(monomial[0], FloorDiv) and c == 1:
            if found is not None:
                return None
            found = monomial[0]
    return None if found is None else ((e - atom_expr(found)) * found.den + found.num, found.den)


@lru_cache(maxsize=1 << 15)
def floordiv(num: Expr, den: Expr) -> Expr:
    """Canonical `num floordiv den`."""
    quotient, rest, den, _, _ = split(num, den)
    return quotient + (_floor_atom(rest, den) if rest.by_monomial else ZERO)


def _floor_atom(num: Expr, den: Expr) -> Expr:
    n, d = num.constant, den.constant
    if d == 1:
        return num
    if n is not None and d is not None:
        return const(n // d)
    if len(num.by_monomial) == 1:
        ((monomial, c),) = num.by_monomial.items()
        if c == 1 and len(monomial) == 1 and isinstance(monomial[0], Mod):
            inner = monomial[0]  # (x mod (den*b)) floordiv den
            times = exact_quotient(inner.den, den)
            if times is not None:
                return mod(floordiv(inner.num, den), times)
    inner_floor = lone_floor(num)  # (x floordiv a) floordiv den
    if inner_floor is not None:
        x, a = inner_floor
        if (a.is_constant and d is not None) or len(num.by_monomial) == 1 + (() in num.by_monomial):
            return floordiv(x, a * den)
    return atom_expr(FloorDiv(num, den))


@lru_cache(maxsize=1 << 15)
def mod(num: Expr, den: Expr) -> Expr:
    """Canonical `num mod den`."""
    _, rest, den, factor, kept = split(num, den)
    return factor * (_mod_atom(rest, den) if rest.by_monomial else ZERO) + kept


def _mod_atom(num: Expr, den: Expr) -> Expr:
    n, d = num.constant, den.constant
    if d == 1:
        return ZERO
    if n is not None and d is not None:
        return const(n % d)
    for monomial, c in num.terms:
        for atom in monomial:
            if isinstance(atom, Mod):  # den divides c*rest*m: c*rest*(x mod m) may drop its mod
                around = _without(Expr({monomial: c}), (atom,))
                if exact_quotient(around * atom.den, den) is not None:
                    return mod(num + around * (atom.num - atom_expr(atom)), den)
    return atom_expr(Mod(num, den))
