"""Tile code of kernels, which ``passes/apply_tiling.py`` asks for, and TTIR for the runtime.

Imports ``analysis`` and ``ir``; ``passes``, ``runtime`` and ``driver`` import it.
"""
