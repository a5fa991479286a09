"""Rewrites of a captured graph that spell attention out, of which ``derive-cascades`` makes kernels.
``stages.py`` imports them.
"""
