"""How a kernel is cut into tiles: ``rules.py`` chooses, the rest finds what a choice depends on.

Imports ``analysis/kernel``; never torch.  ``codegen`` and the tiling passes import it.
"""
