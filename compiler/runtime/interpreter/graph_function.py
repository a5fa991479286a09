"""A function of graph ops, translated once into steps and run on torch tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import torch

from ...analysis.program.dependences import extern_mutated
from ...base.dataclass import dataclass
from ...ir.kernel import named_sizes, string
from ...ir.layout import TensorSpec
from ...ir.storage import callee_name
from ...mlir import ir
from ..errors import RunError
from ..extern_calls import ExternCall
from ..profiler_ranges import close_range, open_range
from ..rng import RngState
from .control_flow import InterpretedControlFlow
from .graph_ops import GRAPH_OPS, extern_step, group_step, kernel_step, nested_step, scalar_step
from .graph_values import (
    Frame,
    Module,
    Step,
    Watch,
    layout_of,
    same_strides,
    spec_of,
)
from .scalar.dtypes import memory_dtype
from .scalar.scalar_ops import elementwise
from .storage_tracker import ResultOrigin, StorageTracker


@dataclass
class _Plan:
    """One op, translated."""

    step: Step
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...] = field(default=())


class GraphFunction:
    """A function of graph ops (``@main``, an ordered group), translated into steps."""

    def __init__(self, module: Module, func: ir.Operation) -> None:
        self._watched, self._ranges = module.watched, module.ranges
        self.name = string(func.attributes["sym_name"])
        self._module = module
        self._location = func.location
        blocks = list(func.regions[0].blocks)
        if len(blocks) != 1:
            raise RunError(f"@{self.name} has {len(blocks)} blocks, one is expected", func.location)
        block = blocks[0]
        self._number: dict[ir.Value, int] = {}
        self._specs = [spec_of(a.type) for a in block.arguments]
        for i, argument in enumerate(block.arguments):
            self._number[argument] = i
        self._symbols = named_sizes(func)
        self._plan: list[_Plan] = []
        self._tracker = StorageTracker(
            list(block.arguments),
            module.declaration,
            lambda name: module.function(name, func.location).results,
        )
        self._returned: tuple[int, ...] = ()
        self.results: list[ResultOrigin] = []  #: by result, the storage that it is in
        for op in (o.operation for o in block.operations):
            self._read(op)
        self._slots = len(self._number)
        self._drop_after_last_use()

    def __call__(self, arguments: Sequence[Any], rng: RngState) -> list[Any]:
        if len(arguments) != len(self._specs):
            raise RunError(
                f"@{self.name} takes {len(self._specs)} arguments and got {len(arguments)}", self._location
            )
        sizes = {name: int(arguments[i]) for name, i in self._symbols.items()}
        for i, (spec, argument) in enumerate(zip(self._specs, arguments, strict=True)):
            if spec is not None:
                _check_argument(self.name, i, spec, argument, sizes, self._module.shadow, self._location)
        values = [*arguments, *[None] * (self._slots - len(arguments))]
        frame = Frame(values, sizes, rng, poisoned=not self._watched)
        for plan in self._plan:
            made = plan.step(frame, [values[i] for i in plan.operands])
            for slot, value in zip(plan.results, made, strict=True):
                values[slot] = value
            for slot in plan.dead:
                values[slot] = None
        return [values[i] for i in self._returned]

    def _read(self, op: ir.Operation) -> None:
        if op.name == "func.return":
            self.results = self._tracker.returned(op)
            self._returned = tuple(self._number[v] for v in op.operands)
            return
        step = self._step(op)
        if op in self._watched:
            mutated = extern_mutated(self._module.declaration(callee_name(op)))
            step = _watched(step, self._watched[op], mutated)
        if op in self._ranges:
            step = _in_range(step, self._ranges[op])
        self._tracker.visit(op)
        for result in op.results:
            self._number[result] = len(self._number)
        operands = tuple(self._number[v] for v in op.operands)
        self._plan.append(_Plan(step, operands, tuple(self._number[v] for v in op.results)))

    def _step(self, op: ir.Operation) -> Step:
        if op.name == "func.call":
            return self._call(op)
        make = GRAPH_OPS.get(op.name)
        if make is not None:
            return make(op, self._module.shadow)
        function = elementwise(op, False)
        if function is None:
            raise RunError(
                f"@{self.name} has an op that the interpreter does not know: {op.name}", op.location
            )
        return scalar_step(op, function)

    def _call(self, op: ir.Operation) -> Step:
        callee = callee_name(op)
        target = self._module.function(callee, op.location)
        if isinstance(target, ExternCall):
            return extern_step(op, target, self._module.declaration(callee), self._module.shadow)
        if isinstance(target, (InterpretedControlFlow, Nested)):
            return nested_step(op, target, self._module.declaration(callee), self._module.shadow)
        if isinstance(target, GraphFunction):
            return group_step(target, self._module.declaration(callee))
        return kernel_step(op, target)

    def _drop_after_last_use(self) -> None:
        last: dict[int, int] = {}
        kept = set(self._returned)
        for step, plan in enumerate(self._plan):
            for slot in (*plan.results, *plan.operands):
                last[slot] = step
        for step, plan in enumerate(self._plan):
            slots = {s for s in (*plan.results, *plan.operands) if last[s] == step and s not in kept}
            plan.dead = tuple(sorted(slots))


def _watched(step: Step, watch: Watch, mutated: Sequence[int]) -> Step:
    """The step of a call, between two looks of what watches it.  mutated: the positions of operands that
    torch's op writes.
    """

    def watched(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        tensors = [o for o in operands if isinstance(o, torch.Tensor)]
        watch(tensors, None)
        made = step(frame, operands)
        all_written = [*made, *(operands[i] for i in mutated)]
        written = {m.untyped_storage()._cdata for m in all_written if isinstance(m, torch.Tensor)}
        watch([o for o in tensors if o.untyped_storage()._cdata not in written], all_written)
        return made

    return watched


def _in_range(step: Step, name: str) -> Step:
    """The step of a call, inside a range for profilers."""

    def ranged(frame: Frame, operands: list[Any]) -> Sequence[Any]:
        opened = open_range(name)
        try:
            return step(frame, operands)
        finally:
            close_range(opened)

    return ranged


@dataclass(frozen=True)
class Nested:
    """The ``@main`` of a sub-graph, which other modules call."""

    main: GraphFunction

    def __call__(self, arguments: Sequence[Any], rng: RngState) -> list[Any]:
        return self.main([a for a in arguments if a is not None], rng)


def _check_argument(
    name: str,
    i: int,
    spec: TensorSpec,
    value: Any,
    sizes: Mapping[str, int],
    shadow: bool,
    location: ir.Location,
) -> None:
    if not isinstance(value, torch.Tensor):
        raise RunError(f"argument {i} of @{name} is a tensor, got {type(value).__name__}", location)
    if value.dtype != memory_dtype(spec.element, shadow):
        raise RunError(f"argument {i} of @{name} holds {spec.element}, got {value.dtype}", location)
    if not spec.symbols or set(spec.symbols) <= sizes.keys():
        shape, strides, _ = layout_of(spec, sizes)
        if tuple(value.shape) != shape:
            raise RunError(
                f"argument {i} of @{name} has sizes {list(shape)}, got {list(value.shape)}", location
            )
        if not same_strides(shape, strides, value.stride()):
            raise RunError(
                f"argument {i} of @{name} has strides {list(strides)}, got {list(value.stride())}", location
            )
