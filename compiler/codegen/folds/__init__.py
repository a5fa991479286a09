"""Reductions of tiles: what state a fold keeps, how it adds a block, how it combines lanes.  ``fold.py`` is
the interface.
"""
