"""The passes: a file for each, of its name.  ``pipeline.py`` is their order, ``manager.py`` runs them, and
``helpers`` has what they share.  The driver and the tools import passes; passes import no torch.
"""
