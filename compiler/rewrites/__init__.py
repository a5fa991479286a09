"""Rewrites of FX graphs: decisions that an MLIR pass would take too late.

A file each, with the graph before and after and the reason why it is no pass.  The folders say on which
graph: ``captured`` by Dynamo, ``joint`` of forward and backward, ``graph`` after AOTAutograd, ``layouts``
where strides are chosen.  ``stages.py`` lists them in the order in which they run, ``docs/rewrites.md``
describes them, ``rewriting.py`` runs them and leaves remarks.  They import ``fx`` and ``base``; ``frontend``
and ``driver`` import them.
"""
