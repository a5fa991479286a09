"""Workloads from outside: `WILD[name]`, the suite `wild`.

What users of torch run beside transformers: losses, optimizers, augmentations, simulations, steps of
decoding, recurrences, graph networks, signals, layers.  Each is plain torch code at a size that is published
or usual; a copy of as many bytes as its arguments and results have is measured beside it.
"""

from ..graph import graph_table
from .images import IMAGES
from .layers import LAYERS
from .losses import LOSSES
from .networks import NETWORKS
from .optimizers import OPTIMIZERS
from .physics import PHYSICS
from .sequences import SEQUENCES

WILD = graph_table((*LOSSES, *OPTIMIZERS, *IMAGES, *SEQUENCES, *NETWORKS, *PHYSICS, *LAYERS))

__all__ = ["WILD"]
