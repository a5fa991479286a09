"""Passes that fuse scalar kernels with users' Triton kernels."""
