"""Which line of the user's program an FX node comes from, and how messages name a node."""

import os
import re
from functools import lru_cache

import torch
from torch import fx

from ..base.launch import Line, line_text

_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.*)$', re.MULTILINE)
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
#: Where modules are listed that a node was made in, those of a backward node's forward node as well.
_MODULES = ("nn_module_stack", "fwd_nn_module_stack")
#: How Dynamo names the module around the others; ``self`` and ``fn`` are that which is compiled.
_ROOT = re.compile(r"^[LG]\['(?:self|fn|(\w+))'\]\.?")


def user_line(node: fx.Node) -> Line | None:
    """(file, line) of the innermost frame outside torch; where all frames are torch's, as in what a
    ``Sequential`` calls, the module and 0: ("module net.1 (BatchNorm2d)", 0).  None where neither is known.
    """
    return _user_frame(node.meta.get("stack_trace") or "") or _module(node)


@lru_cache(maxsize=4096)
def _user_frame(stack_trace: str) -> Line | None:
    for file, line, _ in reversed(_FRAME.findall(stack_trace)):
        if not file.startswith(_TORCH):
            return file, int(line)
    return None


def _module(node: fx.Node) -> Line | None:
    """The innermost module that the node was made in."""
    stack = next((node.meta[key] for key in _MODULES if node.meta.get(key)), None)
    if stack is None:
        return None
    path, kind = list(stack.values())[-1]
    kind = kind if isinstance(kind, str) else kind.__name__
    name = _ROOT.sub(lambda found: f"{found[1]}." if found[1] else "", path).removesuffix(".")
    return (f"module {name} ({kind.rpartition('.')[2]})" if name else f"module {kind}"), 0


def first_line(gm: fx.GraphModule) -> str:
    """The first line of the program that a graph came from, as ``model.py:12``."""
    found = (user_line(node) for node in gm.graph.nodes)
    return next((line_text(line) for line in found if line is not None), "no line of the program")


def describe(node: fx.Node) -> str:
    """``add_3 at model.py:12``, for messages."""
    line = user_line(node)
    return node.name if line is None else f"{node.name} at {line_text(line)}"
