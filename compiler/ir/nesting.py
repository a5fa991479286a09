"""Modules inside a module: the sub-graphs of higher-order ops, each with its own ``@main`` and kernels."""

from collections.abc import Iterator

from ..mlir import ir
from .kernel import string


def modules_in(module: ir.Module) -> dict[str, ir.Module]:
    """The modules directly inside ``module``, by name, in order.

    They are ``builtin.module`` operations.  These have the attributes of an ``ir.Module`` that readers use:
    ``body``, ``operation``, ``context``.
    """
    return {
        string(op.attributes["sym_name"]): op
        for op in module.body.operations
        if op.operation.name == "builtin.module" and "sym_name" in op.attributes
    }


def nested_modules(module: ir.Module) -> list[ir.Module]:
    """All modules inside ``module``; inner modules come before outer ones."""
    return list(_nested(module))


def _nested(module: ir.Module) -> Iterator[ir.Module]:
    for inner in modules_in(module).values():
        yield from _nested(inner)
        yield inner


def graph_of(callee: ir.Operation) -> str:
    """The module that a ``{fuse.graph}`` declaration names."""
    return ir.FlatSymbolRefAttr(callee.attributes["fuse.graph"]).value
