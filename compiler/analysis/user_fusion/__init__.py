"""Which scalar kernels are computed inside users' Triton kernels: behind what these store, and for what they
load.

``user_epilogues.py`` and ``user_prologues.py`` plan, ``user_writer.py`` has what both need of a user's
kernel, ``epilogue_estimate.py`` estimates.  Imports ``analysis/fusion`` and what that imports, and
``analysis/user_kernel``; never torch.  The passes that fuse with users' kernels import it.
"""
