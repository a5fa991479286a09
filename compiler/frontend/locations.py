"""MLIR locations of FX nodes: the node's name over the user's line."""

from torch import fx

from ..mlir import ir
from .frames import user_frame


def location_of(node: fx.Node, context: ir.Context) -> ir.Location:
    """``NameLoc(node.name, FileLineColLoc(file, line))``; the name alone where the node has no user frame."""
    frame = user_frame(node.meta.get("stack_trace") or "")
    if frame is None:
        return ir.Location.name(node.name, context=context)
    return ir.Location.name(
        node.name, ir.Location.file(frame[0], frame[1], 0, context=context), context=context
    )
