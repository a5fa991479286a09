"""Passes that decide which kernels become one, and make it."""
