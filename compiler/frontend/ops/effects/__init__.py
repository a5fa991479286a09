"""Ops with an effect, random numbers, and higher-order ops."""
