"""MLIR locations of FX nodes: the node's name over the user's line."""

from torch import fx

from ...fx.frames import user_line
from ...mlir import ir


def location_of(node: fx.Node, context: ir.Context) -> ir.Location:
    """``NameLoc(node.name, FileLineColLoc(*user_line))``; the name alone where no line is known."""
    line = user_line(node)
    if line is None:
        return ir.Location.name(node.name, context=context)
    return ir.Location.name(node.name, ir.Location.file(*line, 0, context=context), context=context)
