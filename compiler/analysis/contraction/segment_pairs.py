"""Two products of the same rows in segments, as the two matrices of a gated expert: what they cost as one
kernel, and as calls of the library.

Each alone would not pay for what both share: the rows that are taken in front of them, as tokens are for
their experts, and the gate behind them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...cost.hardware import Hardware
from ...ir.views import root_of, users_of
from ...mlir import ir
from . import roofline
from .chains import ChainCost
from .plan import ContractionPlan, contraction_plan, plan_of
from .product import Product
from .surroundings import Moved, Surroundings
from .tiles import segment_rates


class _Shared(NamedTuple):
    """What makes the rows of both: ``read`` bytes that it reads, and issue slots of an element.  ``stored``:
    whether the rows are in memory all the same.
    """

    read: int
    slots: int
    stored: bool


def pair_costs(
    products: Sequence[Product], around: Surroundings, hardware: Hardware
) -> Mapping[ir.Value, ChainCost]:
    """By the results of products that are one of a pair: what the pair takes."""
    found: dict[ir.Value, ChainCost] = {}
    for pair in _pairs(products, around):
        plans = [_plan(product, around, hardware) for product in pair]
        if all(plan is not None for plan in plans):
            cost = _cost(pair, [plan for plan in plans if plan is not None], around, hardware)
            found |= {product.result: cost for product in pair}
    return found


def _pairs(products: Sequence[Product], around: Surroundings) -> Iterator[list[Product]]:
    """Products of the same rows and segments, with as many columns, whose results meet in one kernel and are
    read by nothing else: where they are stored as well, nothing was measured.
    """
    same: dict[tuple[object, ...], list[Product]] = {}
    for product in products:
        if product.segments and not product.sums_segments and product.unsupported() is None:
            values, columns = product.values, product.size("right")
            same.setdefault((values["left"], values["ends"], columns), []).append(product)
    for pair in same.values():
        if len(pair) == 2 and _behind(pair[0], around) & _behind(pair[1], around):
            yield pair


def _behind(product: Product, around: Surroundings) -> set[ir.Operation]:
    """The pointwise kernels that read a result, one after the other."""
    found, value = set[ir.Operation](), product.result
    while True:
        users = list(users_of(value))
        if len(users) != 1 or not around.joins(users[0]) or len(users[0].results) != 1:
            return found
        found.add(users[0])
        value = users[0].results[0]


def _plan(product: Product, around: Surroundings, hardware: Hardware) -> tuple[ContractionPlan, Moved] | None:
    """The plan of a product with what is around it; None where no estimate says anything about it."""
    moved = around.cost(product)
    if roofline.unmeasured(product, moved, hardware) is not None:
        return None
    return plan_of(product, moved, around.hints, hardware), moved


def _cost(
    pair: Sequence[Product],
    plans: Sequence[tuple[ContractionPlan, Moved]],
    around: Surroundings,
    hardware: Hardware,
) -> ChainCost:
    (plan, moved), (other, other_moved) = plans
    shared = _shared(pair, around)
    behind = [m.behind for _, m in plans if m.behind is not None]
    beside = min(b.beside for b in behind) - 1  # each counts the other's result
    rows, result = around.bytes_of(pair[0].values["left"]), around.bytes_of(pair[0].result)
    weights = sum(around.bytes_of(root_of(product.values["right"])) for product in pair)
    form = replace(
        plan.form,
        sums=2,
        left_slots=plan.form.left_slots if shared is None else shared.slots,
        beside=max(0, beside),
        behind=max(b.slots for b in behind),
    )
    fused = weights + result * (1 + form.beside) + (rows if shared is None else shared.read)
    calls = plan.library_microseconds(moved)
    calls += roofline.as_call(other.form, other_moved.own_bytes, hardware) + hardware.rates.calls.beside
    if shared is not None and shared.stored:
        fused += rows
    elif shared is not None:
        elements = around.elements_of(pair[0].values["left"])
        calls += roofline.pointwise_microseconds(shared.read + rows, elements * shared.slots, hardware)
        calls += hardware.rates.calls.beside
    kernel = contraction_plan(form, hardware).kernel_microseconds(replace(moved, fused_bytes=fused))
    return ChainCost(kernel, calls, segment_rates(form, hardware).margin, pair=True)


def _shared(pair: Sequence[Product], around: Surroundings) -> _Shared | None:
    """What makes the rows of both products; None where no pointwise kernel does."""
    rows = root_of(pair[0].values["left"])
    if isinstance(rows.owner, ir.Block) or not around.joins(rows.owner.operation):
        return None
    made = rows.owner.operation
    read = sum(map(around.bytes_of, dict.fromkeys(map(root_of, around.read_by(made)))))
    return _Shared(read, around.slots(made), len(list(users_of(rows))) > len(pair))
