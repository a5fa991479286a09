"""Analyses of the IR, changing none of it: of a kernel, of ``@main``, of fusion, of tiling, of cost.
``remarks.py`` and ``kernel`` forward names that plugins know.
"""
