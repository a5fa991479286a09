"""What a product costs as a kernel on tensor cores and as a call of the library.

The kernel's time is that of the blocks that tiling will choose (``tiles.py``).  The library's is a roofline:
a program computes a block of the result, so a result whose rows or columns are no multiple of the block is
computed in part for nothing, and so are the multiprocessors that the last wave of programs leaves idle.  The
library has blocks of many sizes, and cuts long sums into parts where blocks are few.  Its stores are not
hidden.  Beside that, bytes bound it.  What is moved and computed around the product (``surroundings.py``)
differs, too.

The rates are fitted to products of 8 to 128256 rows and 64 to 128256 summed elements (``docs/costs.md``).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...index import Facts
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import estimate
from .few_rows import SHORTEST, Unmeasured
from .product import UNIT, Product
from .surroundings import Moved
from .tensor_cores import FEW, FEW_OF_PACKED, LEAST_WEIGHTS
from .tiles import MOST_FEW, ROW_BYTES, ProductForm, microseconds_whole, segment_rates

#: Results that the library stores in a step.
_STORED = 128 * 256
#: Extents of the library's blocks, and the most elements of one.
_EXTENTS, _LARGEST = (64, 96, 128, 160, 192, 256), 192 * 192
#: Blocks of rows and columns.
_BLOCKS = (
    *((m, n) for m in _EXTENTS for n in _EXTENTS if m * n <= _LARGEST),
    *((16, 128), (128, 16), (32, 64), (64, 32)),
)
#: Parts into which the library cuts sums, each of at least so many elements.
_PARTS, _LEAST_PART = (1, 2, 4, 8), 512

#: Steps of the summed dim that a block takes.
_STEP = 32
#: Bytes of a sum that is not whole.
_SUM_BYTES = 4

#: The most summed elements of a product with several tensors as large as its result behind it.  Of 16 such
#: products, kernels take 0.84 to 0.98 of the library's time up to here; from 1024 elements on, 0.87 to 1.25.
_SHORT_SUM = 768
#: Elements of which tensors that are concatenated are to have a multiple: a row of shared memory of 16-bit
#: elements, as no others are weighed.  A block of what is summed then reads one of the tensors.  Where it
#: reads two, the kernel takes twice the library's time.
_BORDER = ROW_BYTES // ELEMENT_BYTES["bf16"]

#: Rows and columns of the library's blocks where rows of a factor do not start at multiples of 16 bytes.
_UNEVEN = 64, 64
#: Rows and columns of a matrix that one block has.
_WHOLE = 128

#: Element types that were measured, and elements of a vector of them; of rows in segments, in 8 bits, too.
_MEASURED, _VECTOR, _MEASURED_BYTES = ("bf16", "f16"), 8, ("f8E4M3FN",)


def reads_weights_once(form: ProductForm, hardware: Hardware) -> bool:
    """Whether a product has at most 64 rows, and more weights than the L2 cache holds."""
    large = form.n * form.k * ELEMENT_BYTES[form.element] > hardware.l2_bytes
    return 0 < form.m <= MOST_FEW and form.batch == 1 and large


def margin(
    library: float, hardware: Hardware, *, front: bool = False, in_turn: bool = False, few: bool = False
) -> float:
    """The part of ``library`` microseconds, of the call and what is around it, that a kernel is to take at
    most.  ``front``: whether kernels in front of the product are part of it.  ``in_turn``: whether its
    programs go through blocks, for which the estimates fit best.  ``few``: as ``reads_weights_once`` says.
    """
    margins = hardware.rates.margins
    if few and not front:
        return margins.weights_once
    if in_turn:
        return margins.in_turn
    return margins.short if front or library < margins.long_from else margins.long


def bounded_rows(product: Product, moved: Moved, known: Facts, hints: Mapping[str, int]) -> int | None:
    """The most rows that a product may have, where their number alone is a symbol, of which ``known`` says
    that it is at most 64, and the weights are made from fewer bytes; None otherwise.  ``hints``: with at most
    4 rows, they are summed instead.
    """
    rows, others = product.size("left"), ("right", "summed", "batch")
    if rows.constant is not None or any(product.size(role).constant is None for role in others):
        return None
    most, weights = known.interval(rows)[1], moved.widened and moved.front_bytes > moved.own_bytes
    few = most is not None and most <= MOST_FEW and estimate(rows, hints) > FEW
    return most if weights and few else None


def unmeasured(
    product: Product, moved: Moved, hardware: Hardware, bounded: bool = False
) -> Unmeasured | None:
    """Why the estimates say nothing about a product with what is around it; None where they do.
    ``bounded``: whether ``bounded_rows`` says how many rows it has at most.
    """
    if not bounded and not all(spec.is_static for spec in product.specs.values()):
        return Unmeasured("sizes", "sizes that are known when compiling only")
    left = product.specs["left"]
    if left.element not in _MEASURED + (_MEASURED_BYTES if product.segments else ()):
        return Unmeasured("dtype", f"kernels that multiply {left.element} were not measured")
    if product.sums_segments:
        return Unmeasured("segments", "no estimate is fitted to kernels of sums in segments")
    dims = product.dims["left"], product.dims["right"]
    if not product.is_of_images and not (dims[0].endswith("mk") and dims[1].endswith("kn")):
        return Unmeasured("form", "kernels of other products than of matrices were not measured")
    if _uneven(product) and not moved.windows:
        enough = hardware.rates.margins.far if is_uneven(product) else 0.0
        return Unmeasured("strides", "rows of a factor do not start at multiples of 16 bytes", enough)
    if product.is_of_images and left.strides[dims[0].index("k")].constant != 1:
        return Unmeasured("strides", "the channels of images do not lie side by side")
    summed = product.size("summed").constant or 0
    around = unmeasured_around(moved, several=summed <= _SHORT_SUM, once=reads_once(product))
    if around is not None:
        far = product.segments and left.element in _MEASURED_BYTES
        return replace(around, enough=hardware.rates.margins.far) if far else around
    rows = min(product.size(role).constant or 0 for role in ("left", "right"))
    larger = "right" if product.size("left").constant == rows else "left"
    most = FEW_OF_PACKED if lies_along(product, moved, larger) else FEW
    if moved.packed == "moved" and rows > most:
        return Unmeasured("packed", f"more than {most} rows times numbers with zero points")
    each = (product.size("left").constant or 0) / max(1, product.size("segments").constant or 1)
    if product.segments and each < hardware.rates.segments.fewest:
        return Unmeasured("few-rows", f"{each:.0f} rows of a segment: the estimates are fitted to more")
    if not bounded and rows <= FEW:
        return Unmeasured(
            "few-rows",
            f"at most {FEW} rows or columns: the estimates of blocks are fitted to more",
            hardware.rates.margins.far if _widens_weights(product, moved) else 0.0,
        )
    return None


def lies_along(product: Product, moved: Moved, larger: str) -> bool:
    """Whether the numbers of a byte or word of the larger factor are neighbours along the sum, in a product
    of two matrices."""
    plain = (product.dims["left"], product.dims["right"]) == ("mk", "kn")
    along = plain and product.specs[larger].strides[larger == "left"].constant == 1
    return plain and along != moved.across


def _widens_weights(product: Product, moved: Moved) -> bool:
    """Whether a product of few rows has many weights, made from fewer bytes.  A kernel reads those; the
    library's call has the weights written and read again, which no estimate errs about.
    """
    sizes = [product.size(role).constant or 0 for role in ("left", "right")]
    summed = product.size("summed").constant or 0
    return moved.widened and moved.front_bytes > 0 and max(sizes) >= LEAST_WEIGHTS and summed >= SHORTEST


def reads_once(product: Product) -> bool:
    """Whether a block has a whole matrix of a batch, so that what is computed in front of it is computed
    once.
    """
    sizes = [product.size(role).constant for role in ("left", "right")]
    batch = product.size("batch").constant
    return batch is not None and batch > 1 and all(n is not None and n <= _WHOLE for n in sizes)


def unmeasured_around(moved: Moved, several: bool = False, once: bool = False) -> Unmeasured | None:
    """Why the estimates say nothing about what is around a product; None where they do.  ``several``: whether
    they do where several tensors as large as the result are read behind it.  ``once``: what is computed in
    front of it is computed once.
    """
    if moved.reduced and not once:
        return Unmeasured(
            "front", "more than casts of what another kernel makes is computed in front of the product"
        )
    if moved.border % _BORDER:
        return Unmeasured(
            "pieces", "what is concatenated in front of the product is computed, or no multiple of blocks"
        )
    if moved.behind is not None and moved.behind.beside > 1 and not several:
        return Unmeasured("beside", "more than one tensor as large as the result is read behind the product")
    return None


def is_uneven(product: Product) -> bool:
    """Whether rows of a factor of a batch do not start at multiples of 16 bytes, and a block has all of it.
    The library loads such factors element by element, which ``as_call`` knows; a kernel hardly reads them.
    """
    batch, roles = product.size("batch").constant, _uneven(product)
    if product.is_of_images or product.segments or batch is None or batch == 1 or not roles:
        return False
    sizes = [product.size(r).constant for r in ("summed", *roles)]
    known = all(None not in _strides(product, role) for role in roles)
    return known and all(n is not None and n <= _WHOLE for n in sizes)


def _uneven(product: Product) -> list[str]:
    """The factors whose rows do not start at multiples of 16 bytes, or are not known to."""
    found = []
    for role in ("left", "right"):
        strides = _strides(product, role)
        if 1 not in strides or any(s is None or (s != 1 and s % _VECTOR) for s in strides):
            found.append(role)
    return found


def _strides(product: Product, role: str) -> list[int | None]:
    """Those of the dims of a factor that have more than one point, without those of a batch of matrices.
    None: a stride is a symbol.
    """
    spec, dims = product.specs[role], product.dims[role]
    found = [
        stride.constant
        for dim, size, stride in zip(dims, spec.sizes, spec.strides, strict=True)
        if dim != UNIT and size.constant != 1
    ]
    return found if product.is_of_images else found[-2:]


def pointwise_microseconds(moved: int, slots: int, hardware: Hardware, reduces: bool = False) -> float:
    """Of a pointwise kernel beside its launch.  ``reduces``: it is part of a kernel that reduces, too, which
    hardly moves and issues at once.
    """
    streaming = hardware.rates.streaming
    regime = streaming.absorbed if reduces else streaming.pointwise
    return microseconds(Work(moved, slots=slots), hardware, regime)


@lru_cache(maxsize=1 << 10)
def as_kernel(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Microseconds of one kernel of the blocks that tiling chooses, beside its launch."""
    if not form.batch * form.m * form.n:
        return 0.0
    work = Work(moved, busy=microseconds_whole(form, hardware))
    whole = microseconds(work, hardware, hardware.rates.blocks.kernel)
    rates = segment_rates(form, hardware)
    times, more = rates.kernel if form.sums == 1 else rates.pair, rates.kernel_more
    return times * whole + more if form.segments > 1 else whole


@lru_cache(maxsize=1 << 10)
def as_call(form: ProductForm, moved: int, hardware: Hardware) -> float:
    """Microseconds of a call of the library, beside its launch: the larger one of compute and bytes."""
    rates = hardware.rates.calls
    compute = min(
        _parts_microseconds(form, m, n, parts, hardware)
        for parts in _PARTS
        if parts == 1 or form.k >= parts * _LEAST_PART
        for m, n in _BLOCKS
    )
    read_again = 0.0
    if reads_weights_once(form, hardware):  # each program reads the rows
        read_again = form.m * form.k * ELEMENT_BYTES[form.element] * 1e-6
    if form.uneven:
        compute = max(compute, _elements_loaded(form) * rates.uneven)
    whole = microseconds(Work(moved, steps=read_again, busy=compute), hardware, rates.call)
    segments = segment_rates(form, hardware)
    return segments.call * whole + segments.call_more if form.segments > 1 else whole


def _elements_loaded(form: ProductForm) -> int:
    """Of both factors, by blocks of the library that load them one by one."""
    m, n = _UNEVEN
    depth = -(-form.k // _STEP) * _STEP
    return form.batch * form.row_blocks(m) * -(-form.n // n) * (m + n) * depth


def _parts_microseconds(form: ProductForm, m: int, n: int, parts: int, hardware: Hardware) -> float:
    """In blocks of m x n, each of a part of the summed elements."""
    rates, sms = hardware.rates.calls, hardware.sm_count
    waves = -(-form.batch * form.row_blocks(m) * -(-form.n // n) * parts // sms)
    depth = -(-form.k // (_STEP * parts)) * _STEP
    slowed = max(1.0, rates.reuse * (m + n) / (m * n))  # by reading
    wave = Work(flops=sms * 2 * m * n * depth * slowed, element=form.element, steps=m * n / _STORED)
    compute = waves * microseconds(wave, hardware, rates.block)
    if parts == 1:
        return compute
    joined = parts * 2 * _SUM_BYTES * form.batch * form.m * form.n
    return compute + microseconds(Work(joined), hardware, rates.join)
