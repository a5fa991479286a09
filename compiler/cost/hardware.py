"""A GPU, as rules and estimates see it: the vendor's figures, and the rates that its kernels reach of them.

``devices.py`` finds the model of a device; ``gpus`` has a file for each.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from ..base.dataclass import dataclass
from .rates import Rates


@dataclass(frozen=True)
class Link:
    """What connects GPUs, in GB/s of one direction.  ``host``: what NCCL reaches from a GPU to the others of
    its host; ``network``: of a GPU to other hosts; ``flagged``, ``flagged_network``: what NCCL's protocol
    LL, which sends a flag with every word, reaches at most in a host and between hosts; ``host_gpus``: GPUs
    of a host.
    """

    host: float
    network: float
    flagged: float
    flagged_network: float
    host_gpus: int = 8


#: NVLink 4: as measured with all-gathers of 370 MB between two H200, of 18 links of 20.6 GB/s.  NVLink 3: 12
#: links of 20.  These and the limits of LL are those of NCCL's tuning model; networks have 400 and 200 Gbit/s
#: for each GPU.
NVLINK4, NVLINK3 = Link(256.0, 50.0, 141.0, 45.0), Link(12 * 20.0, 25.0, 87.7, 22.5)
#: By data sheets: 18 links of 50 GB/s, and 7 of 64 to the other GPUs of a host; PCI Express with 16 lanes, of
#: versions 4 and 5, through the host.  LL reaches half of a link.
NVLINK5, XGMI = Link(18 * 50.0, 50.0, 141.0, 45.0), Link(7 * 64.0, 50.0, 141.0, 45.0)
PCIE4, PCIE5 = Link(24.0, 12.5, 12.0, 11.0), Link(48.0, 25.0, 24.0, 22.5)


#: Scalar operations that a multiprocessor issues in a clock.
LANES = 128
#: Bytes of memory that every GPU here moves at once.
SECTOR = 32
#: Speed of matrix products beside half precision.  float32 counts as tf32.
TENSOR_SPEED: Mapping[str, float] = {
    "bf16": 1.0, "f16": 1.0, "f8E4M3FN": 2.0, "f8E5M2": 2.0, "i8": 2.0, "f32": 0.5, "f64": 0.07,
}  # fmt: skip
#: Of what is not named there.
_OTHER_SPEED = 0.5


@dataclass(frozen=True)
class Hardware:
    """A GPU.  Bytes unless said; ``bandwidth`` in GB/s of device memory.  ``name``: the text that
    ``hardware_named`` takes.  ``rates``: what its kernels reach; models of one name have the same.
    """

    name: str
    sm_count: int
    rates: Rates = field(compare=False, repr=False)
    registers: int = 65536  #: 32-bit registers of an SM
    shared_bytes: int = 164 * 1024  #: shared memory that the programs of an SM can use
    l2_bytes: int = 40 << 20
    warp: int = 32
    max_warps: int = 16  #: of a program, as a rule; programs of long rows have twice as many
    #: Issue slots of a thread above which more threads take fewer elements each: a long chain of operations
    #: hides its latency by other threads, and each element is code of its own.
    thread_slots: int = 1024
    #: A slice of a reduction of so many issue slots pays for its start, however little it reads.
    slice_slots: int = 256 * 1024
    bandwidth: int = 1500
    clock: float = 1.5  #: GHz under load
    launch: float = 2.0  #: microseconds that a kernel costs beside its work; a round figure for all GPUs
    #: Microseconds that the start of a collective costs the host; as measured beside H200.
    start: float = 30.0
    tensor_tflops: int = 300  #: of matrix products in half precision; others in proportion
    link: Link = NVLINK3
    descriptors: bool = False  #: whether one instruction copies a whole tile
    #: Element types that tensor cores multiply, and their speed beside half precision.
    tensor_speed: Mapping[str, float] = field(default_factory=lambda: TENSOR_SPEED, compare=False, repr=False)
    words: tuple[str, ...] = field(default=(), compare=False)  #: one is in the name of every such device
    capability: tuple[int, int] = field(default=(0, 0), compare=False)  #: of such devices
    #: The GPU that most rates were measured on, where it is not this one.
    rates_of: str = field(default="", compare=False)

    @property
    def full_grid(self) -> int:
        """Programs that give every SM two: with fewer, some of the chip idles."""
        return 2 * self.sm_count

    @property
    def weighed_grid(self) -> int:
        """Programs of one warp that read what memory gives, where each sums the columns of a matrix."""
        return 15 * self.full_grid

    @property
    def slots_per_byte(self) -> int:
        """Issue slots that may be spent to move one byte less: two thirds of those that take as long, and no
        more than the 4 of an H200, as that many were measured.
        """
        return min(4, round(self.slots_per_second / (self.bandwidth * 1e9) * 2 / 3))

    @cached_property
    def slots_per_second(self) -> float:
        """Scalar operations that all lanes of all SMs issue in a second."""
        return self.sm_count * LANES * self.clock * 1e9

    def flops_per_second(self, element: str) -> float:
        """Peak of matrix products of an element type (an MLIR spelling)."""
        return self.tensor_tflops * 1e12 * self.tensor_speed.get(element, _OTHER_SPEED)
