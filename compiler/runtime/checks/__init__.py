"""Checks while a program is compiled or runs: that no pass changed the numbers, that no launch fails or
writes a NaN unseen, that storage is taken and given back where the plan says.

``gpu`` and the tools import it; of the runtime it knows ``plans``, the ``interpreter`` and the files beside
the packages.
"""
