"""Strips of a dim: neighbouring points that are computed together, each thing that they need once."""

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from ...base.dataclass import dataclass
from ...index import Expr, Facts, const, parse, sym
from ...ir.defining import is_true
from ...ir.dialects import fuse
from ...ir.kernel import Kernel, string, strings
from ...mlir import arith, ir

#: A result of a copy, by their numbers, or an argument of the kernel.
Operand: TypeAlias = tuple[int, int] | ir.Value

#: Attributes that name dims: coordinates and an index expression.
_PLACES = ("at", "expr")
#: ``predicate`` of arith.cmpi.
_SLT, _SGE = 2, 5
#: The row of what reads none.
_ANYWHERE = -math.inf


class Copy(NamedTuple):
    """An op at a point of a strip, None for what is the same at all of them.  operands: each as the number of
    a copy and of its result, or as an argument of the kernel.
    """

    op: ir.Operation
    point: int | None
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class Strip:
    """Points of a dim that are computed together.

    copies: what is computed, each thing once.  order: their numbers, as they are written.  loads: how many
    are loads that move along the dim.
    """

    dim: str
    rows: int
    copies: tuple[Copy, ...]
    order: tuple[int, ...]
    loads: int

    @staticmethod
    def of(kernel: Kernel, dim: str, rows: int) -> "Strip":
        """Of so many rows, which the extent of the dim is a multiple of."""
        found = dict[ir.Value, dict[int | None, Operand]]()
        numbers, copies, levels = dict[tuple[object, ...], int](), list[Copy](), list[float]()
        loads, guards = 0, _Guards(Facts.of(extents={**kernel.dims, dim: _count(kernel, dim, rows)}))
        for op, depends in [
            (op, dim in kernel.op_dims[op]) for op in list(kernel.func.regions[0].blocks[0].operations)[:-1]
        ]:
            text, places = _Text(op, dim, rows, kernel.dims), list(op.operands)
            for point in range(rows) if depends else (None,):
                operands = tuple(_operand(found, v, point) for v in places)
                what = (*text.at(point), *(guards.key(o) for o in operands))
                number = numbers.setdefault(what, len(copies))
                for i, result in enumerate(op.results):
                    found.setdefault(result, {})[point] = (number, i)
                if number < len(copies):
                    continue
                copies.append(Copy(op, point, operands))
                guards.note(number, op, text, operands, point)
                reads = depends and isinstance(op, fuse.Load)
                own = text.row(point) if reads else _ANYWHERE
                levels.append(max([own, *(levels[o[0]] for o in operands if isinstance(o, tuple))]))
                loads += reads
        _lower(copies, levels)
        order = sorted(range(len(copies)), key=lambda number: (levels[number], number))
        return Strip(dim, rows, tuple(copies), tuple(order), loads)


def _count(kernel: Kernel, dim: str, rows: int) -> Expr:
    return const((kernel.dims[dim].constant or 0) // rows)


class _Guards:
    """What conditions ask, of those copies that are conditions: comparisons of indices with numbers, without
    those that always hold.  Two loads whose guards ask the same may be one, as that of a row that only some
    of its readers found to be inside.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._indices, self._numbers = dict[int, Expr](), dict[int, int]()
        self._asked = dict[int, frozenset[object]]()

    def key(self, operand: Operand) -> object:
        """What an operand is, where equal conditions are equal."""
        return self._asked.get(operand[0], operand) if isinstance(operand, tuple) else operand

    def note(
        self, number: int, op: ir.Operation, text: "_Text", operands: tuple[Operand, ...], point: int | None
    ) -> None:
        """Reads a copy, which has this number."""
        given = [o[0] if isinstance(o, tuple) else -1 for o in operands]
        if isinstance(op, fuse.Index) and not operands:
            self._indices[number] = text.moved(point)[0]
        elif isinstance(op, arith.ConstantOp) and isinstance(op.results[0].type, ir.IntegerType):
            self._numbers[number] = ir.IntegerAttr(op.attributes["value"]).value
            if is_true(op.results[0]):
                self._asked[number] = frozenset()
        elif isinstance(op, arith.AndIOp) and all(o in self._asked for o in given):
            self._asked[number] = self._asked[given[0]] | self._asked[given[1]]
        elif isinstance(op, arith.CmpIOp) and given[0] in self._indices and given[1] in self._numbers:
            predicate = ir.IntegerAttr(op.attributes["predicate"]).value
            if predicate in (_SLT, _SGE):
                asked = (predicate, self._indices[given[0]] - self._numbers[given[1]])
                self._asked[number] = frozenset() if self._holds(*asked) else frozenset({asked})

    def _holds(self, predicate: int, e: Expr) -> bool:
        """Whether an expression is below 0, or is not, everywhere."""
        low, high = self._facts.interval(e)
        return (high is not None and high < 0) if predicate == _SLT else (low is not None and low >= 0)


def _operand(found: dict[ir.Value, dict[int | None, Operand]], value: ir.Value, point: int | None) -> Operand:
    made = found.get(value)
    return value if made is None else made[point] if point in made else made[None]


def _lower(copies: list[Copy], levels: list[float]) -> None:
    """What needs no row waits for the first that needs it."""
    first = dict[int, float]()
    for number in reversed(range(len(copies))):
        if levels[number] == _ANYWHERE:
            levels[number] = first.get(number, _ANYWHERE)
        for operand in copies[number].operands:
            if isinstance(operand, tuple):
                first[operand[0]] = min(first.get(operand[0], math.inf), levels[number])


class _Text:
    """The attributes of an op, at the points of a strip.  ``dims``: of the kernel."""

    def __init__(self, op: ir.Operation, dim: str, rows: int, dims: Iterable[str]) -> None:
        self._dim, self._rows, self._dims = dim, rows, dims
        named = {n: op.attributes[n] for n in _PLACES if n in op.attributes}
        rest = sorted((n, str(op.attributes[n])) for n in op.attributes if n not in named)
        self._rest = (op if isinstance(op, fuse.Store) else op.name, *rest)
        self._places = [
            parse(text)
            for a in named.values()
            for text in ((string(a),) if isinstance(a, ir.StringAttr) else strings(a))
        ]

    def moved(self, point: int | None) -> list[Expr]:
        """The expressions of the attributes."""
        to = {} if point is None else {self._dim: point_of(self._dim, self._rows, point)}
        return [e.subs(to) for e in self._places]

    def at(self, point: int | None) -> tuple[object, ...]:
        """What is computed of operands; of a store, whose results are all different, the op itself."""
        return (*self._rest, *map(str, self.moved(point)))

    def row(self, point: int | None) -> float:
        """How far along the dim a load reads, beside others, without what sizes that are symbols add to it;
        anywhere, where a given index says where.
        """
        e = next((e for e in self.moved(point) if self._dim in e.symbols()), None)
        if e is None:
            return _ANYWHERE
        return float(e.subs(dict.fromkeys(self._dims, 0)).shift)


def point_of(dim: str, rows: int, point: int) -> Expr:
    """The place of a point of a strip along the dim, where the dim counts strips."""
    return sym(dim) * rows + point


__all__ = ["Copy", "Operand", "Strip", "point_of"]
