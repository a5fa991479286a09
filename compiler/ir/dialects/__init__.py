"""The dialects of the project, the rules of their IR, and tables that name things in it."""

from ...mlir import ir

# The bindings search for a module with the dialect's name each time they wrap an op, unless they are told of
# it.
ir._globals.append_dialect_search_prefix(__name__)
