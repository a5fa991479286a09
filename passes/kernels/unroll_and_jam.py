"""``unroll-and-jam``: neighbouring points of a stencil are computed together, and share what they read."""

from typing import ClassVar

from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.analysis.kernel.strips import Strip, point_of
from ...compiler.analysis.tiling.vectors import vector_strips, whole_comparison
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.index import const, parse
from ...compiler.ir.defining import defining_op
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import VECTORS, Kernel, is_kernel, is_tiled, string
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import dims_attribute, forget_tiling, kernel_body, rewrite_dims
from ..base.new_ops import index as index_of
from ..base.new_ops import number as number_of
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, PassError, hardware_of, remark_on
from .fold_ranges import fold

#: What a kernel of this kind may consist of, beside its accesses.
_PURE = ("arith.", "math.", "fuse.index")
#: ``predicate`` of arith.cmpi: below a number, and not below it; and what is compared.
_SIDES, _COMPARED = (2, 5), (fuse.Index, arith.ConstantOp)
#: How many times as many operations a body of vectors has: a thread computes each once, elsewhere of several
#: elements.
_OF_VECTORS = 2
#: Threads of a program of such a kernel.
_THREADS = 128


@dataclass(frozen=True)
class UnrollAndJam(AnalysisPass):
    """A dim of a kernel that reads neighbours along it is cut into strips, of rows into 2 to ``most_rows``.
    The points of a strip are computed beside each other, and what several of them read is loaded once.

    Before, with ``fuse.dims = {d0 = "64", d1 = "256"}`` (two of nine such loads are shown)::

        %a = "fuse.load"(%x, %true, %zero) {at = ["d0", "d1"]} : (tensor<66x258xf32>, i1, f32) -> f32
        %b = "fuse.load"(%x, %true, %zero) {at = ["d0 + 1", "d1"]} : (tensor<66x258xf32>, i1, f32) -> f32
        %s = arith.addf %a, %b : f32
        %r = "fuse.store"(%o, %s, %true) {at = ["d0", "d1"], mode = "set"} : (..) -> tensor<64x256xf32>

    After, with strips of two and ``fuse.dims = {d0 = "32", d1 = "256"}``::

        %a = "fuse.load"(%x, %true, %zero) {at = ["d0*2", "d1"]} : (tensor<66x258xf32>, i1, f32) -> f32
        %b = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 1", "d1"]} : (tensor<66x258xf32>, i1, f32) -> f32
        %s = arith.addf %a, %b : f32
        %r = "fuse.store"(%o, %s, %true) {at = ["d0*2", "d1"], mode = "set"} : (..) -> tensor<64x256xf32>
        %c = "fuse.load"(%x, %true, %zero) {at = ["d0*2 + 2", "d1"]} : (tensor<66x258xf32>, i1, f32) -> f32
        %t = arith.addf %b, %c : f32
        %q = "fuse.store"(%r, %t, %true) {at = ["d0*2 + 1", "d1"], mode = "set"} : (..) -> tensor<64x256xf32>

    What needs the rows in front comes first, so that few loaded values live at once.

    Along memory a strip is a vector of 16 bytes, or of 8, which codegen reads and writes at once; the kernel
    has ``fuse.vectors`` then.  It comes first, where most loads begin in the middle of vectors
    (``compiler/analysis/tiling/vectors.py``): read by lanes, each would be an access for each element.  The
    guards of its points are compared by vectors, so that loads of one vector have one guard.  Rows are cut
    into strips behind it.

    Fires where a kernel has at least ``least_loads`` loads, and a strip of rows has at most two thirds of the
    loads that its points have by themselves.  The longest strip is taken that divides the extent, that makes
    a body of at most ``most_ops`` operations, with vectors of twice as many, and that leaves programs for all
    of the GPU.

    Does not fire on a kernel that reduces, scans or asserts, that adds to what it stores, reads it or stores
    to it several times.  Along memory it does not where a vector would be cut, as rows begin or end in the
    middle of one, or where a load takes a loaded index or guard.  Nor along a dim whose extent is known only
    when the program runs, or along which a result does not move.  A tiled kernel is left as it is.

    Comparisons that the place in a strip decides become constants, as by ``fold-ranges``.

    Remarks: ``passed: jammed``, ``passed: folded``.

    Raises PassError on a module without ``@main``.
    """

    name: ClassVar[str] = "unroll-and-jam"
    preserves: ClassVar[Analyses] = (Program,)
    hardware: str = "generic"
    most_rows: Count = 8
    least_loads: Count = 8
    most_ops: Count = 1200

    def run_with(self, module: ir.Module, remarks: Remarks, analyses: AnalysisManager) -> None:
        functions = functions_of(module)
        if "main" not in functions:
            raise PassError("the module has no function @main", module.operation.location)
        hardware = hardware_of(self.hardware, self, module)
        for func in functions.values():
            if not is_kernel(func) or is_tiled(func) or not self._may_fire(func):
                continue
            program = analyses.get(Program)
            vectors = self._vectors(Kernel.of(func), hardware)
            if vectors is not None:
                self._write(func, vectors, program, remarks)
                func.attributes[VECTORS] = ir.UnitAttr.get()
                _compare_whole(func)
                program.clean(func)
            strip = self._strip(Kernel.of(func), hardware, () if vectors is None else (vectors.dim,))
            if strip is not None:
                self._write(func, strip, program, remarks)

    def _write(self, func: ir.Operation, strip: Strip, program: Program, remarks: Remarks) -> None:
        """Cuts a dim into strips."""
        kernel = Kernel.of(func)
        _jam(kernel, strip)
        extent = const((kernel.dims[strip.dim].constant or 0) // strip.rows)
        func.attributes["fuse.dims"] = dims_attribute({**kernel.dims, strip.dim: extent})
        forget_tiling(func)
        program.clean(func)
        message = f"@{kernel.name} computes {strip.rows} points of {strip.dim} beside each other"
        remark_on(func, remarks, self.name, "passed", "jammed", message)
        fold(func, program, self.name, remarks)  # a row may be inside where the first of a strip is not

    def _vectors(self, kernel: Kernel, hardware: Hardware) -> Strip | None:
        """The strip along memory whose points are a vector; None where there is none."""
        shape = KernelShape.of(kernel)
        for dim, count in vector_strips(shape):
            if shape.points(tuple(kernel.dims)) // count >= hardware.full_grid * _THREADS:
                strip = Strip.of(kernel, dim, count)
                if len(strip.order) <= _OF_VECTORS * self.most_ops:
                    return strip
        return None

    def _may_fire(self, func: ir.Operation) -> bool:
        """Asked before a kernel is read: whether it has enough loads, and nothing but them and pure work."""
        body = kernel_body(func)[:-1]
        loads = [op for op in body if op.name == "fuse.load"]
        return len(loads) >= self.least_loads and all(
            isinstance(op, fuse.Load | fuse.Store) or op.name.startswith(_PURE) for op in body
        )

    def _strip(self, kernel: Kernel, hardware: Hardware, along: tuple[str, ...]) -> Strip | None:
        """The strip with the fewest loads of a point; None where none has few enough.  ``along``: the dim
        that counts vectors, where there is one.
        """
        stored = {a.argument for a in kernel.stores}
        if any(string(a.op.attributes["mode"]) != "set" for a in kernel.stores):
            return None
        if (len(stored) < len(kernel.stores) and not along) or stored & {a.argument for a in kernel.loads}:
            return None
        shape = KernelShape.of(kernel)
        beside = {*along, *(shape.contiguous_dim(a) for a in kernel.stores)}
        points = shape.points(tuple(kernel.dims))
        found = list[tuple[float, Strip]]()
        for dim, extent in kernel.dims.items():
            size = extent.constant or 0
            moving = [a for a in kernel.loads if dim in kernel.op_dims[a.op]]
            if not size or dim in beside or len(moving) < self.least_loads:
                continue
            if any(dim not in kernel.op_dims[a.op] for a in kernel.stores):
                continue
            if any(shape.steps(a)[dim] is None for a in moving):
                continue
            for rows in range(self.most_rows, 1, -1):
                if size % rows or points // rows < hardware.full_grid * _THREADS:
                    continue
                strip = Strip.of(kernel, dim, rows)
                if len(strip.order) > (_OF_VECTORS if along else 1) * self.most_ops:
                    continue
                if 3 * strip.loads <= 2 * rows * len(moving):
                    found.append((strip.loads / rows, strip))
                break
        return min(found, key=lambda pair: pair[0])[1] if found else None


def _compare_whole(func: ir.Operation) -> None:
    """Comparisons of indices ask of whole vectors, as far as they do, so that those of neighbours are one."""
    for op in kernel_body(func):
        if not isinstance(op, arith.CmpIOp) or ir.IntegerAttr(op.attributes["predicate"]).value not in _SIDES:
            continue
        index, number = (defining_op(v, kind) for v, kind in zip(op.operands, _COMPARED, strict=True))
        if index is None or number is None or len(index.operands):
            continue
        expr = parse(string(index.attributes["expr"]))
        e, least = whole_comparison(expr, ir.IntegerAttr(number.attributes["value"]).value)
        if e is not expr:
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = index_of(e)
                op.operands[1] = number_of(op.operands[0].type, least)


def _jam(kernel: Kernel, strip: Strip) -> None:
    """Writes the body anew, in the order of the strip."""
    *body, end = kernel_body(kernel.func)
    here, made = ir.InsertionPoint(end), dict[int, ir.Operation]()
    tokens = dict[int, ir.Value]()  # of each argument that is stored to, the last store's result
    ties = {a.op: a.argument for a in kernel.stores}
    for number in strip.order:
        op, point, operands = strip.copies[number]
        copy = op.clone(here).operation
        for i, operand in enumerate(operands):
            copy.operands[i] = made[operand[0]].results[operand[1]] if isinstance(operand, tuple) else operand
        if point is not None:
            to = {strip.dim: point_of(strip.dim, strip.rows, point)}
            rewrite_dims(copy, lambda e: e.subs(to), lambda names: names)  # noqa: B023
        argument = ties.get(op)
        if argument is not None:
            copy.operands[0] = tokens.get(argument, kernel.arguments[argument])
            tokens[argument] = copy.results[0]
        made[number] = copy
    for i, argument in enumerate(kernel.ties):
        end.operands[i] = tokens[argument]
    for op in reversed(body):
        op.operation.erase()
