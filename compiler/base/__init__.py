"""What every other package uses: errors, options, remarks, launches as data, what is known of the libraries'
products, timing.

Imports nothing of the project but ``compiler/mlir.py`` and ``compiler/cost``; everything else may import it.
"""
