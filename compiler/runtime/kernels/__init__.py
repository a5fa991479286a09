"""Kernels, from TTIR text to cubins: compile requests, Triton's stages one by one, differences between its
versions, and the cache on disk.

Nothing here launches anything or needs a GPU.  ``gpu`` and the program cache import it; of the runtime it
imports only the files beside the packages.
"""
