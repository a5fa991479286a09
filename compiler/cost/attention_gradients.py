"""What attention that a program spells out costs with its gradients: as kernels that have no scores in
memory, and as calls of the library that save them.
"""

from ..base.dataclass import dataclass
from .clock import microseconds
from .hardware import Hardware
from .work import Work

#: Products of the forward pass and of the backward pass, each of as many multiplications as there are scores
#: times numbers of a head: as kernels, which compute scores again for each gradient, and as calls.
_KERNEL_PRODUCTS, _CALL_PRODUCTS = 2 + 8, 2 + 4
#: Kernels of both passes, and calls with the kernels between them.
_KERNELS, _CALLS = 5, 8
#: Kernels that read what is beside the scores.
_READING = 4
#: How often scores, or as many numbers of 16 bits, are written or read between calls.
_PASSES, _PASSES_OF_SOFTMAX = 11, 12


@dataclass(frozen=True)
class SpelledGradients:
    """scores: how many there are, of all heads, and ``part`` of them in blocks that a mask does not exclude.
    head: numbers of a query and of a value, on average.  element: their type.  slots: issue slots between the
    products of the forward pass for a score; more: those of its gradient.  moved: bytes of what is read and
    written for each row; beside: bytes that are read for a score, such as of a bias.  softmax: whether rows
    are reduced.
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

    def kernels_us(self, hardware: Hardware) -> float:
        """Microseconds of five kernels: the result, what its gradient sums of a row, and dv, dk and dq."""
        admitted = self.scores * self.part
        slots = 4 * self.slots + 2 * self.more
        work = Work(
            self.moved + int(_READING * self.beside * admitted),
            slots=admitted * slots,
            flops=2 * _KERNEL_PRODUCTS * admitted * self.head,
            element=self.element,
            launches=_KERNELS,
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
