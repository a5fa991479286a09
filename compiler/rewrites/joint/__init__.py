"""Rewrites of the joint graph of forward and backward, before it is cut."""
