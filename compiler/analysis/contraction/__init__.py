"""Matrix products: what a call of torch's libraries multiplies, what a kernel for it would cost, and into
which blocks the kernel is cut.

Imported by the passes that choose between the two, and by the rules of tiling.
"""
