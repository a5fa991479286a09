"""What the rules of tiling share: their form, the choice that they make, and how much a program takes."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ...base.dataclass import dataclass
from ...cost.hardware import Hardware
from ...ir.kernel import Access
from ...ir.tile import Axis, Tile
from ..kernel.shape import KernelShape

#: Threads of a program of four warps.
THREADS_OF_FOUR_WARPS = 128
#: Registers for values that a thread may hold before tiles shrink, and at most.
SMALL_REGISTERS, LARGE_REGISTERS = 64, 160


class NoTiling(Exception):
    """A kernel that no tile fits: one sentence."""


@dataclass(frozen=True)
class Choice:
    """A tile and the name of the rule that made it."""

    tile: Tile
    rule: str


S = TypeVar("S")


@dataclass(frozen=True)
class TilingRule(Generic[S]):
    """One way to cut kernels.  ``tile`` gives None where the rule does not apply; its docstring says what it
    gives, when it applies, and why.
    """

    name: str
    tile: Callable[[S, Hardware], Tile | None]


@dataclass(frozen=True)
class TilingFamily(Generic[S]):
    """Kernels that are cut by the same ``rules``: the first that gives a tile decides, so a rule says nothing
    of what those before it take.  ``subject`` is what the rules read.
    """

    name: str
    holds: Callable[[KernelShape], bool]
    subject: Callable[[KernelShape], S]
    rules: tuple[TilingRule[S], ...]

    def choice(self, shape: KernelShape, hardware: Hardware) -> Choice:
        """What the rules say of a kernel of the family.  Raises ``NoTiling``."""
        subject = self.subject(shape)
        for rule in self.rules:
            tile = rule.tile(subject, hardware)
            if tile is not None:
                return Choice(tile, rule.name)
        raise AssertionError(f"no rule of '{self.name}' gives a tile: the last has to fit every kernel")


def grid(dims: tuple[str, ...], block: int) -> tuple[Axis, ...]:
    """The axis of a program's blocks of ``dims``; none where there are no dims."""
    return (Axis(dims, block, "grid"),) if dims else ()


def full_accesses(shape: KernelShape) -> list[Access]:
    """The accesses that run over all dims of more than one point: the others are small."""
    dims = {d for d in shape.order if shape.size(d) > 1}
    return [a for a in shape.accesses if dims <= shape.kernel.op_dims[a.op]]


def elements_per_program(shape: KernelShape, hardware: Hardware) -> int:
    """Four warps of 32 bytes a thread: two 16-byte accesses in flight hide latency.  Half with four or more
    inputs over all dims, and while the values that live at once need more than SMALL_REGISTERS, or a thread
    more issue slots than the GPU's ``thread_slots``.  What is read once a row does not make tiles smaller.
    """
    whole = full_accesses(shape)
    widest = max((shape.element_bytes(a) for a in whole), default=shape.widest)
    per_thread = max(1, min(16, 32 // widest))
    if len(whole) - len(shape.kernel.stores) >= 4:
        per_thread = max(1, per_thread // 2)
    while per_thread > 1 and (
        per_thread * shape.live_values > SMALL_REGISTERS or per_thread * shape.slots > hardware.thread_slots
    ):
        per_thread //= 2
    return THREADS_OF_FOUR_WARPS * per_thread


def segments(extent: int, most: int, least: int = THREADS_OF_FOUR_WARPS) -> int:
    """The largest block from ``least`` to ``most`` that wastes at most an eighth of its lanes on ``extent``,
    else the one that wastes least.
    """
    blocks = [b for b in (most >> k for k in range(most.bit_length())) if b >= min(least, most)]
    waste = {b: -(-max(extent, 1) // b) * b for b in blocks}
    good = [b for b in blocks if waste[b] * 8 <= max(extent, 1) * 9]
    return good[0] if good else min(blocks, key=lambda b: (waste[b], -b))
