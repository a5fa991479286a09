"""Rewrites of FX graphs: what MLIR cannot see any more, or torch's partitioner has to know.

A file each, with the graph before and after; ``docs/architecture.md`` lists them in the order in which they
run.  The folders say on which graph: ``captured`` by Dynamo, ``joint`` of forward and backward, ``graph``
after AOTAutograd, ``layouts`` where strides are chosen.  ``rewriting.py`` runs them and leaves remarks.  They
import ``fx`` and ``base``; ``frontend`` and ``driver`` import them.
"""
