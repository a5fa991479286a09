"""Whether what is reduced along the columns of a matrix product may be in its kernel.

Such a program computes all columns of a block of rows, so it holds the values that are reduced, and stores
what it makes of them.  The softmax or the norm of a product is an example.  It pays where there are enough
rows for all programs, or where so little is summed that few programs are fast enough.

A second product may be what reduces along the columns of the first: the layers of a narrow network, or a
softmax that is multiplied again.  The program then holds the columns of the second product, too.  Such a
*chain* of products never leaves the registers.  Each program reads all weights, from the L2 cache, so the
columns are few.

A kernel that goes through the columns of a product (``derive-cascades``) takes in more where a block holds a
whole chunk of a sequence: see ``_looped_columns``.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...index import Expr
from ...ir.contractions import PRODUCTS
from ...ir.sizes import ceil_power
from ..contraction.held import Columns, peak_columns
from ..contraction.looped import MOST_HELD, holds_results
from ..kernel.accesses import Crossing, points
from .form import PlacedForm
from .plan import FusionPlan, Instance

_NONE: frozenset[str] = frozenset()


class FusedProduct(NamedTuple):
    """The dims that a product sums, those of its result, and its rows and its columns: those that one factor
    has alone.  ``wide``: whether it is part of a wide chain.
    """

    over: frozenset[str]
    kept: frozenset[str]
    sides: tuple[frozenset[str], frozenset[str]]
    wide: bool
    looped: bool


def products_of(plan: FusionPlan) -> list[FusedProduct]:
    """All products of a group."""
    return [
        _product(plan, instance, x)
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
        if x.op in PRODUCTS
    ]


def have_block(products: Sequence[FusedProduct]) -> bool:
    """Whether each product has one dim among its rows and another one among its columns, or the reverse."""
    (rows, columns), *others = [p.sides for p in products]
    return any(
        all({d, e} <= a | b and (d in a) != (e in a) for a, b in others) for d in rows for e in columns
    )


def held_by_products(t: PlacedForm, crossed: Iterable[frozenset[str]]) -> frozenset[str]:
    """The dims of which each program would hold all points, where reductions over ``crossed`` are the sums of
    products, and what is reduced along the columns of these.  None where they are something else, or where
    no program can hold so much.
    """
    plan = t.plan
    found = [
        (instance, x, plan.image(instance, x.over), plan.image(instance, x.dims))
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
    ]
    products = products_of(plan)
    if any(x.looped for _, x, _, _ in found):
        return _looped_columns(t, products, found)
    first = [p for p in products if not any(p.over & other.kept for other in products)]
    summed = {p.over for p in first}
    held = {*crossed} - summed
    if len(summed) != 1 or not held:
        return _NONE
    [inner] = summed
    chained = [p for p in products if p not in first]
    behind = [(x.op, over, dims) for _, x, over, dims in found if x.op not in PRODUCTS and over]
    if any(op == "fuse.scan" or over not in held or dims & inner for op, over, dims in behind):
        return _NONE
    # Each product keeps what is reduced along its columns; the last ones of a chain keep what is stored.
    columns = {*held, *(p.kept & plan.parallel - _rows(t, products) for p in chained)} - {_NONE}
    for product in products:
        held_here = [along for along in columns if along <= product.kept]
        if len(held_here) != 1 or not any(held_here[0] <= side for side in product.sides):
            return _NONE  # a program holds rows or columns, of one matrix of a batch
    if any(t.points(_rows(t, [p])) <= t.limits.block[0] for p in products):
        return _NONE  # it is multiplied and summed, and has no tiles
    if not _rows(t, products):
        return _NONE  # rows of one are matrices of a batch of another
    return frozenset().union(*columns) if _fit(t, products, columns) and _pays(t, inner) else _NONE


def _looped_columns(
    t: PlacedForm,
    products: Sequence[FusedProduct],
    crossings: Sequence[tuple[Instance, Crossing, frozenset[str], frozenset[str]]],
) -> frozenset[str]:
    """The columns of all products of a kernel that goes through those of its first one; none where more is
    added to it than these, over its own dims:

    - pointwise kernels;
    - scans of rows and columns of the first product along either, where a block holds all of them: Triton
      fails to compile one of rows alone, which a block has as a column;
    - a product of the rows of the first one and the columns of the last one that sums what the first one
      sums, where a block holds all columns that the kernel goes through.

    ``crossings``: of the kernel, each with the images of the dims that it crosses and that it has.
    """
    plan = t.plan
    scans = [(over, dims) for _, x, over, dims in crossings if x.op == "fuse.scan"]
    scanned = {over for over, _ in scans} - {_NONE}
    own, beside = ([p for p in products if p.looped is looped] for looped in (True, False))
    plain = all(x.looped or x.op in PRODUCTS or x.op == "fuse.scan" for _, x, _, _ in crossings)
    free = plan.parallel.union(*scanned)
    whole = frozenset[str]().union(*(p.kept | p.over for p in own))
    if len({i.member for i, x, _, _ in crossings if x.looped}) != 1 or not plain or not free <= whole:
        return _NONE
    batch = frozenset[str]().union(*(p.kept.difference(*p.sides) for p in own))
    rows = frozenset.intersection(*(p.kept for p in own)) & free - batch
    columns = frozenset[str]().union(*(p.over & other.kept for p in own for other in own))
    lasts, firsts = ([p for p in own if (p.over == columns) is last] for last in (True, False))
    if beside and not (len(lasts) == len(firsts) == len(beside) == 1):
        return _NONE
    if any((p.over, p.kept, p.sides) != (firsts[0].over, lasts[0].kept, lasts[0].sides) for p in beside):
        return _NONE
    held = {*scanned, *((columns,) if beside else ())}
    if not all(rows | columns <= dims for _, dims in scans):
        return _NONE
    if not held <= {rows, columns} or (held and not _holds(t, held, (rows, columns), [*lasts, *beside])):
        return _NONE
    return whole - rows - batch


def _holds(
    t: PlacedForm,
    held: Iterable[frozenset[str]],
    cut: tuple[frozenset[str], frozenset[str]],
    made: Iterable[FusedProduct],
) -> bool:
    """Whether registers have the sums of products and shared memory what is read for them, and as much again
    for what is computed of that, where a block has all points of ``held``.  ``cut``: the rows and the columns
    of the first product, of which a block has no more.
    """
    plan = t.plan

    def block(dims: frozenset[str]) -> int | None:
        parts = [points(plan.extents, dims.difference(*cut)).constant]
        parts += [min(points(plan.extents, dims & of).constant or MOST_HELD, MOST_HELD) for of in cut]
        return None if None in parts else math.prod(ceil_power(n) for n in parts if n is not None)

    bounds = [points(plan.extents, along).constant for along in held]
    sums = [points(plan.extents, p.sides[1]).constant for p in made]
    if any(n is None or n > MOST_HELD for n in bounds) or not holds_results(n or MOST_HELD for n in sums):
        return False
    batch = frozenset[str]().union(*(p.kept.difference(*p.sides) for p in made))
    read = dict[tuple[int, tuple[Expr, ...]], int]()
    for instance in plan.instances:
        member = plan.members[instance.member]
        for position, each in enumerate(member.summary.reads):
            dims = plan.image(instance, each.dims) - batch
            if position not in instance.sources and len(dims) > 1:
                operand, size = member.operands[each.argument], block(dims)
                if size is None:
                    return False
                read[operand, plan.coords(instance, each)] = size * t.form.types[operand].loaded
    return 2 * sum(read.values()) <= t.limits.shared


def _product(plan: FusionPlan, instance: Instance, x: Crossing) -> FusedProduct:
    over = plan.image(instance, x.over)
    left, right = (plan.image(instance, dims) - over for dims in x.operands)
    kept, sides = plan.image(instance, x.dims) - over, (left - right, right - left)
    return FusedProduct(over, kept, sides, x.wide, x.looped)


def _fit(t: PlacedForm, products: list[FusedProduct], columns: set[frozenset[str]]) -> bool:
    """Whether a program can hold the columns of products, in blocks of powers of two."""
    plan, limits = t.plan, t.limits
    made = [
        Columns(
            next(along for along in columns if along <= p.kept),
            next((along for along in columns if along <= p.over), None),
        )
        for p in products
    ]
    summed = {product.summed for product in made}
    chained = limits.wide if all(product.wide for product in products) else limits.chained
    most, few = limits.columns if summed == {None} else chained, limits.block[0]
    last = {product.made for product in made if product.summed is not None} - summed
    least = {c: 1 if c in last else few for c in columns}  # few columns of other products are no tiles
    extents = {along: points(plan.extents, along).constant for along in columns}
    blocks = {c: ceil_power(n) for c, n in extents.items() if n is not None and least[c] < n <= most}
    return len(blocks) == len(extents) and peak_columns(made, blocks) <= limits.columns


def _pays(t: PlacedForm, inner: frozenset[str]) -> bool:
    plan, limits = t.plan, t.limits
    programs, depth = (t.points(dims) for dims in (plan.parallel, inner))
    return programs >= limits.many or depth <= limits.depth


def _rows(t: PlacedForm, products: Iterable[FusedProduct]) -> frozenset[str]:
    """The parallel dims that all of the products have, beside those of a batch of matrices."""
    plan = t.plan
    kept = frozenset.intersection(*(p.kept for p in products)) & plan.parallel
    return kept - frozenset[str]().union(*(p.kept.difference(*p.sides) for p in products))
