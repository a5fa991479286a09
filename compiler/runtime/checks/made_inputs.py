"""Inputs of ``@main``: making them from the types and facts of its arguments, copying them, perturbing
them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import torch
from torch import Tensor

from ...base.dataclass import dataclass
from ...base.strides import span
from ...fx.views import meets_itself
from ...ir.kernel import argument_attributes, string
from ...ir.layout import TensorSpec
from ...mlir import func, ir
from ..errors import RunError
from ..interpreter.graph_values import check_room, layout_of
from ..interpreter.scalar.dtypes import memory_dtype


@dataclass(frozen=True)
class SizeSymbol:
    """What is known about a size: it is a multiple of ``step`` between ``low`` and ``high``, and was ``hint``
    in the example.
    """

    hint: int
    low: int
    high: int | None
    step: int

    @staticmethod
    def of(facts: Mapping[str, ir.Attribute]) -> "SizeSymbol":
        """Reads the attributes of an argument.  Without a hint, the smallest size above 1 is taken."""
        numbers = {
            key: ir.IntegerAttr(a).value
            for key, a in facts.items()
            if key != "fuse.sym" and isinstance(a, ir.IntegerAttr)
        }
        low, high = numbers.get("fuse.min", 0), numbers.get("fuse.max")
        hint = numbers.get("fuse.hint", max(2, low))
        step = numbers.get("fuse.multiple", 1)
        hint = -(-hint // step) * step
        return SizeSymbol(hint if high is None else min(hint, high), low, high, step)

    def others(self, factor: int = 1) -> list[int]:
        """Sizes near the hint, larger ones first, whose greatest common divisor with it is ``step``; or, if
        the hint is a multiple of ``factor``, the least common multiple of ``step`` and ``factor``.
        """
        step = math.lcm(self.step, factor) if self.hint % factor == 0 else self.step
        near = [self.hint + step * n for n in (1, 2, 3, 4, 5, -1, -2, -3, -4, -5)]
        return [
            n
            for n in near
            if max(self.low, 2) <= n and (self.high is None or n <= self.high)
            if math.gcd(n, self.hint) == step
        ]


def size_symbols(module: ir.Module, entry: str = "main") -> dict[str, SizeSymbol]:
    """The sizes that ``@entry`` takes, by name."""
    return {
        string(facts["fuse.sym"]): SizeSymbol.of(facts)
        for facts in argument_attributes(_function(module, entry))
        if "fuse.sym" in facts
    }


def other_sizes(module: ir.Module) -> Iterator[dict[str, int]]:
    """Sizes of ``@main`` that are not the hints; those that reveal most come first.  First, symbols with
    equal hints get different sizes; then equal ones; then smaller ones.  The same follows with sizes that are
    even, or divisible as the hints are.
    """
    symbols = size_symbols(module)
    tried: list[dict[str, int]] = [{}]
    for factor in (1, 2, 4, 8):
        others = {name: found for name, size in symbols.items() if (found := size.others(factor))}
        distinct: dict[str, int] = {}
        for name, found in others.items():
            taken = {*distinct.values(), *(size.hint for size in symbols.values())}
            distinct[name] = next((n for n in found if n not in taken), found[0])
        above, below = ({name: found[end] for name, found in others.items()} for end in (0, -1))
        for sizes in (distinct, above, below):
            if sizes not in tried:
                tried.append(sizes)
                yield sizes


@dataclass(frozen=True)
class InputMaker:
    """Makes inputs for ``@main`` from the types and facts of its arguments.  Equal modules and fields give
    equal inputs.

    A size symbol gets its ``fuse.hint``, else its ``fuse.min`` (at least 2), unless ``sizes`` gives it a
    value; a multiple of ``fuse.multiple`` in any case.  Floats are normal.  ``positive``: their absolute
    value plus 0.1.  ``special``: some are NaN, infinities and zeros.  Integers are in [0, ``bound``), so that
    they can index; ``bound`` is by default the smallest extent above 1 of any argument.  ``distinct``: they
    are 0, 1, .. and start again at ``bound``, so that indices of a scatter are different where possible.  A
    tensor fills a storage of its own, or lies in one as ``fuse.storage`` of its argument says.
    """

    seed: int = 0
    positive: bool = False
    special: bool = False
    bound: int | None = None
    distinct: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)

    def make(self, module: ir.Module, entry: str = "main") -> list[Any]:
        """One value per argument of ``@entry``.  Raises RunError if there is no such function, or if
        none of its arguments has a symbol that ``sizes`` names."""
        function = _function(module, entry)
        types = [a.type for a in function.regions[0].blocks[0].arguments]
        facts = argument_attributes(function)
        generator = torch.Generator().manual_seed(self.seed)
        environment = {
            name: self.sizes.get(name, size.hint) for name, size in size_symbols(module, entry).items()
        }
        if unknown := sorted(set(self.sizes) - set(environment)):
            raise RunError(f"no argument of @{entry} has a size symbol {', '.join(unknown)}")
        specs = [TensorSpec.of(t) if isinstance(t, ir.RankedTensorType) else None for t in types]
        layouts = [
            (memory_dtype(s.element).itemsize, *_layout(s, named, environment))
            for s, named in zip(specs, facts, strict=True)
            if s is not None
        ]
        check_room(sum(size * elements for size, *_, elements in layouts))
        extents = [n for _, shape, *_ in layouts for n in shape if n > 1]
        bound = self.bound or min(extents, default=2)
        return [
            self._scalar(type_, named, environment)
            if spec is None
            else self._tensor(spec, named, environment, bound, generator)
            for type_, spec, named in zip(types, specs, facts, strict=True)
        ]

    def _scalar(
        self, type_: ir.Type, facts: Mapping[str, ir.Attribute], environment: Mapping[str, int]
    ) -> Any:
        if "fuse.sym" in facts:
            return environment[string(facts["fuse.sym"])]
        table = {"index": 2, "i64": 2, "i32": 2, "f64": 0.5, "f32": 0.5, "i1": True}
        if str(type_) not in table:
            raise RunError(f"no input can be made for an argument of type {type_}")
        return table[str(type_)]

    def _tensor(
        self,
        spec: TensorSpec,
        facts: Mapping[str, ir.Attribute],
        environment: Mapping[str, int],
        bound: int,
        generator: torch.Generator,
    ) -> Tensor:
        shape, strides, begin, elements = _layout(spec, facts, environment)
        memory = self._memory(elements, memory_dtype(spec.element), bound, generator)
        return torch.as_strided(memory, shape, strides, begin)

    def _memory(self, count: int, dtype: torch.dtype, bound: int, generator: torch.Generator) -> Tensor:
        if dtype == torch.bool:
            return torch.randint(0, 2, (count,), generator=generator).bool()
        if not (dtype.is_floating_point or dtype.is_complex):
            if self.distinct:
                return (torch.arange(count) % bound).to(dtype)
            return torch.randint(0, bound, (count,), generator=generator).to(dtype)
        numbers = torch.randn(
            count, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64
        )
        if self.positive and not dtype.is_complex:
            numbers = numbers.abs() + 0.1
        if self.special and count:
            values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0], dtype=numbers.dtype)
            where = torch.randperm(count, generator=generator)[: max(1, count // 8)]
            numbers[where] = values[torch.arange(where.numel()) % values.numel()]
        return numbers.to(dtype)


def _function(module: ir.Module, name: str) -> ir.Operation:
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and string(op.attributes["sym_name"]) == name:
            return op.operation
    raise RunError(f"the module has no function @{name}")


def _layout(
    spec: TensorSpec, facts: Mapping[str, ir.Attribute], environment: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
    """(shape, strides, offset, elements of its storage) of an argument."""
    shape, strides, offset = layout_of(spec, environment)
    begin, elements = _place(facts)
    begin += offset
    if 0 in shape:
        return shape, strides, 0, elements
    return shape, strides, begin, max(begin + span(shape, strides), elements, 0)


def _place(facts: Mapping[str, ir.Attribute]) -> tuple[int, int]:
    """From ``fuse.storage``: the offset of an argument in its storage, and the elements of that storage."""
    place = facts.get("fuse.storage")
    if place is None:
        return 0, 0
    numbers = list(place) if isinstance(place, ir.DenseI64ArrayAttr) else []
    if len(numbers) != 2 or not 0 <= numbers[0] <= numbers[1]:
        raise RunError(
            f"expected fuse.storage to be the first element and the number of elements, got {place}"
        )
    return numbers[0], numbers[1]


def copy_inputs(inputs: Sequence[Any]) -> list[Any]:
    """Copies the inputs to fresh storages.  Sharing of storages, strides and offsets are kept."""
    storages: dict[tuple[int, int], Tensor] = {}
    copies: list[Any] = []
    for value in inputs:
        if not isinstance(value, Tensor):
            copies.append(value)
            continue
        storage = value.untyped_storage()
        key = (storage.data_ptr(), storage.nbytes())
        if key not in storages or not storage.nbytes():
            flat = torch.empty(0, dtype=torch.uint8, device=value.device).set_(storage)
            storages[key] = flat.clone()
        fresh = torch.empty(0, dtype=value.dtype, device=value.device)
        copies.append(
            fresh.set_(storages[key].untyped_storage(), value.storage_offset(), value.shape, value.stride())
        )
    return copies


def moved_inputs(inputs: Sequence[Any], constants: int, seed: int) -> list[Any]:
    """Copies of the inputs in which each float32 and float64 number is perturbed, up or down, by one rounding
    error.  The last ``constants`` inputs are not changed.
    """
    generator = torch.Generator().manual_seed(seed)
    moved = copy_inputs(inputs)
    for value in moved[: len(moved) - constants]:
        wide = isinstance(value, Tensor) and value.dtype in (torch.float32, torch.float64)
        if wide and not meets_itself(value):
            sign = torch.randint(0, 2, value.shape, generator=generator) * 2 - 1
            value.mul_(1 + sign.to(value.device) * torch.finfo(value.dtype).eps)
    return moved
