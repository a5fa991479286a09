"""Index expressions as integer ops of tile code, whatever their symbols stand for."""

from collections.abc import Mapping

from ...index import Expr, Facts, FloorDiv
from ...index.expr import Atom
from ...index.facts import is_indirect
from ...mlir import ir
from ..tile_builder import TileBuilder

_LIMIT = 1 << 31


class IndexArithmetic:
    """Emits sums, products and divisions of the index algebra at MLIR's insertion point.

    A subclass says what its symbols are.  ``facts`` are about those symbols.
    """

    builder: TileBuilder
    facts: Facts

    def _symbol(self, name: str, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        """The value of a symbol, as an integer of ``width`` bits."""
        raise NotImplementedError

    def _memo_key(self, e: Expr) -> tuple[object, ...]:
        """What the value of ``e`` depends on besides ``e``."""
        return ()

    def _elements_of(self, atom: Atom) -> int:
        """How many elements the value of an atom has; small factors are multiplied first."""
        raise NotImplementedError

    def _sum(self, e: Expr, width: int, indices: Mapping[str, ir.Value]) -> ir.Value:
        """The value of ``e``, its terms added in the order that suits the tiles best."""
        raise NotImplementedError

    def _emit(self, e: Expr, width: int, indices: Mapping[str, ir.Value] | None = None) -> ir.Value:
        """The value of e, emitted term by term."""
        builder = self.builder
        own = bool(indices) and any(is_indirect(n) for n in e.symbols())
        key = ("index", e, width, self._memo_key(e))
        if not own:
            found = builder.recall(key)
            if found is not None:
                return found
        element = f"i{width}"
        total: ir.Value | None = None
        for monomial, c in e.terms:
            part: ir.Value | None = None
            for atom in sorted(monomial, key=self._elements_of):
                factor = self._atom(atom, width, indices)
                part = factor if part is None else builder.elementwise("arith.muli", [part, factor])
            if part is None:
                part = builder.constant(c, element)
            elif c == -1:
                part = (
                    part
                    if total is not None
                    else builder.elementwise("arith.subi", [builder.fill(0, part), part])
                )
            elif c != 1:
                part = builder.elementwise("arith.muli", [part, builder.fill(c, part)])
            if total is None:
                total = part
            else:
                total = builder.elementwise(
                    "arith.subi" if c == -1 and monomial else "arith.addi", [total, part]
                )
        total = builder.constant(0, element) if total is None else total
        return total if own else builder.remember(key, total)

    def _atom(self, atom: Atom, width: int, indices: Mapping[str, ir.Value] | None) -> ir.Value:
        builder = self.builder
        if isinstance(atom, str):
            return self._symbol(atom, width, indices or {})
        num, den = self._sum(atom.num, width, indices or {}), self._sum(atom.den, width, indices or {})
        floor = type(atom) is FloorDiv
        if self.facts.nonnegative(atom.num):
            return builder.elementwise("arith.divsi" if floor else "arith.remsi", [num, den])
        rest = builder.elementwise("arith.remsi", [num, den])
        below = builder.cmpi("slt", rest, builder.fill(0, rest))
        if floor:
            quotient = builder.elementwise("arith.divsi", [num, den])
            return builder.elementwise(
                "arith.subi", [quotient, builder.cast("arith.extui", below, f"i{width}")]
            )
        return builder.select(below, builder.elementwise("arith.addi", [rest, den]), rest)

    # --- widths ---------------------------------------------------------------------------------------------
    def _bounded(self, e: Expr) -> bool:
        low, high = self.facts.interval(e)
        return low is not None and high is not None and low > -_LIMIT and high < _LIMIT

    def fits(self, e: Expr, spare: int = 0) -> bool:
        """Whether all terms of e, and the numerators of its divisions, fit in 31 bits in whatever order they
        are added.
        """
        total = spare
        for monomial, c in e.terms:
            term = Expr({monomial: c})
            if any(is_indirect(n) for n in term.symbols()):
                if any(type(a) is not str for a in monomial):
                    return False
                continue
            low, high = self.facts.interval(term)
            if low is None or high is None:
                return False
            total += max(abs(low), abs(high))
            for atom in monomial:
                if not isinstance(atom, str) and not (self.fits(atom.num) and self.fits(atom.den)):
                    return False
        return total < _LIMIT

    def _of_width(self, value: ir.Value, width: int) -> ir.Value:
        """An integer of 32 or 64 bits, converted to ``width`` bits."""
        narrow = str(value.type) == "i64" and width == 32
        return self.builder.cast("arith.trunci" if narrow else "arith.extsi", value, f"i{width}")
