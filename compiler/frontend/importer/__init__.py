"""From a graph after AOTAutograd to a module at the ``graph`` level: ``importer.py`` walks the nodes,
``call.py`` is one node as a builder of ``ops`` sees it, ``builder.py`` makes kernels.

Imports ``fx``, ``ir`` and ``index``; ``ops`` and ``driver`` import it.
"""
