"""What is known about the symbols of an index expression, and the bounds and proofs that follow from it.

Proofs are sound but incomplete: `False` means "not proven". They eliminate one variable at a time: it is
replaced by the end of its range that makes the expression smallest. An atom that contains dims counts as one
more variable.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from ..base.dataclass import dataclass
from .atoms import FloorDiv, Mod
from .expr import ZERO, Atom, Expr, atom_expr, const
from .parse import parse
from .simplify import simplify

_INDIRECT = re.compile(r"i\d+")
Bound = Expr | None


def is_indirect(name: str) -> bool:
    """Whether the symbol is an indirect operand: i0, i1, .."""
    return name.startswith("i") and _INDIRECT.fullmatch(name) is not None


def names_loaded(coords: Iterable[Expr]) -> bool:
    """Whether coordinates name loaded indices: ``i0`` of two accesses may be two different values."""
    return any(is_indirect(name) for coordinate in coords for name in coordinate.symbols())


def as_expr(value: "Expr | int | str") -> Expr:
    """An Expr from an Expr, a number or a text."""
    if isinstance(value, Expr):
        return value
    return parse(value) if isinstance(value, str) else const(value)


@dataclass(frozen=True, eq=False)
class Facts:
    """Ranges of symbols; hashable, made by `Facts.of`.

    extents: (dim, N) means 0 <= dim < N at every point, and N >= 1 since a point exists.
    ranges:  (symbol, least, greatest), both included, None for unbounded. A symbol without an entry is at
             least 0, except an indirect operand (i0, i1, ..), which is unbounded.
    residues: (x, k, r) means x mod k == r, where x has no constant term.
    """

    extents: tuple[tuple[str, Expr], ...] = ()
    ranges: tuple[tuple[str, int | None, int | None], ...] = ()
    multiples: tuple[tuple[str, int], ...] = ()
    residues: tuple[tuple[Expr, int, int], ...] = ()
    extent: dict[str, Expr] = field(init=False, repr=False)
    multiple: dict[str, int] = field(init=False, repr=False)
    residue: dict[tuple[Expr, int], int] = field(init=False, repr=False)
    _range: dict[str, tuple[int | None, int | None]] = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self):
        ranges = {name: (low, high) for name, low, high in self.ranges}
        object.__setattr__(self, "extent", dict(self.extents))
        object.__setattr__(self, "multiple", dict(self.multiples))
        object.__setattr__(self, "residue", {(x, k): r for x, k, r in self.residues})
        object.__setattr__(self, "_hash", hash((self.extents, self.ranges, self.multiples, self.residues)))
        object.__setattr__(self, "_range", ranges)
        for _, extent in self.extents:
            if extent.constant is None:
                _raise_minimum(extent, 1, ranges)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Facts):
            return NotImplemented
        mine = (self.extents, self.ranges, self.multiples, self.residues)
        theirs = (other.extents, other.ranges, other.multiples, other.residues)
        return self._hash == other._hash and mine == theirs

    @staticmethod
    def of(
        extents: Mapping[str, "Expr | int | str"] | None = None,
        minimum: Mapping[str, int | None] | None = None,
        maximum: Mapping[str, int | None] | None = None,
        multiples: Mapping[str, int] | None = None,
    ) -> "Facts":
        """Facts from dicts. `minimum={"s0": None}` says that s0 may be negative; the default minimum is 0."""
        extents, minimum, maximum = extents or {}, minimum or {}, maximum or {}
        names = sorted({*minimum, *maximum})
        return Facts(
            tuple((dim, as_expr(extent)) for dim, extent in sorted(extents.items())),
            tuple((n, minimum.get(n, _default_minimum(n)), maximum.get(n)) for n in names),
            tuple((n, m) for n, m in sorted((multiples or {}).items()) if m > 1),
        )

    def with_extents(self, extents: Mapping[str, "Expr | int | str"]) -> "Facts":
        """These facts with dims added or redefined."""
        merged = {**self.extent, **{dim: as_expr(extent) for dim, extent in extents.items()}}
        return Facts(tuple(sorted(merged.items())), self.ranges, self.multiples, self.residues)

    def where(self, zeros: Iterable[Expr]) -> "Facts":
        """These facts at points where each of ``zeros`` is 0.  Taken from them: ``x mod k`` less a number."""
        found = self.residue.copy()
        for zero in zeros:
            for atom in zero.atoms():
                r = (zero - atom_expr(atom)).constant
                if isinstance(atom, Mod) and r is not None and (k := atom.den.constant) is not None:
                    found[atom.num - atom.num.shift, k] = (-r - atom.num.shift) % k
        residues = tuple((x, k, r) for (x, k), r in found.items())
        return Facts(self.extents, self.ranges, self.multiples, residues)

    def range(self, name: str) -> tuple[int | None, int | None]:
        """(least, greatest) of a symbol that is not a dim, knowing that the dims' extents are at least 1."""
        return self._range.get(name) or (_default_minimum(name), None)

    # Queries.
    def lower(self, e: Expr) -> Bound:
        """A lower bound of e over all points, free of dims and indirect operands; None if none is found."""
        return _extreme(e, self, True)

    def upper(self, e: Expr) -> Bound:
        """An upper bound (included) of e over all points, like `lower`."""
        return _extreme(e, self, False)

    def bounds(self, e: Expr) -> tuple[Bound, Bound]:
        """(lower, upper)."""
        return self.lower(e), self.upper(e)

    def interval(self, e: Expr) -> tuple[int | None, int | None]:
        """Numeric bounds of e, both included, sizes eliminated too."""
        return _number(e, self, True), _number(e, self, False)

    def nonnegative(self, e: Expr) -> bool:
        """Whether e >= 0 is proven at every point."""
        return _nonnegative(e, self)

    def positive(self, e: Expr) -> bool:
        return _nonnegative(e - 1, self)

    def less(self, left: Expr, right: Expr) -> bool:
        """Whether left < right is proven."""
        return _nonnegative(right - left - 1, self)

    def less_equal(self, left: Expr, right: Expr) -> bool:
        return _nonnegative(right - left, self)

    def equal(self, left: Expr, right: Expr) -> bool:
        """Whether left == right is proven."""
        return left == right or simplify(left - right, self).constant == 0

    def divides(self, k: "Expr | int", e: Expr) -> bool:
        """Whether e is proven to be a multiple of k (k > 0)."""
        return simplify(e.mod(k), self).constant == 0


def _default_minimum(name: str) -> int | None:
    return None if is_indirect(name) else 0


def _raise_minimum(e: Expr, least: int, ranges: dict[str, tuple[int | None, int | None]]) -> None:
    """Records what e >= least says about single symbols: s0*s1 >= 1, s0*2 - 3 >= 1, s0 floordiv 4 >= 1."""
    body = e - e.shift
    if len(body.by_monomial) != 1:
        return
    ((monomial, c),) = body.by_monomial.items()
    least -= e.shift
    if c < 0 or (least < 1 and len(monomial) > 1):
        return
    least = -(-least // c)
    if len(monomial) == 1:
        atom = monomial[0]
        if isinstance(atom, FloorDiv) and (n := atom.den.constant) is not None:
            _raise_minimum(atom.num, least * n, ranges)
        if isinstance(atom, str):
            low, high = ranges.get(atom) or (_default_minimum(atom), None)
            ranges[atom] = (least if low is None else max(low, least), high)
        return
    for atom in monomial:
        low = ranges.get(atom, (_default_minimum(atom), None))[0] if isinstance(atom, str) else None
        if low is None or low < 0:
            return
    for atom in monomial:  # a product of factors that are at least 0 is at least 1, so each factor is
        _raise_minimum(atom_expr(atom), 1, ranges)


def _is_variable(atom: Atom, facts: Facts) -> bool:
    """Whether the atom changes from point to point: it is or contains a dim or an indirect operand."""
    if isinstance(atom, str):
        return atom in facts.extent or is_indirect(atom)
    return any(_is_variable(name, facts) for name in atom.num.symbols() | atom.den.symbols())


@lru_cache(maxsize=1 << 15)
def atom_bounds(atom: Atom, facts: Facts) -> tuple[Bound, Bound]:
    """(least, greatest) of an atom: expressions in sizes for a variable one, numbers otherwise."""
    if isinstance(atom, str):
        if atom in facts.extent:
            return ZERO, facts.extent[atom] - 1
        return _consts(facts.range(atom))
    variable = _is_variable(atom, facts)
    n = atom.den.constant
    if isinstance(atom, Mod):
        den = facts.upper(atom.den) if variable else atom.den
        return ZERO, None if den is None else den - 1
    if variable and not any(_is_variable(name, facts) for name in atom.den.symbols()):
        low, high = (None if end is None else end.floordiv(atom.den) for end in facts.bounds(atom.num))
        return low, high
    least, greatest = facts.interval(atom.num)
    if n is not None:
        return _consts((None if least is None else least // n, None if greatest is None else greatest // n))
    # The denominator is some positive number, and what is below 0 is at most -1 when rounded down.
    if greatest is not None and greatest < 0:
        greatest = -1
    return _consts((None if least is None else min(least, 0), greatest))


def _consts(ends: tuple[int | None, int | None]) -> tuple[Bound, Bound]:
    low, high = ends
    return None if low is None else const(low), None if high is None else const(high)


def _sign(e: Expr, facts: Facts) -> int:
    """1 when e >= 0 is proven, -1 when e <= 0 is, else 0."""
    n = e.constant
    if n is not None:
        return 1 if n >= 0 else -1
    if _nonnegative(e, facts):
        return 1
    return -1 if _nonnegative(-e, facts) else 0


def _direction(e: Expr, atom: Atom, facts: Facts) -> tuple[int, dict[int, Expr]]:
    """(1 if e grows with the atom, -1 if it falls, 0 if unknown; e by powers of the atom)."""
    powers = e.powers(atom)
    signs = {_sign(factor, facts) for n, factor in powers.items() if n}
    if len(signs) != 1:
        return 0, powers
    if max(powers) > 1:
        low = atom_bounds(atom, facts)[0]
        if low is None or not _nonnegative(low, facts):
            return 0, powers
    return signs.pop(), powers


def _replace(powers: dict[int, Expr], value: Expr) -> Expr:
    total = ZERO
    for n, factor in powers.items():
        for _ in range(n):
            factor = factor * value
        total = total + factor
    return total


def _eliminate(e: Expr, facts: Facts, low: bool, atoms: Iterable[Atom]) -> Expr | None:
    """e with one atom replaced by the end of its range that bounds e from below (low) or above; None if no
    atom can be replaced.
    """
    for atom in atoms:
        direction, powers = _direction(e, atom, facts)
        if direction:
            end = atom_bounds(atom, facts)[0 if (direction > 0) == low else 1]
            if end is not None:
                return _replace(powers, end)
    return None


def _divisions_first(e: Expr) -> list[Atom]:
    """The atoms of e, divisions first, since their bounds may cancel against symbols of their
    denominators.
    """
    return sorted(e.atoms(), key=lambda atom: isinstance(atom, str))


@lru_cache(maxsize=1 << 15)
def _extreme(e: Expr, facts: Facts, low: bool) -> Bound:
    while True:
        atoms = [atom for atom in _divisions_first(e) if _is_variable(atom, facts)]
        if not atoms:
            return simplify(e, facts) if e.has_divisions else e
        smaller = _eliminate(e, facts, low, atoms)
        if smaller is None:
            return None
        e = smaller


@lru_cache(maxsize=1 << 15)
def _number(e: Expr, facts: Facts, low: bool) -> int | None:
    bound = _extreme(e, facts, low)
    while bound is not None and not bound.is_constant:
        bound = _eliminate(bound, facts, low, _divisions_first(bound))
    return None if bound is None else bound.constant


@lru_cache(maxsize=1 << 16)
def _nonnegative(e: Expr, facts: Facts) -> bool:
    n = e.constant
    if n is not None:
        return n >= 0
    if _shifted_nonnegative(e, facts):
        return True
    atoms = _divisions_first(e)
    variable = [atom for atom in atoms if _is_variable(atom, facts)]
    smaller = _eliminate(e, facts, True, variable)
    if smaller is None and not variable:
        smaller = _eliminate(e, facts, True, atoms)
    if smaller is not None and _nonnegative(smaller, facts):
        return True
    if smaller is None:
        for atom in variable or atoms:  # linear in an atom: the least value is at one of its ends
            powers = e.powers(atom)
            least, most = atom_bounds(atom, facts)
            if max(powers) == 1 and least is not None and most is not None:
                ends = (_replace(powers, least), _replace(powers, most))
                return all(_nonnegative(end, facts) for end in ends)
    return _nonnegative_by_floors(e, facts)


def _shifted_nonnegative(e: Expr, facts: Facts) -> bool:
    """Writes each atom as its least number plus something >= 0. If no coefficient is then negative, e
    >= 0.
    """
    if all(c > 0 for c in e.by_monomial.values()) and all(_known_nonnegative(a, facts) for a in e.atoms()):
        return True
    shifts = {}
    for atom in e.atoms():
        low = 0 if isinstance(atom, str) and atom in facts.extent else atom_bounds(atom, facts)[0]
        if isinstance(low, Expr):
            low = low.constant if low.is_constant else _number(low, facts, True)
        if low is None:
            return False
        if low:
            shifts[atom] = low
    for atom, low in shifts.items():
        e = _replace(e.powers(atom), atom_expr(atom) + low)
    return all(c > 0 for c in e.by_monomial.values())


def _known_nonnegative(atom: Atom, facts: Facts) -> bool:
    if isinstance(atom, Mod):
        return True
    if isinstance(atom, str):
        low = 0 if atom in facts.extent else facts.range(atom)[0]
        return low is not None and low >= 0
    return _nonnegative(atom.num, facts)


def _nonnegative_by_floors(e: Expr, facts: Facts) -> bool:
    """Uses x - q + 1 <= q*(x floordiv q) <= x, for an e with exactly one floordiv, by a constant q."""
    for monomial, c in e.terms:
        if len(monomial) != 1 or not isinstance(monomial[0], FloorDiv):
            continue
        atom = monomial[0]
        q = atom.den.constant
        if q is None:
            continue
        floor = atom_expr(atom)
        bound = atom.num if c < 0 else atom.num - (q - 1)
        # q*e >= -(q - 1) is enough, since e is an integer.
        if _nonnegative((e - floor * c) * q + bound * c + (q - 1), facts):
            return True
    return False
