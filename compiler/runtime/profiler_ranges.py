"""Ranges for profilers around launches: ``options={"profiler_range": True}``.

A range is named by the kernel, or torch's op, and the user's lines that it computes.  Kineto
(``torch.profiler``) shows it above the launch; ``torch.autograd.profiler.emit_nvtx`` makes it one of NVTX. A
program that is compiled without the option contains none.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ..base.launch import Line, line_text

#: How many lines a name has.
_MOST = 3


def range_name(what: str, lines: Sequence[Line]) -> str:
    """``fused_add_mul at model.py:12, model.py:13``."""
    texts = [line_text(line) for line in lines]
    where = ", ".join([*texts[:_MOST], *([".."] if len(texts) > _MOST else [])])
    return f"{what} at {where}" if where else what


def open_range(name: str) -> Any:
    """A range that has begun, for ``close_range``.  It also ends where nothing holds it any more, as when the
    launch raises.
    """
    opened = torch._C._profiler._RecordFunctionFast(name)
    opened.__enter__()
    return opened


def close_range(opened: Any) -> None:
    """Ends a range."""
    opened.__exit__(None, None, None)
