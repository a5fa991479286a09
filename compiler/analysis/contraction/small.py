"""Small products, which bytes bound as kernels: which they are, and what they cost as a kernel and as a call
of the library.

There are three kinds of them:

- sums of 5 to 16 elements with at most 16 rows or columns, such as batches of small matrices, and many rows
  times a small matrix.  ``unroll-reductions`` writes most of them one by one, so the kernel is pointwise.
  Tensor cores multiply many rows of 16-bit elements.  Those with more than 16 columns were not measured;
- batches of matrices of 16 or 32 rows and columns, each of which a program multiplies as one block, or
  four of 16 in 16 bits (``is_tiny``);
- batches of dot products, and of matrices times vectors.  ``expand-dots`` makes reductions of rows of them,
  or of columns, where the matrix lies along these.

The library runs a program for each matrix of a batch, however small, and is far from the speed of memory.
"""

import math
from dataclasses import replace

from ...cost.clock import microseconds
from ...cost.hardware import LANES, Hardware
from ...cost.rates import SmallRates
from ...cost.work import Work
from ...ir.layout import ELEMENT_BYTES
from . import roofline
from .few_rows import Unmeasured
from .product import SHORT, Product
from .surroundings import Moved
from .tensor_cores import FEW
from .tiles import ProductForm

#: The most elements of a sum that is multiplied one by one, and the most rows or columns of the product.
LONGEST, SMALL_COLUMNS = 16, 16
#: Rows, columns and summed elements that one block holds.
_EXTENTS = (16, 32)
#: Matrices of 16 rows and columns of a program: a block of results then has an element of 16 bytes for each
#: thread of four warps.
MATRICES = 4
#: The most elements of a right factor of a batch that is multiplied one by one and lies along the sum.
_ACROSS = 64
#: Types whose products tensor cores round.
_EXACT = ("f32", "f64")
#: Types of 16 bits that tensor cores multiply.
_HALVES = ("bf16", "f16")
#: Types that were measured, and bytes of the widest access.
_MEASURED, _VECTOR = ("bf16", "f16", "f32"), 16
#: Columns of a program that sums those of a matrix (the tiling rule ``weighed-rows``).
WEIGHED_COLUMNS = 128

#: Bytes of an access to results.
_ACCESS = 16


def is_one_by_one(form: ProductForm) -> bool:
    """Whether the sums of a product are best multiplied one by one.

    Not where there is one column, as rows are reduced then; nor elements of 16 bits that fill blocks of rows,
    which tensor cores multiply.  A program of theirs takes one matrix of a batch: small ones leave it idle,
    and yet are faster so where each thread would read elements of the right factor far apart.  It takes
    several of 16 rows and columns.
    """
    if not _is_narrow(form) or (form.turned and _fills_block(form)) or is_tiny(form):
        return False
    return (
        form.element in _EXACT
        or min(form.m, form.n) <= FEW
        or (form.batch > 1 and max(form.m, form.n) <= SMALL_COLUMNS)
    )


def is_tiny(form: ProductForm) -> bool:
    """Whether tensor cores multiply matrices of a batch with 16 rows, columns and summed elements of 16 bits,
    ``MATRICES`` of them in a program.
    """
    squares = form.m == form.n == form.k == _EXTENTS[0] and form.batch >= MATRICES
    return squares and form.element in _HALVES and not form.turned


def in_blocks(form: ProductForm) -> bool:
    """Whether a program multiplies a matrix of a batch as one block, as was measured: float32 is exact."""
    return form.exact and _fills_block(form) and not is_one_by_one(form)


def is_small(form: ProductForm) -> bool:
    """Whether a product is a small one."""
    if form.images or form.segments > 1:
        return False
    narrow = is_one_by_one(form) or (form.batch == 1 and _is_narrow(form))
    return _has_vectors(form) or narrow or in_blocks(form)


def _has_vectors(form: ProductForm) -> bool:
    return form.batch > 1 and min(form.m, form.n) == 1


def _is_aligned(form: ProductForm) -> bool:
    """Whether rows along the sum start at multiples of 16 bytes.  Columns are summed of no others."""
    return form.turned or form.k * ELEMENT_BYTES[form.element] % _VECTOR == 0


def _is_narrow(form: ProductForm) -> bool:
    return SHORT < form.k <= LONGEST and 2 <= min(form.m, form.n) <= SMALL_COLUMNS


def is_of_tiles(form: ProductForm) -> bool:
    """Whether tensor cores multiply a small product."""
    return form.on_tensor_cores and min(form.m, form.n) > 1 and not is_one_by_one(form)


def _fills_block(form: ProductForm) -> bool:
    return form.batch > 1 and all(extent in _EXTENTS for extent in (form.m, form.n, form.k))


def unmeasured_small(product: Product, form: ProductForm, moved: Moved) -> Unmeasured | None:
    """Why no measurement says what a small product with what is around it costs; None where one does.

    The sizes of the sum and of the columns have to be known, but for columns of a matrix that a vector
    multiplies.  Both figures grow with all other sizes alike, so that hints do.
    """
    element = product.specs["left"].element
    if element not in _MEASURED:
        return Unmeasured("dtype", f"kernels that multiply {element} were not measured")
    rows, columns, summed = (product.size(role).constant for role in ("left", "right", "summed"))
    if summed is None:
        return Unmeasured("sizes", "how many elements are summed is not known when compiling")
    if form.turned and (rows == 1 or columns == 1):
        return _unmeasured_columns(product, columns == 1)
    if rows == 1 or columns == 1:
        if not all(product.lies_along(role, "k") for role in ("left", "right")):
            return Unmeasured("strides", "the factors do not lie along the dim that is summed")
    elif in_blocks(form):
        return _unmeasured_blocks(product, moved)
    elif columns is None or columns > SMALL_COLUMNS:
        return Unmeasured("sizes", f"at most {SMALL_COLUMNS} columns, and known when compiling")
    elif form.turned and "b" in product.dims["right"] and not _reads_columns(product, columns * summed):
        return Unmeasured("strides", "the right factor does not lie along its columns, and is read often")
    return None


def _reads_columns(product: Product, elements: int) -> bool:
    """Whether reading so many elements of a turned right factor one by one was measured."""
    return elements <= _ACROSS and product.lies_along("right", "k")


def _unmeasured_columns(product: Product, left: bool) -> Unmeasured | None:
    """The same of a matrix times a vector whose columns are summed.  ``left``: whether it is the left
    factor."""
    role, along = ("left", "m") if left else ("right", "n")
    spec, dims = product.specs[role], product.dims[role]
    distance = spec.strides[dims.index("k")].constant
    if not product.lies_along(role, along):
        return Unmeasured("strides", "neither rows nor columns of the matrix lie together")
    if distance is None or distance * spec.element_bytes % _VECTOR:
        return Unmeasured("strides", "rows of the matrix do not start at multiples of 16 bytes")
    return None


def _unmeasured_blocks(product: Product, moved: Moved) -> Unmeasured | None:
    """The same of a batch of matrices, each of which one block holds."""
    roles = ("left", "right")
    if None in (product.size(role).constant for role in roles):
        return Unmeasured("sizes", "matrices whose sizes are not known when compiling")
    for role in roles:
        strides = [s.constant for s in product.specs[role].strides[-2:]]
        vector = _VECTOR // product.specs[role].element_bytes
        if 1 not in strides or any(s is None or (s != 1 and s % vector) for s in strides):
            return Unmeasured("strides", "rows of a factor do not start at multiples of 16 bytes")
    return roofline.unmeasured_around(moved)


def margin(form: ProductForm, library: float, hardware: Hardware) -> float:
    """The part of ``library`` microseconds that a kernel is to take at most, with nothing in front.  With
    vectors, both read at the speed of memory.
    """
    margins = hardware.rates.margins
    if _has_vectors(form) and library >= margins.vectors_from:
        return margins.vectors
    return roofline.margin(library, hardware)


def as_kernel(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Microseconds of a small product as a kernel that moves ``moved`` bytes, beside its launch."""
    rates = hardware.rates.small
    regime = rates.vectors if _has_vectors(form) and _is_aligned(form) else rates.kernel
    results, busy, slots, idle = form.batch * form.m * form.n, 0.0, 0.0, 1.0
    if is_one_by_one(form):
        accesses = results / math.gcd(form.n, _ACCESS // ELEMENT_BYTES[form.element])
        slots = LANES * accesses * form.k * _clocks(form, rates)
    elif in_blocks(form):
        exact = form.m * form.n * form.k * rates.block_exact if form.element == "f32" else 0.0
        programs = form.batch / (MATRICES if is_tiny(form) else 1)
        busy = programs * (rates.block + exact) * (rates.block_turned if form.turned and exact else 1.0)
    elif form.turned and _has_vectors(form):
        programs = form.batch * -(-max(form.m, form.n) // WEIGHED_COLUMNS)
        idle = max(1.0, hardware.weighed_grid / max(1, programs))
    elif results < hardware.full_grid:  # a program for each
        idle = hardware.full_grid / max(1, results)
    regime = replace(regime, bandwidth=regime.bandwidth / idle)
    return microseconds(Work(moved, slots=slots, busy=busy), hardware, regime)


def _clocks(form: ProductForm, rates: SmallRates) -> float:
    """In which a multiprocessor reads two factors for an access to results."""
    if form.n % 4:
        clocks = rates.clocks
    elif form.batch == 1 and form.n > 8 and form.element == "f32" and not form.turned:
        clocks = rates.two_rows_clocks
    else:
        clocks = rates.shared_clocks
    return clocks + (rates.turned_clocks * form.k if form.turned else 0.0)


def as_call(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Microseconds of a small product as a call of the library that moves ``moved`` bytes, beside its
    launch.  The library runs a program for each matrix, or for some rows.
    """
    rates = hardware.rates.small
    few, many = sorted((form.m, form.n))
    single, regime = form.element == "f32", rates.call
    if form.batch == 1:
        programs = many * (rates.row_exact + form.k * rates.row_summed if single else rates.row)
    elif few > 1:
        exact = rates.matrix + form.m * form.n * form.k * rates.multiplied
        programs = form.batch * (exact if single else rates.halves)
    elif many == 1:
        programs = form.batch * (rates.dot + rates.element * form.k)
    elif single:
        programs, regime = form.batch * rates.dot, rates.call_vectors
    else:
        programs, regime = form.batch * rates.halves, rates.call_halves
    return microseconds(Work(moved, busy=programs), hardware, regime)
