"""Reductions, scans and pooling."""
