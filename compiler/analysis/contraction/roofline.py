"""What a product costs as a kernel on tensor cores and as a call of the library.

The kernel's time is that of the blocks that tiling will choose (``tiles.py``).  The library's is a roofline:
a program computes a block of the result, so a result whose rows or columns are no multiple of the block is
computed in part for nothing, and so are the multiprocessors that the last wave of programs leaves idle.
Beside that, bytes bound it.  What is moved around the product (``surroundings.py``) differs, too.

The constants are fitted to fifteen shapes of products in bf16 on an H200, 64 to 65536 rows, 64 to 14336
summed elements.  Estimates are within 10% of most.  Both are too low by up to a third where few elements are
summed and the result is large (8192 x 8192 x 512), since its stores are not hidden.
"""

from dataclasses import replace
from functools import lru_cache

from ...base.hardware import Hardware
from .few_rows import Unmeasured
from .product import Product
from .tensor_cores import FEW
from .tiles import ProductForm, blocks_for, microseconds

#: What the library reaches of the tensor cores' peak in a wave of full blocks.
_COMPUTE = 0.82
#: The part of the device's bandwidth that a kernel reaches, and the library.
KERNEL_BANDWIDTH, _LIBRARY = 0.88, 0.944
#: Microseconds that either takes beside a launch.
STARTS = 4.3

#: Blocks of rows and columns.
_BLOCKS = ((128, 256), (256, 128), (128, 128), (128, 64), (64, 128), (64, 64), (16, 128), (128, 16))

#: Multiplications for each element that a program reads, from which on reading does not slow it: those of a
#: block of 128 x 64.
_REUSE = 43

#: Steps of the summed dim that a block takes.
_STEP = 32

#: The part of the library's time that a kernel is to take at most.  Of 28 products (suite ``products``), the
#: nine whose estimate is below took 0.39 to 0.96 of the time of the call and what is around it; those between
#: it and 1 took 0.81 to 1.17.
MARGIN = 0.87

#: Element types that were measured, and elements of a vector of them.
_MEASURED, _VECTOR = ("bf16", "f16"), 8


def unmeasured(product: Product) -> Unmeasured | None:
    """Why the estimates say nothing about a product; None where they do."""
    if not all(spec.is_static for spec in product.specs.values()):
        return Unmeasured("sizes", "sizes that are known when compiling only")
    left, right = product.specs["left"], product.specs["right"]
    if left.element not in _MEASURED:
        return Unmeasured("dtype", f"kernels that multiply {left.element} were not measured")
    if not product.dims["left"].endswith("mk") or not product.dims["right"].endswith("kn"):
        return Unmeasured("form", "kernels of other products than of matrices were not measured")
    for spec in (left, right):
        strides = [s.constant or 0 for s in spec.strides[-2:]]
        if 1 not in strides or any(s != 1 and s % _VECTOR for s in strides):
            return Unmeasured("strides", "rows of a factor do not start at multiples of 16 bytes")
    if min(product.size(role).constant or 0 for role in ("left", "right")) <= FEW:
        return Unmeasured("few-rows", f"at most {FEW} rows or columns are not multiplied on tensor cores")
    return None


@lru_cache(maxsize=1 << 10)
def kernel_microseconds(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """As a kernel of the blocks that tiling chooses, beside its launch."""
    if not form.batch * form.m * form.n:
        return 0.0
    blocks = blocks_for(form, hardware)
    if blocks.swap:
        form, blocks = form.transposed, replace(blocks, m=blocks.n, n=blocks.m)
    return (
        max(microseconds(form, blocks, hardware), moved / (hardware.bandwidth * KERNEL_BANDWIDTH * 1e3))
        + STARTS
    )


def library_microseconds(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """As a call of the library, beside its launch: the larger one of compute and bytes."""
    flops = hardware.flops_per_second(form.element) * _COMPUTE / hardware.sm_count * 1e-6
    depth = -(-form.k // _STEP) * _STEP
    compute = min(
        -(-form.batch * -(-form.m // m) * -(-form.n // n) // hardware.sm_count)
        * (2 * m * n * depth / (flops * min(1.0, m * n / (m + n) / _REUSE)))
        for m, n in _BLOCKS
    )
    return max(compute, moved / (hardware.bandwidth * _LIBRARY * 1e3)) + STARTS
