"""PTX on the CPU, for users' inline assembly: ``assembly.py`` reads and runs a text, ``instructions.py`` says
what each instruction computes, and ``numbers.py`` what bits mean.
"""
