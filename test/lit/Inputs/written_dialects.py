"""Imported by ``tool_server.py``: the first context writes the definitions of the dialects, which takes
longer than many a test; those after it, in the forked processes, read them.
"""

from fuse_mlir.compiler.ir.context import make_context

make_context()
