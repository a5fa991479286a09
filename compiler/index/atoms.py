"""Atoms and monomials: what polynomials are made of.  Monomials are sorted tuples of atoms.

An atom is a symbol, given by name, or a division of two polynomials.  So atoms and polynomials are one
recursive type, which two modules define.  Here the protocol ``Operand`` says what a division needs of its
operands, and ``expr.py`` completes the type with ``Atom = str | FloorDiv[Expr] | Mod[Expr]``.
"""

import re
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar


class Operand(Protocol):
    """The dividend or divisor of a division.  Operands of equal value compare and hash as equal; ``str``
    prints them.
    """

    def symbols(self) -> frozenset[str]:
        """The names in it."""
        ...


E = TypeVar("E", bound=Operand)

_NATURAL = re.compile(r"([A-Za-z_.$']*)(\d*)(.*)", re.DOTALL)


@lru_cache(maxsize=1 << 14)
def _symbol_key(name: str) -> tuple:
    """Orders dims (d0, d1, .., d10) before indirect operands (i0, ..) before sizes; numbers in names
    count.
    """
    prefix, digits, rest = _NATURAL.findall(name)[0]
    rank = {"d": 0, "i": 1}.get(prefix, 2) if digits and not rest else 2
    return (rank, prefix, int(digits or -1), rest, 0, name)


class _Division(Generic[E]):
    """An atom `num op den`; only the canonical constructors `Expr.floordiv` and `Expr.mod` create one."""

    __slots__ = ("_hash", "_key", "den", "num")
    word = ""
    rank = 0

    def __init__(self, num: E, den: E):
        self.num = num
        self.den = den
        self._hash = hash((self.word, num, den))
        self._key: tuple | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or self._hash != other._hash:
            return False
        return self.num == other.num and self.den == other.den

    def __str__(self) -> str:
        return f"{_operand(self.num)} {self.word} {_operand(self.den)}"

    __repr__ = __str__

    @property
    def key(self) -> tuple:
        if self._key is None:
            lead = min(
                (_symbol_key(name) for name in self.num.symbols() or self.den.symbols()),
                default=(3, "", -1, ""),
            )
            self._key = (*lead[:4], self.rank, str(self))
        return self._key

    def __reduce__(self):
        return type(self), (self.num, self.den)


class FloorDiv(_Division[E]):
    """`num floordiv den`, rounding to minus infinity."""

    __slots__ = ()
    word = "floordiv"
    rank = 1


class Mod(_Division[E]):
    """`num mod den`, in [0, den)."""

    __slots__ = ()
    word = "mod"
    rank = 2


#: An atom of any kind of polynomial; a product of atoms in order: d0*d0 is ("d0", "d0"), a number is ().
_Atom = str | FloorDiv[Any] | Mod[Any]
_Monomial = tuple[_Atom, ...]


def atom_key(atom: _Atom) -> tuple:
    """The sort key of an atom."""
    return _symbol_key(atom) if isinstance(atom, str) else atom.key


def monomial_key(monomial: _Monomial) -> tuple:
    """Constants last; otherwise by atoms in order, so that `d0*s1` stands next to `d0`."""
    return (not monomial, tuple(atom_key(atom) for atom in monomial))


@lru_cache(maxsize=1 << 16)
def times(left: _Monomial, right: _Monomial) -> _Monomial:
    return tuple(sorted(left + right, key=atom_key))


@lru_cache(maxsize=1 << 16)
def over(left: _Monomial, right: _Monomial) -> _Monomial | None:
    """left / right when right divides left."""
    rest = list(left)
    for atom in right:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def common_atoms(left: _Monomial, right: _Monomial) -> _Monomial:
    pool, shared = list(right), []
    for atom in left:
        if atom in pool:
            pool.remove(atom)
            shared.append(atom)
    return tuple(shared)


def _operand(e: Operand) -> str:
    text = str(e)
    return text if text.isalnum() or text.replace("_", "").isalnum() else f"({text})"
