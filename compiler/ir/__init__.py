"""The IR and how it is read: the dialects (``dialects``), and kernels, layouts, tiles, sizes, storage and
nested modules as plain Python.

Imports ``index`` and ``base``; never torch.  Every package that handles IR imports it.
"""
