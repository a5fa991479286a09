"""The integers and addresses of a user's kernel as expressions of the index algebra.  ``maps.py`` lists the
symbols.
"""

from collections.abc import Callable, Mapping

from ...base.dataclass import dataclass
from ...index import Expr, Mod, const, sym
from ...index.expr import Atom
from ...ir.dialects.tt_types import block_of, pointee_of, shape_of
from ...mlir import ir
from .op_kinds import DESCRIBING

#: ``predicate`` of ``arith.cmpi``: how operands compare.  Unsigned ones are those of numbers that are not
#: negative.
PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
#: What a symbol that is never negative begins with; and of those that a program divides, where arguments are
#: sizes.
_COUNTS, _DIVIDED = "pglt", "pglta"


@dataclass(frozen=True)
class Comparison:
    """``left`` compared with ``right``, for each lane."""

    left: Expr
    how: str
    right: Expr

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it is true where the symbols have ``values``."""
        return _HOLDS[self.how](self.left.evaluate(values), self.right.evaluate(values))

    def subs(self, mapping: Mapping[str, Expr | int]) -> "Comparison":
        return Comparison(self.left.subs(mapping), self.how, self.right.subs(mapping))

    def __str__(self) -> str:
        return f"{self.left} {self.how} {self.right}"


@dataclass(frozen=True)
class Loop:
    """An ``scf.for``: the symbol of its turns, and its bounds; None where they are not known."""

    turn: str
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True)
class Address:
    """The element ``offset`` of the memory of an argument."""

    argument: int
    offset: Expr

    def __add__(self, more: Expr) -> "Address":
        return Address(self.argument, self.offset + more)

    def subs(self, mapping: Mapping[str, Expr | int]) -> "Address":
        return Address(self.argument, self.offset.subs(mapping))


Known = Expr | Address


class Integers:
    """Expressions for the values of one kernel, each made once."""

    def __init__(self, func: ir.Operation) -> None:
        self._known: dict[ir.Value, Known | None] = {}
        self._masks: dict[ir.Value, tuple[Comparison, ...] | None] = {}
        self._loops: dict[ir.Operation, Loop] = {}
        self._others: dict[str, ir.Value] = {}  #: by symbol
        self._turns: dict[str, ir.Operation] = {}  #: loops by the symbol of their turns
        for n, argument in enumerate(func.regions[0].blocks[0].arguments):
            if pointee_of(argument.type) is not None:
                self._known[argument] = Address(n, const(0))
            elif isinstance(argument.type, ir.IntegerType | ir.IndexType):
                self._known[argument] = sym(f"a{n}")
            elif isinstance(argument.type, ir.RankedTensorType):  # read through `fuse.base`
                self._known[argument] = Address(n, const(0))

    def shape_of(self, value: ir.Value) -> tuple[int, ...]:
        return tuple(shape_of(value.type))

    def address(self, value: ir.Value) -> Address | None:
        known = self._of(value)
        return known if isinstance(known, Address) else None

    def integer(self, value: ir.Value) -> Expr | None:
        known = self._of(value)
        return known if isinstance(known, Expr) else None

    def mask(self, value: ir.Value) -> tuple[Comparison, ...] | None:
        """The comparisons that are all true where the bool ``value`` is; None where it is none such."""
        if value not in self._masks:
            self._masks[value] = self._mask(value)
        return self._masks[value]

    def loop(self, op: ir.Operation) -> Loop:
        if op not in self._loops:
            turn = f"t{len(self._loops)}"
            self._turns[turn] = op
            self._loops[op] = Loop(turn, None, None, None)
            self._loops[op] = Loop(turn, *[self.integer(bound) for bound in list(op.operands)[:3]])
        return self._loops[op]

    def value_of(self, symbol: str) -> ir.Value | None:
        """The integer that a symbol ``x0``, ``x1``, .. stands for; None for another symbol."""
        return self._others.get(symbol)

    def loop_of(self, symbol: str) -> ir.Operation | None:
        """The ``scf.for`` whose turns a symbol ``t0``, ``t1``, .. counts; None for another symbol."""
        return self._turns.get(symbol)

    def in_descriptor(
        self, op: ir.Operation
    ) -> tuple[tuple[int, ...], Address | None, tuple[Comparison, ...] | None]:
        """The lanes of an access through a descriptor, where they access memory and which do."""
        block = block_of(op.operands[0].type)
        assert block is not None
        tile = (
            op.results[0] if len(op.results) else op.operands[3 if op.name == "tt.descriptor_scatter" else 1]
        )
        shape, rank = tuple(block.shape), block.rank
        made = op.operands[0].owner
        indices = [v for v in op.operands if isinstance(v.type, ir.IntegerType)]
        if isinstance(made, ir.Block) or not made.name.startswith(DESCRIBING) or len(indices) != rank:
            return self.shape_of(tile), None, None
        base = self.address(made.operands[0])
        given = [self.integer(value) for value in list(made.operands)[1:]]
        starts = [self.integer(value) for value in indices]
        if base is None or None in given or None in starts:
            return self.shape_of(tile), None, None
        mask: list[Comparison] = []
        for axis, (start, size, stride) in enumerate(zip(starts, given[:rank], given[rank:], strict=True)):
            assert start is not None and size is not None and stride is not None
            place = start + (sym(f"l{axis}") if shape[axis] > 1 else 0)
            base += place * stride
            mask += [Comparison(place, ">=", const(0)), Comparison(place, "<", size)]
        return shape, base, tuple(mask)

    # --- values
    def _of(self, value: ir.Value) -> Known | None:
        if value not in self._known:
            self._known[value] = None  # what depends on itself is not known
            found = self._made(value)
            if found is None and isinstance(value.type, ir.IntegerType) and value.type.width > 1:
                name = f"x{len(self._others)}"
                self._others[name] = value
                found = sym(name)
            self._known[value] = found
        return self._known[value]

    def _made(self, value: ir.Value) -> Known | None:
        op = value.owner
        if isinstance(op, ir.Block):
            return self._carried(ir.BlockArgument(value))
        if op.name in _ARITHMETIC:
            operands = [self._of(operand) for operand in op.operands]
            if any(not isinstance(operand, Expr) for operand in operands):
                return None
            return _ARITHMETIC[op.name](*operands)  # type: ignore[arg-type]
        if op.name in ("tt.addptr", "fuse.base"):
            base = self.address(op.operands[0])
            more = self.integer(op.operands[1]) if op.name == "tt.addptr" else const(0)
            return None if base is None or more is None else base + more
        if op.name in _SAME or (op.name == "tt.bitcast" and _same_width(op)):
            return self._of(op.operands[0])
        lanes = _lanes(op)
        if lanes is not None:
            known = self._of(op.operands[0])
            return None if known is None else known.subs(lanes)
        return _leaf(op)

    def _carried(self, value: ir.BlockArgument) -> Known | None:
        """An argument of a loop's body: its number, or what grows by the same amount in each turn."""
        op = value.owner.owner
        if op is None or op.name != "scf.for":
            return None
        loop, number = self.loop(op), value.arg_number
        if number == 0:
            if loop.lower is None or loop.step is None:
                return None
            return loop.lower + loop.step * sym(loop.turn)
        start = self._of(op.operands[number + 2])
        if start is None:
            return None
        hole = f"@{loop.turn}.{number}"
        before = self._known, self._masks
        self._known = {one: known for one, known in self._known.items() if known is not None}
        self._masks = {}
        self._known[value] = Address(start.argument, sym(hole)) if isinstance(start, Address) else sym(hole)
        body = op.regions[0].blocks[0]
        after = self._of(body.operations[len(body.operations) - 1].operands[number - 1])
        self._known, self._masks = before  # what was found has the hole in it
        if after is None or type(after) is not type(start):
            return None
        offset = after.offset if isinstance(after, Address) else after
        growth = offset - sym(hole)  # of another argument's address it would keep the hole
        if any(not self._is_outside(symbol, op, loop.turn) for symbol in growth.symbols()):
            return None
        return start + sym(loop.turn) * growth

    def _is_outside(self, symbol: str, op: ir.Operation, turn: str) -> bool:
        """Whether ``symbol`` has one value in all turns of the loop ``op``."""
        if symbol == turn or symbol.startswith("@"):
            return False
        if symbol not in self._others:
            return True
        owner = self._others[symbol].owner
        around = owner.owner if isinstance(owner, ir.Block) else owner.operation
        while around is not None:
            if around.operation == op:
                return False
            around = around.operation.parent
        return True

    def _mask(self, value: ir.Value) -> tuple[Comparison, ...] | None:
        op = value.owner
        if isinstance(op, ir.Block):
            return None
        if op.name == "arith.cmpi":
            left, right = (self.integer(operand) for operand in op.operands)
            if left is None or right is None:
                return None
            number = ir.IntegerAttr(op.attributes["predicate"]).value
            if number > 5 and not (is_counted(left) and is_counted(right)):
                return None
            return (Comparison(left, PREDICATES[number], right),)
        if op.name == "arith.andi":
            first, second = (self.mask(operand) for operand in op.operands)
            return None if first is None or second is None else tuple(dict.fromkeys((*first, *second)))
        if op.name in _SAME:
            return self.mask(op.operands[0])
        lanes = _lanes(op)
        if lanes is not None:
            known = self.mask(op.operands[0])
            return None if known is None else tuple(comparison.subs(lanes) for comparison in known)
        return () if _constant(op) in (1, -1) else None


def is_counted(expression: Expr, counts: str = _COUNTS) -> bool:
    """Whether an expression is at least 0 because it adds and multiplies counts: ids, lanes, turns."""
    return all(
        coefficient >= 0 and all(_is_count(atom, counts) for atom in monomial)
        for monomial, coefficient in expression.terms
    )


def _is_count(atom: Atom, counts: str) -> bool:
    if isinstance(atom, str):
        return atom.startswith(tuple(counts))
    return isinstance(atom, Mod) or is_counted(atom.num, counts)


def _leaf(op: ir.Operation) -> Expr | None:
    if op.name == "arith.constant":
        number = _constant(op)
        return None if number is None else const(number)
    if op.name in ("tt.get_program_id", "tt.get_num_programs"):
        prefix = "p" if op.name == "tt.get_program_id" else "g"
        return sym(f"{prefix}{ir.IntegerAttr(op.attributes['axis']).value}")
    if op.name == "tt.make_range":
        start, end = (ir.IntegerAttr(op.attributes[name]).value for name in ("start", "end"))
        return (sym("l0") if end - start > 1 else const(0)) + start
    return None


def _constant(op: ir.Operation) -> int | None:
    """The integer that a constant has, in each lane."""
    if op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return int(attribute.value) if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)) else None


def _same_width(op: ir.Operation) -> bool:
    """Whether a cast gives addresses of elements that are as wide as before; a bool is a byte in memory."""
    before, after = (pointee_of(value.type) for value in (op.operands[0], op.results[0]))
    if before is None or after is None:
        return False
    widths = [max(8, getattr(type_, "width", 0)) for type_ in (before, after)]
    return all(hasattr(type_, "width") for type_ in (before, after)) and widths[0] == widths[1]


def _lanes(op: ir.Operation) -> dict[str, Expr | int] | None:
    """For an op that moves elements of a tile: what each lane of its operand is in lanes of its result."""
    if op.name == "tt.expand_dims":
        axis = ir.IntegerAttr(op.attributes["axis"]).value
        rank = len(shape_of(op.operands[0].type))
        return {f"l{n}": sym(f"l{n + 1}") for n in range(axis, rank)}
    if op.name == "tt.trans":
        order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
        return {f"l{before}": sym(f"l{after}") for after, before in enumerate(order)}
    if op.name == "tt.reshape" and "allow_reorder" not in op.attributes:
        before, after = (shape_of(value.type) for value in (op.operands[0], op.results[0]))
        linear: Expr = const(0)
        for axis, extent in enumerate(after):
            linear = linear * extent + (sym(f"l{axis}") if extent > 1 else 0)
        if [n for n in before if n > 1] == [n for n in after if n > 1]:
            kept = iter(axis for axis, extent in enumerate(after) if extent > 1)
            return {f"l{axis}": sym(f"l{next(kept)}") for axis, extent in enumerate(before) if extent > 1}
        lanes: dict[str, Expr | int] = {}
        below = 1
        for axis in reversed(range(len(before))):
            lanes[f"l{axis}"] = linear.floordiv(below).mod(before[axis])
            below *= before[axis]
        return lanes
    return None


def _divided(left: Expr, right: Expr) -> Expr | None:
    return left.floordiv(right) if is_counted(left, _DIVIDED) and _divides(right) else None


def _rest(left: Expr, right: Expr) -> Expr | None:
    return left.mod(right) if is_counted(left, _DIVIDED) and _divides(right) else None


def _divides(right: Expr) -> bool:
    """Whether the algebra takes ``right`` for a positive number: a constant, or a product of integers."""
    number = right.constant
    return number > 0 if number is not None else True


def _shifted(left: Expr, right: Expr) -> Expr | None:
    return None if right.constant is None else left * 2**right.constant


def _unshifted(left: Expr, right: Expr) -> Expr | None:
    return None if right.constant is None else left.floordiv(2**right.constant)


def _masked(left: Expr, right: Expr) -> Expr | None:
    number = right.constant
    return left.mod(number + 1) if number is not None and number >= 0 and not number & (number + 1) else None


_ARITHMETIC: Mapping[str, Callable[[Expr, Expr], Expr | None]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _divided,
    "arith.divui": _divided,
    "arith.remsi": _rest,
    "arith.remui": _rest,
    "arith.shli": _shifted,
    "arith.shrsi": _unshifted,
    "arith.andi": _masked,
}
#: Ops whose result has, in each lane, what the operand has.
_SAME = frozenset({"tt.splat", "tt.broadcast", "arith.extsi", "arith.trunci", "arith.index_cast"})
