"""What runs modules and programs: seven packages and what they share.

The files beside the packages know none of them: names and types of torch, random numbers, errors.  The
folder of stored kernels and programs, ``cache``, knows none of these.  Above are ``kernels``, ``plans`` and
the ``interpreter``, which do not know each other; above them ``cuda_graphs`` and ``checks``; on top ``gpu``.
``test/py/project/test_layers.py`` holds them to it.
"""
