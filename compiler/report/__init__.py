"""Reports about a compiled program: dependences as text, the schedule as data and as a drawing.

Imports ``analysis``; ``driver`` and ``tools`` import it.
"""
