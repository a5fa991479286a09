"""Small products, which bytes bound as kernels: which they are, and what they cost as a kernel and as a call
of the library.

There are two kinds of them:

- sums of 5 to 16 elements with at most 16 rows or columns, such as batches of small matrices, and many rows
  times a small matrix.  ``unroll-reductions`` writes most of them one by one, so the kernel is pointwise.
  Tensor cores multiply many rows of 16-bit elements.  Those with more than 16 columns were not measured;
- batches of dot products, and of matrices times vectors.  ``expand-dots`` makes reductions of rows of them.

The library runs a program for each matrix of a batch, however small, and is far from the speed of memory.
The constants are fitted to the products of ``test_small.py`` on an H200.
"""

import math

from ...base.hardware import Hardware
from ...ir.layout import ELEMENT_BYTES
from .few_rows import Unmeasured
from .product import SHORT, Product
from .tensor_cores import FEW
from .tiles import ProductForm

#: The most elements of a sum that is multiplied one by one, and the most rows or columns of the product.
LONGEST, NARROW = 16, 16
#: The most elements of a right factor of float32 that lies along the sum (16 x 16 with GELU behind: 176 us,
#: the library 98).
_ACROSS = 64
#: Types whose products tensor cores round.
_EXACT = ("f32", "f64")
#: Types that were measured.
_MEASURED = ("bf16", "f16", "f32")
#: Microseconds that the library takes at least for each matrix of a batch, where it is multiplied by another
#: one, and by a vector, of 16 bits; for each product of vectors, or of a matrix of float32 and a vector; for
#: each element of a dot product; and for each row of a product without a batch.
_MATRIX, _HALVES, _VECTOR, _ELEMENT, _ROW = 1.8e-3, 3e-3, 0.65e-3, 5e-6, 36e-6
#: The part of the device's bandwidth that a kernel reaches, and the library; the library with matrices of
#: float32 times vectors.
_KERNEL, _LIBRARY, _LIBRARY_VECTORS = 0.85, 0.944, 0.72
#: Clocks in which a multiprocessor reads two factors from its cache for each access to results, and the bytes
#: of an access.  It is 0.25 where the right factor lies along its columns, and 0.45 where it does not.
_CLOCKS, _ACCESS = 0.36, 16
#: Microseconds that a kernel takes beside a launch, and the library.
_KERNEL_STARTS, _LIBRARY_STARTS = 2.0, 2.2


def is_one_by_one(form: ProductForm) -> bool:
    """Whether the sums of a product are best multiplied one by one.

    Not where there is one column, as rows are reduced then; nor elements of 16 bits that fill blocks of rows,
    which tensor cores multiply.  A program of theirs takes one matrix of a batch: small ones leave it idle.
    """
    if not _is_narrow(form):
        return False
    return (
        form.element in _EXACT
        or min(form.m, form.n) <= FEW
        or (form.batch > 1 and max(form.m, form.n) <= NARROW)
    )


def is_small(form: ProductForm) -> bool:
    """Whether a product is a small one."""
    if form.images:
        return False
    vectors = form.batch > 1 and min(form.m, form.n) == 1
    return vectors or is_one_by_one(form) or (form.batch == 1 and _is_narrow(form))


def _is_narrow(form: ProductForm) -> bool:
    return SHORT < form.k <= LONGEST and 2 <= min(form.m, form.n) <= NARROW


def is_of_tiles(form: ProductForm) -> bool:
    """Whether tensor cores multiply a small product."""
    return min(form.m, form.n) > 1 and not is_one_by_one(form)


def unmeasured_small(product: Product) -> Unmeasured | None:
    """Why no measurement says what a small product costs; None where one does.

    The sizes of the sum and of the columns have to be known.  Both figures grow with all other sizes alike,
    so that hints do.
    """
    element = product.specs["left"].element
    if element not in _MEASURED:
        return Unmeasured("dtype", f"kernels that multiply {element} were not measured")
    rows, columns, summed = (product.size(role).constant for role in ("left", "right", "summed"))
    if summed is None:
        return Unmeasured("sizes", "how many elements are summed is not known when compiling")
    if rows == 1 or columns == 1:
        if not all(_lies_along(product, role, "k") for role in ("left", "right")):
            return Unmeasured("strides", "the factors do not lie along the dim that is summed")
    elif columns is None or columns > NARROW:
        return Unmeasured("sizes", f"at most {NARROW} columns, and known when compiling")
    elif not _lies_along(product, "right", "n") and (
        "b" in product.dims["right"] or (element == "f32" and columns * summed > _ACROSS)
    ):
        return Unmeasured("strides", "the right factor does not lie along its columns, and is read often")
    return None


def _lies_along(product: Product, role: str, dim: str) -> bool:
    return product.specs[role].strides[product.dims[role].index(dim)].constant == 1


def kernel_microseconds(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Of a small product as a kernel that moves ``moved`` bytes, beside its launch."""
    bytes_take, reading = moved / (hardware.bandwidth * _KERNEL * 1e3), 0.0
    results = form.batch * form.m * form.n
    if is_one_by_one(form):
        accesses = results / math.gcd(form.n, _ACCESS // ELEMENT_BYTES[form.element])
        reading = accesses * form.k * _CLOCKS / (hardware.sm_count * hardware.clock * 1e3)
    elif results < hardware.full_grid:  # a program for each
        bytes_take *= hardware.full_grid / max(1, results)
    return max(bytes_take, reading) + _KERNEL_STARTS


def library_microseconds(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Of a small product as a call of the library that moves ``moved`` bytes, beside its launch."""
    few, many = sorted((form.m, form.n))
    reached = _LIBRARY
    if form.batch == 1:
        programs = many * _ROW
    elif few > 1:
        programs = form.batch * _MATRIX
    elif many == 1:
        programs = form.batch * (_VECTOR + _ELEMENT * form.k)
    elif form.element == "f32":
        programs, reached = form.batch * _VECTOR, _LIBRARY_VECTORS
    else:
        programs = form.batch * _HALVES
    return max(moved / (hardware.bandwidth * reached * 1e3), programs) + _LIBRARY_STARTS
