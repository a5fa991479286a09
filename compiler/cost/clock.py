"""The only clock: what work takes on a GPU, in a regime.

    time = longest of regime.overlap, of each the sum of its terms
           + regime.starts + launches * gpu.launch + starts * gpu.start

A term is an amount of work over what the regime reaches of the GPU's peak, such as bytes over a part of the
bandwidth.  Analyses say what work is done, and ask; nothing outside of this package reads a GPU's rates.
"""

from collections.abc import Callable, Mapping
from math import inf

from .hardware import Hardware
from .rates import Regime, Term
from .work import Work


def microseconds(work: Work, gpu: Hardware, regime: Regime) -> float:
    """The time of ``work``, in microseconds, launches included."""
    longest = -inf  # what is saved counts as less than nothing
    for group in regime.overlap:  # loops, as products are estimated in hundreds of blocks
        together = 0.0
        for term in group:
            together += _TERMS[term](work, gpu, regime)
        if together > longest:
            longest = together
    return longest + regime.starts + work.launches * gpu.launch + work.starts * gpu.start


def seconds(work: Work, gpu: Hardware, regime: Regime) -> float:
    """The same in seconds."""
    return microseconds(work, gpu, regime) * 1e-6


def _memory(work: Work, gpu: Hardware, regime: Regime) -> float:
    return (work.read + work.written) / (gpu.bandwidth * regime.bandwidth * 1e3)


def _cache(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.cached / (gpu.sm_count * regime.cache * gpu.clock * 1e3)


def _issue(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.slots / (gpu.slots_per_second * regime.issue) * 1e6


def _multiply(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.flops / (gpu.flops_per_second(work.element) * regime.multiply) * 1e6


def _steps(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.steps * regime.step


def _busy(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.busy


def _link(work: Work, gpu: Hardware, regime: Regime) -> float:
    return work.transfer.seconds(gpu.link) * 1e6 if work.transfer is not None else 0.0


_TERMS: Mapping[Term, Callable[[Work, Hardware, Regime], float]] = {
    "memory": _memory,
    "cache": _cache,
    "issue": _issue,
    "multiply": _multiply,
    "steps": _steps,
    "busy": _busy,
    "link": _link,
}
