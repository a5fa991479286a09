"""Runs scalar kernels on the CPU: every op at once for all points of the named dims.

A value is a tensor with one axis per kernel dim (in the order of ``fuse.dims``), of extent 1 where the value
lacks the dim, so that broadcasting is the dim-set rule of docs/architecture.md.  ``ScalarKernel(func)`` reads
a kernel once; calling it runs it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ....index import parse
from ....ir.kernel import Kernel, over, string
from ....mlir import ir
from ... import rng
from ...errors import RunError
from .assertions import assertion_error
from .dtypes import value_dtype
from .scalar_access import Points, ScalarAccess, load, store
from .scalar_ops import constant_value, elementwise

Step = Callable[[Points, list[Any]], Any]

#: Elements of the largest intermediate value.  A kernel with larger ones is run in parts, along a dim that
#: every store has.
PART_ELEMENTS = 1 << 26


class ScalarKernel:
    """One scalar kernel, ready to run.  ``shadow`` computes all floats in float64 and rounds nowhere;
    ``checked``: see ``Program``."""

    def __init__(
        self,
        func: ir.Operation,
        shadow: bool = False,
        part_elements: int = PART_ELEMENTS,
        checked: bool = True,
    ) -> None:
        kernel = Kernel.of(func)
        self.name = kernel.name
        self.part_elements = part_elements
        self.checked = checked
        self._dims = kernel.dims
        self._names = tuple(kernel.dims)
        self._symbols = kernel.symbols
        self._ties = kernel.ties
        self._dtypes = [_argument_dtype(a.type, shadow) for a in kernel.arguments]
        self._spaces = sorted(
            {tuple(n for n in self._names if n in dims) for dims in kernel.op_dims.values()}
        )
        self._split = _splittable(kernel)
        self._loaded = sorted({load.argument for load in kernel.loads})
        body = _Body(kernel, shadow)
        self._steps, self._slots, self._returned = body.steps, body.slots, body.returned
        for result, (operand, tie) in enumerate(zip(body.returned_roots, self._ties, strict=True)):
            if operand != tie:
                raise RunError(
                    f"result {result} of kernel {self.name} is not stored in its tied argument {tie}",
                    kernel.func.location,
                )

    def __call__(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Runs the kernel on tensors, numbers and tokens (None), one per argument.  Writes tied arguments in
        place and returns them, one per result."""
        env = {name: int(arguments[position]) for name, position in self._symbols.items()}
        counts = [int(extent.evaluate(env)) for extent in self._dims.values()]
        written = frozenset(arguments[tie].untyped_storage().data_ptr() for tie in self._ties)
        in_place = any(arguments[i].untyped_storage().data_ptr() in written for i in self._loaded)
        for starts, part in [([0] * len(counts), counts)] if in_place else self._parts(counts):
            points = Points(self._names, starts, part, env, written, self.checked)
            self._run(points, arguments)
        return [arguments[tie] for tie in self._ties]

    def _parts(self, counts: list[int]) -> list[tuple[list[int], list[int]]]:
        """(starts, counts) of the parts of the iteration space: one part, unless a value would be too
        large.
        """
        largest = max(
            (math.prod(counts[self._names.index(n)] for n in space) for space in self._spaces), default=1
        )
        candidates = [self._names.index(n) for n in self._split]
        pieces = -(-largest // self.part_elements)
        if pieces <= 1 or not candidates:
            return [([0] * len(counts), counts)]
        axis = max(candidates, key=lambda a: counts[a])
        step = max(1, -(-counts[axis] // pieces))
        parts = []
        for start in range(0, counts[axis], step):
            starts, part = [0] * len(counts), list(counts)
            starts[axis], part[axis] = start, min(step, counts[axis] - start)
            parts.append((starts, part))
        return parts

    def _run(self, points: Points, arguments: Sequence[Any]) -> None:
        values: list[Any] = [None] * self._slots
        for slot, (argument, dtype) in enumerate(zip(arguments, self._dtypes, strict=True)):
            values[slot] = argument if dtype is None else points.scalar(argument, dtype)
        for function, operands, results, dead in self._steps:
            made = function(points, [values[i] for i in operands])
            if len(results) == 1:
                values[results[0]] = made
            else:
                for slot, value in zip(results, made or (), strict=True):
                    values[slot] = value
            for slot in dead:
                values[slot] = None


def _argument_dtype(type_: ir.Type, shadow: bool) -> torch.dtype | None:
    """The dtype of a scalar argument; None for tensors and tokens."""
    if isinstance(type_, ir.RankedTensorType) or str(type_).startswith("!fuse"):
        return None
    return value_dtype(type_, shadow)


def _splittable(kernel: Kernel) -> tuple[str, ...]:
    """Dims that may be cut into parts: no reduction or scan crosses them, and every store varies over
    them.
    """
    crossed = kernel.reduced
    stored = [kernel.op_dims[s.op] for s in kernel.stores]
    return tuple(n for n in kernel.dims if n not in crossed and stored and all(n in dims for dims in stored))


class _Body:
    """Translates a kernel's block into steps: (function, operand slots, result slots, slots to drop)."""

    def __init__(self, kernel: Kernel, shadow: bool) -> None:
        block = kernel.func.regions[0].blocks[0]
        self.steps: list[tuple[Step, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = []
        number: dict[ir.Value, int] = {a: i for i, a in enumerate(block.arguments)}
        root = dict(number)  # value of a tensor -> the argument whose storage it is in
        names = tuple(kernel.dims)
        always: set[ir.Value] = set()
        plan: list[tuple[Step, tuple[int, ...], tuple[int, ...]]] = []
        self.returned: tuple[int, ...] = ()
        for op in (o.operation for o in block.operations):
            if op.name == "func.return":
                self.returned = tuple(number[v] for v in op.operands)
                self.returned_roots = tuple(root.get(v) for v in op.operands)
                continue
            if op.name == "arith.constant" and str(op.results[0].type) == "i1" and constant_value(op):
                always.add(op.results[0])
            function = _translate(op, names, kernel, shadow, always)
            for result in op.results:
                number[result] = len(number)
            if op.name == "fuse.store":
                root[op.results[0]] = root[op.operands[0]]
            plan.append(
                (function, tuple(number[v] for v in op.operands), tuple(number[v] for v in op.results))
            )
        self.slots = len(number)
        last = {
            slot: step for step, (_, operands, results) in enumerate(plan) for slot in (*results, *operands)
        }
        for step, (function, operands, results) in enumerate(plan):
            dead = tuple(
                sorted({s for s in (*operands, *results) if last[s] == step and s >= len(block.arguments)})
            )
            self.steps.append((function, operands, results, dead))


def _translate(
    op: ir.Operation, names: tuple[str, ...], kernel: Kernel, shadow: bool, always: set[ir.Value]
) -> Step:
    function = elementwise(op, shadow)
    if function is not None:
        return lambda points, operands: function(*operands)
    make = _OPS.get(op.name)
    if make is None:
        raise RunError(f"kernel {kernel.name} has an op that scalar code cannot have: {op.name}", op.location)
    return make(op, names, shadow, always)


# --- ops that know about dims: (op, dim names, shadow, values that are true everywhere) -> step -------------


def _constant(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    value, dtype = constant_value(op), value_dtype(op.results[0].type, shadow)
    value = bool(value) if dtype == torch.bool else value
    made = torch.full([1] * len(names), value, dtype=dtype)
    return lambda points, operands: made


def _load(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    access, unguarded = ScalarAccess(op, names), op.operands[1] in always

    def step(points: Points, operands: list[Any]) -> Tensor:
        tensor, guard, other, *indices = operands
        return load(access, points, tensor, None if unguarded else guard, other, indices)

    return step


def _store(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    access, unguarded, mode = ScalarAccess(op, names), op.operands[2] in always, string(op.attributes["mode"])
    if mode not in ("set", "add", "min", "max"):
        raise RunError(f"fuse.store has no mode {mode!r}", op.location)

    def step(points: Points, operands: list[Any]) -> Tensor:
        dest, value, guard, *indices = operands
        store(access, points, dest, value, None if unguarded else guard, indices, mode)
        return dest

    return step


def _index(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    expr = parse(string(op.attributes["expr"]))

    def step(points: Points, operands: list[Any]) -> Tensor:
        value = points.evaluate(expr, operands)
        return value if isinstance(value, Tensor) else points.scalar(value, torch.int64)

    return step


def _axes(op: ir.Operation, names: tuple[str, ...]) -> list[int]:
    return sorted(names.index(n) for n in over(op))


def _spread(value: Tensor, points: Points, axes: list[int]) -> Tensor:
    """``value`` with the full extent along ``axes``, since folding a dim that it lacks counts the value once
    for each point."""
    shape = [points.counts[a] if a in axes else n for a, n in enumerate(value.shape)]
    return value.expand(shape)


def _fold_axes(value: Tensor, axes: list[int], function: Callable[[Tensor, int], Tensor]) -> Tensor:
    for axis in axes:
        value = function(value, axis)
    return value


def _extreme(value: Tensor, axes: list[int], largest: bool) -> Tensor:
    if 0 in (value.shape[a] for a in axes):
        return _empty_fold(value, axes, _limit(value.dtype, not largest))
    if value.dtype == torch.bool:
        return _fold_axes(value, axes, lambda v, a: (v.any if largest else v.all)(a, keepdim=True))
    return (torch.amax if largest else torch.amin)(value, axes, keepdim=True)


def _limit(dtype: torch.dtype, largest: bool) -> float:
    if dtype == torch.bool:
        return largest
    if dtype.is_floating_point:
        return math.inf if largest else -math.inf
    return torch.iinfo(dtype).max if largest else torch.iinfo(dtype).min


def _empty_fold(value: Tensor, axes: list[int], identity: float) -> Tensor:
    return torch.full([1 if a in axes else n for a, n in enumerate(value.shape)], identity, dtype=value.dtype)


def _xor(value: Tensor, axis: int) -> Tensor:
    while value.shape[axis] > 1:
        half = value.shape[axis] // 2
        joined = value.narrow(axis, 0, half) ^ value.narrow(axis, half, half)
        value = torch.cat([joined, value.narrow(axis, 2 * half, value.shape[axis] - 2 * half)], axis)
    return value if value.shape[axis] else _empty_fold(value, [axis], 0)


#: Kinds of fuse.reduce: (value, axes) -> value with those axes of extent 1.
_FOLDS: dict[str, Callable[[Tensor, list[int]], Tensor]] = {
    "sum": lambda v, axes: (
        _fold_axes(v, axes, _xor)
        if v.dtype == torch.bool
        else torch.sum(v, axes, keepdim=True, dtype=v.dtype)
    ),
    "prod": lambda v, axes: _fold_axes(v, axes, lambda x, a: torch.prod(x, a, keepdim=True, dtype=x.dtype)),
    "max": lambda v, axes: _extreme(v, axes, True),
    "min": lambda v, axes: _extreme(v, axes, False),
    "any": lambda v, axes: _fold_axes(v, axes, lambda x, a: (x != 0).any(a, keepdim=True)).to(v.dtype),
    "all": lambda v, axes: _fold_axes(v, axes, lambda x, a: (x != 0).all(a, keepdim=True)).to(v.dtype),
    "xor": lambda v, axes: _fold_axes(v, axes, _xor),
}


def _reduce(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes, kind = _axes(op, names), string(op.attributes["kind"])
    fold = _FOLDS.get(kind)
    if fold is None:
        raise RunError(f"fuse.reduce has no kind {kind!r}", op.location)
    if not axes:
        return lambda points, operands: operands[0]
    return lambda points, operands: fold(_spread(operands[0], points, axes), axes)


def _argreduce(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes, kind = _axes(op, names), string(op.attributes["kind"])
    if kind not in ("argmax", "argmin"):
        raise RunError(f"fuse.argreduce has no kind {kind!r}", op.location)

    def step(points: Points, operands: list[Any]) -> tuple[Tensor, Tensor]:
        value, index = torch.broadcast_tensors(
            _spread(operands[0], points, axes), _spread(operands[1], points, axes)
        )
        best = _extreme(value, axes, kind == "argmax")
        chosen = value == best
        if value.is_floating_point():
            chosen |= value.isnan() & best.isnan()
        return best, _extreme(torch.where(chosen, index, torch.iinfo(torch.int64).max), axes, False)

    return step


def _welford(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes = _axes(op, names)

    def step(points: Points, operands: list[Any]) -> tuple[Tensor, Tensor]:
        value = _spread(operands[0], points, axes)
        if len(operands) == 1:
            return _moments(value, None, math.prod(value.shape[a] for a in axes), axes)
        value, weight = torch.broadcast_tensors(value, _spread(operands[1], points, axes))
        value = torch.where(weight > 0, value, 0.0)
        return _moments(value, weight, weight.sum(axes, keepdim=True), axes)

    return step


def _moments(
    value: Tensor, weight: Tensor | None, count: Tensor | int, axes: list[int]
) -> tuple[Tensor, Tensor]:
    """The mean and the sum of squared deviations; ``count`` is the sum of the weights."""

    def total(x: Tensor) -> Tensor:
        return (x if weight is None else x * weight).sum(axes, keepdim=True)

    mean = total(value) / count
    mean = mean + _finite(total(value - mean) / count)  # corrects the rounding of a long sum
    apart = value - mean
    rest, squares = total(apart), total(apart.square())  # rest: left by the rounding of the mean
    m2 = (squares - rest * (rest / count)).clamp_min(0.0)
    return mean, torch.where(squares.isfinite(), m2, squares)


def _finite(correction: Tensor) -> Tensor:
    """``x``, or 0 where it is NaN or infinite."""
    return torch.where(correction.isfinite(), correction, 0.0)


def _online_softmax(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes = _axes(op, names)

    def step(points: Points, operands: list[Any]) -> tuple[Tensor, Tensor]:
        value = _spread(operands[0], points, axes)
        largest = _extreme(value, axes, True)
        return largest, torch.exp(value - largest).sum(axes, keepdim=True)

    return step


def _online_expectation(
    op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]
) -> Step:
    axes, signs = _axes(op, names), list(ir.DenseI64ArrayAttr(op.attributes["signs"]))

    def step(points: Points, operands: list[Any]) -> tuple[Tensor, ...]:
        values = [_spread(operand, points, axes) for operand in operands]
        tops = [_extreme(value, axes, True) for value in values[: len(signs)]]
        powers = [torch.exp(value - top) for value, top in zip(values, tops, strict=False)]
        weight = sum((v for v in values[len(signs) :]), torch.zeros_like(values[0]))
        for sign, value, top in zip(signs, values, tops, strict=False):
            weight = weight + sign * (value - top) if sign else weight
        totals = [power.sum(axes, keepdim=True) for power in powers]
        pairs = [result for pair in zip(tops, totals, strict=True) for result in pair]
        return (powers[0] * weight).sum(axes, keepdim=True), *pairs

    return step


def _linear(value: Tensor, gate: Tensor, axis: int) -> Tensor:
    """h[t] = gate[t] * h[t - 1] + value[t], step by step."""
    found = list(value.unbind(axis))
    for step, factor in enumerate(gate.unbind(axis)):
        if step:
            found[step] = factor * found[step - 1] + found[step]
    return torch.stack(found, axis) if found else value


#: Kinds of fuse.scan.
_SCANS: dict[str, Callable[..., Tensor]] = {
    "sum": lambda v, axis: torch.cumsum(v, axis, dtype=v.dtype),
    "prod": lambda v, axis: torch.cumprod(v, axis, dtype=v.dtype),
    "max": lambda v, axis: torch.cummax(v, axis).values,
    "min": lambda v, axis: torch.cummin(v, axis).values,
    "logsumexp": torch.logcumsumexp,
    "linear": _linear,
}


def _scan(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axis, kind = names.index(string(op.attributes["over"])), string(op.attributes["kind"])
    prefix = _SCANS.get(kind)
    if prefix is None:
        raise RunError(f"fuse.scan has no kind {kind!r}", op.location)
    backwards = bool(ir.BoolAttr(op.attributes["reverse"]).value)

    def step(points: Points, operands: list[Any]) -> Tensor:
        values = torch.broadcast_tensors(*(_spread(v, points, [axis]) for v in operands))
        if backwards:
            return prefix(*(v.flip(axis) for v in values), axis).flip(axis)
        return prefix(*values, axis)

    return step


def _dot(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes, dtype = _axes(op, names), value_dtype(op.results[0].type, shadow)

    def step(points: Points, operands: list[Any]) -> Tensor:
        # A factor that is the same at all summed points is multiplied at each: there may be none of them.
        lhs, rhs = (
            v.to(dtype).expand([points.counts[a] if a in axes else n for a, n in enumerate(v.shape)])
            for v in operands
        )
        shape = [1 if a in axes else n for a, n in enumerate(torch.broadcast_shapes(lhs.shape, rhs.shape))]
        left, right = ([a for a, n in enumerate(v.shape) if n != 1] for v in (lhs, rhs))
        out = sorted({a for a in (*left, *right) if a not in axes})
        # The order of the sum depends on strides: a pass that only moves data must not change it.
        product = torch.einsum(
            lhs.reshape([lhs.shape[a] for a in left]).contiguous(),
            left,
            rhs.reshape([rhs.shape[a] for a in right]).contiguous(),
            right,
            out,
        )
        return product.reshape(shape)

    return step


def _online_dot(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    axes, multiply = _axes(op, names), _dot(op, names, shadow, always)

    def step(points: Points, operands: list[Any]) -> tuple[Tensor, Tensor, Tensor]:
        value, factor = _spread(operands[0], points, axes), operands[1]
        largest = _extreme(value, axes, True)
        power = torch.exp(value - largest)
        product = multiply(points, [power.to(factor.dtype), factor])
        return product, largest, power.sum(axes, keepdim=True)

    return step


def _rand(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    kind, dtype = string(op.attributes["dist"]), value_dtype(op.results[0].type, shadow)
    generators = {"uniform": rng.uniform, "normal": rng.normal}
    if kind not in generators:
        raise RunError(f"fuse.rand has no dist {kind!r}", op.location)
    generate = generators[kind]
    return lambda points, operands: generate(operands[0], operands[1], operands[2], dtype)


def _device_assert(op: ir.Operation, names: tuple[str, ...], shadow: bool, always: set[ir.Value]) -> Step:
    message = string(op.attributes["message"] if op.name == "fuse.device_assert" else op.attributes["msg"])

    def step(points: Points, operands: list[Any]) -> tuple[()]:
        failed = ~operands[0] if len(operands) == 1 else operands[1] & ~operands[0]
        if failed.any():
            raise assertion_error(op, message)
        return ()

    return step


_OPS: dict[str, Callable[[ir.Operation, tuple[str, ...], bool, set[ir.Value]], Step]] = {
    "arith.constant": _constant,
    "cf.assert": _device_assert,
    "fuse.argreduce": _argreduce,
    "fuse.device_assert": _device_assert,
    "fuse.dot": _dot,
    "fuse.index": _index,
    "fuse.load": _load,
    "fuse.online_dot": _online_dot,
    "fuse.online_expectation": _online_expectation,
    "fuse.online_softmax": _online_softmax,
    "fuse.rand": _rand,
    "fuse.reduce": _reduce,
    "fuse.scan": _scan,
    "fuse.store": _store,
    "fuse.welford": _welford,
}
