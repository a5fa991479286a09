"""From what AOTAutograd hands over to something that runs: one graph (``graph_compilation.py``), its
compilation (``compilation.py``, the half that needs MLIR), programs as data and their cache, dumps.

Imports everything below; ``compiler/backend.py`` and ``tools`` import it.
"""
