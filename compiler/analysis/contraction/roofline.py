"""What a product costs as a kernel on tensor cores and as a call of the library, by one roofline.

A program computes a block of the result, so a result whose rows or columns are no multiple of the block is
computed in part for nothing, and so are the multiprocessors that the last wave of programs leaves idle.
Beside that, bytes bound it.  Both sides have the same model; they differ in constants, in the blocks to
choose from, and in what is moved around the product (``surroundings.py``).

None of the constants of this file is fitted yet: the suite ``contractions`` on a GPU has to.  Until then
``choose-libraries`` prints the figures and goes by them for nothing but products of few rows
(``few_rows.py``), which has measured constants of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ...base.hardware import Hardware
from ...ir.sizes import estimate
from .product import Product
from .surroundings import Moved


@dataclass(frozen=True)
class Peak:
    """What one side reaches.

    compute:   the part of the tensor cores' peak, in a wave of full blocks.  To be fitted to 4096^3 and
               8192^3 in bf16 (the known figures of an H200 and an H100 are 0.7 to 0.8 of 990 TFLOPS for the
               library).
    bandwidth: the part of the device's bandwidth.  To be fitted to 64 rows of 14336 x 4096 weights.
    starts:    microseconds beside a launch.  To be fitted to products of 512^3.
    blocks:    rows and columns of the blocks to choose from.
    """

    compute: float
    bandwidth: float
    starts: float
    blocks: tuple[tuple[int, int], ...]


_BLOCKS = ((128, 256), (256, 128), (128, 128), (128, 64), (64, 128), (64, 64), (16, 128), (128, 16))
_KERNEL = Peak(0.6, 0.88, 2.2, _BLOCKS)
_LIBRARY = Peak(0.75, 0.944, 2.2, (*_BLOCKS, (256, 256)))

#: Multiplications for each element that a program reads, from which on reading does not slow it: those of a
#: block of 128 x 128.  To be fitted together with ``compute``, by forcing blocks.
_REUSE = 64

#: Steps of the summed dim that a block takes: a summed dim that is no multiple of it is computed in part for
#: nothing.
_STEP = 32


def roofline(
    product: Product, moved: Moved, hints: Mapping[str, int], hardware: Hardware
) -> tuple[float, float]:
    """Microseconds of a product as a kernel with what is around it, and as a call of the library beside
    that."""
    sizes = tuple(estimate(product.size(role), hints) for role in ("batch", "left", "right", "summed"))
    element = product.specs["left"].element
    launches = moved.call_launches * hardware.launch
    return (
        _microseconds(_KERNEL, sizes, element, moved.fused_bytes, hardware) + hardware.launch,
        _microseconds(_LIBRARY, sizes, element, moved.call_bytes, hardware) + launches,
    )


def _microseconds(peak: Peak, sizes: tuple[int, ...], element: str, moved: int, hardware: Hardware) -> float:
    """The largest of compute and bytes, and what it takes to start.  ``sizes``: batch, rows, columns,
    summed."""
    batch, rows, columns, summed = sizes
    flops = hardware.flops_per_second(element) * peak.compute / hardware.sm_count * 1e-6
    depth = -(-summed // _STEP) * _STEP
    compute = min(
        -(-batch * -(-rows // m) * -(-columns // n) // hardware.sm_count)
        * (2 * m * n * depth / (flops * min(1.0, m * n / (m + n) / _REUSE)))
        for m, n in peak.blocks
    )
    return max(compute, moved / (hardware.bandwidth * peak.bandwidth * 1e3)) + peak.starts
