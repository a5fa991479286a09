"""Compiled graphs that another process runs: as bytes, and as what torch pickles."""
