"""Rewrites that compute in parts what would need too much memory whole, or leave most of a GPU idle."""
