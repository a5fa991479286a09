"""What a call moves, computes and at least takes: bytes, operations, roofline time.

Imports ``ir`` and ``analysis/kernel``; never torch.
"""
