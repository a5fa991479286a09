"""How a product is best computed as a kernel, what that takes, and what a call of the library takes.

``contraction_plan`` is what the passes that choose between the two ask, and the rules of tiling: so a choice
is made for the blocks that tiling takes.  There are three exceptions.  ``few_rows.py`` has figures of
products of few rows and knows no blocks; tiling takes those of ``few_row_blocks.py``.  Where a factor is
widened from fewer bytes, and where two products share a kernel, tiling ranks blocks by the bytes and the sums
of the whole kernel; the choice is made for one product of 16 bits, with which its figures were fitted.
``small.py`` has the figures of small products, ``roofline.py`` those of all others, and ``tiles.py`` ranks
blocks.
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache

from ...base.dataclass import dataclass
from ...cost.clock import microseconds
from ...cost.hardware import Hardware
from ...cost.work import Work
from ...ir.layout import ELEMENT_BYTES
from ...ir.sizes import estimate
from ..kernel.descriptors import streams
from . import roofline, small
from .few_rows import FewRows
from .product import Product
from .surroundings import Moved
from .tensor_cores import FEW, FEW_OF_GROUPS, FEW_OF_PACKED, LEAST_WEIGHTS
from .tiles import Blocks, ProductForm, blocks_for, segment_rates

#: Bytes of the groups of weights that more than 16 rows are multiplied by: no shorter ones were measured.
_LEAST_GROUP = 32


@dataclass(frozen=True)
class ContractionPlan:
    """Of products of one form on one GPU.  Times are in microseconds, launches included.

    ``spills``: so often the blocks chosen so far took more registers than a thread has.
    """

    form: ProductForm
    hardware: Hardware
    spills: int = 0

    @cached_property
    def blocks(self) -> Blocks:
        """Into which tiles the product is cut."""
        return blocks_for(self.form, self.hardware, self.spills)

    @cached_property
    def small(self) -> bool:
        """Whether the product is a small one (``small.py``), which takes no blocks."""
        return small.is_small(self.form)

    @property
    def small_on_tensor_cores(self) -> bool:
        """Whether it is a small one that tensor cores multiply."""
        return self.small and small.is_of_tiles(self.form)

    @cached_property
    def few(self) -> FewRows | None:
        """The product as one of few rows; None for others."""
        form, (rows, columns) = self.form, sorted((self.form.m, self.form.n))
        most = FEW_OF_GROUPS if form.packed and columns >= LEAST_WEIGHTS else FEW
        few = form.batch == form.segments == 1 and rows <= most and not self.small
        return FewRows.of_sizes(rows, columns, form.k, form.element, form.packed) if few else None

    def margin(self, moved: Moved) -> float:
        """The part of the library's time that a kernel is to take at most."""
        if self.form.segments > 1:
            return segment_rates(self.form, self.hardware).margin
        if self.few is not None or moved.widened:
            return 1.0
        library, front = self.library_microseconds(moved), moved.front_bytes > 0
        if self.small:
            if front:
                return roofline.margin(library, self.hardware, front=True)
            return small.margin(self.form, library, self.hardware)
        in_turn = self.blocks.programs > 0
        few = roofline.reads_weights_once(self.form, self.hardware)
        return roofline.margin(library, self.hardware, front=front, in_turn=in_turn, few=few)

    @property
    def staying_margin(self) -> float:
        """The part of the library's time that a kernel is to take at most to stay one, where it is known what
        fused.  Blocks of tensor cores take up to a second to compile, and are not kept for less than a
        hundredth.
        """
        return self.hardware.rates.margins.even if self.few is None and not self.small else 1.0

    def kernel_microseconds(self, moved: Moved) -> float:
        """As one kernel with what is around it."""
        if self.few is not None:
            return self.few.as_kernel(self.hardware, moved.fused_bytes, moved.widened)
        as_kernel = small.as_kernel if self.small else roofline.as_kernel
        return as_kernel(self.form, moved.fused_bytes, self.hardware) + self._launched(1)

    def library_microseconds(self, moved: Moved) -> float:
        """As a call, beside the kernels of what is around it."""
        if self.few is not None:
            return self.few.as_call(self.hardware, moved.call_bytes, moved.call_launches)
        form, behind = self.form, moved.behind
        front_slots = form.batch * form.k * (form.m * form.left_slots + form.n * form.right_slots)
        behind_bytes = moved.call_bytes - moved.own_bytes - moved.front_bytes
        behind_slots = form.batch * form.m * form.n * form.behind
        absorbed = behind is not None and behind.absorbed
        as_call = small.as_call if self.small else roofline.as_call
        return (
            as_call(form, moved.own_bytes, self.hardware)
            + roofline.pointwise_microseconds(moved.front_bytes, front_slots, self.hardware)
            + roofline.pointwise_microseconds(behind_bytes, behind_slots, self.hardware, absorbed)
            + (moved.call_launches - 1) * self.hardware.rates.calls.beside
            + self._launched(moved.call_launches)
        )

    def _launched(self, launches: int) -> float:
        """What so many launches cost."""
        return microseconds(Work(launches=launches), self.hardware, self.hardware.rates.streaming.peak)


@lru_cache(maxsize=1 << 10)
def contraction_plan(form: ProductForm, hardware: Hardware, spills: int = 0) -> ContractionPlan:
    """The plan of products of a form.  ``spills``: as in ``ContractionPlan``."""
    return ContractionPlan(form, hardware, spills)


def _streams(product: Product) -> bool:
    """Whether descriptors can copy both factors and the result."""
    plain = (product.dims["left"], product.dims["right"]) == ("mk", "kn") and "added" not in product.values
    return plain and all(streams(product.specs[role]) for role in ("left", "right", "result"))


def _packed(product: Product, moved: Moved, rows: int, columns: int) -> str:
    """How the larger factor of a product of two matrices is made of bytes or words of numbers that are
    neighbours along the sum, as ``Moved`` says; "" where it is made otherwise, and where the product has more
    rows, or columns, than tensor cores multiply it by.
    """
    larger, smaller = ("left", "right") if rows > columns else ("right", "left")
    in_groups = moved.group_bytes >= _LEAST_GROUP and product.size(smaller).constant is not None
    if min(rows, columns) > (FEW_OF_GROUPS if in_groups else FEW_OF_PACKED):
        return ""
    return moved.packed if roofline.lies_along(product, moved, larger) else ""


def plan_of(
    product: Product, moved: Moved, hints: Mapping[str, int], hardware: Hardware, rows: int | None = None
) -> ContractionPlan:
    """The plan of a product with what is around it, with every size at its hint, or with ``rows`` rows."""
    m, n, k, batch = (estimate(product.size(r), hints) for r in ("left", "right", "summed", "batch"))
    segments = estimate(product.size("segments"), hints)
    if product.sums_segments:  # a matrix of the result for each, of its part of the sum
        k, batch, segments = -(-k // max(1, segments)), segments, 1
    behind = moved.behind
    element = product.specs["left"].element
    wide = ELEMENT_BYTES[element] if segments > 1 else 2  # other estimates are fitted to products of 16 bits
    form = ProductForm(
        m if rows is None else rows,
        n,
        k,
        batch,
        element,
        product.precision == "ieee",
        left_bytes=wide,
        right_bytes=wide,
        left_slots=moved.slots.get("left", 0),
        right_slots=moved.slots.get("right", 0),
        beside=0 if behind is None else behind.beside + behind.stored,
        behind=0 if behind is None else behind.slots,
        streams=_streams(product),
        border=moved.border,
        images=product.is_of_images,
        turned=product.is_turned,
        fast_accum=product.fast_accum,
        packed=_packed(product, moved, m if rows is None else rows, n),
        segments=segments,
        uneven=roofline.is_uneven(product),
        windows=moved.windows,
    )
    return contraction_plan(form, hardware)
