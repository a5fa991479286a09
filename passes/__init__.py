"""The passes: a file for each, of its name, in a folder for each kind of passes.

``pipeline.py`` is their order, ``manager.py`` runs them, ``pass_base.py`` is what a pass is, and ``base`` has
what passes are written with.  What one pass alone needs lies beside it.  The driver and the tools import
passes; passes import no torch.
"""
