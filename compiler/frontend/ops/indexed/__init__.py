"""Ops that read or write at loaded indices."""
