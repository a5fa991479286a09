"""How a kernel is taken apart into slices, their combination, and the rest.  Helpers of ``split-reductions``,
not a pass.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..compiler.analysis.kernel.shape import KernelShape
from ..compiler.analysis.tiling.slicing import Slicing
from ..compiler.index import Expr, const, sym
from ..compiler.ir.kernel import Kernel, argument_attributes, natural, over, string
from ..compiler.ir.layout import TensorSpec
from ..compiler.mlir import func, ir
from ._kernels import dims_attribute, rewrite_dims, text_list
from ._names import gone, without
from ._program import Program
from ._slice_sides import Sides


def split(program: Program, call: ir.Operation, kernel_func: ir.Operation, slicing: Slicing) -> None:
    """Replaces ``call`` of ``kernel_func`` by calls of two or three new kernels."""
    kernel = Kernel.of(kernel_func)
    _Work(program, call, kernel, slicing, Sides.of(kernel, slicing.reductions)).run()


@dataclass
class _Buffer:
    """A tensor that carries a result of a reduction from one kernel to the next.  ``at``: the dims that
    address it.
    """

    name: str
    spec: TensorSpec
    at: tuple[str, ...]
    value: ir.Value | None = None  #: in @main, the current version


class _Part:
    """A kernel under construction.  Its arguments: tensors of the old kernel, buffers, then what else is
    used.
    """

    def __init__(
        self, work: "_Work", name: str, ops: Iterable[ir.Operation], buffers: Sequence[_Buffer], tokens: bool
    ) -> None:
        self.work, self.buffers = work, list(buffers)
        used = {v for op in ops for v in op.operands if isinstance(v.owner, ir.Block)}
        old = work.kernel.arguments
        tensors = [i for i, a in enumerate(old) if a in used and isinstance(a.type, ir.RankedTensorType)]
        others = [
            i
            for i, a in enumerate(old)
            if not isinstance(a.type, ir.RankedTensorType) and work.is_passed(i, a in used, tokens)
        ]
        self.old_numbers: list[int | None] = [*tensors, *[None] * len(self.buffers), *others]
        types = (
            [old[i].type for i in tensors]
            + [b.spec.type() for b in self.buffers]
            + [old[i].type for i in others]
        )
        attributes = argument_attributes(work.kernel.func)
        self.attributes = [{} if i is None else attributes[i] for i in self.old_numbers]
        self.name = work.program.unique_name(name)
        with ir.InsertionPoint(work.kernel.func), work.kernel.func.location:
            self.func = func.FuncOp(self.name, ir.FunctionType.get(types, []), visibility="private").operation
            self.block = self.func.regions[0].blocks.append(
                *types, arg_locs=[work.kernel.func.location] * len(types)
            )
        work.program.functions[self.name] = self.func
        work.program.callers[self.name] = 0
        self.map: dict[ir.Value, ir.Value] = {
            old[i]: self.block.arguments[k] for k, i in enumerate(self.old_numbers) if i is not None
        }
        self.buffer_argument = {
            b.name: self.block.arguments[len(tensors) + k] for k, b in enumerate(self.buffers)
        }
        self.results: list[
            tuple[int | str, ir.Value]
        ] = []  #: (old argument or buffer, stored value), one each
        self.dims: set[str] = set()
        self.runs: list[ir.Operation] = []  #: ops of the old kernel, whole or in part

    def create(
        self, name: str, types: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: ir.Attribute
    ) -> ir.Operation:
        """An op at the end of the body."""
        return ir.Operation.create(
            name, list(types), list(operands), attributes, ip=ir.InsertionPoint(self.block)
        )

    def constant(self, attribute: ir.Attribute) -> ir.Value:
        """A scalar constant."""
        return self.create("arith.constant", [attribute.type], [], value=attribute).results[0]

    def float_op(self, name: str, *values: ir.Value) -> ir.Value:
        """The result of an op on floats of one type."""
        return self.create(name, [values[0].type], values).results[0]

    def copy(self, op: ir.Operation) -> ir.Operation:
        """A copy of an op of the old kernel on the new values."""
        new = op.clone(ir.InsertionPoint(self.block))
        for i, operand in enumerate(op.operands):
            new.operands[i] = self.map[operand]
        for old, fresh in zip(op.results, new.results, strict=True):
            self.map[old] = fresh
        self.runs.append(op)
        self.dims |= self.work.kernel.op_dims[op]
        if "over" in op.attributes:
            self.dims |= set(over(op))
        if op.name == "fuse.store":
            self._result(ir.BlockArgument(op.operands[0]).arg_number, new.results[0])
        return new

    def store(self, buffer: _Buffer, value: ir.Value) -> None:
        """Stores a value into a buffer at its dims."""
        destination = self.buffer_argument[buffer.name]
        true = self.constant(ir.BoolAttr.get(True))
        op = self.create(
            "fuse.store",
            [destination.type],
            [destination, value, true],
            at=text_list(buffer.at),
            mode=ir.StringAttr.get("set"),
        )
        self.dims |= set(buffer.at)
        self._result(buffer.name, op.results[0])

    def load(self, buffer: _Buffer) -> ir.Value:
        """Loads from a buffer at its dims."""
        element = ir.Type.parse(buffer.spec.element)
        zero: ir.Attribute = (
            ir.FloatAttr.get(element, 0.0)
            if isinstance(element, ir.FloatType)
            else ir.IntegerAttr.get(element, 0)
        )
        operands = [
            self.buffer_argument[buffer.name],
            self.constant(ir.BoolAttr.get(True)),
            self.constant(zero),
        ]
        self.dims |= set(buffer.at)
        return self.create("fuse.load", [element], operands, at=text_list(buffer.at)).results[0]

    def load_stored(self, store: ir.Operation) -> None:
        """Reads what an op of an earlier part stores, in place of the value it had there."""
        value = store.operands[1]
        true = self.constant(ir.BoolAttr.get(True))
        operands = [self.map[store.operands[0]], true, self.constant(_neutral("sum", value.type))]
        self.dims |= self.work.kernel.op_dims[store]
        with store.location:
            op = self.create("fuse.load", [value.type], operands, at=store.attributes["at"])
        self.map[value] = op.results[0]

    def _result(self, key: int | str, value: ir.Value) -> None:
        self.results = [(k, v) for k, v in self.results if k != key] + [(key, value)]

    def finish(self, extents: dict[str, Expr]) -> None:
        """Return, signature, attributes, and the call in @main."""
        self.create("func.return", [], [v for _, v in self.results])
        inputs, results = [a.type for a in self.block.arguments], [v.type for _, v in self.results]
        attributes = self.func.attributes
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        if any(self.attributes):
            attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in self.attributes])
        attributes["fuse.kernel"] = ir.UnitAttr.get()
        names = sorted(self.dims & extents.keys(), key=natural)
        attributes["fuse.dims"] = dims_attribute({n: extents[n] for n in names})
        attributes["fuse.ties"] = ir.DenseI64ArrayAttr.get([self._position(k) for k, _ in self.results])
        work = self.work
        buffers = iter(self.buffers)
        operands = [next(buffers).value if i is None else work.operand(i) for i in self.old_numbers]
        call = work.program.recall(work.call, self.func, operands, results)
        lost = gone(self.runs, work.kernel.op_dims)
        call.location, self.func.location = without(call.location, lost), without(self.func.location, lost)
        by_name = {b.name: b for b in self.buffers}
        for (key, _), value in zip(self.results, call.results, strict=True):
            if isinstance(key, str):
                by_name[key].value = value
            else:
                work.replaced[key] = value

    def _position(self, key: int | str) -> int:
        if isinstance(key, int):
            return self.old_numbers.index(key)
        return self.buffer_argument[key].arg_number


@dataclass
class _Work:
    """One call being split."""

    program: Program
    call: ir.Operation
    kernel: Kernel
    slicing: Slicing
    sides: Sides
    replaced: dict[int, ir.Value] = field(
        default_factory=dict
    )  #: old tied argument -> its new value in @main

    def is_passed(self, number: int, used: bool, tokens: bool) -> bool:
        """Whether a part takes an argument that is no tensor: all sizes, tokens where wanted, scalars where
        used.
        """
        type_ = self.kernel.arguments[number].type
        if isinstance(type_, ir.IndexType):
            return True
        return tokens if str(type_) == "!fuse.token" else used

    def operand(self, number: int) -> ir.Value:
        """What @main passes for an argument of the old kernel: of what was stored already, the new value."""
        return self.replaced.get(number, self.call.operands[number])

    # --- construction -------------------------------------------------------------------------------------
    def run(self) -> None:
        slicing, kernel = self.slicing, self.kernel
        name = kernel.name
        self.slice_dim = "d" + str(1 + max(natural(d)[1] for d in kernel.dims))
        extents = {**kernel.dims, self.slice_dim: const(slicing.count)}
        workspaces = self._buffers("w", sliced=True)
        with self.call.location:
            self._allocate(workspaces)
            slices = self._slices(f"{name}_slices", workspaces)
            slices.finish({**extents, slicing.dim: slicing.length})
            needed: list[_Buffer] = workspaces
            inline = not any(self.kernel.op_dims[op] & set(slicing.over) for op in self.sides.late)
            if not inline:
                totals = self._buffers("t", sliced=False)
                self._allocate(totals)
                combine = _Part(self, f"{name}_combine", [], [*workspaces, *totals], tokens=False)
                values = self._combine(combine, workspaces)
                for buffer, value in zip(totals, values, strict=True):
                    combine.store(buffer, value)
                combine.finish(extents)
                needed = totals
            rest = _Part(self, f"{name}_rest", [*self.sides.late, *self.sides.kept], needed, tokens=False)
            values = self._combine(rest, needed) if inline else [rest.load(b) for b in needed]
            for old, new in zip(self._results(), values, strict=True):
                rest.map[old] = new
            for op in self.sides.kept:
                rest.load_stored(op)
            for op in self.sides.late:
                rest.copy(op)
            rest.finish(extents)
        for position, number in enumerate(kernel.ties):
            self.call.results[position].replace_all_uses_with(self.replaced[number])
        self.program.erase_call(self.call)

    def _results(self) -> list[ir.Value]:
        return [result for op in self.slicing.reductions for result in op.results]

    def _buffers(self, prefix: str, sliced: bool) -> list[_Buffer]:
        """One buffer for each result of the split reductions.  Slices are innermost for rows, outermost where
        columns are reduced.
        """
        shape = KernelShape.of(self.kernel)
        device = next(
            (self.kernel.spec(a.argument).device for a in (*self.kernel.stores, *self.kernel.loads)), None
        )
        main = shape.main_access
        columns = main is not None and shape.contiguous_dim(main) not in self.slicing.over
        found = []
        for i, value in enumerate(self._results()):
            kept = tuple(d for d in shape.order if d in self.kernel.value_dims[value])
            at = kept
            if sliced:
                at = (self.slice_dim, *kept) if columns else (*kept, self.slice_dim)
            sizes = tuple(
                const(self.slicing.count) if d == self.slice_dim else self.kernel.dims[d] for d in at
            )
            found.append(_Buffer(f"{prefix}{i}", TensorSpec.contiguous(sizes, str(value.type), device), at))
        return found

    def _allocate(self, buffers: Sequence[_Buffer]) -> None:
        for buffer in buffers:
            names = buffer.spec.symbols
            operands = [self.operand(self.kernel.symbols[n]) for n in names]
            op = ir.Operation.create(
                "fuse.empty",
                [buffer.spec.type()],
                operands,
                {"syms": text_list(names)},
                ip=ir.InsertionPoint(self.call),
            )
            buffer.value = op.results[0]

    def _slices(self, name: str, workspaces: Sequence[_Buffer]) -> _Part:
        """The kernel that folds each slice."""
        slicing = self.slicing
        part = _Part(self, name, self.sides.early, workspaces, tokens=True)
        point = sym(self.slice_dim) * slicing.length + sym(slicing.dim)
        inside = None if slicing.exact else self._inside(part, point)
        stores = iter(workspaces)
        for op in self.sides.early:
            with op.location:
                new = part.copy(op)
                rewrite_dims(new, lambda e: e.subs({slicing.dim: point}), lambda names: names)
                crosses = slicing.dim in self.kernel.op_dims[op] or op in slicing.reductions
                if crosses:
                    part.dims.add(self.slice_dim)
                if inside is not None and crosses:
                    self._guard(part, new, inside, op in slicing.reductions)
                if op in slicing.reductions:
                    for result in new.results:
                        part.store(next(stores), result)
        return part

    def _inside(self, part: _Part, point: Expr) -> ir.Value:
        i64 = ir.IntegerType.get_signless(64)
        position = part.create("fuse.index", [i64], [], expr=ir.StringAttr.get(str(point))).results[0]
        extent = part.create(
            "fuse.index", [i64], [], expr=ir.StringAttr.get(str(self.kernel.dims[self.slicing.dim]))
        ).results[0]
        less = ir.IntegerAttr.get(i64, 2)
        return part.create(
            "arith.cmpi", [ir.IntegerType.get_signless(1)], [position, extent], predicate=less
        ).results[0]

    @staticmethod
    def _guard(part: _Part, op: ir.Operation, inside: ir.Value, is_split: bool) -> None:
        """Keeps points beyond the end out of memory, asserts and the folded values."""
        before = ir.InsertionPoint(op)
        i1 = ir.IntegerType.get_signless(1)

        def make(name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
            return ir.Operation.create(name, [type_], list(operands), attributes, ip=before).results[0]

        if op.name in ("fuse.load", "fuse.store"):
            position = 1 if op.name == "fuse.load" else 2
            op.operands[position] = make("arith.andi", i1, op.operands[position], inside)
        elif op.name == "fuse.device_assert":
            op.operands[1] = make("arith.andi", i1, op.operands[1], inside)
        elif op.name == "cf.assert":
            true = make("arith.constant", i1, value=ir.BoolAttr.get(True))
            op.operands[0] = make("arith.ori", i1, op.operands[0], make("arith.xori", i1, inside, true))
        elif is_split:
            for i, neutral in enumerate(_neutrals(op)):
                constant = make("arith.constant", op.operands[i].type, value=neutral)
                op.operands[i] = make("arith.select", op.operands[i].type, inside, op.operands[i], constant)

    def _combine(self, part: _Part, workspaces: Sequence[_Buffer]) -> list[ir.Value]:
        """The results of the reductions from those of their slices, in ``part``."""
        part.runs += self.slicing.reductions
        loaded = [part.load(b) for b in workspaces]
        found: list[ir.Value] = []
        at = 0
        for op in self.slicing.reductions:
            pieces = loaded[at : at + len(op.results)]
            at += len(op.results)
            with op.location:
                found += self._combined(part, op, pieces)
        return found

    def _combined(self, part: _Part, op: ir.Operation, pieces: Sequence[ir.Value]) -> list[ir.Value]:
        fold, float_op = partial(self._folded, part), part.float_op

        if op.name in ("fuse.reduce", "fuse.dot"):
            return [fold(string(op.attributes["kind"]) if op.name == "fuse.reduce" else "sum", pieces[0])]
        if op.name == "fuse.argreduce":
            types = [v.type for v in pieces]
            return list(
                part.create(
                    "fuse.argreduce",
                    types,
                    pieces,
                    kind=op.attributes["kind"],
                    over=text_list([self.slice_dim]),
                ).results
            )
        element = pieces[0].type
        if op.name == "fuse.online_softmax":
            return self._softmax(part, *pieces)[:2]
        if op.name == "fuse.online_expectation":
            return self._expectation(part, list(ir.DenseI64ArrayAttr(op.attributes["signs"])), pieces)
        assert op.name == "fuse.welford" and self.slicing.exact
        mean, m2 = pieces
        points = self.slicing.length
        for dim in self.slicing.over:
            if dim != self.slicing.dim:
                points = points * self.kernel.dims[dim]
        over = text_list([self.slice_dim])
        center, spread = part.create("fuse.welford", [element, element], [mean], over=over).results
        between = float_op("arith.mulf", spread, self._number(part, points, element))
        return [center, float_op("arith.addf", fold("sum", m2), between)]

    def _folded(self, part: _Part, kind: str, value: ir.Value) -> ir.Value:
        over = text_list([self.slice_dim])
        kind_ = ir.StringAttr.get(kind)
        return part.create("fuse.reduce", [value.type], [value], kind=kind_, over=over).results[0]

    def _softmax(self, part: _Part, lane_top: ir.Value, lane_total: ir.Value) -> list[ir.Value]:
        """Maximum and sum of exponentials from those of slices; then what each slice's sum is worth in the
        whole, how far its maximum lies below the whole's, and by what its own terms are multiplied.
        """
        element = lane_top.type
        top = self._folded(part, "max", lane_top)
        # A slice of nothing but minus infinities has the sum NaN; beside other slices it adds nothing.
        lowest, zero = (part.constant(ir.FloatAttr.get(element, value)) for value in (-math.inf, 0.0))
        equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
        i1 = ir.IntegerType.get_signless(1)
        empty = part.create("arith.cmpf", [i1], [lane_top, lowest], predicate=equal).results[0]
        kept = part.create("arith.select", [element], [empty, zero, lane_total]).results[0]
        below = part.float_op("arith.subf", lane_top, top)
        factor = part.float_op("math.exp", below)
        total = self._folded(part, "sum", part.float_op("arith.mulf", kept, factor))
        return [top, total, kept, below, factor]

    def _expectation(self, part: _Part, signs: list[int], pieces: Sequence[ir.Value]) -> list[ir.Value]:
        """A sum weighted by a softmax: each slice's, counted from the maxima of the whole."""
        folded = [self._softmax(part, *pieces[1 + 2 * k : 3 + 2 * k]) for k in range(len(signs))]
        factor = folded[0][4]
        counted, kept = (part.float_op("arith.mulf", value, factor) for value in (pieces[0], folded[0][2]))
        for sign, (_, _, _, below, _) in zip(signs, folded, strict=True):
            if sign:
                moved = part.float_op("arith.mulf", below, kept)
                counted = part.float_op("arith.addf" if sign > 0 else "arith.subf", counted, moved)
        return [
            self._folded(part, "sum", counted),
            *(value for top, sum_, *_ in folded for value in (top, sum_)),
        ]

    @staticmethod
    def _number(part: _Part, e: Expr, element: ir.Type) -> ir.Value:
        if e.constant is not None:
            return part.constant(ir.FloatAttr.get(element, float(e.constant)))
        i64 = ir.IntegerType.get_signless(64)
        value = part.create("fuse.index", [i64], [], expr=ir.StringAttr.get(str(e))).results[0]
        return part.create("arith.sitofp", [element], [value]).results[0]


def _neutrals(op: ir.Operation) -> list[ir.Attribute]:
    """What operands of a reduction are where there is no point."""
    kind = (
        string(op.attributes["kind"])
        if "kind" in op.attributes
        else {"fuse.dot": "sum", "fuse.online_softmax": "max"}[op.name]
    )
    values = [_neutral(kind, op.operands[0].type)]
    if op.name == "fuse.argreduce":
        values.append(ir.IntegerAttr.get(op.operands[1].type, (1 << 63) - 1))
    if op.name == "fuse.dot":
        values.append(_neutral(kind, op.operands[1].type))
    return values


def _neutral(kind: str, type_: ir.Type) -> ir.Attribute:
    low = kind in ("max", "argmax")
    if isinstance(type_, ir.FloatType):
        table = {
            "sum": 0.0,
            "prod": 1.0,
            "max": -math.inf,
            "argmax": -math.inf,
            "min": math.inf,
            "argmin": math.inf,
        }
        return ir.FloatAttr.get(type_, table[kind])
    width = ir.IntegerType(type_).width
    if width == 1:
        return ir.BoolAttr.get(kind in ("all", "min", "argmin", "prod"))
    if kind in ("max", "argmax", "min", "argmin"):
        return ir.IntegerAttr.get(type_, -(1 << (width - 1)) if low else (1 << (width - 1)) - 1)
    return ir.IntegerAttr.get(type_, {"sum": 0, "prod": 1, "any": 0, "xor": 0, "all": -1}[kind])
