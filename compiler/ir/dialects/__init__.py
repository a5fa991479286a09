"""The dialects of the project, the rules of their IR, and tables that name things in it."""

from ...mlir import ir

# The bindings look for a module of the dialect's name each time they wrap an op; told where, they look once.
ir._globals.append_dialect_search_prefix(__name__)
