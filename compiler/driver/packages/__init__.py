"""Ahead of time: exported programs compiled into one archive, which a process without MLIR and Triton runs.

``write.py`` compiles and writes, ``loading.py`` reads and runs.  What they share is data: ``signature.py``
says how an exported program is called, ``contents.py`` what lies in the archive, ``archive.py`` how its parts
are kept and checked.  Only ``write.py`` imports what compiles.
"""
