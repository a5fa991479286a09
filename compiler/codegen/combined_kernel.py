"""Writes one tiled kernel that does the work of several: its programs are shared out among the parts.

A *form* is a kernel together with those calls of it that join the launch.  Each form has a consecutive range
of program ids, which a balanced tree of ``scf.if`` finds; the code of each form is written once.  Within a
form, each call has a range of equal length, and ``fuse.base_of`` selects the addresses of the call that a
program belongs to.  So the code grows with the number of different kernels, and a program takes few branches.
"""

import math
from collections.abc import Callable, Sequence

from ..base.dataclass import dataclass
from ..index import Expr, const, parse
from ..ir.dialects import fuse, tt
from ..ir.kernel import kernel_facts, named_sizes, strings
from ..ir.tile import Tile
from ..mlir import func, ir, scf
from .indexing.tile_index import TileIndex
from .tile_builder import TileBuilder
from .tile_grid import program_id

#: Operations of a tiled kernel that are not copied, because the combination writes its own.
_REPLACED = (fuse.Base, tt.GetProgramId, func.ReturnOp)


@dataclass(frozen=True)
class Form:
    """A tiled kernel with its calls.  For each call, ``calls`` gives the number of the combination's argument
    that stands for each argument of the kernel.

    Calls of one form differ in tensors only; their other arguments are the same.  A tensor that all calls
    share is one argument of the combination; otherwise each call has its own.
    """

    kernel: ir.Operation
    calls: tuple[tuple[int, ...], ...]

    @property
    def grid(self) -> list[Expr]:
        """Programs along each axis of one call."""
        return [parse(e) for e in strings(self.kernel.attributes["fuse.grid"])]

    @property
    def programs(self) -> Expr:
        """Programs of one call."""
        return math.prod(self.grid, start=const(1))


class CombinedKernel:
    """Fills the empty body of a function with the code of ``forms``.  Single use."""

    def __init__(self, func: ir.Operation, forms: Sequence[Form], num_warps: int) -> None:
        self.func, self.forms = func, forms
        self.arguments = list(func.regions[0].blocks[0].arguments)
        self.builder = TileBuilder()
        tile = Tile((), num_warps=num_warps)
        sizes = {name: self.arguments[i] for name, i in named_sizes(func).items()}
        self.index = TileIndex(self.builder, tile, {}, kernel_facts(func), sizes)
        self.bases: dict[tuple[int, str], ir.Value] = {}

    def write(self, ties: Sequence[int]) -> Expr:
        """Writes the body, which returns the arguments numbered ``ties``.  Returns the number of programs."""
        starts = [const(0)]
        for form in self.forms:
            starts.append(starts[-1] + form.programs * len(form.calls))
        builder = self.builder
        with ir.InsertionPoint(self.func.regions[0].blocks[0]), self.func.location:
            program = program_id(builder, 0)
            bounds = [self.index.scalar(start) for start in starts[:-1]]

            def part(number: int) -> None:
                local = program
                if starts[number].constant != 0:
                    local = builder.elementwise("arith.subi", [program, bounds[number]])
                self._form(self.forms[number], local)

            self._choose(program, bounds, part)
            builder.create("func.return", [], [self.arguments[n] for n in ties])
        return starts[-1]

    def _choose(self, number: ir.Value, bounds: Sequence[ir.Value], leaf: Callable[[int], None]) -> None:
        """Writes ``leaf`` for the last of ``bounds`` that ``number`` reaches, found by halving."""

        def halve(low: int, high: int) -> None:
            if high - low == 1:
                leaf(low)
                return
            middle = (low + high) // 2
            choice = scf.IfOp(self.builder.cmpi("slt", number, bounds[middle]), has_else=True)
            for region, ends in zip(choice.operation.regions, ((low, middle), (middle, high)), strict=True):
                with self.builder.inside(region.blocks[0]):
                    halve(*ends)
                    scf.YieldOp([])

        halve(0, len(bounds))

    def _base(self, source: ir.Value, type_: ir.Type) -> ir.Value:
        """The address of a tensor, taken once at the start of the function."""
        key = (ir.BlockArgument(source).arg_number, str(type_))
        if key not in self.bases:
            with ir.InsertionPoint.at_block_begin(self.func.regions[0].blocks[0]):
                self.bases[key] = self.builder.create("fuse.base", [type_], [source]).results[0]
        return self.bases[key]

    def _form(self, form: Form, program: ir.Value) -> None:
        """One copy of a form's code.  ``program`` numbers the programs of all its calls together."""
        builder = self.builder
        copied: dict[ir.Value, ir.Value] = {}
        own = list(form.kernel.regions[0].blocks[0].arguments)
        for argument, number in zip(own, form.calls[0], strict=True):
            copied[argument] = self.arguments[number]
        bases = _operations(form.kernel, "fuse.base")
        if len(form.calls) > 1:
            length = self.index.scalar(form.programs)
            if form.programs.constant is None:  # a size may be 0; then no program runs this, but 0 divides
                length = builder.elementwise("arith.maxsi", [length, builder.constant(1, "i32")])
            call = builder.elementwise("arith.divsi", [program, length])
            program = builder.elementwise("arith.remsi", [program, length])
        for base in bases:
            argument = ir.BlockArgument(base.operands[0]).arg_number
            sources = [self.arguments[n] for n in dict.fromkeys(numbers[argument] for numbers in form.calls)]
            if len(sources) == 1:
                copied[base.results[0]] = self._base(sources[0], base.results[0].type)
            else:
                found = builder.create("fuse.base_of", [base.results[0].type], [call, *sources])
                copied[base.results[0]] = found.results[0]
        self._program_ids(form, program, copied)
        ip = ir.InsertionPoint.current
        for op in form.kernel.regions[0].blocks[0].operations:
            if not isinstance(op, _REPLACED):
                new = op.clone(ip)
                _rename(new, copied)
                copied.update(zip(op.results, new.results, strict=True))

    def _program_ids(self, form: Form, program: ir.Value, copied: dict[ir.Value, ir.Value]) -> None:
        """The program ids along the axes of a form's own grid; x varies fastest."""
        builder, grid, ids = self.builder, form.grid, []
        for extent in grid[:-1]:
            size = self.index.scalar(extent)
            ids.append(builder.elementwise("arith.remsi", [program, size]))
            program = builder.elementwise("arith.divsi", [program, size])
        ids.append(program)
        for op in _operations(form.kernel, "tt.get_program_id"):
            axis = ir.IntegerAttr(op.attributes["axis"]).value
            copied[op.results[0]] = ids[axis] if axis < len(ids) else builder.constant(0, "i32")


def _operations(kernel: ir.Operation, name: str) -> list[ir.Operation]:
    return [o for o in kernel.regions[0].blocks[0].operations if o.name == name]


def _rename(op: ir.Operation, copied: dict[ir.Value, ir.Value]) -> None:
    """Replaces operands of ``op``, and of the ops nested in it, by their copies."""
    for number, operand in enumerate(op.operands):
        if operand in copied:
            op.operands[number] = copied[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _rename(inner, copied)
