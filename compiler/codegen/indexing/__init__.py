"""Index expressions on tiles: the symbols in them (``symbols``), the axes of a tile (``tile_axes``),
expressions as values of tile code (``tile_values``), masks and addresses (``tile_index``), neighbours on an
axis of their own (``tile_vectors``).

Imports ``analysis``, ``index``, ``ir``, the tile builder and how ``folds`` shape tiles; the rest of
``codegen`` imports it.
"""
