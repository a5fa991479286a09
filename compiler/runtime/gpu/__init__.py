"""A CUDA device: its driver, the launcher of a kernel, plans loaded with all that they call, and kernels
measured against each other.

The top of the runtime: it may import every other package of it, and none of them imports it.
"""
