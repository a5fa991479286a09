"""What polynomials are made of: atoms, their order, and monomials, which are sorted tuples of atoms."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from .expr import Expr

Monomial = tuple["Atom", ...]  # d0*d0 is ("d0", "d0"), a constant is ()

_NATURAL = re.compile(r"([A-Za-z_.$']*)(\d*)(.*)", re.DOTALL)


@lru_cache(maxsize=1 << 14)
def _symbol_key(name: str) -> tuple:
    """Orders dims (d0, d1, .., d10) before indirect operands (i0, ..) before sizes, numbers by value."""
    prefix, digits, rest = _NATURAL.findall(name)[0]
    rank = {"d": 0, "i": 1}.get(prefix, 2) if digits and not rest else 2
    return (rank, prefix, int(digits or -1), rest, 0, name)


class _Division:
    """An atom `num op den`; only the canonical constructors `Expr.floordiv` and `Expr.mod` create one."""

    __slots__ = ("_hash", "_key", "den", "num")
    word = ""
    rank = 0

    def __init__(self, num: "Expr", den: "Expr"):
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


class FloorDiv(_Division):
    """`num floordiv den`, rounding to minus infinity."""

    __slots__ = ()
    word = "floordiv"
    rank = 1


class Mod(_Division):
    """`num mod den`, in [0, den)."""

    __slots__ = ()
    word = "mod"
    rank = 2


Atom = Union[str, FloorDiv, Mod]  # noqa: UP007  (a forward reference inside Monomial needs the name)


def atom_key(atom: Atom) -> tuple:
    return _symbol_key(atom) if isinstance(atom, str) else atom.key


def monomial_key(monomial: Monomial) -> tuple:
    """Constants last; otherwise by atoms in order, so that `d0*s1` stands next to `d0`."""
    return (not monomial, tuple(atom_key(atom) for atom in monomial))


@lru_cache(maxsize=1 << 16)
def times(left: Monomial, right: Monomial) -> Monomial:
    return tuple(sorted(left + right, key=atom_key))


@lru_cache(maxsize=1 << 16)
def over(left: Monomial, right: Monomial) -> Monomial | None:
    """left / right when right divides left."""
    rest = list(left)
    for atom in right:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def common_atoms(left: Monomial, right: Monomial) -> Monomial:
    pool, shared = list(right), []
    for atom in left:
        if atom in pool:
            pool.remove(atom)
            shared.append(atom)
    return tuple(shared)


def _operand(e: "Expr") -> str:
    text = str(e)
    return text if text.isalnum() or text.replace("_", "").isalnum() else f"({text})"
