"""What decides whether a product is a kernel or a call of the library: all rules, in their order.

They hold for what is a product at all, which ``choose-libraries`` reads, where ``products`` leaves a choice.

``choose-libraries`` asks ``Offers`` before fusion: a kernel is offered where it is estimated to gain by
neighbours that it may fuse with.  ``review-libraries`` asks ``Review`` behind fusion, when these are known.
Both compare what ``ContractionPlan`` says: ``margin`` is the part of the call's time that an offer may take,
``staying_margin`` what a kernel may take that is one already.  What was decided stands in the IR as
``fuse.choice`` (``ir/choices.py``).
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Literal, NamedTuple

from ...base.dataclass import dataclass
from ...base.launch import ProductChoice
from ...base.options import Products
from ...cost.hardware import Hardware
from ...index import Facts
from ...mlir import ir
from .cascades import cascade_cost, cascades_of
from .chains import ChainCost, chains_of, cost_of, wide_chains_of
from .few_rows import FewRows
from .plan import plan_of
from .product import Product
from .roofline import bounded_rows, reads_once, unmeasured, unmeasured_around
from .segment_pairs import pair_costs
from .small import unmeasured_small
from .surroundings import GroupSurroundings, Surroundings


@dataclass(frozen=True)
class Decision:
    """Of one product: whether it is a kernel, the rule that decided, and why it is none.

    kernel_us, call_us: of both with what is around them, where they are known.  more: what else the rule
    compared.
    """

    generated: bool
    rule: str
    why: str = ""
    kernel_us: float | None = None
    call_us: float | None = None
    more: dict[str, float] = field(default_factory=dict)

    def noted(self, nodes: Iterable[str], revocable: bool = False) -> ProductChoice:
        """As ``fuse.choice`` has it, of a product that comes from these FX nodes."""
        return ProductChoice(self.rule, tuple(nodes), self.kernel_us, self.call_us, revocable)

    @property
    def numbers(self) -> dict[str, float]:
        """As a remark has them."""
        return self.noted(()).numbers | self.more


@dataclass(frozen=True)
class Offers:
    """Which calls become kernels before fusion.  ``products``, ``max_rows``, ``packed_rows``,
    ``tensor_cores``: as ``choose-libraries`` takes them.  ``known``: what ``@main`` says of its symbols.
    """

    around: Surroundings
    known: Facts
    hardware: Hardware
    products: Products
    max_rows: int
    packed_rows: int
    tensor_cores: bool

    def chained(self, products: Iterable[Product]) -> dict[ir.Value, ChainCost]:
        """By the results of products that become one kernel with each other: what their chain takes.  Pairs
        that do not pay are among them, as nothing else says why.
        """
        if self.products != "auto" or not self.tensor_cores:
            return {}
        products = list(products)
        found = dict(pair_costs(products, self.around, self.hardware))
        waiting = [p for p in products if not p.segments]
        for chains in (wide_chains_of, chains_of):
            left = [p for p in waiting if p.result not in found]
            for chain in chains(left, self.around, self.hardware):
                cost = cost_of(chain, self.around, self.hardware)
                found |= {p.result: cost for p in chain.products if cost.pays}
        for chain in cascades_of([p for p in waiting if p.result not in found], self.around):
            cost = cascade_cost(chain, self.around, self.hardware)
            found |= {p.result: cost for p in chain.products if cost.pays or p.result not in found}
        return found

    def of(self, product: Product, chain: ChainCost | None) -> Decision:
        """``chain``: of the product, if it is part of one that pays, or of a pair."""
        if chain is not None:
            why = "" if chain.pays else "a kernel of both products of its rows is estimated to take longer"
            return Decision(not why, chain.rule, why, chain.kernel, chain.library)
        unsupported = product.unsupported()
        if unsupported is not None:
            return Decision(False, *unsupported)
        if product.is_short and self.products == "auto":
            return Decision(True, "short", more={"summed": product.size("summed").constant or 0})
        around, hardware = self.around, self.hardware
        cost = around.cost(product)
        if self.packed_rows <= self.max_rows:
            cost = replace(cost, packed="")
        tiled = plan = plan_of(product, cost, around.hints, hardware)
        packed = plan.form.packed
        most = self.packed_rows if packed else self.max_rows
        few = FewRows.of(product, most, around.hints, packed, bool(packed) and cost.across)
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
        return Decision(not why, rule, why, kernel, library, more)


class Timed(NamedTuple):
    """What was measured of a group with a product: the times of its kernel and of the call with the kernels
    around it, where they are known, and whether the kernel is the slower one, or could not be compiled.
    """

    kernel_us: float | None
    call_us: float | None
    slower: bool


@dataclass(frozen=True)
class Review:
    """Which kernels of products stay kernels, now that their groups are known.  ``back``: the library takes
    ``slower`` ones, or ``all``.
    """

    hardware: Hardware
    back: Literal["slower", "all"] = "slower"

    def of(
        self,
        product: Product,
        around: GroupSurroundings,
        *,
        timed: Timed | None = None,
        chained: bool = False,
        spilled: bool = False,
    ) -> Decision:
        """``timed``: what was measured, if anything was.  ``chained``: whether another product of the group
        reads what is made of this one, or the other way round.  ``spilled``: whether the kernel took more
        registers or shared memory than there are with each tile that was tried.
        """
        if timed is not None:
            why = "was measured to take longer" if timed.slower else ""
            return Decision(not timed.slower, "measured", why, timed.kernel_us, timed.call_us)
        if chained and self.back != "all":
            return Decision(True, "chain")
        estimated = self.estimated(product, around)
        if spilled:
            why = "takes more registers or shared memory than there are"
            return replace(estimated, generated=False, rule="spilled", why=why)
        if self.back == "all":
            return replace(estimated, generated=False, rule="library", why=estimated.why or "is not wanted")
        return estimated

    def estimated(self, product: Product, around: GroupSurroundings) -> Decision:
        """What the estimates say alone."""
        cost = around.cost(product)
        plan = plan_of(product, cost, around.hints, self.hardware)
        kernel, library = plan.kernel_microseconds(cost), plan.library_microseconds(cost)
        once = reads_once(product)
        unlike = None if plan.few is not None else unmeasured_around(cost, several=True, once=once)
        why = ""
        far = self.hardware.rates.margins.far if plan.form.uneven else 0.0
        if unlike is not None and kernel > far * library:
            why = f"was not measured: {unlike.message}"
        elif kernel > plan.staying_margin * library:
            why = "is not estimated to take less"
        return Decision(not why, "library" if why else "kernel", why, kernel, library)


__all__ = ["Decision", "Offers", "Review", "Timed"]
