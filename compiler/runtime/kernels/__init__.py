"""Kernels, from TTIR text to cubins: what to compile, Triton's stages one by one, what differs between its
versions, and the cache on disk.

Nothing here launches anything or needs a GPU.  ``gpu`` and the program cache import it; of the runtime it
knows only the files beside the packages.
"""
