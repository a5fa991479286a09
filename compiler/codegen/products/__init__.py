"""Products of tiles: the axes of their operands (``frames``), ``fuse.dot`` as ``tt.dot`` (``tile_products``),
and tiles that descriptors copy (``tile_streams``).

Imports ``analysis``, ``ir`` and the accesses of tile code; ``tile_kernel`` imports it.
"""
