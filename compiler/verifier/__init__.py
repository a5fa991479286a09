"""The rules of the ``fuse`` dialect that need more than one operation: ``verifier.py`` runs them, a file for
each kind.

Imports ``ir`` and ``analysis``; ``passes``, ``driver`` and ``tools`` import it.
"""
