"""Which kernels may become one, in which iteration space, and what that gains.

``rules.py`` holds the rules, ``placement.py`` finds the space, ``score.py`` estimates the gain.  Imports
``analysis/program`` and ``analysis/kernel``; never torch.  The fusing passes import it.
"""
