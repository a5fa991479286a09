"""What runs modules and programs: six packages and what they share.

The files beside the packages know none of them: names and types of torch, random numbers, errors, a folder
of cached files.  Above these are ``kernels``, ``plans`` and the ``interpreter``, which do not know each
other; above them ``cuda_graphs`` and ``checks``; on top ``gpu``.  ``test/py/test_layers.py`` holds them to
it.
"""
