"""CUDA graphs: which ops of a plan a graph can hold (``safety.py``), the plan cut there
(``partitions.py``), and the parts handed to torch's cudagraph trees (``trees.py``).

``gpu`` imports it; of the runtime it knows ``plans`` and the files beside the packages.
"""
