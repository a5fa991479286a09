"""What attention that a program spells out costs with its gradients: as kernels that have no scores in
memory, and as calls of the library that save them.
"""

from ..base.dataclass import dataclass
from .clock import microseconds
from .hardware import Hardware
from .work import Work

#: Products of the forward pass and of the backward pass, each of as many multiplications as there are scores
#: times numbers of a head: as calls; and as kernels, which compute scores again for dq and for dk and dv.
_CALL_PRODUCTS, _KERNEL_PRODUCTS = 2 + 4, 2 + 7
#: Kernels of both passes, and calls with the kernels between them.
_KERNELS, _CALLS = 4, 8
#: Kernels that read what is beside the scores, and how many compute the gradients of scores.
_READING, _OF_GRADIENTS = 3, 2
#: How often scores, or as many numbers of 16 bits, are written or read between calls.
_PASSES, _PASSES_OF_SOFTMAX = 11, 12


@dataclass(frozen=True)
class SpelledGradients:
    """scores: how many there are, of all heads, and ``part`` of them in blocks that a mask does not exclude.
    head: numbers of a query and of a value, on average.  element: their type.  slots: issue slots between the
    products of the forward pass for a score; more: those of its gradient.  moved: bytes of what is read and
    written for each row; beside: bytes that are read for a score, such as of a bias.  softmax: whether rows
    are reduced.  apart: whether the gradients of keys and of values are a kernel each.
    """

    scores: int
    part: float
    head: int
    element: str
    slots: int
    more: int
    moved: int
    softmax: bool
    beside: int = 0
    apart: bool = False

    def kernels_us(self, hardware: Hardware) -> float:
        """Microseconds of the kernels of the result, of what its gradient sums of a row, of dq, and of dk and
        dv, which may be one.
        """
        admitted, reading = self.scores * self.part, _READING + self.apart
        work = Work(
            self.moved + int(reading * self.beside * admitted),
            slots=admitted * (reading * self.slots + _OF_GRADIENTS * self.more),
            flops=2 * (_KERNEL_PRODUCTS + self.apart) * admitted * self.head,
            element=self.element,
            launches=_KERNELS + self.apart,
        )
        return microseconds(work, hardware, hardware.rates.chains.gradients)

    def calls_us(self, hardware: Hardware) -> float:
        """Microseconds of the library's products, and of what passes over scores between them."""
        passes = 2 * (_PASSES_OF_SOFTMAX if self.softmax else _PASSES) + self.beside
        work = Work(
            passes * self.scores + 3 * self.moved,
            flops=2 * _CALL_PRODUCTS * self.scores * self.head,
            element=self.element,
            launches=_CALLS,
        )
        return microseconds(work, hardware, hardware.rates.chains.saved_scores)

    def pays(self, hardware: Hardware) -> bool:
        """Whether kernels are estimated to take no longer than calls, but for a little: they hold less."""
        return self.kernels_us(hardware) <= hardware.rates.chains.for_memory * self.calls_us(hardware)


__all__ = ["SpelledGradients"]
