"""Writes the tile code of kernels for ``passes/tiling/apply_tiling.py``, and prints TTIR for the runtime.

Imports ``analysis`` and ``ir``; ``passes``, ``runtime`` and ``driver`` import it.
"""
