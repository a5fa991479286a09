"""Passes on the scalar bodies of kernels, each on its own."""
