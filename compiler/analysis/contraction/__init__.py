"""Matrix products: what a call of torch's libraries multiplies, and what a kernel for it would cost.

Imported by the passes that choose between the two.
"""
