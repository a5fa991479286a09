"""What a kernel, a group of kernels or a call does, as plain numbers: what the clock is asked about."""

from ..base.dataclass import dataclass
from .transfers import Transfer


@dataclass(frozen=True)
class Work:
    """read, written: bytes of device memory.  slots: issue slots of scalar operations (``slots.py``).  flops:
    multiplications and additions of a matrix product, a convolution or attention, on elements of type
    ``element``.  transfer: what a collective moves between processes.

    What only models of kernels say: cached: bytes that are read through the L2 cache.  steps: how many that
    wait for each other.  busy: microseconds that multiprocessors are busy for beside all that.  launches: of
    kernels.  starts: of collectives, by the host.
    """

    read: int = 0
    written: int = 0
    slots: float = 0
    flops: float = 0
    element: str = "f32"
    transfer: Transfer | None = None
    cached: float = 0
    steps: float = 0
    busy: float = 0
    launches: int = 0
    starts: int = 0

    @property
    def bytes(self) -> int:
        return self.read + self.written


#: One launch that does nothing, and one collective that the host starts.
LAUNCH, START = Work(launches=1), Work(starts=1)
