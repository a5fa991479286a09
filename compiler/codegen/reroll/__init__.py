"""Copies of one body in straight-line tile code, which become a loop: an order in which they stand one behind
the other (``order``), what differs between them (``copies``), and the loop (``loop``).

Imports ``ir`` and ``tile_builder``; the pass ``reroll-loops`` asks for it.
"""
