"""Passes on collectives: which start as one call, when they start and are waited for."""
