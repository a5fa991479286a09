"""``@main`` as a whole: what must run before what, in which order, how long values live, where launches come
from.

Imports ``ir`` and ``analysis/cost``; never torch.
"""
