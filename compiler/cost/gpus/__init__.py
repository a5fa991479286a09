"""The GPUs: a file for each, with its vendor's figures (``GPU``) and what was measured on it (``RATES``).

A new GPU is a new file here, which ``python -m fuse_mlir.bench.fit`` writes.  ``devices.py`` finds it by its
name, and by the words and the capability that its devices have.
"""
