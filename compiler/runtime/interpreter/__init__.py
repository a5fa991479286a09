"""The interpreter: a module of any level, run on the CPU with torch's arithmetic (``program.py``).

It is the oracle of the tests and of ``--verify-each=numeric``, and the engine of the backend where there is
no GPU.  ``graph_*.py`` run ``@main``, ``scalar_*.py`` scalar kernels, ``tile_*.py`` tile code.  ``checks``
import it; of the runtime it knows only the files beside the packages.
"""
