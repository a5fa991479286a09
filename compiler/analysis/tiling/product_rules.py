"""Rules for kernels with products (``fuse.dot``), which tensor cores compute: each program computes a block
of rows and columns of the result and goes through the dims that are summed.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.contractions import PRODUCTS
from ...ir.defining import forward_slice
from ...ir.dialects import fuse
from ...ir.kernel import over, string
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import ceil_power
from ...ir.tile import Axis, Tile
from ...mlir import ir
from ..contraction.held import (
    Columns,
    HeldForm,
    Resident,
    aligned_columns,
    free_blocks,
    least_columns,
    peak_columns,
)
from ..contraction.looped import LoopedForm
from ..contraction.plan import contraction_plan
from ..contraction.small import MATRICES, is_tiny
from ..contraction.tiles import (
    MOST_STEPS_OF_WINDOWS,
    ROW_BYTES,
    Blocks,
    ProductForm,
    planned,
    ranked_blocks,
)
from ..kernel.concatenation import Pieces, read_by_pieces
from ..kernel.descriptors import streams_of, streams_of_weights
from ..kernel.info import slots_of
from ..kernel.shape import KernelShape
from ..kernel.windows import read_along_windows
from .choice import NoTiling, grid

#: The part that a dim has in a product: of its left operand, of its right one, of both, summed, or none.
_LEFT, _RIGHT, _BOTH, _SUMMED, _ABSENT = "left", "right", "both", "summed", "absent"


@dataclass(frozen=True)
class DimClass:
    """Dims that have the same part in every product and are crossed by the same reductions: one axis.

    ``held``: a program has to hold all of their points, because something is reduced along them after a
    product.
    """

    dims: tuple[str, ...]
    roles: tuple[str, ...]
    held: bool

    @property
    def free(self) -> bool:
        """Whether their points are rows or columns of a product, and nothing is summed along them."""
        return {_LEFT, _RIGHT} & {*self.roles} != set() and not {_BOTH, _SUMMED} & {*self.roles}


@dataclass
class Products:
    """A kernel with products."""

    shape: KernelShape

    @cached_property
    def classes(self) -> list[DimClass]:
        """All dims, in memory order; in a class, those along which something is looked up, such as the pages
        of a cache, come first.  Raises ``NoTiling``.
        """
        kernel = self.shape.kernel
        indices = {v for access in kernel.loads for v in access.indices}
        looked_up = {d for v in indices for d in kernel.value_dims.get(v, ())}
        others = [op for op in kernel.reductions if op not in kernel.products]
        found: dict[tuple[tuple[str, ...], tuple[bool, ...]], list[str]] = {}
        for dim in self.shape.order:
            roles = tuple(self._role(op, dim) for op in kernel.products)
            found.setdefault((roles, tuple(dim in over(op) for op in others)), []).append(dim)
        classes = []
        for (roles, crossed), dims in found.items():
            summed = _SUMMED in roles
            if summed and _BOTH in roles:
                raise NoTiling(f"{dims} are summed by one product and shared by the operands of another")
            held = bool({*roles} & {_LEFT, _RIGHT}) if summed else any(crossed)
            classes.append(DimClass(tuple(sorted(dims, key=lambda d: d not in looked_up)), roles, held))
        return classes

    def _role(self, op: ir.Operation, dim: str) -> str:
        if dim in over(op):
            return _SUMMED
        left, right = (dim in self.shape.kernel.value_dims.get(v, ()) for v in op.operands)
        return _BOTH if left and right else _LEFT if left else _RIGHT if right else _ABSENT

    @property
    def in_segments(self) -> bool:
        """Whether a program has rows of one segment."""
        return bool(self.shape.kernel.uniform)

    @cached_property
    def sides(self) -> list[DimClass]:
        """The classes whose points are rows or columns: the rows of the first product first.  Where an
        operand has two, a program takes one point of the smaller one, or of that which is no side of all
        products.
        """
        for c in self.classes:
            if c.held and _BOTH in c.roles:
                raise NoTiling(
                    f"something is reduced along {[*c.dims]}, the matrices of a batch that is multiplied"
                )
        kept = [c for c in self.classes if c.free or c.held]
        common = self._common(kept)
        kept = [c for c in kept if c.held or c in common or not common]
        for number, op in enumerate(self.shape.kernel.products):
            for role in (_LEFT, _RIGHT):
                side = [c for c in kept if c.roles[number] == role]
                if not side:
                    raise NoTiling(f"the {role} operand of {op.name} has no dims of its own: run expand-dots")
                largest = max(side, key=lambda c: (c.held, self.shape.points(c.dims)))
                kept = [c for c in kept if c not in side or c == largest]
        return sorted(kept, key=lambda c: c.roles[0] != _LEFT)

    def _common(self, candidates: list[DimClass]) -> list[DimClass]:
        """Two classes of which each product has one as its rows and the other as its columns, those with the
        most points; none where there are none."""
        pairs = [
            [a, b]
            for a, b in itertools.combinations(candidates, 2)
            if all({*roles} == {_LEFT, _RIGHT} for roles in zip(a.roles, b.roles, strict=True))
        ]
        return max(
            pairs,
            key=lambda pair: (sum(c.held for c in pair), math.prod(self.shape.points(c.dims) for c in pair)),
            default=[],
        )

    @cached_property
    def summed(self) -> list[DimClass]:
        """The classes that are summed only, the one with the most points first."""
        found = [c for c in self.classes if _SUMMED in c.roles and not c.held]
        return sorted(found, key=lambda c: -self.shape.points(c.dims))

    @cached_property
    def form(self) -> ProductForm:
        """Sizes by hints, few rows or columns by their bounds, and what is computed beside the products."""
        shape, kernel = self.shape, self.shape.kernel
        op = kernel.products[0]
        rows, columns = self.sides[0], self.sides[-1]
        ends = {d for op in kernel.uniform for d in over(op)}
        kinds = {*rows.dims}, {*columns.dims}
        full = [a for a in kernel.loads if all(kind <= kernel.op_dims[a.op] for kind in kinds)]
        precision = string(op.attributes["precision"]) if "precision" in op.attributes else "ieee"
        left, right = op.operands if self._role(op, rows.dims[0]) == _LEFT else reversed(list(op.operands))
        batch = [
            c.dims for c in self.classes if c not in (*self.sides, *self.summed) and not ends & {*c.dims}
        ]
        return ProductForm(
            m=planned(shape.points(rows.dims), shape.bound(rows.dims)),
            n=planned(shape.points(columns.dims), shape.bound(columns.dims)),
            k=max((shape.points(c.dims) for c in self.summed), default=1),
            batch=math.prod(shape.points(dims) for dims in batch),
            element=str(op.operands[0].type),
            exact=precision == "ieee",
            left_bytes=self._bytes(rows),
            right_bytes=self._bytes(columns),
            left_slots=self._slots(left),
            right_slots=self._slots(right),
            sums=len(kernel.products),
            beside=len(full),
            behind=self._behind({*rows.dims, *columns.dims}),
            streams=streams_of(kernel) is not None,
            border=math.gcd(*(end for found in self._pieces for end in found.ends[:-1])),
            fast_accum=all("fast_accum" in product.attributes for product in kernel.products),
            segments=shape.points(tuple(ends)),
            windows=self._windows(rows, columns),
        )

    def _windows(self, rows: DimClass, columns: DimClass) -> str:
        """Which factor is read along overlapping windows, as ``ProductForm`` says."""
        kernel, steps = self.shape.kernel, {d for c in self.summed for d in c.dims}
        if max((self.shape.points(c.dims) for c in self.summed), default=1) > MOST_STEPS_OF_WINDOWS:
            return ""
        sides = {"left": rows.dims, "right": columns.dims}
        return next((role for role, dims in sides.items() if read_along_windows(kernel, dims, steps)), "")

    @cached_property
    def _pieces(self) -> list[Pieces]:
        """Operands that are read of several tensors, one behind the other along what is summed, where a block
        of it can lie in one of them.
        """
        kernel, summed = self.shape.kernel, {d for c in self.summed for d in c.dims}
        least = ROW_BYTES // ELEMENT_BYTES[str(kernel.products[0].operands[0].type)]
        found = [known for known in read_by_pieces(kernel).values() if known.dim in summed]
        return [known for known in found if not any(end % least for end in known.ends[:-1])]

    def _slots(self, operand: ir.Value) -> int:
        """Scalar operations on each element of an operand, from what is loaded."""
        if isinstance(operand.owner, ir.Block) or len(self.shape.kernel.value_dims.get(operand, ())) < 2:
            return 0
        op = operand.owner
        if not op.name.startswith(("arith.", "math.")):
            return 0
        return slots_of(op) + sum(self._slots(v) for v in op.operands)

    def _behind(self, result: set[str]) -> int:
        """Scalar operations on each point of the result."""
        summed = {d for c in self.summed for d in c.dims}
        made = [op for op, dims in self.shape.kernel.op_dims.items() if result <= dims and not dims & summed]
        return sum(map(slots_of, made))

    def _bytes(self, side: DimClass) -> int:
        """Of a point of a side and of what is summed, in all that is loaded over both."""
        kernel = self.shape.kernel
        summed = {d for c in self.summed for d in c.dims}
        others = {load for found in self._pieces for load in found.loads[1:]}  # a block reads one of them
        loads = [
            a
            for a in kernel.loads
            if kernel.op_dims[a.op] & summed and {*side.dims} & kernel.op_dims[a.op] and a.op not in others
        ]
        return sum(self.shape.element_bytes(a) for a in loads) or 2

    def whole(self, held: DimClass, least: int | None = None) -> int:
        """The block, of at least so many points, of dims that a program holds all points of; by default of
        dims that a product is cut along.  Raises ``NoTiling``.
        """
        bound = self.shape.bound(held.dims)
        if bound is None:
            raise NoTiling(
                f"a program would have to hold all points of {list(held.dims)}, which have no bound"
            )
        return max(ceil_power(bound), least or self.least)

    @property
    def least(self) -> int:
        """The fewest points of a block that a product reads."""
        operands = [v for op in self.shape.kernel.products for v in op.operands]
        return max(least_columns(str(v.type)) for v in operands)

    @cached_property
    def chained(self) -> bool:
        """Whether a product sums along the columns of another one."""
        return any(c.held and _SUMMED in c.roles for c in self.sides)

    @cached_property
    def looped(self) -> DimClass | None:
        """The columns of the first product that the last ones sum, and nothing else crosses, where a program
        may go through them in blocks; None where there are none.
        """
        kernel = self.shape.kernel
        found = [c for c in self.sides if c.held]
        if len(found) != 1 or len(kernel.reductions) != len(kernel.products):
            return None
        [columns] = found
        summing = [n for n, role in enumerate(columns.roles) if role == _SUMMED]
        rows, *made = [c for c in self.sides if c != columns]
        each = all(sum(c.roles[n] == _RIGHT for c in made) == 1 for n in summing)
        along = each and all(self._makes(n, columns, made) for n in range(len(kernel.products)))
        along = along and {*rows.roles} == {_LEFT}
        scanned = all(over(op) in (rows.dims, columns.dims) for op in kernel.scans)
        return columns if along and scanned and all(c.free for c in (rows, *made)) else None

    def _makes(self, number: int, columns: DimClass, made: Sequence[DimClass]) -> bool:
        """Whether a product makes or sums the columns that a program goes through, or makes what those do
        that sum these (a product beside them).
        """
        role = columns.roles[number]
        return role in (_RIGHT, _SUMMED) or (
            role == _ABSENT and sum(c.roles[number] == _RIGHT for c in made) == 1
        )

    def least_of(self, along: DimClass) -> int:
        """The fewest points of a block of rows, or of columns that a program goes through: all where
        something is scanned along them, or where a product stands beside those that make and sum columns.
        Raises ``NoTiling``.
        """
        scanned = any(over(op) == along.dims for op in self.shape.kernel.scans)
        beside = along == self.looped and _ABSENT in along.roles
        return self.whole(along) if scanned or beside else 0

    @cached_property
    def is_online(self) -> bool:
        """Whether it has the exponentials of a softmax for a factor, which no loop has all of at once."""
        return any(isinstance(op, fuse.OnlineDot) for op in self.shape.kernel.products)

    @cached_property
    def looped_form(self) -> LoopedForm:
        """What a program reads that goes through blocks of ``looped``.  Raises ``NoTiling``."""
        assert self.looped is not None
        kernel, shape = self.shape.kernel, self.shape
        rows, columns, made = self.sides[0], self.looped, self.made
        read, known = {"rows": 0, "columns": 0, "both": 0, "none": 0}, set[tuple[int, str]]()
        for access in kernel.loads:
            dims = kernel.op_dims[access.op]
            sides = bool(dims & {*rows.dims}), bool(dims & {*columns.dims})
            inner = [c for c in (*self.summed, *made) if dims & {*c.dims}]
            size = math.prod(self.whole(c) for c in inner) * shape.element_bytes(access)
            plain = any(access.op.results[0] in op.operands for op in kernel.products)
            matrix = any(sides) or len(inner) > 1
            if matrix and _is_of_factor(access.op):  # what is computed of loads has shared memory of its own
                place = "both" if all(sides) else "rows" if sides[0] else "columns" if sides[1] else "none"
                if not plain or (access.argument, place) not in known:  # a factor is loaded once
                    read[place] += size if plain or not inner else 2 * size
                known |= {(access.argument, place)} if plain else set()
        return LoopedForm(
            rows=shape.points(rows.dims),
            columns=shape.points(columns.dims),
            made=sum(self.whole(c) * c.roles.count(_RIGHT) for c in made),
            results=columns.roles.count(_SUMMED),
            row_bytes=read["rows"],
            column_bytes=read["columns"],
            beside=read["both"],
            held=read["none"],
            whole=(self.least_of(rows), self.least_of(columns)),
        )

    @property
    def made(self) -> list[DimClass]:
        """The columns of the last products of a kernel with ``looped``."""
        return [c for c in self.sides[1:] if c != self.looped]

    @cached_property
    def held_form(self) -> HeldForm:
        """What a program that holds columns computes and reads.  Raises ``NoTiling``."""
        held, free = ([c for c in self.sides if c.held is kind] for kind in (True, False))
        if not free:
            raise NoTiling("something is reduced along the rows and along the columns of its products")
        rows, *others = free
        points = tuple(self.shape.points(c.dims) for c in free)
        aligned = least = self.least
        if self.chained and self.form.on_tensor_cores:
            read = (*held, *others, *self.summed)
            aligned = aligned_columns([self.shape.bound(c.dims) for c in read], self.form.element)

        def blocks(least: int) -> dict[DimClass, int]:
            cut = zip(others, free_blocks(points[1:], least), strict=True)
            return {c: self.whole(c, least) for c in held} | dict(cut)

        products = []
        for number in range(len(self.shape.kernel.products)):
            made = next(c for c in (*held, *others) if c.roles[number] in (_LEFT, _RIGHT))
            summed = next((c for c in held if c.roles[number] == _SUMMED), None)
            products.append(Columns(made, summed))
        return HeldForm(
            self.form,
            peak=peak_columns(products, blocks(least)),
            aligned_peak=peak_columns(products, blocks(aligned)),
            widest=max(self.whole(c, aligned) for c in held),
            free=points,
            least=least,
            aligned=aligned,
            resident=self._resident(rows),
        )

    def _resident(self, rows: DimClass) -> Resident | None:
        """What a program of a chain reads that goes through blocks of rows.  None where it is no chain, where
        rows are in segments, as weights are not the same for all blocks, where there is a batch, where
        anything but the rows has no bound, and where nothing else is read than rows.
        """
        kernel, shape = self.shape.kernel, self.shape
        others = [c for c in self.classes if c != rows]
        whole = {*self.sides, *self.summed} >= {*others} and all(shape.bound(c.dims) for c in others)
        if self.in_segments or not whole or not self.chained:
            return None
        blocks = {c: self.whole(c) for c in others}
        copied = streams_of_weights(kernel, rows.dims)
        weights = row = result = largest = kept = 0
        for access in (*kernel.loads, *kernel.stores):
            dims = kernel.op_dims[access.op]
            sides = [n for c, n in blocks.items() if dims & {*c.dims}]
            size = math.prod(sides) * shape.element_bytes(access)
            if access in kernel.stores:
                result = max(result, size)
            elif dims & {*rows.dims}:
                row += size
            else:
                weights += size
                if access.op in copied:
                    largest = max(largest, size)
                elif len(sides) > 1:
                    kept += size
        summed = max((blocks[c] for c in self.summed), default=1)
        return Resident(weights, row, result, summed, largest, kept) if weights else None

    def tile(
        self,
        blocks: dict[DimClass, int],
        summed: int,
        warps: int,
        stages: int,
        group: int,
        programs: int = 0,
        least: int | None = None,
    ) -> Tile:
        """The tile with these blocks, in their order, and of ``summed`` points of what is summed.  ``least``:
        as in ``whole``.
        """
        shape = self.shape
        ends = {d for op in shape.kernel.uniform for d in over(op)}  # of the segments of rows
        outer = [c for c in self.classes if c not in blocks and c not in self.summed and not ends & {*c.dims}]
        whole = {c for c in blocks if c.held}
        if programs and whole:  # they go through blocks of rows
            bounds = {c: shape.bound(c.dims) for c in blocks}
            whole |= {c for c, bound in bounds.items() if bound is not None and bound <= blocks[c]}
        axes = [Axis(c.dims, block, "resident" if c in whole else "grid") for c, block in blocks.items()]
        for c in self.summed:
            bound = shape.bound(c.dims)
            if c == self.summed[0] and (bound is None or bound > summed):
                axes.append(Axis(c.dims, summed, "looped"))
            else:
                axes.append(Axis(c.dims, self.whole(c, least), "resident"))
        dims = tuple(d for d in shape.order if any(d in c.dims for c in outer))
        held = [Axis((d,), ceil_power(shape.size(d)), "resident") for d in ends]
        tile = Tile((*grid(dims, 1), *axes, *held), warps, stages, group, programs, segmented=bool(ends))
        return tile if tile.looped is not None or programs else replace(tile, num_stages=1)


def blocks_of_products(subject: Products, hardware: Hardware) -> Tile:
    """A block of rows and columns for each program, in groups of blocks that share operands; the summed dims
    are looped over in software pipelined stages, or held where one block has them all.  Four matrices of a
    batch where these have 16 rows, columns and summed elements of 16 bits: a thread then has 16 bytes of the
    results, and each load takes whole lines.  Where descriptors can
    copy whole tiles and little is computed behind the product, each multiprocessor has one program, which
    goes through several blocks.

    When: in all other cases.  Why: ``compiler/analysis/contraction/tiles.py`` estimates these blocks to be
    the fastest.  Raises ``NoTiling`` where the products of a kernel do not have rows and columns in common.
    """
    if len(subject.sides) != 2:
        dims = [list(c.dims) for c in subject.sides]
        raise NoTiling(f"its products do not have rows and columns in common: {dims}")
    tile = _tile_of(subject, contraction_plan(subject.form, hardware, subject.shape.spills).blocks)
    return _of_several(tile, subject) if is_tiny(subject.form) else tile


def _of_several(tile: Tile, subject: Products) -> Tile:
    """The tile with several matrices of a batch."""
    sides = {d for c in (*subject.sides, *subject.summed) for d in c.dims}
    axes = [axis if sides & {*axis.dims} else replace(axis, block=MATRICES) for axis in tile.axes]
    return replace(tile, axes=tuple(axes))


def _tile_of(subject: Products, blocks: Blocks) -> Tile:
    """The tile with blocks of rows and columns."""
    rows, columns = subject.sides
    chosen = {rows: blocks.m, columns: blocks.n}
    if blocks.swap:
        chosen = {columns: blocks.n, rows: blocks.m}
    tile = subject.tile(chosen, blocks.k, blocks.num_warps, blocks.num_stages, blocks.group, blocks.programs)
    return replace(tile, written_out=blocks.written_out)


def ranked_tiles(shape: KernelShape, hardware: Hardware, most: int) -> list[Tile]:
    """At most so many tiles of a kernel with products, the one with the shortest estimated time first; none
    where its programs hold all columns of a product.
    """
    subject = Products(shape)
    try:
        if len(subject.sides) != 2 or any(c.held for c in subject.sides):
            return []
    except NoTiling:
        return []
    return [_tile_of(subject, blocks) for blocks in ranked_blocks(subject.form, hardware, most)]


def _is_of_factor(load: ir.Operation) -> bool:
    """Whether a product multiplies something that is computed of a load, before another product does."""
    return any(op.name in PRODUCTS for op in forward_slice(load.results))
