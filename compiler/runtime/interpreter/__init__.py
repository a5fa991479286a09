"""The interpreter: a module of any level, run on the CPU with torch's arithmetic (``program.py``).

It is the oracle of the tests and of ``--verify-each=numeric``, and runs the programs of the backend where
there is no GPU.  ``graph_*.py`` run ``@main``, ``scalar_*.py`` scalar kernels, ``tile_*.py`` tile code.
``checks`` imports it; of the runtime it imports only the files beside the packages.
"""
