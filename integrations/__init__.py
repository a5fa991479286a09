"""Adapters between this compiler and other projects, which users import by name: a file for each project.

They may import the public modules of the root and ``compiler/fx``; nothing imports them.
"""
