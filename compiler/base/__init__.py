"""What every other package uses: errors, options, remarks, launches as data, the hardware models, timing.

Imports nothing of the project but ``compiler/mlir.py``; everything may import it.
"""
