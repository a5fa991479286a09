"""FX graphs as rewrites, keys and the importer see them: places in the user's code, new nodes, collectives,
roundings, saved strides, texts for cache keys, and the table of which overloads are generated (``table.py``).

Imports ``base``; knows no MLIR.  ``rewrites``, ``frontend`` and ``driver`` import it.
"""
