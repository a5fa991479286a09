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
#: Bytes of a kernel's arguments: CUDA's limit is 4096, of which Triton takes two addresses.
MOST_ARGUMENT_BYTES = 4096 - 16


@dataclass(frozen=True)
class Part:
    """One kernel call that could share a launch.

    form: what must be equal for two calls to share their code: the kernel and its arguments that are no
    tensors.  resources: the stages of loops, which belong to a launch as a whole, the device, and the kernel
    where it multiplies tiles: the parts of a launch add up their shared memory, which operands fill.  warps:
    of a program.  programs and moved: of this call under the hints, ``moved`` in bytes.  ops: size of the
    code.  arguments: values that it takes, by number.  plain: straight-line code without reductions.
    elements: of its tile.
    """

    node: int
    name: str
    form: tuple[object, ...]
    resources: tuple[object, ...]
    warps: int
    programs: int
    moved: int
    ops: int
    arguments: frozenset[int]
    plain: bool
    elements: int

    def idles(self, hardware: Hardware) -> bool:
        """Whether it leaves multiprocessors idle: the time of such a kernel is latency."""
        return self.programs <= hardware.full_grid

    def microseconds(self, hardware: Hardware) -> float:
        """What moving its bytes takes."""
        return microseconds(Work(self.moved), hardware, hardware.rates.streaming.rows)

    def is_small(self, hardware: Hardware) -> bool:
        """Whether the kernel takes at most ``MOST_LAUNCHES`` times as long as a launch costs."""
        launch = microseconds(LAUNCH, hardware, hardware.rates.streaming.rows)
        return self.idles(hardware) or self.microseconds(hardware) <= MOST_LAUNCHES * launch


def refusal(parts: Sequence[Part], new: Part, hardware: Hardware, max_ops: int) -> str | None:
    """Why ``new`` should not share the launch of ``parts``: the name of a rule; None when it should.

    All parts are small.  Parts with different code may share a launch where each is too small to fill the
    GPU, or where all are straight-line code on tiles of one size: each program gets the registers of the
    part that needs most, which slows the others only if they would fill the GPU.  Likewise parts that do not
    fill it may run with more warps than their tiles ask for; tile code is the same for any number of warps.
    """
    if new.resources != parts[0].resources:
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
    alike = all(p.plain and p.elements == new.elements for p in (*forms.values(), new))
    if not alike and not idle:
        return "unlike"
    if sum(p.ops for p in forms.values()) + new.ops > max_ops:
        return "code-size"
    return None
