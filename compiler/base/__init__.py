"""What every other package uses: errors, options, remarks, launches as data, the hardware models, what is
known of the libraries' products, timing.

Imports nothing of the project but ``compiler/mlir.py``; everything may import it.
"""
