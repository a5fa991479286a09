"""Rewrites of FX graphs: what MLIR cannot see any more, or torch's partitioner has to know.

A file each, with the graph before and after; ``docs/architecture.md`` lists them in the order in which they
run.  The backend calls them on what Dynamo captured, ``frontend/partition.py`` on the joint graph,
``graph_compilation.py`` and ``compilation.py`` on what AOTAutograd made of it.  They may use all of the
importer; it knows two of them: ``gathers.py``, for sub-graphs, and the ops that ``pool_offsets.py`` defines.
"""
