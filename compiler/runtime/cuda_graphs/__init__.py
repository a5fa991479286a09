"""CUDA graphs: a plan cut where ``analysis/program/graph_regions.py`` says (``partitions.py``), and the parts
handed to torch's cudagraph trees (``trees.py``).

``gpu`` imports it; of the runtime it knows ``plans`` and the files beside the packages.
"""
