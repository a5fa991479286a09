"""Scalar kernels emitted on the tiles of users' Triton kernels.

The passes that fuse with users' kernels import it.  Imports ``codegen``, ``analysis``, ``ir``.
"""
