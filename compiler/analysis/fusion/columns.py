"""Whether what is reduced along the columns of a matrix product may be in its kernel.

Such a program computes all columns of a block of rows, so it holds the values that are reduced, and stores
what it makes of them.  The softmax or the norm of a product is an example.  It pays where there are enough
rows for all programs, or where so little is summed that few programs are fast enough.
"""

from collections.abc import Iterable

from ..kernel.accesses import points
from .form import FusionTrial


def holds_columns(t: FusionTrial, crossed: Iterable[frozenset[str]]) -> bool:
    """Whether reductions over ``crossed`` are the sums of products, and reductions along the rows or the
    columns of all these products, which one program holds.
    """
    plan, limits = t.planned, t.limits
    found = [
        (x.op, plan.image(instance, x.over), plan.image(instance, x.dims))
        for instance in plan.instances
        for x in plan.members[instance.member].summary.crossings
    ]
    products = [(over, dims) for op, over, dims in found if op == "fuse.dot"]
    summed = {over for over, _ in products}
    held = {*crossed} - summed
    if len(summed) != 1 or len(held) != 1:
        return False
    [inner], [along] = summed, held
    behind = [(op, over, dims) for op, over, dims in found if op != "fuse.dot" and over]
    if any(op == "fuse.scan" or over != along or dims & inner for op, over, dims in behind):
        return False
    columns = points(plan.extents, along).constant
    if not all(along <= dims for _, dims in products) or columns is None or columns > limits.columns:
        return False
    rows, depth = (t.estimate(points(plan.extents, dims)) for dims in (plan.parallel, inner))
    return rows > limits.block[0] and (rows >= limits.many or depth <= limits.depth)
