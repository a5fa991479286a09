"""The corpus: graphs whose numbers every pass must keep.

`GRAPHS` holds what is written by hand, a file per family; `models.py` captures graphs from models;
`random_programs.py` draws more. `test_corpus.py` runs them all.
"""

from . import attention, effects, indexing, losses, mutation, norms, optimizers, pointwise, reductions, views
from .graph import Graph, collected

GRAPHS: dict[str, Graph] = collected(
    attention, effects, indexing, losses, mutation, norms, optimizers, pointwise, reductions, views
)

__all__ = ["GRAPHS", "Graph"]
