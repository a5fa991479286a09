"""Launches of users' Triton kernels, which enter the module as kernels that are tiled already."""
