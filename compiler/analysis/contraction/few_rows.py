"""Products of few rows: which they are, and what they cost as a kernel and as a call of the library.

Such a product reads each weight once, so bytes bound it: 1 to 4 rows of 14336 x 4096 weights in bfloat16 take
an H200 30 to 38 us, a copy of the bytes 29.  A kernel that widens its weights is estimated as one that
multiplies and sums.  No times on tensor cores were fitted for it: with int8, which they multiply faster, the
estimate is too long, and the library is taken more often than need be.
"""

from collections.abc import Mapping
from dataclasses import replace

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...ir.sizes import estimate
from .product import Product
from .tensor_cores import FEW_OF_PACKED, multiplies, multiplies_packed

#: Types that were measured.
_FLOATS = ("bf16", "f16", "f32")
#: Fewest elements of a sum: a kernel reads each row of weights as a row in memory, and shorter ones leave
#: most of a warp idle (800000 x 4 by 4 x 4 in float32: 122 us, the library 23; 262144 x 64 by 64 x 4 in
#: bfloat16: 82 us more than the library).
SHORTEST = 256


@dataclass(frozen=True)
class Unmeasured:
    """Why no measurement says what a product costs: the name of a rule, and a sentence.  ``enough``: a kernel
    that is estimated to take at most this part of the library's time is made all the same.
    """

    rule: str
    message: str
    enough: float = 0.0


@dataclass(frozen=True)
class FewRows:
    """A product of few rows with weights: the larger factor, which may be activations.

    ``rows``: how many; ``weights``: elements of the larger factor; ``multiplied``: whether tensor cores
    multiply them, if the kernel reads them as they are; ``packed``: how they are made of bytes where tensor
    cores multiply them then (``unpack-dots``), as ``Moved`` says, "" where they do not.
    """

    rows: int
    weights: int
    multiplied: bool = False
    packed: str = ""

    @staticmethod
    def of_sizes(rows: int, others: int, summed: int, element: str, packed: str = "") -> "FewRows":
        """Of ``rows`` rows times ``others`` rows of ``summed`` weights, which may be ``packed``."""
        sizes = rows, others, summed, element
        return FewRows(rows, summed * others, multiplies(*sizes), packed if multiplies_packed(*sizes) else "")

    @staticmethod
    def of(
        product: Product, most: int, hints: Mapping[str, int], packed: str = "", across: bool = False
    ) -> "FewRows | Unmeasured":
        """The product of two matrices as one of at most ``most`` rows, or why it is none.

        How many rows of weights there are may be unknown: both figures grow with them alike, so that the hint
        does.  ``across``: whether packed weights lie in memory across the sum.
        """
        left, right = product.specs["left"], product.specs["right"]
        if product.dims["left"] != "mk" or product.dims["right"] != "kn" or len(product.values) > 3:
            return Unmeasured("form", "kernels of other products than that of two matrices were not measured")
        m, n, k = (product.size(role).constant for role in ("left", "right", "summed"))
        few = [size for size in (m, n) if size is not None and size <= most]
        if k is None or (None in (m, n) and not few):
            return Unmeasured("sizes", "sizes that are known when compiling only, but for rows of weights")
        if left.element not in _FLOATS:
            return Unmeasured("dtype", f"kernels that multiply {left.element} were not measured")
        larger = "left" if m is None or (n is not None and n < m) else "right"
        weights, along = (left, 1) if larger == "left" else (right, 0)
        others = estimate(product.size(larger), hints)
        rows = min(few, default=0)
        if rows < 1 or m == n == 1:
            return Unmeasured(
                "rows", f"{m} rows and {n} columns: kernels multiply 1 to {most} of one of them"
            )
        if k < SHORTEST:
            return Unmeasured("short", f"sums of {k} elements: a kernel is worth it from {SHORTEST} on")
        if weights.strides[along].constant != 1 and not across:
            return Unmeasured("strides", "the weights do not lie along the dim that is summed")
        if weights.strides[1 - along].constant is None:
            return Unmeasured("strides", "the distance between rows of weights is not known when compiling")
        return FewRows.of_sizes(rows, others, k, left.element, packed)

    def as_kernel(self, hardware: Hardware, moved: int, widened: bool) -> float:
        """As a kernel that moves ``moved`` bytes.  ``widened``: it makes the weights of fewer bytes."""
        rates = hardware.rates.few_rows
        if self.packed:
            more = {"moved": rates.moved_slots, "looked-up": rates.looked_up_slots}
            each = more.get(self.packed, rates.packed_slots)
            each *= rates.of_many_rows if self.rows > FEW_OF_PACKED else 1.0
            work = Work(moved, slots=self.weights * each, launches=1)
            return microseconds(work, hardware, rates.tensor_cores)
        if self.multiplied and not widened:
            return microseconds(Work(moved, launches=1), hardware, rates.tensor_cores)
        slots = self.weights * (rates.weight_slots + rates.row_slots * self.rows)
        reached = rates.kernel.bandwidth - rates.row_bandwidth * (self.rows - 1)
        regime = replace(rates.kernel, bandwidth=reached)
        return microseconds(Work(moved, slots=slots, launches=1), hardware, regime)

    @staticmethod
    def as_call(hardware: Hardware, moved: int, launches: int) -> float:
        """As a call of the library, with the kernels around it: ``launches`` with it."""
        return microseconds(Work(moved, launches=launches), hardware, hardware.rates.few_rows.call)


@dataclass(frozen=True)
class ComputedRow:
    """A row of ``length`` elements that ``programs`` compute, each with ``weight`` issue slots an element and
    ``read`` bytes, for products with ``weights`` numbers of ``moved`` bytes.
    """

    length: int
    weight: int
    read: int
    programs: int
    weights: int
    moved: int

    def microseconds(self, hardware: Hardware) -> float:
        """More than where the row is loaded."""
        rates = hardware.rates.few_rows
        slots = self.weights * (rates.weight_slots + rates.row_slots)
        loaded = Work(self.moved, slots=slots)
        again = slots + self.programs * self.length * self.weight
        computed = Work(self.moved, slots=again, cached=self.programs * self.read, steps=1)
        return microseconds(computed, hardware, rates.computed) - microseconds(loaded, hardware, rates.kernel)
