"""Reductions of tiles: what a fold keeps, how a block joins it, how lanes are combined.  ``fold.py`` is the
interface.
"""
