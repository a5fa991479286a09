"""Which kernel calls may share one launch, and whether that saves time: rules over plain numbers.

A launch has a fixed cost of some microseconds between kernels: the command, filling the chip, and draining
it.  Calls that share a launch pay it once, and a small one runs on the multiprocessors that another leaves
idle.
"""

from collections.abc import Sequence

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import LAUNCH, Work

#: A kernel that works longer than this many launches cost gains too little from sharing one.
MOST_LAUNCHES = 32
#: The same of kernels that reduce, fill the GPU, and differ: their registers differ, too.  Three products of
#: one row of 2048 take 4.1, 2.5 and 2.5 us on an H200, of which half is the beginning and end of a launch.
MOST_LAUNCHES_OF_SUMS = 8
#: Bytes of a kernel's arguments: CUDA's limit is 4096, of which Triton takes two addresses.
MOST_ARGUMENT_BYTES = 4096 - 16


@dataclass(frozen=True)
class Part:
    """One kernel call that could share a launch.

    form: what must be equal for two calls to share their code: the kernel and its arguments that are no
    tensors.  resources: the device, and the kernel where it multiplies tiles: the parts of a launch add up
    their shared memory, which operands fill.  stages: of its loops, which belong to a launch as a whole; None
    where it has no loop.  warps: of a program.  programs and moved: of this call under the hints, ``moved``
    in bytes.  ops: size of the code.  arguments: values that it takes, by number.  plain: straight-line code
    without reductions.  elements: of its tile.  ahead: its tile loads in front of what it reduces.
    """

    node: int
    name: str
    form: tuple[object, ...]
    resources: tuple[object, ...]
    stages: int | None
    warps: int
    programs: int
    moved: int
    ops: int
    arguments: frozenset[int]
    plain: bool
    elements: int
    ahead: bool = False

    def idles(self, hardware: Hardware) -> bool:
        """Whether it leaves multiprocessors idle: the time of such a kernel is latency."""
        return self.programs <= hardware.full_grid

    def microseconds(self, hardware: Hardware) -> float:
        """What moving its bytes takes."""
        return microseconds(Work(self.moved), hardware, hardware.rates.streaming.rows)

    def is_small(self, hardware: Hardware, most: int = MOST_LAUNCHES) -> bool:
        """Whether the kernel takes at most ``most`` times as long as a launch costs."""
        launch = microseconds(LAUNCH, hardware, hardware.rates.streaming.rows)
        return self.idles(hardware) or self.microseconds(hardware) <= most * launch


def refusal(parts: Sequence[Part], new: Part, hardware: Hardware, max_ops: int) -> str | None:
    """Why ``new`` should not share the launch of ``parts``: the name of a rule; None when it should.

    All parts are small.  Parts with different code may share a launch where each is too small to fill the
    GPU, or where all work on tiles of one size, and all are straight-line code without reductions, or all are
    short and have an argument in common, as products of one row do: each program gets the registers of the
    part that needs most, which slows the others only if they would fill the GPU.  Likewise parts that do not
    fill it may run with more warps than their tiles ask for; tile code is the same for any number of warps.
    """
    stages = {p.stages for p in (*parts, new) if p.stages is not None}
    if new.resources != parts[0].resources or len(stages) > 1:
        return "resources"
    arguments = frozenset.union(new.arguments, *(p.arguments for p in parts))
    if 8 * len(arguments) > MOST_ARGUMENT_BYTES:
        return "arguments"
    idle = all(p.idles(hardware) for p in (*parts, new))
    if not idle and any(p.warps != new.warps for p in parts):
        return "warps"
    forms = {p.form: p for p in parts}
    if new.form in forms:
        return None
    different = (*forms.values(), new)
    alike = all(p.elements == new.elements for p in different)
    if not idle and not (alike and (all(p.plain for p in different) or _are_sums(different, hardware))):
        return "unlike"
    if sum(p.ops for p in forms.values()) + new.ops > max_ops:
        return "code-size"
    return None


def _are_sums(parts: Sequence[Part], hardware: Hardware) -> bool:
    """Whether all of them loop or reduce, work for a short time, and have an argument in common."""
    short = all(not p.plain and p.is_small(hardware, MOST_LAUNCHES_OF_SUMS) for p in parts)
    return short and bool(frozenset.intersection(*(p.arguments for p in parts)))
