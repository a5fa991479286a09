"""Whether what is reduced along the columns of a matrix product may be in its kernel.

Such a program computes all columns of a block of rows, so it holds the values that are reduced, and stores
what it makes of them.  The softmax or the norm of a product is an example.  It pays where there are enough
rows for all programs, or where so little is summed that few programs are fast enough.
"""

from collections.abc import Iterable

from ..kernel.accesses import points
from .form import FusionTrial
from .plan import FusionPlan, Instance


def holds_columns(t: FusionTrial, crossed: Iterable[frozenset[str]]) -> bool:
    """Whether reductions over ``crossed`` are the sums of products, and reductions along the rows or the
    columns of all these products, which one program holds.
    """
    plan, limits = t.planned, t.limits
    found = [
        (instance, x.op, plan.image(instance, x.over), plan.image(instance, x.dims))
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
    ]
    products = [(instance, over, dims) for instance, op, over, dims in found if op == "fuse.dot"]
    summed = {over for _, over, _ in products}
    held = {*crossed} - summed
    if len(summed) != 1 or len(held) != 1:
        return False
    [inner], [along] = summed, held
    behind = [(op, over, dims) for _, op, over, dims in found if op != "fuse.dot" and over]
    if any(op == "fuse.scan" or over != along or dims & inner for op, over, dims in behind):
        return False
    columns, few = points(plan.extents, along).constant, limits.block[0]
    if columns is None or not few < columns <= limits.columns:
        return False
    for instance, _, dims in products:
        rows = plan.parallel - _batch(plan, instance, inner)
        if not along <= dims or t.estimate(points(plan.extents, rows)) <= few:
            return False  # it is multiplied and summed, and has no tiles
    programs, depth = (t.estimate(points(plan.extents, dims)) for dims in (plan.parallel, inner))
    return programs >= limits.many or depth <= limits.depth


def _batch(plan: FusionPlan, instance: Instance, inner: frozenset[str]) -> frozenset[str]:
    """The dims that all factors of a product have, beside those that are summed."""
    reads = [plan.image(instance, read.dims) for read in plan.members[instance.member].summary.reads]
    return frozenset.intersection(*(dims for dims in reads if dims & inner)) - inner
