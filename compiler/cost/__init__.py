"""What things cost: the models of GPUs, and the only clock.

Imports ``base/dataclass.py``; every other package may import it.
"""
