"""Users' Triton kernels: their TTIR, and what AOTAutograd is told that they read and write.

Triton is imported where a graph has such a kernel.  Imports ``analysis`` and ``ir``; ``driver`` and
``importer`` import it.
"""
