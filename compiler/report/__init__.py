"""Reports about a compiled program: dependences and users' kernels as text, the schedule as data; drawings.

Imports ``analysis``; ``driver`` and ``tools`` import it.
"""
