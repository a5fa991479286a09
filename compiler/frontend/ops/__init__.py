"""The lowerings, one module per family of ops.  ``load`` imports them all, which fills the table of
``fx/table.py``.
"""

from importlib import import_module

#: Every family, in the order in which docs list them.
FAMILIES = (
    "pointwise.pointwise",
    "pointwise.comparisons",
    "pointwise.activations",
    "pointwise.gamma",
    "pointwise.bessel",
    "pointwise.conversions",
    "pointwise.batch_norms",
    "shape.creation",
    "shape.views",
    "shape.mutation",
    "pointwise.foreach",
    "reduce.reductions",
    "reduce.layer_norms",
    "reduce.scans",
    "reduce.stencils",
    "reduce.columns",
    "reduce.associative",
    "indexed.indexing",
    "indexed.searches",
    "indexed.scatter",
    "indexed.reductions",
    "shape.shape",
    "reduce.pools",
    "reduce.average_pools",
    "indexed.strided_scatter",
    "indexed.grid_sample",
    "indexed.antialias",
    "effects.random",
    "effects.asserts",
    "effects.control_deps",
    "effects.control_flow",
    "user_kernels.launches",
    "user_kernels.templates",
)


def load() -> None:
    """Fills the table; calling it again does nothing."""
    for family in FAMILIES:
        import_module(f".{family}", __name__)
