"""What ``mode="max-autotune"`` measures while a graph is lowered: observers of the pipeline that write the
tables which passes read.  ``fusion_search.py`` measures groups of kernels, ``tiling_search.py`` tiles.  Only
the driver's ``lowering.py`` imports it.
"""
