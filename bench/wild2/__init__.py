"""Workloads that no rule was written for: `WILD2[name]`, the suite `wild2`.

What public repositories do in other fields than those of `wild`: messages in molecules, meshes and splats,
rankings, states in few bits, detection, filters of signals, lattices of decoding, transport, solvers,
reinforcement and metric learning.  They were written before any of their times was looked at.
"""

from ..graph import graph_table
from .audio import AUDIO
from .geometry import GEOMETRY
from .graphs import GRAPHS
from .images import IMAGES
from .objectives import OBJECTIVES
from .quantise import QUANTISE
from .science import SCIENCE
from .sequences import SEQUENCES
from .tables import TABLES

WILD2 = graph_table(
    (*GRAPHS, *GEOMETRY, *TABLES, *QUANTISE, *IMAGES, *AUDIO, *SEQUENCES, *SCIENCE, *OBJECTIVES)
)

__all__ = ["WILD2"]
