"""The compiler.  ``backend.py`` is the torch.compile backend; ``mlir.py`` alone knows which MLIR bindings are
installed.
"""
