"""Index expressions on tiles: the symbols in them (``symbols``), the axes of a tile (``tile_axes``),
expressions as values of tile code (``tile_values``), masks and addresses (``tile_index``).

Imports ``analysis``, ``index``, ``ir`` and the tile builder; the rest of ``codegen`` imports it.
"""
