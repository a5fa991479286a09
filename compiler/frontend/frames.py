"""The user's line of an FX node, and what messages call a node."""

import os
import re
from functools import lru_cache

import torch
from torch import fx

_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.*)$', re.MULTILINE)
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


@lru_cache(maxsize=4096)
def user_frame(stack_trace: str) -> tuple[str, int] | None:
    """(file, line) of the innermost frame outside torch, or None."""
    for file, line, _ in reversed(_FRAME.findall(stack_trace)):
        if not file.startswith(_TORCH):
            return file, int(line)
    return None


def describe(node: fx.Node) -> str:
    """``add_3 at model.py:12``, for messages."""
    frame = user_frame(node.meta.get("stack_trace") or "")
    return node.name if frame is None else f"{node.name} at {frame[0]}:{frame[1]}"
