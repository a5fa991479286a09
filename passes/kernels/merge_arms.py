"""``merge-arms``: what both arms of a selection compute alike is computed once, on selected inputs."""

from collections.abc import Callable
from dataclasses import field
from typing import ClassVar

from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.index import Expr, Facts, const, parse, sym
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import is_kernel, is_tiled, kernel_facts, string, strings
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import arith, ir
from ..base.kernels import kernel_body, text_list
from ..base.new_ops import true
from ..base.program import Program
from ..pass_base import Pass, remark_on
from .conditions import comparison, negates

#: ``predicate`` of the signed comparisons of arith.cmpi, which cut a dim in two.
_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5
#: Operations that may stand on one arm only.
_UNARY = ("arith.negf", "arith.extf", "arith.truncf")
_MOST_PEELED = 3

Build = Callable[[], ir.Value]


@dataclass(frozen=True)
class MergeArms(Pass):
    """Where a ``select`` chooses between the same operations on two halves of a row, read under opposite
    guards, one load reads both halves and the operations are there once.

    Before (half a rotary embedding: each half of a row reads the other one)::

        %i = "fuse.index"() {expr = "d1 - 64"} : () -> i64
        %low = arith.cmpi slt, %i, %0 : i64
        %high = arith.cmpi sge, %i, %0 : i64
        %a = "fuse.load"(%x, %low, %z) {at = ["d0", "d1 + 64"]} : (...) -> f32
        %b = "fuse.load"(%x, %high, %z) {at = ["d0", "d1 - 64"]} : (...) -> f32
        %p = arith.mulf %a, %s : f32
        %q = arith.mulf %b, %s : f32
        %n = arith.negf %p : f32
        %r = arith.select %low, %n, %q : f32

    After::

        %a = "fuse.load"(%x, %true, %z) {at = ["d0", "(d1 + 64) mod 128"]} : (...) -> f32
        %p = arith.mulf %a, %s : f32
        %n = arith.negf %p : f32
        %r = arith.select %low, %n, %p : f32

    The two operands of the ``select`` (the arms) merge if the same ops lead to the same values, to equal
    constants, or to loads of one tensor whose guards are the condition and its negation.  Inside an arm, a
    further ``select`` by the same condition is decided.  Up to three of ``negf``, ``extf``, ``truncf`` may
    stand on one arm only.  The coordinates of two loads become one where the condition cuts a dim of static
    extent in two and they differ by a constant n: then one of them is the other modulo n.

    Does not fire where no loads would merge, on other conditions, on loads with loaded indices, nor on tile
    code.

    Remarks: ``passed: one-read``, with the number of selections that merged.
    """

    name: ClassVar[str] = "merge-arms"

    def run(self, module: ir.Module, remarks: Remarks) -> None:
        program = Program(module, functions_of(module))
        for func in list(program.functions.values()):
            if is_kernel(func) and not is_tiled(func) and func.regions[0].blocks:
                merged = _merge(func)
                if merged:
                    program.clean(func)
                    name = string(func.attributes["sym_name"])
                    message = f"both arms of {merged} selections of @{name} read what one load reads now"
                    remark_on(func, remarks, self.name, "passed", "one-read", message, merged=merged)


def _merge(func: ir.Operation) -> int:
    """How many selections of a kernel were rewritten; the outermost come first."""
    selects = [op for op in kernel_body(func) if isinstance(op, arith.SelectOp)]
    if len(selects) == 0 or sum(isinstance(op, fuse.Load) for op in kernel_body(func)) < 2:
        return 0
    facts, merged = kernel_facts(func), 0
    for op in reversed(selects):
        if list(op.results[0].uses) and (found := _Arms.of(op, facts)) is not None:
            op.results[0].replace_all_uses_with(found)
            merged += 1
    return merged


@dataclass
class _Arms:
    """One selection: what is known on each arm, and what merges."""

    op: ir.Operation
    low: Facts  #: of the points below the cut, as they are
    high: Facts  #: of the points above it, counted from the cut
    dim: str
    cut: int
    below: bool  #: whether the first arm is the one below the cut
    loads: int = 0
    known: dict[tuple[ir.Value, ir.Value], Build | None] = field(default_factory=dict)
    built: dict[tuple[ir.Value, ir.Value], ir.Value] = field(default_factory=dict)

    @staticmethod
    def of(op: ir.Operation, facts: Facts) -> ir.Value | None:
        """The value that takes the place of a selection; None where nothing merges."""
        cut = _cut(op.operands[0], facts)
        if cut is None:
            return None
        dim, at, below, extent = cut
        low, high = facts.with_extents({dim: at}), facts.with_extents({dim: extent - at})
        return _Arms(op, low, high, dim, at, below)._merged()

    def _merged(self) -> ir.Value | None:
        _, first, second = self.op.operands
        for peeled in range(_MOST_PEELED + 1):
            for one in (0, 1)[: 1 if peeled == 0 else 2]:
                arms = [first, second]
                chain = self._peel(arms[one], one, peeled)
                if chain is None:
                    continue
                arms[one] = chain[-1].operands[0] if chain else arms[one]
                self.loads = 0
                build = self._same(arms[0], arms[1])
                if build is not None and self.loads:
                    return self._with(build(), chain, one)
        return None

    def _peel(self, value: ir.Value, arm: int, count: int) -> list[ir.Operation] | None:
        """The last ``count`` operations before a value, the last first, if each may stand on one arm."""
        chain: list[ir.Operation] = []
        while len(chain) < count:
            value = self._on(value, arm)
            if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _UNARY:
                return None
            chain.append(value.owner.operation)
            value = chain[-1].operands[0]
        return chain

    def _with(self, value: ir.Value, chain: list[ir.Operation], arm: int) -> ir.Value:
        """``value``, on one arm after the operations that stand there only."""
        if not chain:
            return value
        apart = value
        for op in reversed(chain):
            apart = self._again(op, [apart])
        both = [apart, value] if arm == 0 else [value, apart]
        return self._again(self.op, [self.op.operands[0], *both])

    def _again(self, op: ir.Operation, operands: list[ir.Value]) -> ir.Value:
        """``op`` on other operands, in front of the selection."""
        new = op.clone(ir.InsertionPoint(self.op))
        for position, operand in enumerate(operands):
            new.operands[position] = operand
        return new.results[0]

    # --- what is the same ---------------------------------------------------------------------------------
    def _on(self, value: ir.Value, arm: int) -> ir.Value:
        """What a value is on an arm (0: where the condition holds): selections by it are decided there."""
        while isinstance(value.owner, arith.SelectOp):
            holds = self._decided(value.owner.operation.operands[0], arm)
            if holds is None:
                break
            value = value.owner.operation.operands[1 if holds else 2]
        return value

    def _decided(self, condition: ir.Value, arm: int) -> bool | None:
        """Whether a condition holds on an arm; None where that is not known."""
        if condition == self.op.operands[0]:
            return arm == 0
        return arm == 1 if negates(condition, self.op.operands[0]) else None

    def _same(self, first: ir.Value, second: ir.Value) -> Build | None:
        """How to build one value that is ``first`` on the first arm and ``second`` on the other."""
        first, second = self._on(first, 0), self._on(second, 1)
        if first == second:
            return lambda: first
        key = (first, second)
        if key not in self.known:
            self.known[key] = None  # until it is found
            self.known[key] = self._same_operation(first, second)
        found = self.known[key]
        if found is None:
            return None

        def build() -> ir.Value:
            if key not in self.built:
                self.built[key] = found()
            return self.built[key]

        return build

    def _same_operation(self, first: ir.Value, second: ir.Value) -> Build | None:
        if (
            isinstance(first.owner, ir.Block)
            or isinstance(second.owner, ir.Block)
            or first.type != second.type
        ):
            return None
        one, other = first.owner.operation, second.owner.operation
        if one.name != other.name or len(one.results) != 1 or len(one.operands) != len(other.operands):
            return None
        if one.name == "fuse.load":
            return self._same_load(one, other)
        if not one.name.startswith(("arith.", "math.")) and one.name != "fuse.libm":
            return None
        if _attributes(one) != _attributes(other):
            return None
        parts = [self._same(a, b) for a, b in zip(one.operands, other.operands, strict=True)]
        if any(part is None for part in parts):
            return None
        return lambda: self._again(one, [part() for part in parts if part is not None])

    def _same_load(self, one: ir.Operation, other: ir.Operation) -> Build | None:
        if len(one.operands) != 3 or one.operands[0] != other.operands[0]:
            return None
        guards = self._decided(one.operands[1], 0), self._decided(other.operands[1], 1)
        if guards != (True, True):
            return None
        at = [
            self._coordinate(parse(a), parse(b))
            for a, b in zip(strings(one.attributes["at"]), strings(other.attributes["at"]), strict=True)
        ]
        if any(c is None for c in at):
            return None
        self.loads += 1

        def build() -> ir.Value:
            with ir.InsertionPoint(self.op), one.location:
                operands = [one.operands[0], true(), one.operands[2]]
                attributes = {"at": text_list(at)}
                return ir.Operation.create(one.name, [one.results[0].type], operands, attributes).results[0]

        return build

    def _coordinate(self, first: Expr, second: Expr) -> Expr | None:
        """One expression for what is ``first`` on the first arm and ``second`` on the other."""
        if first == second:
            return first
        step = (first - second).constant
        if step is None:
            return None
        ranges = (self.below, not self.below)
        for e, below in zip((first, second), ranges, strict=True):
            point = e if below else e.subs({self.dim: sym(self.dim) + self.cut})
            lowest, highest = (self.low if below else self.high).interval(point)
            if lowest is None or highest is None or lowest < 0 or highest >= abs(step):
                return None
        return (first if step > 0 else second).mod(const(abs(step)))


def _attributes(op: ir.Operation) -> list[tuple[str, str]]:
    return [(name, str(op.attributes[name])) for name in op.attributes]


def _cut(condition: ir.Value, facts: Facts) -> tuple[str, int, bool, int] | None:
    """(dim, cut, whether the condition holds below it, extent) of a condition ``dim < cut`` or its negation;
    the cut lies inside the dim, whose extent is a number.
    """
    compared = comparison(condition)
    if compared is None or compared[0] not in (_SLT, _SLE, _SGT, _SGE):
        return None
    predicate, left, right = compared
    owners = [v.owner.operation if not isinstance(v.owner, ir.Block) else None for v in (left, right)]
    index, limit = owners
    if index is None or limit is None or index.name != "fuse.index" or limit.name != "arith.constant":
        return None
    e = parse(string(index.attributes["expr"])) - ir.IntegerAttr(limit.attributes["value"]).value
    names = sorted(e.symbols())
    if len(names) != 1 or names[0] not in facts.extent or len(index.operands):
        return None
    rest, extent = (e - sym(names[0])).constant, facts.extent[names[0]].constant
    if rest is None or extent is None:
        return None
    cut = -rest + (predicate in (_SLE, _SGT))
    return (names[0], cut, predicate in (_SLT, _SLE), extent) if 0 < cut < extent else None
