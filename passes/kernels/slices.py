"""Splits a call of a kernel into slices, their combination, and the rest.  Helpers of ``split-reductions``.

``slice_sides.py`` says which ops go where, ``slice_kernels.py`` builds a kernel, and
``slice_combining.py`` has the algebra of the combination.
"""

import math
from collections.abc import Sequence
from dataclasses import field, replace

from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.tiling.slicing import Slicing
from ...compiler.base.dataclass import dataclass
from ...compiler.index import Expr, const, sym
from ...compiler.ir.kernel import Kernel, natural
from ...compiler.ir.layout import TensorSpec
from ...compiler.mlir import arith, ir
from ..base.kernels import kernel_body, rewrite_dims, text_list
from ..base.new_ops import index, negated
from ..base.program import Program
from .slice_combining import Combining, neutrals
from .slice_kernels import KernelPart, Original, SliceBuffer
from .slice_sides import Sides

#: "Less" of ``arith.cmpi``.
_SLT = 2
#: Which operand of an op is its guard.
_GUARDED = {"fuse.load": 1, "fuse.store": 2, "fuse.device_assert": 1}


@dataclass(frozen=True)
class SliceCut:
    """How all kernels of one code are split, which does not depend on their names and locations.

    slicing:   without its reductions, of which ``reductions`` are the numbers.
    slice_dim: the new dim that counts the slices.
    sides:     numbers of the ops of the slices, of the rest, and of the stores that the rest reads.
    at:        for each result of the split reductions, the dims of the buffer that holds it.
    rewritten: what ``rewrite_dims`` has made of attributes.
    """

    slicing: Slicing
    reductions: tuple[int, ...]
    slice_dim: str
    sides: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    at: tuple[tuple[str, ...], ...]
    columns: bool  #: whether slices are outermost in buffers, as columns are reduced; else innermost
    rewritten: dict[tuple[str, ir.Attribute], ir.Attribute] = field(default_factory=dict)

    @staticmethod
    def of(kernel: Kernel, slicing: Slicing) -> "SliceCut":
        """As the ``slicing`` of ``kernel`` says."""
        shape, sides = KernelShape.of(kernel), Sides.of(kernel, slicing.reductions)
        number = {op: n for n, op in enumerate(kernel_body(kernel.func))}
        main = shape.main_access
        return SliceCut(
            replace(slicing, reductions=()),
            tuple([number[op] for op in slicing.reductions]),
            "d" + str(1 + max(natural(d)[1] for d in kernel.dims)),
            (
                tuple([number[op] for op in sides.early]),
                tuple([number[op] for op in sides.late]),
                tuple([number[op] for op in sides.kept]),
            ),
            tuple(
                [
                    tuple([d for d in shape.order if d in kernel.value_dims[value]])
                    for op in slicing.reductions
                    for value in op.results
                ]
            ),
            main is not None and shape.contiguous_dim(main) not in slicing.over,
        )


def split(program: Program, call: ir.Operation, kernel_func: ir.Operation, cut: SliceCut) -> None:
    """Replaces ``call`` of ``kernel_func``, a kernel of the code of ``cut``, by calls of two or three new
    kernels.
    """
    kernel, ops = Kernel.of(kernel_func), kernel_body(kernel_func)
    slicing = replace(cut.slicing, reductions=tuple([ops[n] for n in cut.reductions]))
    sides = Sides(kernel, *([ops[n] for n in numbers] for numbers in cut.sides))
    _Split(Original(program, call, kernel), slicing, sides, cut).run()


@dataclass(frozen=True)
class _Split:
    """One call being split."""

    original: Original
    slicing: Slicing
    sides: Sides
    cut: SliceCut

    @property
    def slice_dim(self) -> str:
        """The new dim that counts the slices."""
        return self.cut.slice_dim

    def run(self) -> None:
        original, slicing, kernel = self.original, self.slicing, self.original.kernel
        name, call = kernel.name, original.call
        extents = {**kernel.dims, self.slice_dim: const(slicing.count)}
        workspaces = self._buffers("w", sliced=True)
        with call.location:
            self._allocate(workspaces)
            slices = self._slices(f"{name}_slices", workspaces)
            slices.finish({**extents, slicing.dim: slicing.length})
            # A rest that runs along the slices would combine them at each point: a kernel does it once.
            inline = not any(kernel.op_dims[op] & set(slicing.over) for op in self.sides.late)
            needed = workspaces
            if not inline:
                needed = self._buffers("t", sliced=False)
                self._allocate(needed)
                combine = KernelPart(original, f"{name}_combine", ops=[], buffers=[*workspaces, *needed])
                values = self._combine(combine, workspaces)
                for buffer, value in zip(needed, values, strict=True):
                    combine.store(buffer, value)
                combine.finish(extents)
            rest = KernelPart(
                original, f"{name}_rest", ops=[*self.sides.late, *self.sides.kept], buffers=needed
            )
            values = self._combine(rest, needed) if inline else [rest.load(b) for b in needed]
            for old, new in zip(self._results(), values, strict=True):
                rest.values[old] = new
            for op in self.sides.kept:
                rest.load_stored(op)
            for op in self.sides.late:
                rest.copy(op)
            rest.finish(extents)
        for position, number in enumerate(kernel.ties):
            call.results[position].replace_all_uses_with(original.stored[number])
        original.program.erase_call(call)

    def _results(self) -> list[ir.Value]:
        """The results of the reductions that are split."""
        return [result for op in self.slicing.reductions for result in op.results]

    # --- buffers ------------------------------------------------------------------------------------------
    def _buffers(self, prefix: str, *, sliced: bool) -> list[SliceBuffer]:
        """One buffer for each result of the split reductions; ``sliced``: with an element for each slice."""
        kernel = self.original.kernel
        device = next((kernel.spec(a.argument).device for a in (*kernel.stores, *kernel.loads)), None)
        found = []
        for i, (value, at) in enumerate(zip(self._results(), self.cut.at, strict=True)):
            if sliced:
                at = (self.slice_dim, *at) if self.cut.columns else (*at, self.slice_dim)
            count = const(self.slicing.count)
            sizes = tuple(count if d == self.slice_dim else kernel.dims[d] for d in at)
            found.append(
                SliceBuffer(f"{prefix}{i}", TensorSpec.contiguous(sizes, str(value.type), device), at)
            )
        return found

    def _allocate(self, buffers: Sequence[SliceBuffer]) -> None:
        original = self.original
        for buffer in buffers:
            names = buffer.spec.symbols
            operands = [original.operand(original.kernel.symbols[n]) for n in names]
            op = ir.Operation.create(
                "fuse.empty",
                [buffer.spec.type()],
                operands,
                {"syms": text_list(names)},
                ip=ir.InsertionPoint(original.call),
            )
            buffer.value = op.results[0]

    # --- the slices ---------------------------------------------------------------------------------------
    def _slices(self, name: str, workspaces: Sequence[SliceBuffer]) -> KernelPart:
        """The kernel that folds each slice."""
        slicing, kernel = self.slicing, self.original.kernel
        part = KernelPart(self.original, name, ops=self.sides.early, buffers=workspaces, tokens=True)
        point = sym(self.slice_dim) * slicing.length + sym(slicing.dim)
        inside = None if slicing.exact else self._inside(part, point)
        stores = iter(workspaces)
        for op in self.sides.early:
            with op.location:
                new = part.copy(op)
                rewrite_dims(
                    new, lambda e: e.subs({slicing.dim: point}), lambda names: names, self.cut.rewritten
                )
                is_split = op in slicing.reductions
                if is_split or slicing.dim in kernel.op_dims[op]:
                    part.dims.add(self.slice_dim)
                    if inside is not None and is_split and op.name == "fuse.welford":
                        new = _weighted(new, inside)
                        part.values.update(zip(op.results, new.results, strict=True))
                    elif inside is not None:
                        _guard(new, inside, is_split)
                if is_split:
                    for result in new.results:
                        part.store(next(stores), result)
        return part

    def _inside(self, part: KernelPart, point: Expr) -> ir.Value:
        """Whether a point of the last slice is one of the dim that is cut."""
        with ir.InsertionPoint(part.block):
            return arith.cmpi(_SLT, index(point), index(self.original.kernel.dims[self.slicing.dim]))

    # --- the combination ----------------------------------------------------------------------------------
    def _combine(self, part: KernelPart, workspaces: Sequence[SliceBuffer]) -> list[ir.Value]:
        """The results of the reductions from those of their slices, in ``part``."""
        slicing = self.slicing
        part.runs += slicing.reductions
        pieces = [part.load(b) for b in workspaces]
        extents = self.original.kernel.dims
        rows = math.prod((extents[d] for d in slicing.over if d != slicing.dim), start=const(1))
        return Combining(part, slicing, self.slice_dim, extents[slicing.dim], rows).results(pieces)


def _weighted(op: ir.Operation, inside: ir.Value) -> ir.Operation:
    """A ``fuse.welford`` in place of ``op``, in which points beyond the end count 0 times."""
    [value] = op.operands
    with ir.InsertionPoint(op):
        weight = arith.select(inside, *(arith.constant(value.type, number) for number in (1.0, 0.0)))
        types, attributes = [result.type for result in op.results], {"over": op.attributes["over"]}
        new = ir.Operation.create("fuse.welford", types, [value, weight], attributes)
    op.erase()
    return new


def _guard(op: ir.Operation, inside: ir.Value, is_split: bool) -> None:
    """Keeps points beyond the end out of memory, asserts and, of a reduction that is split, the fold."""
    with ir.InsertionPoint(op):
        if op.name in _GUARDED:
            position = _GUARDED[op.name]
            op.operands[position] = arith.andi(op.operands[position], inside)
        elif op.name == "cf.assert":
            op.operands[0] = arith.ori(op.operands[0], negated(inside))
        elif is_split:
            for i, neutral in enumerate(neutrals(op)):
                constant = arith.constant(op.operands[i].type, neutral)
                op.operands[i] = arith.select(inside, op.operands[i], constant)
