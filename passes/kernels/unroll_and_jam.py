"""``unroll-and-jam``: neighbouring rows of a stencil are computed together, and share what they read."""

import math
from typing import ClassVar, NamedTuple

from ...compiler.analysis.kernel.shape import KernelShape
from ...compiler.base.dataclass import dataclass
from ...compiler.base.remarks import Remarks
from ...compiler.cost.hardware import Hardware
from ...compiler.index import Expr, Facts, const, parse, sym
from ...compiler.ir.defining import is_true
from ...compiler.ir.dialects import fuse
from ...compiler.ir.kernel import Kernel, is_kernel, is_tiled, string, strings
from ...compiler.ir.storage import functions_of
from ...compiler.mlir import arith, ir
from ..analysis_manager import Analyses, AnalysisManager
from ..base.kernels import DIMMED, dims_attribute, forget_tiling, kernel_body, rewrite_dims
from ..base.program import Program
from ..pass_base import AnalysisPass, Count, PassError, hardware_of

#: What a kernel of this kind may consist of, beside its accesses.
_PURE = ("arith.", "math.", "fuse.index")
#: Threads of a program of such a kernel.
_THREADS = 128

#: A result of a copy, by their numbers, or an argument of the kernel.
_Operand = tuple[int, int] | ir.Value
#: ``predicate`` of arith.cmpi.
_SLT, _SGE = 2, 5
#: The row of what reads none.
_ANYWHERE = -math.inf


@dataclass(frozen=True)
class UnrollAndJam(AnalysisPass):
    """A dim of a kernel that reads neighbours along it is cut into strips of 2 to ``most_rows`` points.  The
    points of a strip are computed beside each other, and what several of them read is loaded once.

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

    Fires where a kernel has at least ``least_loads`` loads that move along a dim, and a strip has at most two
    thirds of the loads that its points have by themselves.  The longest strip is taken that divides the
    extent, that makes a body of at most ``most_ops`` operations, and that leaves programs for all of the GPU.

    Does not fire on a kernel that reduces, scans or asserts, that adds to what it stores or reads it, nor
    along the dim in which results lie beside each other: lanes read these neighbours.  A tiled kernel is left
    as it is.
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
            kernel = Kernel.of(func)
            strip = self._strip(kernel, hardware)
            if strip is None:
                continue
            _jam(kernel, strip)
            extent = _strips(kernel, strip.dim, strip.rows)
            func.attributes["fuse.dims"] = dims_attribute({**kernel.dims, strip.dim: extent})
            forget_tiling(func)
            analyses.get(Program).clean(func)
            message = f"@{kernel.name} computes {strip.rows} points of {strip.dim} beside each other"
            remarks.add(
                self.name, "passed", "jammed", message, ops=(kernel.name,), locations=(str(func.location),)
            )

    def _may_fire(self, func: ir.Operation) -> bool:
        """Asked before a kernel is read: whether it has enough loads, and nothing but them and pure work."""
        body = kernel_body(func)[:-1]
        loads = sum(isinstance(op, fuse.Load) for op in body)
        return loads >= self.least_loads and all(
            isinstance(op, fuse.Load | fuse.Store) or op.name.startswith(_PURE) for op in body
        )

    def _strip(self, kernel: Kernel, hardware: Hardware) -> "_Strip | None":
        """The strip with the fewest loads of a point; None where none has few enough."""
        stored = {a.argument for a in kernel.stores}
        if any(string(a.op.attributes["mode"]) != "set" for a in kernel.stores):
            return None
        if stored & {a.argument for a in kernel.loads}:
            return None
        shape = KernelShape.of(kernel)
        along = {shape.contiguous_dim(a) for a in kernel.stores}
        points = shape.points(tuple(kernel.dims))
        found = list[tuple[float, _Strip]]()
        for dim, extent in kernel.dims.items():
            size = extent.constant or 0
            moving = [a for a in kernel.loads if dim in kernel.op_dims[a.op]]
            if dim in along or len(moving) < self.least_loads:
                continue
            if any(dim not in kernel.op_dims[a.op] for a in kernel.stores):
                continue
            if any(shape.steps(a)[dim] is None for a in moving):
                continue
            for rows in range(self.most_rows, 1, -1):
                if size % rows or points // rows < hardware.full_grid * _THREADS:
                    continue
                strip = _Strip.of(kernel, dim, rows)
                if len(strip.order) > self.most_ops:
                    continue
                if 3 * strip.loads <= 2 * rows * len(moving):
                    found.append((strip.loads / rows, strip))
                break
        return min(found, key=lambda pair: pair[0])[1] if found else None


class _Copy(NamedTuple):
    """An op at a point of a strip, None for what is the same at all of them.  operands: each as the number of
    a copy and of its result, or as an argument of the kernel.
    """

    op: ir.Operation
    point: int | None
    operands: tuple[_Operand, ...]


@dataclass(frozen=True)
class _Strip:
    """Points of a dim that are computed together.

    copies: what is computed, each thing once.  order: their numbers, as they are written.  loads: how many
    are loads that move along the dim.
    """

    dim: str
    rows: int
    copies: tuple[_Copy, ...]
    order: tuple[int, ...]
    loads: int

    @staticmethod
    def of(kernel: Kernel, dim: str, rows: int) -> "_Strip":
        found = dict[ir.Value, dict[int | None, _Operand]]()
        numbers, copies, levels = dict[tuple[object, ...], int](), list[_Copy](), list[float]()
        loads, guards = 0, _Guards(Facts.of(extents={**kernel.dims, dim: _strips(kernel, dim, rows)}))
        for op, depends in [(op, dim in kernel.op_dims[op]) for op in kernel_body(kernel.func)[:-1]]:
            text, places = _Text(op, dim, rows), list(op.operands)
            for point in range(rows) if depends else (None,):
                operands = tuple(_operand(found, v, point) for v in places)
                what = (*text.at(point), *(guards.key(o) for o in operands))
                number = numbers.setdefault(what, len(copies))
                for i, result in enumerate(op.results):
                    found.setdefault(result, {})[point] = (number, i)
                if number < len(copies):
                    continue
                copies.append(_Copy(op, point, operands))
                guards.note(number, op, text, operands, point)
                reads = depends and isinstance(op, fuse.Load)
                own = text.row(point) if reads else _ANYWHERE
                levels.append(max([own, *(levels[o[0]] for o in operands if isinstance(o, tuple))]))
                loads += reads
        _lower(copies, levels)
        order = sorted(range(len(copies)), key=lambda number: (levels[number], number))
        return _Strip(dim, rows, tuple(copies), tuple(order), loads)


def _strips(kernel: Kernel, dim: str, rows: int) -> Expr:
    return const((kernel.dims[dim].constant or 0) // rows)


class _Guards:
    """What conditions ask, of those copies that are conditions: comparisons of indices with numbers, without
    those that always hold.  Two loads whose guards ask the same may be one, as that of a row that only some of
    its readers found to be inside.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._indices, self._numbers = dict[int, Expr](), dict[int, int]()
        self._asked = dict[int, frozenset[object]]()

    def key(self, operand: _Operand) -> object:
        """What an operand is, where equal conditions are equal."""
        return self._asked.get(operand[0], operand) if isinstance(operand, tuple) else operand

    def note(
        self, number: int, op: ir.Operation, text: "_Text", operands: tuple[_Operand, ...], point: int | None
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


def _operand(
    found: dict[ir.Value, dict[int | None, _Operand]], value: ir.Value, point: int | None
) -> _Operand:
    made = found.get(value)
    return value if made is None else made[point] if point in made else made[None]


def _lower(copies: list[_Copy], levels: list[float]) -> None:
    """What needs no row waits for the first that needs it."""
    first = dict[int, float]()
    for number in reversed(range(len(copies))):
        if levels[number] == _ANYWHERE:
            levels[number] = first.get(number, _ANYWHERE)
        for operand in copies[number].operands:
            if isinstance(operand, tuple):
                first[operand[0]] = min(first.get(operand[0], math.inf), levels[number])


class _Text:
    """The attributes of an op, at the points of a strip."""

    def __init__(self, op: ir.Operation, dim: str, rows: int) -> None:
        self._dim, self._rows = dim, rows
        named = {n: op.attributes[n] for n in DIMMED if n in op.attributes}
        rest = sorted((n, str(op.attributes[n])) for n in op.attributes if n not in named)
        self._rest = (op if isinstance(op, fuse.Store) else op.name, *rest)
        self._places = [
            parse(text)
            for a in named.values()
            for text in ((string(a),) if isinstance(a, ir.StringAttr) else strings(a))
        ]

    def moved(self, point: int | None) -> list[Expr]:
        """The expressions of the attributes."""
        to = {} if point is None else {self._dim: _in_strip(self._dim, self._rows, point)}
        return [e.subs(to) for e in self._places]

    def at(self, point: int | None) -> tuple[object, ...]:
        """What is computed of operands; of a store, whose results are all different, the op itself."""
        return (*self._rest, *map(str, self.moved(point)))

    def row(self, point: int | None) -> float:
        """How far along the dim a load reads, beside others."""
        e = next(e for e in self.moved(point) if self._dim in e.symbols())
        return float(e.subs(dict.fromkeys(e.symbols(), 0)).constant or 0)


def _in_strip(dim: str, rows: int, point: int) -> Expr:
    return sym(dim) * rows + point


def _jam(kernel: Kernel, strip: _Strip) -> None:
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
            to = {strip.dim: _in_strip(strip.dim, strip.rows, point)}
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
