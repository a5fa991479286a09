"""Whether the stores of a user's kernel write each element of a tensor, and each once.

A store writes boxes: each turn of the loops of each program writes the places from an *origin* on, as many as
the tile has lanes, less those that lie behind the end of the tensor.  Where sizes and grid are numbers, the
origins of all programs are computed.  Where they are not, an origin must be a multiple of a program id, and
the grid must have enough programs.  What is not proven counts as not so.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.dataclass import dataclass
from ...index import Expr, const, sym
from ...ir.dialects.tt_types import shape_of
from ...mlir import ir
from .coordinates import Coordinates, KernelSpace
from .integers import Comparison, Integers
from .maps import PointerAccess

#: The most origins that are computed.
_MOST = 1 << 18


@dataclass(frozen=True)
class Coverage:
    """complete: each element is written.  once: none is written twice."""

    complete: bool = False
    once: bool = False


@dataclass(frozen=True)
class Store:
    """One op that stores to the tensor."""

    access: PointerAccess
    coordinates: Coordinates


def coverage(stores: Sequence[Store], space: KernelSpace, integers: Integers) -> Coverage:
    """What all ``stores`` to one tensor write together."""
    boxes = [_Boxes.of(store) for store in stores]
    first = boxes[0]
    if first is None or any(
        b is None or (b.blocks, b.extents) != (first.blocks, first.extents) for b in boxes
    ):
        return Coverage()
    found = _counted([b for b in boxes if b is not None], space, integers)
    if found is not None:
        return found
    return _symbolic(first, space) if len(stores) == 1 else Coverage()


@dataclass(frozen=True)
class _Boxes:
    """What one store writes: per place, the origin, how many lanes follow it, and the extent."""

    store: Store
    origins: tuple[Expr, ...]
    blocks: tuple[int, ...]
    extents: tuple[Expr, ...]

    @staticmethod
    def of(store: Store) -> "_Boxes | None":
        """None where the lanes are not neighbours, or where the mask leaves out more than what lies behind
        the end.
        """
        known, origins, blocks = store.coordinates, [], []
        if store.access.guarded:
            return None
        lanes = {f"l{axis}'": size for axis, size in enumerate(known.shape) if size > 1}
        for place in known.places.values():
            own = [lane for lane in lanes if lane in place.symbols()]
            if len(own) > 1 or (own and place.coefficient(own[0]) != const(1)):
                return None
            origins.append(place - sym(own[0]) if own else place)
            blocks.append(lanes.pop(own[0]) if own else 1)
        extents = tuple(known.extents[name] for name in known.places)
        ends = list(zip(known.places.values(), extents, strict=True))
        if lanes or not all(_only_ends(comparison, ends, known) for comparison in known.mask):
            return None
        return _Boxes(store, tuple(origins), tuple(blocks), extents)


def _only_ends(comparison: Comparison, ends: Sequence[tuple[Expr, Expr]], known: Coordinates) -> bool:
    return comparison.how == "<" and any(
        comparison.left == place and known.facts.less_equal(extent, comparison.right)
        for place, extent in ends
    )


def _symbolic(boxes: _Boxes, space: KernelSpace) -> Coverage:
    if boxes.store.access.loops:
        return Coverage()
    ids = set()
    for origin, block, extent in zip(boxes.origins, boxes.blocks, boxes.extents, strict=True):
        if origin.constant == 0:
            if not space.facts.less_equal(extent, const(block)):
                return Coverage()
            continue
        number = next((n for n, _ in enumerate(space.grid) if origin == sym(f"p{n}'") * block), None)
        if number is None or number in ids:
            return Coverage()
        if not space.facts.less_equal(extent, space.grid[number] * block):
            return Coverage()
        ids.add(number)
    rest = [extent for n, extent in enumerate(space.grid) if n not in ids]
    return Coverage(True, all(extent.constant == 1 for extent in rest))


def _counted(boxes: Sequence[_Boxes], space: KernelSpace, integers: Integers) -> Coverage | None:
    """None where a size or an integer of a program is not known, or where there are too many."""
    extents = [extent.constant for extent in boxes[0].extents]
    grid = [extent.constant for extent in space.grid]
    if None in extents or None in grid or math.prod(n for n in grid if n is not None) > _MOST:
        return None
    sizes = [-(-extent // block) for extent, block in zip(extents, boxes[0].blocks, strict=True) if extent]
    if len(sizes) < len(extents) or math.prod(sizes) > _MOST:
        return None
    total = np.zeros(math.prod(sizes), dtype=np.int64)
    for box in boxes:
        linear = _numbers(box, sizes, space, integers)
        if linear is None:
            return None
        total += np.bincount(linear, minlength=len(total))
    return Coverage(bool((total > 0).all()), bool((total <= 1).all()))


def _numbers(boxes: _Boxes, sizes: Sequence[int], space: KernelSpace, integers: Integers) -> Any:
    """The numbers of the boxes that programs write, an array; None where they are not known."""
    loops = boxes.store.access.loops
    env: dict[str, Any] = {}
    ids = np.indices([*(extent.constant or 0 for extent in space.grid), *([1] * len(loops))], dtype=np.int64)
    for axis in range(len(space.grid)):
        env[f"p{axis}'"], env[f"g{axis}'"] = ids[axis], space.grid[axis].constant
    active = np.ones_like(ids[0], dtype=bool)
    try:
        for number, loop in enumerate(loops):
            lower, upper, step = (
                _value(bound, env, space, integers) for bound in (loop.lower, loop.upper, loop.step)
            )
            turns = np.maximum(0, -((lower - upper) // step)) + np.zeros_like(ids[0])
            most = int(turns.max())
            if most * active.size > _MOST:
                return None
            shape = [1] * active.ndim
            shape[len(space.grid) + number] = most
            env[f"{loop.turn}'"] = np.arange(most, dtype=np.int64).reshape(shape)
            active = active & (env[f"{loop.turn}'"] < turns)
        linear = np.zeros_like(active, dtype=np.int64)
        parts = zip(boxes.origins, boxes.blocks, sizes, boxes.extents, strict=True)
        for origin, block, size, extent in parts:
            start = _value(origin, env, space, integers) + np.zeros_like(linear)
            active = active & (start < (extent.constant or 0))
            if (start[active] % block).any() or (start[active] < 0).any():
                return None
            linear = linear * size + start // block
    except _Unknown:
        return None
    return linear[active]


class _Unknown(Exception):
    """An integer that cannot be computed here."""


def _value(e: Expr | None, env: Mapping[str, Any], space: KernelSpace, integers: Integers) -> Any:
    """An expression for all programs at once.  Raises _Unknown."""
    if e is None:
        raise _Unknown
    e = space.renamed(e) if not any(name.endswith("'") for name in e.symbols()) else e
    known = dict(env)
    for name in e.symbols() - known.keys():
        value = integers.value_of(name[:-1])
        if value is None or shape_of(value.type):
            raise _Unknown
        known[name] = _scalar(value, env, space, integers)
    return e.evaluate(known)


def _scalar(value: ir.Value, env: Mapping[str, Any], space: KernelSpace, integers: Integers) -> Any:
    """An integer that the index algebra has no expression for."""
    op = value.owner
    if isinstance(op, ir.Block):
        raise _Unknown
    if op.name not in _FUNCTIONS:
        raise _Unknown
    operands = [_value(integers.integer(operand), env, space, integers) for operand in op.operands]
    return _FUNCTIONS[op.name](*operands)


_FUNCTIONS = {"arith.minsi": np.minimum, "arith.maxsi": np.maximum}
