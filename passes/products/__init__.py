"""Passes on matrix products: who computes them, and what a kernel of one looks like."""
