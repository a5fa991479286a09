"""Checks while a program is compiled or runs: that no pass changes the numbers, that failing launches and
NaNs are noticed, and that storage is allocated and freed where the plan says.

``gpu`` and the tools import it.  Of the runtime it imports ``plans``, the ``interpreter`` and the files
beside the packages.
"""
