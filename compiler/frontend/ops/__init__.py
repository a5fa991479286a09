"""The lowerings, one module per family of ops.  ``load`` imports them all, which fills the table of
``frontend/table.py``.
"""

from importlib import import_module

#: Every family, in the order in which docs list them.
FAMILIES = (
    "pointwise",
    "comparisons",
    "activations",
    "conversions",
    "creation",
    "views",
    "mutation",
    "foreach",
    "reductions",
    "scans",
    "indexing",
    "scatter",
    "shape",
    "pools",
    "average_pools",
    "strided_scatter",
    "random",
    "asserts",
    "control_deps",
    "control_flow",
    "whole",
)


def load() -> None:
    """Fills the table; calling it again does nothing."""
    for family in FAMILIES:
        import_module(f".{family}", __name__)
