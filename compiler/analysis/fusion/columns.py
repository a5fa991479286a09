"""Whether what is reduced along the columns of a matrix product may be in its kernel.

Such a program computes all columns of a block of rows, so it holds the values that are reduced, and stores
what it makes of them.  The softmax or the norm of a product is an example.  It pays where there are enough
rows for all programs, or where so little is summed that few programs are fast enough.

A second product may be what reduces along the columns of the first: the layers of a narrow network, or a
softmax that is multiplied again.  The program then holds the columns of the second product, too.  Such a
*chain* of products never leaves the registers.  Each program reads all weights, from the L2 cache, so the
columns are few.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ...ir.kernel import MOST_POINTS
from ...ir.sizes import ceil_power
from ..kernel.accesses import points
from .form import FusionTrial

_NONE: frozenset[str] = frozenset()


class _Product(NamedTuple):
    """The dims that a product sums, those of its result, and those of a batch of matrices: both factors have
    them and they are not summed.
    """

    over: frozenset[str]
    kept: frozenset[str]
    batch: frozenset[str]


def held_by_products(t: FusionTrial, crossed: Iterable[frozenset[str]]) -> frozenset[str]:
    """The dims of which each program would hold all points, where reductions over ``crossed`` are the sums of
    products, and what is reduced along the columns of these.  None where they are something else, or where
    no program can hold so much.
    """
    plan = t.planned
    found = [
        (x.op, plan.image(instance, x.over), plan.image(instance, x.dims), plan.image(instance, x.shared))
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
    ]
    products = [_Product(over, d - over, both - over) for op, over, d, both in found if op == "fuse.dot"]
    first = [p for p in products if not any(p.over & other.kept for other in products)]
    summed = {p.over for p in first}
    held = {*crossed} - summed
    if len(summed) != 1 or not held:
        return _NONE
    [inner] = summed
    chained = [p for p in products if p not in first]
    behind = [(op, over, dims) for op, over, dims, _ in found if op != "fuse.dot" and over]
    if any(op == "fuse.scan" or over not in held or dims & inner for op, over, dims in behind):
        return _NONE
    # Each product keeps what is reduced along its columns; the last ones of a chain keep what is stored.
    columns = {*held, *(p.kept & plan.parallel - _rows(t, products) for p in chained)} - {_NONE}
    for product in products:
        if sum(along <= product.kept for along in columns) != 1:
            return _NONE
        if any(along & product.batch for along in columns):
            return _NONE  # a program computes one matrix of a batch
    if any(t.estimate(points(plan.extents, _rows(t, [p]))) <= t.limits.block[0] for p in products):
        return _NONE  # it is multiplied and summed, and has no tiles
    return frozenset().union(*columns) if _fit(t, columns, bool(chained)) and _pays(t, inner) else _NONE


def _fit(t: FusionTrial, columns: set[frozenset[str]], chain: bool) -> bool:
    """Whether a program can hold columns of so many products, in blocks of powers of two."""
    plan, limits = t.planned, t.limits
    most, few = limits.chained if chain else limits.columns, limits.block[0]
    extents = [points(plan.extents, along).constant for along in columns]
    known = [extent for extent in extents if extent is not None and few < extent <= most]
    if len(known) < len(extents) or sum(map(ceil_power, known)) > limits.columns:
        return False
    return t.estimate(points(plan.extents, plan.extents)) <= MOST_POINTS


def _pays(t: FusionTrial, inner: frozenset[str]) -> bool:
    plan, limits = t.planned, t.limits
    programs, depth = (t.estimate(points(plan.extents, dims)) for dims in (plan.parallel, inner))
    return programs >= limits.many or depth <= limits.depth


def _rows(t: FusionTrial, products: Iterable[_Product]) -> frozenset[str]:
    """The parallel dims that all of the products have, beside those of a batch of matrices."""
    plan = t.planned
    kept = frozenset.intersection(*(p.kept for p in products)) & plan.parallel
    return kept - frozenset().union(*(p.batch for p in products))
