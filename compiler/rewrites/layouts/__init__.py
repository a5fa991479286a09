"""Layouts inside a graph: which values get other strides than eager gives them, before the import.

The graph's metadata stays the one place that says how a value lies in memory: what is chosen here is written
to ``meta["val"]`` of every node it reaches, and the importer reads it there.
"""

from .choose import choose_layouts

__all__ = ["choose_layouts"]
