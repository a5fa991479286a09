"""Arithmetic of complex numbers as arithmetic on pairs of reals, and the formulas for it."""
