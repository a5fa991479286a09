"""Index expressions on tiles: what their symbols stand for (``symbols``), where the axes of a tile lie
(``tile_axes``), expressions as values of tile code (``tile_values``), masks and addresses (``tile_index``).

Imports ``analysis``, ``index``, ``ir`` and the tile builder; the rest of ``codegen`` imports it.
"""
