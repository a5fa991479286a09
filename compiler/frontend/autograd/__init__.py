"""What AOTAutograd is given: decompositions, how the joint graph is cut, a stand-in for a stored training
step.

Imports ``rewrites`` and ``fx``; ``driver`` imports it.
"""
