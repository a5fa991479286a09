"""Factors of products that are read along overlapping windows, as the images of a convolution are.

A coordinate of such a load is the sum of a place of the result and of a step in the window, which the product
sums: ``2*d3 + d5 - 1``.  Neighbouring places read the same numbers, and each number is read for several
steps.
"""

from collections.abc import Collection

from ...index import Expr, Facts, const
from ...ir.kernel import Kernel


def read_along_windows(kernel: Kernel, places: Collection[str], steps: Collection[str]) -> bool:
    """Whether something is loaded at a coordinate that adds up dims of ``places`` and of ``steps``, so that
    windows overlap.  Windows beside each other only take memory apart.
    """
    facts = kernel.facts
    return any(_overlap(c, {*places}, {*steps}, facts) for load in kernel.loads for c in load.coords)


def _overlap(coordinate: Expr, places: set[str], steps: set[str], facts: Facts) -> bool:
    least, inside = None, const(0)
    for monomial, count in coordinate.terms:
        term = Expr({monomial: count})
        used = term.symbols()
        if used & places and used & steps:
            return False
        if used & places:
            least = abs(count) if least is None else min(least, abs(count))
        elif used & steps:
            inside = inside + term
    if least is None or inside.constant is not None:
        return False
    low, high = facts.interval(inside)
    return low is not None and high is not None and high - low >= least


__all__ = ["read_along_windows"]
