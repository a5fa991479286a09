"""Builds one kernel: a private function of scalar code over named dims, its destinations, and the call in
``@main``.

    k = KernelBuilder(builder, "add_3", location, inputs=[x, y], outputs=[spec])
    at = k.iterate(spec.sizes)                      # d0, d1, ..: one dim for each size that is not 1
    k.store(0, at, k.add(k.load(x, at), k.load(y, k.broadcast(y, at))))
    (result,) = k.finish()

Nothing is written to ``@main`` before ``finish``; ``discard`` leaves no trace.
"""

from collections.abc import Sequence

import torch

from ...index import Expr, const, sym
from ...ir.kernel import INDEX_CHECK
from ...ir.layout import TensorSpec
from ...mlir import ir
from .arithmetic import Arithmetic, Operand, Scalar
from .dtypes import BY_ELEMENT, BY_TORCH
from .module_builder import ModuleBuilder
from .values import Number, Tensor

Destination = Tensor | TensorSpec


class KernelBuilder(Arithmetic):
    """A kernel under construction.

    ``inputs`` are the tensors it loads (one argument each, however often given), ``outputs`` its
    destinations: a spec makes a fresh ``fuse.empty``, a tensor is overwritten.  ``numbers`` are scalars of
    ``@main`` that it takes as arguments.  ``implicit``: what is stored in 16 bits, or promoted to them, is
    rounded because eager does so between ops, not because the program asks for it.
    """

    def __init__(
        self,
        builder: ModuleBuilder,
        name: str,
        location: ir.Location,
        inputs: Sequence[Tensor],
        outputs: Sequence[Destination],
        numbers: Sequence[Number] = (),
        implicit: bool = False,
    ) -> None:
        super().__init__(builder, location)
        self.implicit = implicit
        self.name = builder.unique(name)
        self.outputs = list(outputs)
        self.inputs = list(dict((t.value, t) for t in inputs).values())
        self.numbers = list(dict((n.value, n) for n in numbers).values())
        self.dims: dict[str, Expr] = {}
        self.op = builder.function(self.name, location)
        specs = [t.spec for t in self.inputs] + [o.spec if isinstance(o, Tensor) else o for o in self.outputs]
        types = (
            [t.value.type for t in self.inputs]
            + [self._destination_type(o) for o in self.outputs]
            + [n.value.type for n in self.numbers]
        )
        self.block = self.op.regions[0].blocks.append(*types, arg_locs=[location] * len(types))
        self.point = ir.InsertionPoint(self.block)
        arguments = list(self.block.arguments)
        self._argument = {t.value: arguments[i] for i, t in enumerate(self.inputs)}
        self._destinations = arguments[len(self.inputs) :][: len(self.outputs)]
        first = len(self.inputs) + len(self.outputs)
        self._numbers = {n.value: arguments[first + i] for i, n in enumerate(self.numbers)}
        self._stored: list[ir.Value | None] = [None] * len(self.outputs)
        self._used: set[str] = {name for spec in specs for name in spec.symbols}

    # Dims and coordinates.
    def dim(self, extent: Expr | int) -> Expr:
        """A new dim."""
        name = f"d{len(self.dims)}"
        self.dims[name] = extent if isinstance(extent, Expr) else const(extent)
        return sym(name)

    def iterate(self, sizes: Sequence[Expr]) -> tuple[Expr, ...]:
        """A coordinate for every size: a new dim, or 0 where the size is 1."""
        return tuple(const(0) if size.constant == 1 else self.dim(size) for size in sizes)

    @staticmethod
    def broadcast(tensor: Tensor, at: Sequence[Expr]) -> tuple[Expr, ...]:
        """The coordinates of ``tensor`` at the point ``at`` of a shape that it broadcasts to."""
        aligned = at[len(at) - tensor.rank :]
        return tuple(
            const(0) if size.constant == 1 else c for size, c in zip(tensor.sizes, aligned, strict=True)
        )

    # Memory.
    def load(
        self,
        tensor: Tensor,
        at: Sequence[Expr],
        guard: Scalar | None = None,
        other: Operand = 0,
        indices: Sequence[Scalar] = (),
    ) -> Scalar:
        """``tensor[at]`` in its compute dtype, ``other`` where ``guard`` is false.  ``indices`` are ``i0``,
        ``i1``.. of the coordinates.
        """
        return self.widen(self.load_raw(tensor, at, guard, other, indices))

    def load_raw(
        self,
        tensor: Tensor,
        at: Sequence[Expr],
        guard: Scalar | None = None,
        other: Operand = 0,
        indices: Sequence[Scalar] = (),
    ) -> Scalar:
        """As ``load``, in the dtype that is stored."""
        assert len(at) == tensor.rank, f"{len(at)} coordinates for rank {tensor.rank}"
        fallback = self.cast(self.lift(other, tensor.dtype), tensor.dtype)
        operands = (
            self._argument[tensor.value],
            (guard or self.true()).value,
            fallback.value,
            *(i.value for i in indices),
        )
        value = self.emit("fuse.load", self.type_of(tensor.dtype), operands, {"at": self._coordinates(at)})
        return Scalar(value, tensor.dtype)

    def store(
        self,
        output: int,
        at: Sequence[Expr],
        value: Operand,
        guard: Scalar | None = None,
        mode: str = "set",
        indices: Sequence[Scalar] = (),
    ) -> None:
        """Stores to destination number ``output``, converting to its dtype.  ``mode``: set, add, min, max."""
        destination = self.outputs[output]
        dtype = (
            destination.dtype if isinstance(destination, Tensor) else BY_ELEMENT[destination.element].torch
        )
        stored = self.cast(self.lift(value, dtype), dtype, implicit=self.implicit)
        target = self._stored[output] or self._destinations[output]
        attributes = {"at": self._coordinates(at), "mode": self.builder.string(mode)}
        operands = [target, stored.value, (guard or self.true()).value, *(i.value for i in indices)]
        self._stored[output] = ir.Operation.create(
            "fuse.store",
            results=[target.type],
            operands=operands,
            attributes=attributes,
            loc=self.location,
            ip=self.point,
        ).result

    def number(self, number: Number) -> Scalar:
        """A number of ``@main`` inside the kernel."""
        return Scalar(self._numbers[number.value], number.dtype)

    def index(self, expression: Expr, indices: Sequence[Scalar] = ()) -> Scalar:
        """The value of an index expression, an int64."""
        self._used |= expression.symbols() - self.dims.keys()
        attributes = {"expr": self.builder.string(str(expression))}
        return Scalar(
            self.emit("fuse.index", self.type_of(torch.int64), [i.value for i in indices], attributes),
            torch.int64,
        )

    def fold(self, kind: str, value: Scalar, over: Sequence[str]) -> Scalar:
        """``fuse.reduce`` over the dims of these names; ``value`` itself where there are none, but for a sum,
        which begins at 0.0 in eager too: that of one negative zero is 0.0.
        """
        if not over:
            floating = kind == "sum" and value.dtype.is_floating_point
            return self.add(value, self.constant(0.0, value.dtype)) if floating else value
        attributes = {"kind": self.builder.string(kind), "over": self.builder.strings(over)}
        return Scalar(self.emit("fuse.reduce", value.value.type, [value.value], attributes), value.dtype)

    def assert_(self, condition: Scalar, message: str, is_index: bool = False) -> None:
        """``fuse.device_assert``: stops the program where ``condition`` does not hold.  ``is_index``: it is
        about an index, and eager raises an IndexError.
        """
        attributes: dict[str, ir.Attribute] = {"message": self.builder.string(message)}
        if is_index:
            attributes[INDEX_CHECK] = self.builder.unit
        operands = [condition.value, self.true().value]
        ir.Operation.create(
            "fuse.device_assert", operands=operands, attributes=attributes, loc=self.location, ip=self.point
        )

    def round_to(self, x: Scalar, dtype: torch.dtype, implicit: bool = False) -> Scalar:
        """``x`` as it would be after a store to ``dtype`` and a load: the rounding that eager does between
        two ops.  ``implicit``: it may be left out.
        """
        if BY_TORCH[dtype].compute == dtype == x.dtype:
            return x
        return self.widen(self.cast(x, dtype, implicit=implicit))

    # The end.
    def finish(self) -> list[ir.Value]:
        """Closes the function, makes the destinations and calls it; returns the new value of each
        destination.
        """
        builder = self.builder
        assert all(v is not None for v in self._stored), f"a destination of {self.name} is never stored"
        names = sorted(
            (self._used | {s for e in self.dims.values() for s in e.symbols()}) & builder.symbol_values.keys()
        )
        for _ in names:
            self.block.add_argument(builder.index_type, self.location)
        ir.Operation.create("func.return", operands=self._stored, loc=self.location, ip=self.point)
        results = [v.type for v in self._stored if v is not None]
        attributes = self.op.attributes
        attributes["function_type"] = builder.function_type([a.type for a in self.block.arguments], results)
        with builder.context:
            attributes["fuse.kernel"] = builder.unit
            attributes["fuse.dims"] = ir.DictAttr.get(
                {n: builder.string(str(e)) for n, e in self.dims.items()}
            )
            attributes["fuse.ties"] = builder.int64s([len(self.inputs) + i for i in range(len(self.outputs))])
            if names:
                plain = [ir.DictAttr.get({})] * (len(self.block.arguments) - len(names))
                sizes = [
                    ir.DictAttr.get({"fuse.sym": builder.string(n), **builder.symbol_attributes[n]})
                    for n in names
                ]
                attributes["arg_attrs"] = ir.ArrayAttr.get(plain + sizes)
        destinations = [
            o.value if isinstance(o, Tensor) else builder.empty(o, self.location) for o in self.outputs
        ]
        operands = (
            [t.value for t in self.inputs]
            + destinations
            + [n.value for n in self.numbers]
            + builder.values(names)
        )
        return builder.call(self.name, operands, results, self.location)

    def discard(self) -> None:
        """Removes the function."""
        self.op.erase()
        self.builder.release(self.name)

    # Helpers.
    def _destination_type(self, destination: Destination) -> ir.Type:
        return (
            destination.value.type
            if isinstance(destination, Tensor)
            else self.builder.tensor_type(destination)
        )

    def _coordinates(self, at: Sequence[Expr]) -> ir.Attribute:
        if self.builder.symbol_values:
            for coordinate in at:
                self._used |= coordinate.symbols() - self.dims.keys()
        return self.builder.coordinates(at)
