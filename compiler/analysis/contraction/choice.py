"""What decides whether a product is a kernel or a call of the library.

A kernel is offered before fusion, where it is estimated to gain by neighbours that it may fuse with
(``Offers``, which ``choose-libraries`` asks).  Behind fusion the neighbours are known, and the product is
estimated again (``reviewed``, which ``review-libraries`` asks).  Both compare what ``ContractionPlan`` says:
``margin`` is the part of the call's time that an offer may take, ``kept`` what a kernel may take that is one
already.
"""

from collections.abc import Iterable
from dataclasses import field

from ...base.dataclass import dataclass
from ...base.options import Products
from ...cost.hardware import Hardware
from ...index import Facts
from ...mlir import ir
from .cascades import cascade_cost, cascades_of
from .chains import ChainCost, chains_of, cost_of, wide_chains_of
from .few_rows import FewRows
from .plan import plan_of
from .product import Product
from .roofline import bounded_rows, unmeasured, unmeasured_around
from .small import unmeasured_small
from .surroundings import GroupSurroundings, Surroundings


@dataclass(frozen=True)
class ProductChoice:
    """Of one product: whether it is a kernel, the rule that decided, and why it is none.

    kernel_us, library_us: estimates of both with what is around them, where there are any.  numbers: what
    else the rule compared.
    """

    generated: bool
    rule: str
    why: str = ""
    kernel_us: float | None = None
    library_us: float | None = None
    more: dict[str, float] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, float]:
        """As a remark has them."""
        times = {"kernel_us": self.kernel_us, "library_us": self.library_us}
        return {name: round(us, 2) for name, us in times.items() if us is not None} | self.more


@dataclass(frozen=True)
class Offers:
    """Which calls become kernels before fusion.  ``products``, ``max_rows``, ``tensor_cores``: as
    ``choose-libraries`` takes them.  ``known``: what ``@main`` says of its symbols.
    """

    around: Surroundings
    known: Facts
    hardware: Hardware
    products: Products
    max_rows: int
    tensor_cores: bool

    def chained(self, products: Iterable[Product]) -> dict[ir.Value, ChainCost]:
        """By the results of products that become one kernel with each other: what their chain takes."""
        if self.products != "auto" or not self.tensor_cores:
            return {}
        waiting, found = list(products), dict[ir.Value, ChainCost]()
        for chains in (wide_chains_of, chains_of):
            left = [p for p in waiting if p.result not in found]
            for chain in chains(left, self.around, self.hardware):
                cost = cost_of(chain, self.around, self.hardware)
                found |= {p.result: cost for p in chain.products if cost.pays}
        for chain in cascades_of([p for p in waiting if p.result not in found], self.around):
            cost = cascade_cost(chain, self.around, self.hardware)
            found |= {p.result: cost for p in chain.products if cost.pays}
        return found

    def of(self, product: Product, chain: ChainCost | None) -> ProductChoice:
        """``chain``: of the product, if it is part of one."""
        if chain is not None:
            rule = "cascade" if chain.cascade else "chain"
            return ProductChoice(True, rule, "", chain.kernel, chain.library)
        unsupported = product.unsupported()
        if unsupported is not None:
            return ProductChoice(False, *unsupported)
        if product.is_short and self.products == "auto":
            return ProductChoice(True, "short", more={"summed": product.size("summed").constant or 0})
        around, hardware = self.around, self.hardware
        cost, few = around.cost(product), FewRows.of(product, self.max_rows, around.hints)
        tiled = plan = plan_of(product, cost, around.hints, hardware)
        reason = None
        if plan.small and (self.tensor_cores or not plan.small_on_tensor_cores):
            reason = unmeasured_small(product, plan.form, cost)
        elif not isinstance(few, FewRows):
            rows = bounded_rows(product, cost, self.known, around.hints)
            reason = unmeasured(product, cost, hardware, rows is not None) if self.tensor_cores else few
            tiled = plan if rows is None else plan_of(product, cost, around.hints, hardware, rows)
        kernel, library = tiled.kernel_microseconds(cost), plan.library_microseconds(cost)
        more: dict[str, float] = {"rows": few.rows} if isinstance(few, FewRows) else {}
        rule, why = "kernel", ""
        if self.products == "auto":
            margin = plan.margin(cost)
            if reason is not None and kernel > reason.enough * library:
                rule, why = reason.rule, reason.message
            elif reason is None and kernel > margin * library:
                enough = "" if margin == 1.0 else f", or at least {margin} of that time"
                rule, why = "library", f"a kernel is estimated to take longer{enough}"
        return ProductChoice(not why, rule, why, kernel, library, more)


def reviewed(product: Product, around: GroupSurroundings, hardware: Hardware) -> ProductChoice:
    """Whether a product that is a kernel stays one, of a group that is known."""
    cost = around.cost(product)
    plan = plan_of(product, cost, around.hints, hardware)
    kernel, library = plan.kernel_microseconds(cost), plan.library_microseconds(cost)
    unlike = None if plan.few is not None else unmeasured_around(cost, several=True)
    if unlike is not None:
        return ProductChoice(False, "library", f"was not measured: {unlike.message}", kernel, library)
    if kernel > plan.kept * library:
        return ProductChoice(False, "library", "is not estimated to take less", kernel, library)
    return ProductChoice(True, "kernel", "", kernel, library)


__all__ = ["Offers", "ProductChoice", "reviewed"]
