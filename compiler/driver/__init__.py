"""From what Dynamo or AOTAutograd hands over to something that runs.

``captured_compilation.py`` compiles what Dynamo captured, ``graph_compilation.py`` one graph that AOTAutograd
makes of it, ``compilation.py`` and ``lowering.py`` are the half of that which needs MLIR.  ``cache_hit.py``
loads what the program cache has instead; ``program.py`` is a program as data, ``program_cache.py`` its file.

Imports everything below; ``compiler/backend.py`` and ``tools`` import it.
"""
