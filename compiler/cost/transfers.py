"""How long a collective takes: the model that NCCL chooses its algorithms by, for its ring.

A ring of ``n`` ranks moves the bytes in steps.  An all-gather or a reduce-scatter has ``n - 1`` steps, in
each of which every rank sends one ``n``-th of the bytes; an all-reduce is both, one after the other.  A
step costs the latency of its link, and the whole costs a start besides:

    time = start + steps within a host * latency + steps between hosts * latency between hosts
           + bytes * share / bandwidth

NCCL has three protocols, which trade latency for bandwidth; the fastest counts.  The constants of the
protocols are those of NCCL's tuning model (``src/graph/tuning.cc``), the bandwidths of links are in
``hardware.py``.  Which ranks share a host is not known: ranks are taken to fill one host after the other.
"""

from typing import Literal

from ..base.dataclass import dataclass
from .hardware import Link
from .rates import Rate, RateSource

#: How many times as long a collective takes beside other calls, with which it shares memory and
#: multiprocessors.
BESIDE = Rate(1.7, "x", RateSource("products beside collectives on two GPUs", "H200", "2026-11-23"))

#: What a collective does with the bytes.
Pattern = Literal["all-gather", "reduce-scatter", "all-reduce", "all-to-all", "broadcast"]


@dataclass(frozen=True)
class _Protocol:
    """start, step, step_between: microseconds, of a collective and of a step within a host and between hosts.
    share: of a link's bandwidth, what is left for data.  flagged: it reaches no more than the link says.
    """

    start: float
    step: float
    step_between: float
    share: float
    flagged: bool = False

    def bandwidth(self, link: Link, hosts: int) -> float:
        """Bytes a second that a rank sends.  Between hosts, the rings of a host share its network cards, of
        which it has one for each GPU.
        """
        whole = link.host if hosts == 1 else min(link.host, link.network * link.host_gpus)
        most = whole if not self.flagged else link.flagged if hosts == 1 else link.flagged_network
        return min(whole * self.share, most) * 1e9


#: "LL" and "LL128", which send a flag with every 4 and every 120 bytes, and "Simple", which sends none.
_PROTOCOLS = (
    _Protocol(6.6, 0.6, 2.7, 0.5, flagged=True),
    _Protocol(14.0, 1.9, 4.0, 120 / 128),
    _Protocol(8.4, 3.4, 14.0, 1.0),
)


@dataclass(frozen=True)
class Transfer:
    """What a collective moves between ``ranks`` processes, each of which has a GPU.

    bytes: of an all-gather those of the whole result, of a reduce-scatter those of the whole operand, of any
    other those of the operand.
    """

    pattern: Pattern
    bytes: int
    ranks: int

    @property
    def sent(self) -> int:
        """Bytes that each rank sends."""
        if self.pattern == "broadcast":
            return self.bytes if self.ranks > 1 else 0
        twice = 2 if self.pattern == "all-reduce" else 1
        return twice * self.bytes * (self.ranks - 1) // max(self.ranks, 1)

    def seconds(self, link: Link) -> float:
        """The time on a link, without waiting for other ranks."""
        hosts = -(-self.ranks // link.host_gpus)
        rounds = 2 if self.pattern == "all-reduce" else 1
        between = rounds * (hosts - 1)
        within = rounds * (self.ranks - 1) - between
        return min(
            (p.start + within * p.step + between * p.step_between) * 1e-6
            + self.sent / p.bandwidth(link, hosts)
            for p in _PROTOCOLS
        )
