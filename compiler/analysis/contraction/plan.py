"""How a product is best computed as a kernel, what that takes, and what a call of the library takes.

``contraction_plan`` is what the passes that choose between the two ask, and the rules of tiling: so a choice
is made for the blocks that tiling takes.  ``few_rows.py`` has the figures of products of few rows,
``roofline.py`` those of all others, and ``tiles.py`` ranks blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...base.hardware import Hardware
from ...ir.sizes import estimate
from .few_rows import FewRows
from .product import Product
from .roofline import KERNEL_BANDWIDTH, MARGIN, kernel_microseconds, library_microseconds
from .surroundings import Moved
from .tensor_cores import FEW
from .tiles import Blocks, ProductForm, blocks_for


@dataclass(frozen=True)
class ContractionPlan:
    """Of products of one form on one GPU.  Times are in microseconds, launches included."""

    form: ProductForm
    hardware: Hardware

    @cached_property
    def blocks(self) -> Blocks:
        """Into which tiles the product is cut."""
        return blocks_for(self.form, self.hardware)

    @cached_property
    def few(self) -> FewRows | None:
        """The product as one of few rows, which a kernel multiplies and sums; None for tiles."""
        rows, columns = sorted((self.form.m, self.form.n))
        return FewRows(rows, self.form.k * columns) if self.form.batch == 1 and rows <= FEW else None

    @property
    def margin(self) -> float:
        """The part of the library's time that a kernel is to take at most."""
        return 1.0 if self.few is not None else MARGIN

    def kernel_microseconds(self, moved: Moved) -> float:
        """As one kernel with what is around it."""
        if self.few is not None:
            return self.few.kernel_microseconds(self.hardware, moved.fused_bytes)
        return kernel_microseconds(self.form, moved.fused_bytes, self.hardware) + self.hardware.launch

    def library_microseconds(self, moved: Moved) -> float:
        """As a call, beside the kernels of what is around it."""
        if self.few is not None:
            return self.few.library_microseconds(self.hardware, moved.call_bytes, moved.call_launches)
        beside = (moved.call_bytes - moved.own_bytes) / (self.hardware.bandwidth * KERNEL_BANDWIDTH * 1e3)
        own = library_microseconds(self.form, moved.own_bytes, self.hardware)
        return own + beside + moved.call_launches * self.hardware.launch


@lru_cache(maxsize=1 << 10)
def contraction_plan(form: ProductForm, hardware: Hardware) -> ContractionPlan:
    """The plan of products of a form."""
    return ContractionPlan(form, hardware)


def plan_of(product: Product, hints: Mapping[str, int], hardware: Hardware) -> ContractionPlan:
    """The plan of a product, with every size at its hint, as if nothing were computed beside it."""
    m, n, k, batch = (estimate(product.size(r), hints) for r in ("left", "right", "summed", "batch"))
    form = ProductForm(m, n, k, batch, product.specs["left"].element, product.precision == "ieee")
    return contraction_plan(form, hardware)
