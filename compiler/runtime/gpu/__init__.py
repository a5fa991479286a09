"""A CUDA device: its driver, the launcher of kernels, loading a plan with all kernels and ops that it calls,
and timing kernels against each other.

This is the top of the runtime.  It may import every other package of it, and none of them imports it.
"""
