"""What tiling wants to know of a kernel: its dims in memory order, how its accesses step along them, its
rows, and how many values live at once.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import field
from functools import cached_property
from types import MappingProxyType

from ...base.dataclass import dataclass
from ...cost.slots import slots
from ...index import Expr, Facts, linear, offset, parse, simplify
from ...ir.defining import defining_op
from ...ir.dialects import fuse
from ...ir.kernel import Access, Kernel, over, string
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import ceil_power, estimate, hints_of
from ...mlir import arith, ir
from .segments import in_segments

#: A row that one warp holds: elements of a thread, and the registers for the values of all of them.
_WARP, _WARP_ELEMENTS, _WARP_REGISTERS = 32, 32, 160


def is_sum_of_products(op: ir.Operation) -> bool:
    """Whether a reduction adds up products, or sums of products (two weights that lie in one byte)."""
    if not isinstance(op, fuse.Reduce) or string(op.attributes["kind"]) != "sum":
        return False
    values = [op.operands[0]]
    while values:
        value = values.pop()
        total = defining_op(value, arith.AddFOp, arith.AddIOp)
        if total is not None:
            values += total.operands
        elif defining_op(value, arith.MulFOp, arith.MulIOp) is None:
            return False
    return True


@dataclass
class KernelShape:
    """A kernel with its sizes estimated by hints.  calls: how many of its calls may share a launch.  spills:
    how many tiles of it, one after the other, took more registers than a thread has.
    """

    kernel: Kernel
    hints: dict[str, int] = field(default_factory=dict)
    calls: int = 1
    spills: int = 0

    @staticmethod
    def of(
        kernel: Kernel, calls: int = 1, hints: Mapping[str, int] = MappingProxyType({}), spills: int = 0
    ) -> "KernelShape":
        """``hints``: of the program's sizes, which count more than those of the kernel's own arguments.  Of
        rows in segments, the kernel is that of a program whose rows are of one segment."""
        return KernelShape(in_segments(kernel), {**hints_of(kernel.func), **hints}, calls, spills)

    def size(self, dim: str) -> int:
        """Extent of a dim, by hints."""
        return estimate(self.kernel.dims[dim], self.hints)

    def points(self, dims: tuple[str, ...]) -> int:
        """Product of the extents of dims, by hints."""
        total = 1
        for dim in dims:
            total *= self.size(dim)
        return total

    def bound(self, dims: tuple[str, ...]) -> int | None:
        """The largest possible product of the extents of dims; None when it is not bounded."""
        total = parse("1")
        for dim in dims:
            total = total * self.kernel.dims[dim]
        return self._facts.interval(total)[1]

    @cached_property
    def _facts(self) -> Facts:
        return self.kernel.facts

    @cached_property
    def accesses(self) -> list[Access]:
        """Stores, then loads."""
        return [*self.kernel.stores, *self.kernel.loads]

    @cached_property
    def reduced(self) -> tuple[str, ...]:
        """Dims that reductions or scans cross, in memory order."""
        return tuple(d for d in self.order if d in self.kernel.reduced)

    @cached_property
    def parallel(self) -> tuple[str, ...]:
        """The other dims, in memory order."""
        return tuple(d for d in self.order if d not in self.kernel.reduced)

    @cached_property
    def reduced_classes(self) -> list[tuple[str, ...]]:
        """Reduced dims by which reductions cross them; every reduction crosses whole classes.  A scanned dim
        is alone.
        """
        crossings = [
            (isinstance(op, fuse.Scan), frozenset(over(op)))
            for op in (*self.kernel.reductions, *self.kernel.scans)
        ]
        scanned = {d for is_scan, dims in crossings if is_scan for d in dims}
        classes: dict[object, list[str]] = {}
        for dim in self.reduced:
            signature: object = dim if dim in scanned else tuple(dim in dims for _, dims in crossings)
            classes.setdefault(signature, []).append(dim)
        return [tuple(dims) for dims in classes.values()]

    @cached_property
    def producers(self) -> dict[ir.Operation, list[ir.Operation]]:
        """Of each operation, in program order: those whose results it reads."""
        return {
            op: [v.owner for v in op.operands if not isinstance(v.owner, ir.Block)]
            for op in self.kernel.op_dims
        }

    def dependents(self, roots: Collection[ir.Operation]) -> set[ir.Operation]:
        """Everything that depends on the roots, without them."""
        found: set[ir.Operation] = set()
        seeds = set(roots)
        for op, producers in self.producers.items():
            if not (found.isdisjoint(producers) and seeds.isdisjoint(producers)):
                found.add(op)
        return found

    @cached_property
    def rereads(self) -> bool:
        """Whether something along reduced dims depends on a reduction: a loop would read such a row again."""
        kernel = self.kernel
        after = self.dependents([*kernel.reductions, *kernel.scans]).union(kernel.scans)
        return any(kernel.op_dims[op] & kernel.reduced for op in after)

    def visits_again(self, dims: tuple[str, ...]) -> bool:
        """Whether something at each point, of ``dims`` and of the other reduced dims, needs what is reduced
        over the others: the gradient of a norm, whose rows are reduced first.
        """
        kernel, everything = self.kernel, set(self.reduced)
        others = [op for op in kernel.reductions if not set(over(op)) & set(dims)]
        return any(everything <= kernel.op_dims[op] for op in self.dependents(others))

    def aligned(self, dims: tuple[str, ...]) -> bool:
        """Whether rows along ``dims`` are known to start at multiples of 16 bytes."""
        extent = self.points(dims)
        return all(self.kernel.dims[d].is_constant for d in dims) and extent * self.widest % 16 == 0

    def vector(self, dims: tuple[str, ...]) -> int:
        """Elements of the widest access along ``dims``: 16 bytes, but a power of two that divides the pieces
        of memory that lie together (images of 196 pixels, a channel of each: 4 of 16 bits).
        """
        piece = self.points(self.merge(dims)[-1]) if dims else 1
        return math.gcd(max(1, 16 // self.widest), piece)

    @cached_property
    def walked(self) -> tuple[str, ...] | None:
        """In a kernel that reduces rows and columns, the dims that count the rows, if one warp can go through
        rows one by one: a row, all its values that are live at once and the sums of the columns fit into its
        registers.  None otherwise; so where a reduction crosses both, or a row needs what is reduced over the
        rows.
        """
        reductions, main = self.kernel.reductions, self.main_access
        classes = self.reduced_classes
        along = main and self.contiguous_dim(main)
        columns = [dims for dims in classes if along in dims]
        if len(classes) != 2 or len(columns) != 1 or self.kernel.scans:
            return None
        [held], [rows] = columns, [dims for dims in classes if dims not in columns]
        if any(set(over(op)) not in (set(held), set(rows)) for op in reductions):
            return None
        bound = self.bound(held)
        if bound is None or ceil_power(bound) > _WARP * _WARP_ELEMENTS:
            return None
        if -(-bound // _WARP) * self.live_values > _WARP_REGISTERS:
            return None
        after = self.dependents([op for op in reductions if set(over(op)) == set(rows)])
        return None if any(self.kernel.op_dims[op] & set(rows) for op in after) else rows

    # --- memory order -------------------------------------------------------------------------------------
    def steps(self, access: Access) -> dict[str, int | None]:
        """How far one step along each dim moves an access, in elements by hints; None where that varies."""
        e = self.offset_of(access)
        return {dim: self._step(e, dim) for dim in self.kernel.dims}

    def _step(self, e: Expr, dim: str) -> int | None:
        coefficient = e.coefficient(dim)
        if coefficient is None or coefficient.symbols() & self.kernel.dims.keys():
            return None
        return (
            estimate(coefficient, self.hints)
            if all(not n.startswith("i") for n in coefficient.symbols())
            else None
        )

    def offset_of(self, access: Access) -> Expr:
        """The storage offset of an access, over dims."""
        spec = self.kernel.spec(access.argument)
        return offset(access.coords, spec.strides, parse("0"), self._facts)

    def contiguous_dim(self, access: Access) -> str | None:
        """The dim along which an access moves by one element and which has more than one point."""
        for dim, step in self.steps(access).items():
            if step is not None and abs(step) == 1 and self.size(dim) > 1:
                return dim
        return None

    def is_whole(self, access: Access) -> bool:
        """Whether an access that runs over all dims steps through memory without a gap, in memory order."""
        steps, expected = self.steps(access), 1
        for dim in reversed(self.order):
            if self.size(dim) > 1 and steps[dim] != expected:
                return False
            expected *= self.size(dim)
        return True

    def element_bytes(self, access: Access) -> int:
        """Bytes of an element of the accessed tensor."""
        return ELEMENT_BYTES[self.kernel.spec(access.argument).element]

    @cached_property
    def widest(self) -> int:
        """Bytes of the widest element that the kernel reads or writes at all reduced points; 4 when there is
        none.  What has fewer points does not fill vectors of its own: a number for each group of a row.
        """
        reduced = self.kernel.reduced
        points = [
            (a, self.kernel.op_dims[a.op] & (reduced or self.kernel.dims.keys())) for a in self.accesses
        ]
        most = max((self.points(tuple(dims)) for _, dims in points), default=1)
        along = [a for a, dims in points if dims and self.points(tuple(dims)) == most]
        return max((self.element_bytes(a) for a in along), default=4)

    @cached_property
    def main_access(self) -> Access | None:
        """The access that decides memory order: of those over the most points the one that says of most dims
        how far a step is, as what is stored at looked-up rows does not; a store before a load.
        """
        candidates = [a for a in self.accesses if self.kernel.op_dims[a.op]]
        points = [self.points(tuple(sorted(self.kernel.op_dims[a.op]))) for a in candidates]
        most = [a for a, count in zip(candidates, points, strict=True) if count == max(points)]
        return min(most, key=lambda a: sum(not step for step in self.steps(a).values()), default=None)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All dims, those with the largest steps in the main access first; in front of them those that count
        whole rows that it looks up; dims it lacks stay where their number puts them.
        """
        dims = list(self.kernel.dims)
        main = self.main_access
        if main is None:
            return tuple(dims)
        steps, own = self.steps(main), self.kernel.op_dims[main.op]
        known = [d for d in dims if steps[d]]
        rows = main.indirect and any(abs(steps[d] or 0) == 1 for d in known)
        looked_up = [d for d in dims if rows and d in own and steps[d] == 0]
        ranked = iter([*looked_up, *sorted(known, key=lambda d: -abs(steps[d] or 0))])
        return tuple(next(ranked) if d in known or d in looked_up else d for d in dims)

    # --- merging ------------------------------------------------------------------------------------------
    @cached_property
    def expressions(self) -> list[Expr]:
        """Every offset and index value of the kernel, over dims."""
        values = [
            parse(string(op.attributes["expr"])) for op in self.kernel.op_dims if isinstance(op, fuse.Index)
        ]
        return [self.offset_of(a) for a in self.accesses] + [simplify(e, self._facts) for e in values]

    def merge(self, dims: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Neighbours among ``dims`` joined where one flat index serves every expression without division."""
        groups: list[tuple[str, ...]] = []
        for dim in dims:
            if groups and self._flat(groups[-1][-1], dim):
                groups[-1] = (*groups[-1], dim)
            else:
                groups.append((dim,))
        return groups

    def _flat(self, outer: str, inner: str) -> bool:
        extent = self.kernel.dims[inner]
        for e in self.expressions:
            parts = linear(e, [outer, inner])
            if parts is None:
                return False
            coefficients, rest = parts
            if coefficients[outer] != coefficients[inner] * extent or rest.symbols() & {outer, inner}:
                return False
        stores = [self.kernel.op_dims[a.op] for a in self.kernel.stores]
        return all((outer in dims) == (inner in dims) for dims in stores)

    # --- registers ----------------------------------------------------------------------------------------
    @cached_property
    def slots(self) -> int:
        """Issue slots of the operations that vary over the largest dim set, for one of its points."""
        full = max((len(d) for d in self.kernel.value_dims.values()), default=0)
        return sum(slots(op.name) for op, dims in self.kernel.op_dims.items() if full and len(dims) == full)

    @cached_property
    def live_values(self) -> int:
        """The most values of the largest dim set that are live at once, in 32-bit registers."""
        block = self.kernel.func.regions[0].blocks[0]
        ops = list(block.operations)
        number = {op: i for i, op in enumerate(ops)}
        full = max((len(d) for d in self.kernel.value_dims.values()), default=0)
        ends: dict[int, int] = {}
        alive = most = 0
        for i, op in enumerate(ops):
            for result in op.results:
                dims = self.kernel.value_dims.get(result, frozenset())
                uses = [number[use.owner] for use in result.uses if use.owner in number]
                if full and len(dims) == full and uses and not isinstance(result.type, ir.RankedTensorType):
                    width = 2 if str(result.type) in ("f64", "i64") and not isinstance(op, fuse.Index) else 1
                    alive += width
                    ends[max(uses)] = ends.get(max(uses), 0) + width
            most = max(most, alive)
            alive -= ends.pop(i, 0)
        return max(most, 1)
