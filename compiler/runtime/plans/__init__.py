"""Launch plans: what a planned module does when it runs, as data (``plan.py``, ``steps.py``, ``externs.py``).

``make_plan.py`` makes a plan from MLIR.  ``python_source.py`` prints the Python that runs and
``bound_plan.py`` binds that to launchers and torch's ops; neither needs MLIR.  What runs, checks or records
plans imports this package (``gpu``, ``checks``, ``cuda_graphs``); of the runtime it knows only the files
beside the packages.
"""
