"""Kernels of scalar code on the CPU, and what tile code needs of them: dtypes, scalar ops, access to memory.
The rest of the interpreter and ``runtime/checks`` import it.
"""
