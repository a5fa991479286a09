"""Factors of products that are read along overlapping windows, as the images of a convolution are.

A coordinate of such a load is the sum of a place of the result and of a step in the window, which the product
sums: ``2*d3 + d5 - 1``.  Neighbouring places read the same numbers, and each number is read for several
steps.
"""

from collections.abc import Collection

from ...index import Expr, Facts, const
from ...ir.kernel import Kernel

#: Dims of a window.  The steps of a single one are neighbours in memory, which are read as vectors.
_DIMS = 2


def read_along_windows(kernel: Kernel, places: Collection[str], steps: Collection[str]) -> bool:
    """Whether something is loaded at two coordinates or more that add up dims of ``places`` and of ``steps``,
    so that windows overlap along one of them.  Windows beside each other only take memory apart.
    """
    facts, of_places, of_steps = kernel.facts, {*places}, {*steps}
    for load in kernel.loads:
        found = [_overlap(c, of_places, of_steps, facts) for c in load.coords]
        if any(found) and sum(overlap is not None for overlap in found) >= _DIMS:
            return True
    return False


def _overlap(coordinate: Expr, places: set[str], steps: set[str], facts: Facts) -> bool | None:
    """Whether windows overlap along a coordinate; None where it is no sum of a place and a step."""
    least, inside = None, const(0)
    for monomial, count in coordinate.terms:
        term = Expr({monomial: count})
        used = term.symbols()
        if used & places and used & steps:
            return None
        if used & places:
            least = abs(count) if least is None else min(least, abs(count))
        elif used & steps:
            inside = inside + term
    if least is None or inside.constant is not None:
        return None
    low, high = facts.interval(inside)
    return low is not None and high is not None and high - low >= least


__all__ = ["read_along_windows"]
