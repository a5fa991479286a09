"""Rewrites that give values inside a graph other strides than eager mode does, before the import.

Metadata stays the one place that says how a value lies in memory.  ``choose.py`` runs the rewrites,
which write the strides to ``meta["val"]`` of every node that they reach, and the importer reads them there.
"""
