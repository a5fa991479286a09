"""Launch plans: a planned module as straight-line Python text (``launch_plan.py`` writes it, the other
files say what a line holds), and that text bound to launchers and torch's ops (``bound_plan.py``), which
needs no MLIR.

What runs, checks or records plans imports it (``gpu``, ``checks``, ``cuda_graphs``); of the runtime it
knows only the files beside the packages.
"""
