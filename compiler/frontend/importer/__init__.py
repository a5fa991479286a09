"""From a graph after AOTAutograd to a module at the ``graph`` level: ``import_graph`` of ``importer.py``.

Each import has one ``ImportState`` (``state.py``).  ``walk.py`` takes the nodes in order, finds the builder
of an op in the table of lowerings, and hands it a ``Call`` (``call.py``): the node, with the state behind it.
Builders make kernels with ``builder.py``; those of higher-order ops begin another walk (``subgraphs.py``).

In this order, each file imports only files before it: values, types and sizes; ``subgraph_calls.py``;
``state.py``; ``main_function.py``; ``call.py`` and ``extern.py``; ``walk.py``; ``subgraphs.py`` and
``control_flow.py``; the builders of ``ops``; ``importer.py``, which loads the builders.

The package imports ``base``, ``fx``, ``ir``, ``index``, ``mlir``, of ``rewrites`` what sub-graphs need, and
of ``analysis`` the dependences and the mark of implicit roundings.  ``ops`` and ``driver`` import it.
"""
