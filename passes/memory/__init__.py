"""Passes on storage: the order of launches, what is written in place, what is taken and given back."""
